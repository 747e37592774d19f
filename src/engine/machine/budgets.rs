//! Budgets: what is spent is counted for the run, for every state that it happens in, and for the agent; a model call
//! that could pass a hard end is made shorter, waits or is not made; a state is not entered when an end is reached
//!.
//!
//! What a call can use is its prompt, measured generously, and the longest answer that it asks for. What calls under
//! way can use counts as spent until they answer, so calls beside each other cannot pass an end together. As long as no
//! server reports more than that, no end is passed.

mod budget_scopes;
mod raise_budget;

use super::{Branch, Machine, PendingQuestion, RunEvent, WaitState};
use crate::branch::BudgetScope;
use crate::budget_usage::{BudgetUnit, CallEstimate, CallUsageBound};
use crate::model_caller::ModelCaller;
use crate::run_spec::{FORESEES_SINCE, MEASURES_SINCE};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::cost::{TokenPrice, TokenUsage};
use synthdev_domain::model::{ModelChoice, ModelRequest};
use synthdev_domain::workflow::Budget;

/// Tokens of an answer, where nothing says how long it may be: what runs of before reckoned with.
const ANSWER_TOKENS: u64 = 4_096;
/// An answer that a budget makes shorter than this is told of.
const SHORT: u64 = 4_096;
/// From prompts of so many tokens it is learned how a model counts, in thousandths, up to so much.
const TELLING: u64 = 1_000;
const DENSEST: u64 = 2_000;

/// May the current visit ask its model?
#[derive(Clone, Copy, PartialEq, Debug)]
enum BudgetDecision {
    /// For an answer of so many tokens at most.
    Free(u64),
    /// Not before a call that runs beside it has told what it used.
    Wait,
    Over(BudgetScope, BudgetUnit),
}

impl Machine {
    /// Calls are judged before they are made by what they can use.
    pub(super) fn foresees(&self) -> bool {
        self.spec.machine_version >= FORESEES_SINCE
    }

    /// All that a request holds is measured.
    pub(super) fn measures(&self) -> bool {
        self.spec.machine_version >= MEASURES_SINCE
    }

    /// Asked before every model call is put together; if not, the phase says what is waited for.
    pub(super) fn may_call_model(&mut self) -> bool {
        let limits = self.spec.program.workflows.first().map(|root| root.limits).unwrap_or_default();
        if let Some(most) = limits.max_model_calls.map(|most| most.saturating_add(self.granted_calls))
            && self.model_calls >= most
        {
            let text = format!("the run has called models {most} times");
            self.reached(PendingQuestion::ModelCalls, "max_model_calls", most, text);
            return false;
        }
        if self.holds() {
            self.lane.phase = WaitState::Held;
            return false;
        }
        self.open_purse();
        self.lane.need = None;
        self.warn_budgets();
        self.heed(self.verdict(&self.lane)).is_some()
    }

    /// Asked before every model call is made. The request is told how long its answer may be; if it must not be
    /// made, the phase says what is waited for.
    pub(super) fn affords(&mut self, agent: &AgentSpec, request: Option<&mut ModelRequest>) -> bool {
        let budgets = self.scopes(&self.lane);
        let Some(request) = request.filter(|_| self.foresees() && !budgets.is_empty()) else { return true };
        let need = self.need_of(request);
        if need.price.is_none()
            && budgets.iter().any(|(_, budget)| BudgetUnit::Cost.soft_and_hard(budget) != (None, None))
        {
            self.tell_unknown_price(&request.choice.model);
        }
        self.lane.need = Some(need);
        let Some(answer) = self.heed(self.verdict(&self.lane)) else { return false };
        self.lane.need = Some(CallUsageBound { answer, ..need });
        let ends =
            |kind: BudgetUnit| budgets.iter().any(|(_, budget)| kind.soft_and_hard(budget).1.is_some());
        let counts = ends(BudgetUnit::Tokens) || need.price.is_some() && ends(BudgetUnit::Cost);
        let open = if self.measures() {
            counts && request.choice.needs_output_limit()
        } else {
            request.choice.may_exceed_default_answer()
        };
        if !need.uncapped && (answer < need.answer || open) {
            request.choice.parameters.max_output_tokens = Some(answer);
        }
        if answer < need.answer.min(SHORT) {
            let text = format!("the answer of `{}` may have {answer} tokens: more is not left", agent.id);
            self.warn("answer_capped", text);
        }
        true
    }

