//! Budgets: what is spent is counted for the run and for every state that it happens in; a model call waits or is
//! refused when a hard end is near, a state is not entered when it is reached (FSM-16, MODEL-12).
//!
//! Calls that run beside each other could each stay below the end and pass it together. So a call reserves what it
//! may use, and a further one is held back while what is spent and reserved reaches the end: the end is passed by
//! the last call at most.

use super::{Asked, Lane, Machine, Phase, RunEvent};
use crate::domain::cost::Usage;
use crate::domain::model::ModelRequest;
use crate::domain::workflow::Budget;
use crate::engine::lane::Scope;
use crate::engine::purse::{Estimate, Kind, Purse};

/// Tokens of an answer, where nothing says how long it may be.
const ANSWER_TOKENS: u64 = 4_096;

/// May the current visit ask its model?
#[derive(Clone, Copy, PartialEq, Debug)]
enum Verdict {
    Free,
    /// Not before a call that runs beside it has told what it used.
    Wait,
    Over(Scope, Kind),
}

impl Machine {
    /// Asked before every model call; if not, the phase says what is waited for.
    pub(super) fn may_call_model(&mut self) -> bool {
        let limits = self.spec.program.workflows.first().map(|root| root.limits).unwrap_or_default();
        if let Some(most) = limits.max_model_calls.map(|most| most.saturating_add(self.granted_calls))
            && self.model_calls >= most
        {
            let text = format!("the run has called models {most} times");
            self.reached(Asked::ModelCalls, "max_model_calls", most, text);
            return false;
        }
        if self.holds() {
            self.lane.phase = Phase::Held;
            return false;
        }
        self.warn_budgets();
        match self.verdict(&self.lane) {
            Verdict::Free => true,
            Verdict::Wait => {
                self.lane.phase = Phase::Held;
                false
            }
            Verdict::Over(scope, kind) => {
                self.over_budget(scope, kind);
                false
            }
        }
    }

    /// Asked before a state is entered that does not end its workflow; time passes without model calls, too.
    pub(super) fn within_budgets(&mut self) -> bool {
        self.warn_budgets();
        let Verdict::Over(scope, kind) = self.verdict(&self.lane) else { return true };
        self.over_budget(scope, kind);
        false
    }

    /// A model call begins: it counts, and what it may use is reserved. `None`: it is spared, which is done only
    /// where nothing is bounded.
    pub(super) fn reserve(&mut self, request: Option<&ModelRequest>) {
        self.model_calls = self.model_calls.saturating_add(1);
        let own = request.map(estimate).unwrap_or_default();
        self.lane.reserved = Estimate {
            tokens: own.tokens.max(self.largest.tokens),
            cost_usd: own.cost_usd.max(self.largest.cost_usd),
        };
    }

    /// A model call has told what it used.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub(super) fn spend(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.largest.tokens = self.largest.tokens.max(usage.total() as f64);
        self.largest.cost_usd = self.largest.cost_usd.max(cost_usd.unwrap_or(0.0));
        self.purse.spend(usage, cost_usd);
        let mut lane = Some(&mut self.lane);
        while let Some(current) = lane {
            for frame in &mut current.frames {
                frame.stay.purse.spend(usage, cost_usd);
            }
            lane = current.parent.and_then(|(id, _)| self.lanes.get_mut(&id));
        }
        if cost_usd.is_none() {
            self.tell_unknown_price();
        }
        self.warn_budgets();
    }

    fn tell_unknown_price(&mut self) {
        let counted = self.scopes(&self.lane).iter().any(|(_, budget)| Kind::Cost.of(budget) != (None, None));
        if counted && !std::mem::replace(&mut self.price_told, true) {
            self.warn(
                "price_unknown",
                "a model without a known price was called: the budget in dollars does not count it; add its price \
                 to models.json, or set a budget of tokens",
            );
        }
    }

    /// A lane whose held call may go on.
    pub(super) fn released(&self) -> Option<u64> {
        if self.holds() {
            return None;
        }
        let free = |lane: &&Lane| lane.phase == Phase::Held && self.verdict(lane) != Verdict::Wait;
        std::iter::once(&self.lane).chain(self.lanes.values()).find(free).map(|lane| lane.id)
    }

    fn verdict(&self, lane: &Lane) -> Verdict {
        let mut wait = false;
        for (scope, budget) in self.scopes(lane) {
            let Some(purse) = self.purse(scope) else { continue };
            for kind in Kind::ALL {
                let Some(end) = purse.end(kind, &budget) else { continue };
                let spent = purse.spent(kind, self.now);
                if spent >= end {
                    return Verdict::Over(scope, kind);
                }
                let reserved = self.reserved(scope, lane.id, kind);
                wait |= reserved > 0.0 && spent + reserved >= end;
            }
        }
        if wait { Verdict::Wait } else { Verdict::Free }
    }

    /// The budgets that a lane's work counts for, the innermost first.
    fn scopes(&self, lane: &Lane) -> Vec<(Scope, Budget)> {
        let mut found = Vec::new();
        let mut current = Some(lane);
        while let Some(lane) = current {
            for (at, frame) in lane.frames.iter().enumerate().rev() {
                let workflow = self.spec.program.workflows.get(frame.workflow.0);
                let budget =
                    workflow.and_then(|workflow| workflow.state(frame.state)).map(|state| state.budget);
                let bounded = budget.filter(|budget| !budget.is_unbounded());
                found.extend(bounded.map(|budget| (Scope::State { lane: lane.id, frame: at }, budget)));
            }
            current = lane.parent.and_then(|(id, _)| self.lane_of(id));
        }
        let root = self.spec.program.workflows.first().map(|root| root.budget);
        found.extend(root.filter(|budget| !budget.is_unbounded()).map(|budget| (Scope::Run, budget)));
        found
    }

    fn purse(&self, scope: Scope) -> Option<&Purse> {
        match scope {
            Scope::Run => Some(&self.purse),
            Scope::State { lane, frame } => self.lane_of(lane)?.frames.get(frame).map(|f| &f.stay.purse),
        }
    }

    fn purse_mut(&mut self, scope: Scope) -> Option<&mut Purse> {
        match scope {
            Scope::Run => Some(&mut self.purse),
            Scope::State { lane, frame } => {
                let lane = if self.lane.id == lane { &mut self.lane } else { self.lanes.get_mut(&lane)? };
                lane.frames.get_mut(frame).map(|f| &mut f.stay.purse)
            }
        }
    }

    /// What calls under way may still use, but for the one of this lane.
    fn reserved(&self, scope: Scope, own: u64, kind: Kind) -> f64 {
        let lanes = std::iter::once(&self.lane).chain(self.lanes.values());
        lanes
            .filter(|lane| lane.id != own && matches!(lane.phase, Phase::Model(_)))
            .filter(|lane| self.is_within(lane, scope))
            .map(|lane| lane.reserved.of(kind))
            .sum()
    }

    fn is_within(&self, lane: &Lane, scope: Scope) -> bool {
        let Scope::State { lane: owner, .. } = scope else { return true };
        let mut current = Some(lane);
        while let Some(lane) = current {
            if lane.id == owner {
                return true;
            }
            current = lane.parent.and_then(|(id, _)| self.lane_of(id));
        }
        false
    }

    fn warn_budgets(&mut self) {
        let now = self.now;
        for (scope, budget) in self.scopes(&self.lane) {
            for kind in Kind::ALL {
                let Some(purse) = self.purse_mut(scope) else { continue };
                if !purse.warns(kind, &budget, now) {
                    continue;
                }
                let spent = purse.spent(kind, now);
                let (soft, hard) = kind.of(&budget);
                let (scope, what) = (self.scope_name(scope), kind.name().to_owned());
                let soft = soft.unwrap_or_default();
                self.emit(RunEvent::BudgetWarning { scope, what, spent, soft, hard });
            }
        }
    }

    /// `run`, or the path name of the state.
    fn scope_name(&self, scope: Scope) -> String {
        let Scope::State { lane, frame } = scope else { return "run".to_owned() };
        self.lane_of(lane).map(|lane| self.name_in(lane, frame)).unwrap_or_default()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown to people, saturates")]
    fn over_budget(&mut self, scope: Scope, kind: Kind) {
        let budgets = self.scopes(&self.lane);
        let budget = budgets.iter().find(|(owner, _)| *owner == scope).map(|(_, budget)| *budget);
        let Some((budget, purse)) = budget.zip(self.purse(scope)) else { return };
        let end = purse.end(kind, &budget).unwrap_or_default();
        let owner = match scope {
            Scope::Run => "the run".to_owned(),
            Scope::State { .. } => format!("state `{}`", self.scope_name(scope)),
        };
        let text =
            format!("{owner} has used {} of {}", kind.show(purse.spent(kind, self.now)), kind.show(end));
        self.reached(Asked::Budget(scope, kind), kind.limit(), end.ceil() as u32, text);
    }

    pub(super) fn grant_budget(&mut self, scope: Scope, kind: Kind, more: f64) {
        if let Some(purse) = self.purse_mut(scope) {
            purse.grant(kind, more);
        }
    }

    /// The person gives the same amount again, from what is used up by now: one "continue" is never asked twice.
    pub(super) fn grant_same_again(&mut self, scope: Scope, kind: Kind) {
        let now = self.now;
        let budgets = self.scopes(&self.lane);
        let budget = budgets.iter().find(|(owner, _)| *owner == scope).map(|(_, budget)| *budget);
        let Some((budget, purse)) = budget.zip(self.purse_mut(scope)) else { return };
        let (Some(hard), Some(end)) = (kind.of(&budget).1, purse.end(kind, &budget)) else { return };
        // another branch that asked the same may have been answered already
        if purse.spent(kind, now) < end {
            return;
        }
        let over = purse.spent(kind, now) - end;
        purse.grant(kind, hard + over);
    }
}

/// Four characters a token, and the longest answer that was asked for.
#[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
fn estimate(request: &ModelRequest) -> Estimate {
    let said = request.messages.iter().map(|message| {
        let calls = message.tool_calls.iter().map(|call| call.arguments.chars().count() + call.name.len());
        message.content.chars().count() + calls.sum::<usize>()
    });
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    let parsing =
        request.parsing_tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    let characters = said.chain(tools).chain(parsing).sum::<usize>();
    let usage = Usage {
        prompt: (characters as u64).div_ceil(4),
        completion: request.choice.parameters.max_output_tokens.unwrap_or(ANSWER_TOKENS),
        ..Usage::default()
    };
    let cost_usd = request.choice.price.map_or(0.0, |price| price.cost_usd(&usage));
    Estimate { tokens: usage.total() as f64, cost_usd }
}