    /// Asked before a state is entered that does not end its workflow; time passes without model calls, too.
    pub(super) fn within_budgets(&mut self) -> bool {
        self.lane.need = None;
        self.warn_budgets();
        let BudgetDecision::Over(scope, kind) = self.verdict(&self.lane) else { return true };
        self.over_budget(scope, kind);
        false
    }

    /// A model call begins: it counts, and what it may use is reserved. `None`: it is spared, which is done only
    /// where nothing is bounded.
    pub(super) fn reserve(&mut self, request: Option<&ModelRequest>) {
        self.model_calls = self.model_calls.saturating_add(1);
        self.lane.reserved = match (self.lane.need, self.foresees()) {
            (Some(need), _) => need.with(need.answer),
            (None, true) => CallEstimate::default(),
            (None, false) => {
                let own = request.map(estimate).unwrap_or_default();
                CallEstimate {
                    tokens: own.tokens.max(self.largest.tokens),
                    cost_usd: own.cost_usd.max(self.largest.cost_usd),
                }
            }
        };
    }

    /// A model call has told what it used, or it is known from what had come of it.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub(super) fn spend(&mut self, agent: &ModelCaller, usage: &TokenUsage, cost_usd: Option<f64>) {
        self.largest.tokens = self.largest.tokens.max(usage.total() as f64);
        self.largest.cost_usd = self.largest.cost_usd.max(cost_usd.unwrap_or(0.0));
        self.purse.spend(usage, cost_usd);
        if let Some(purse) = self.agent_purse(&agent.workflow.name, &agent.id) {
            purse.spend(usage, cost_usd);
        }
        for at in &agent.stays {
            let frame = self.lane_mut(at.lane).and_then(|lane| lane.frames.get_mut(at.frame));
            if let Some(frame) = frame.filter(|frame| frame.stay.nth == at.nth) {
                frame.stay.purse.spend(usage, cost_usd);
            }
            self.spend_kept(at.nth, usage, cost_usd);
        }
        let counted = || {
            self.scopes(&self.lane).iter().any(|(_, one)| BudgetUnit::Cost.soft_and_hard(one) != (None, None))
        };
        if cost_usd.is_none() && !self.foresees() && counted() {
            self.tell_unknown_price("");
        }
        self.warn_budgets();
    }

    /// A lane whose held call may go on.
    pub(super) fn released(&self) -> Option<u64> {
        if self.holds() {
            return None;
        }
        let free =
            |lane: &&Branch| lane.phase == WaitState::Held && self.verdict(lane) != BudgetDecision::Wait;
        std::iter::once(&self.lane).chain(self.lanes.values()).find(free).map(|lane| lane.id)
    }

    /// The answer that there is room for; else the phase says what is waited for.
    fn heed(&mut self, verdict: BudgetDecision) -> Option<u64> {
        match verdict {
            BudgetDecision::Free(answer) => return Some(answer),
            BudgetDecision::Wait => self.lane.phase = WaitState::Held,
            BudgetDecision::Over(scope, kind) => self.over_budget(scope, kind),
        }
        None
    }

    /// What the request can use.
    fn need_of(&self, request: &ModelRequest) -> CallUsageBound {
        let choice = &request.choice;
        let (measured, answer, least) = if self.measures() {
            (request.tokens_at_most(), choice.longest_answer(), choice.protocol.least_answer())
        } else {
            (request.readable_tokens(), choice.answer_tokens(), 1)
        };
        let density = self.density.get(&choice.model).copied().unwrap_or(TELLING);
        CallUsageBound {
            prompt: measured.saturating_mul(density) / 1_000,
            measured,
            answer,
            least,
            uncapped: choice.uncapped,
            price: self.dearest(choice),
        }
    }

    /// What a call may be charged at: the price of what was asked for, or of what has answered in its place.
    fn dearest(&self, choice: &ModelChoice) -> Option<TokenPrice> {
        match (choice.price, self.served.get(&choice.model)) {
            (Some(own), Some(other)) => Some(own.higher_of(*other)),
            (own, other) => own.or(other.copied()),
        }
    }

    /// Some models make more tokens of a text than it is taken for.
    pub(super) fn learn(&mut self, model: &str, usage: &TokenUsage) {
        let Some(need) = self.lane.need.filter(|need| need.measured >= TELLING) else { return };
        let real = (usage.prompt.saturating_mul(1_000) / need.measured).min(DENSEST);
        if real > 1_000 {
            let known = self.density.entry(model.to_owned()).or_insert(real);
            *known = real.max(*known);
        }
    }

    /// `model`: empty in runs of before it was named.
    fn tell_unknown_price(&mut self, model: &str) {
        if std::mem::replace(&mut self.price_told, true) {
            return;
        }
        let what = if model.is_empty() {
            "a model without a known price was called: the budget in dollars does not count it; add its price"
                .to_owned()
        } else {
            format!(
                "no price is known for {model}: the budget in dollars does not count its calls; add the price"
            )
        };
        self.warn("price_unknown", format!("{what} to models.json, or set a budget of tokens"));
    }

    /// Whether the call under way could be made as it is. `None`: no hard end counts for it.
    pub(super) fn has_room(&self, lane: &Branch) -> Option<bool> {
        let need = lane.need?;
        let counts = [BudgetUnit::Tokens, BudgetUnit::Cost];
        let ends = |(_, budget): &(BudgetScope, Budget)| {
            counts.iter().any(|kind| kind.soft_and_hard(budget).1.is_some())
        };
        let bounded = self.scopes(lane).iter().any(ends);
        bounded.then(|| self.verdict(lane) == BudgetDecision::Free(need.answer))
    }

    fn verdict(&self, lane: &Branch) -> BudgetDecision {
        let scopes = self.scopes(lane);
        let ends = || {
            scopes.iter().flat_map(|(scope, budget)| {
                let purse = self.purse(*scope);
                BudgetUnit::ALL.into_iter().filter_map(move |kind| {
                    let purse = purse?;
                    Some((*scope, kind, purse.spent(kind, self.now), purse.end(kind, budget)?))
                })
            })
        };
        let mut answer = lane.need.map_or(u64::MAX, |need| need.answer);
        for (scope, kind, spent, end) in ends() {
            if spent >= end {
                return BudgetDecision::Over(scope, kind);
            }
            let Some(need) = lane.need else { continue };
            // calls under way can only make it less
            match need.answer_within(kind, end - spent) {
                Some(longest) if longest >= need.worth(kind, end) => answer = answer.min(longest),
                Some(_) | None => return BudgetDecision::Over(scope, kind),
            }
        }
        let waits = ends().any(|(scope, kind, spent, end)| {
            let reserved = self.reserved(scope, lane.id, kind);
            let own = lane.need.map(|need| need.with(answer).amount(kind));
            reserved > 0.0
                && match own {
                    Some(own) => spent + reserved + own > end,
                    // it is judged once more when it is known what it can use
                    None => !self.foresees() && spent + reserved >= end,
                }
        });
        if waits { BudgetDecision::Wait } else { BudgetDecision::Free(answer) }
    }

    fn warn_budgets(&mut self) {
        let (now, foresees) = (self.now, self.foresees());
        for (scope, budget) in self.scopes(&self.lane) {
            for kind in BudgetUnit::ALL {
                let Some(purse) = self.purse_mut(scope) else { continue };
                let Some(soft) = purse.warns(kind, &budget, now, foresees) else { continue };
                let spent = purse.spent(kind, now);
                let hard = kind.soft_and_hard(&budget).1;
                let (scope, what) = (self.scope_name(scope), kind.name().to_owned());
                self.emit(RunEvent::BudgetWarning { scope, what, spent, soft, hard });
            }
        }
    }
}

/// Four characters a token, and the longest answer that was asked for: as runs of before reckoned.
#[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
fn estimate(request: &ModelRequest) -> CallEstimate {
    let said = request.messages.iter().map(|message| {
        let calls = message.tool_calls.iter().map(|call| call.arguments.chars().count() + call.name.len());
        message.content.chars().count() + calls.sum::<usize>()
    });
    let tools = request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    let parsing =
        request.parsing_tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    let characters = said.chain(tools).chain(parsing).sum::<usize>();
    let usage = TokenUsage {
        prompt: (characters as u64).div_ceil(4),
        completion: request.choice.parameters.max_output_tokens.unwrap_or(ANSWER_TOKENS),
        ..TokenUsage::default()
    };
    let cost_usd = request.choice.price.map_or(0.0, |price| price.cost_usd(&usage));
    CallEstimate { tokens: usage.total() as f64, cost_usd }
}
