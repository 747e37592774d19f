//! Budgets: what is spent is counted for the run, for every state that it happens in, and for the agent; a model call
//! that could pass a hard end is made shorter, waits or is not made; a state is not entered when an end is reached.
//!
//! What a call can use is its prompt, measured generously, and the longest answer that it asks for. What calls under
//! way can use counts as spent until they answer, so calls beside each other cannot pass an end together. As long as no
//! server reports more than that, no end is passed.

mod budget_scopes;
mod raise_budget;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::checkpoint_store::CheckpointStore;
use super::machine_core::MachineCore;
use super::{Branch, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::branch::BudgetScope;
use crate::budget_usage::{AgentBudgetUsage, BudgetUnit, BudgetUsage, CallEstimate, CallUsageBound};
use crate::model_caller::ModelCaller;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::cost::{TokenPrice, TokenUsage};
use synthdev_domain::model::{ModelChoice, ModelRequest};
use synthdev_domain::workflow::Budget;

/// Tokens of an answer, where nothing says how long it may be: what older runs count with.
const ANSWER_TOKENS: u64 = 4_096;
/// A warning reports an answer that a budget limits to fewer tokens than this.
const SHORT: u64 = 4_096;
/// Prompts of fewer tokens do not show how a model counts.
const MIN_MEASURED_TOKENS: u64 = 1_000;
/// Real tokens per 1,000 estimated ones: as many, and the most that is believed.
const EVEN_DENSITY: u64 = 1_000;
const MAX_DENSITY: u64 = 2_000;

/// May the current branch call its model?
#[derive(Clone, Copy, PartialEq, Debug)]
enum BudgetDecision {
    /// For an answer of so many tokens at most.
    Free(u64),
    /// Wait until a call that runs beside it reports its usage.
    Wait,
    Over(BudgetScope, BudgetUnit),
}

/// What is spent of each budget, and what is known about the size and price of calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct BudgetTracker {
    /// What the whole run spent of its budget.
    pub(super) run: BudgetUsage,
    /// What agents with a budget of their own spent, in the order in which they were first asked.
    agents: Vec<AgentBudgetUsage>,
    /// By model: real prompt tokens per 1,000 estimated ones, the largest ratio so far.
    token_density: BTreeMap<String, u64>,
    /// Model calls made, and granted on top of the limit.
    pub(super) model_calls: u32,
    pub(super) extra_model_calls: u32,
    /// The largest call so far: the next one may be as large.
    largest_call: CallEstimate,
    /// Limits that `on_limit` or `catch` has raised, as `LIMIT OWNER by WORKFLOW`: owner 0 is the run, others are agents.
    pub(super) raised_limits: BTreeSet<String>,
    /// Budgets that the input at hand has given more to.
    pub(super) granted: Vec<(BudgetScope, BudgetUnit)>,
    /// By requested model: the highest price of the models that answered in its place.
    pub(super) substitute_prices: BTreeMap<String, TokenPrice>,
    /// A warning has reported that a budget in dollars cannot count calls without a price.
    unknown_price_reported: bool,
}

impl BudgetTracker {
    /// Checked before every model call is put together. `Err`: it is not made now, and what follows.
    pub(super) fn check_model_call(&mut self, core: &mut MachineCore) -> Result<(), NextHandler> {
        let limits = core.spec.program.workflows.first().map(|root| root.limits).unwrap_or_default();
        if let Some(most) = limits.max_model_calls.map(|most| most.saturating_add(self.extra_model_calls))
            && self.model_calls >= most
        {
            let text = format!("the run has called models {most} times");
            return Err(NextHandler::limit(PendingQuestion::ModelCalls, "max_model_calls", most, text));
        }
        if core.starts_nothing_new() {
            core.branches.current.wait_state = WaitState::Held;
            return Err(NextHandler::Wait);
        }
        self.open_agent_budget(core);
        core.branches.current.next_call_bound = None;
        self.warn_budgets(core);
        self.apply_decision(core, self.budget_decision(core, &core.branches.current)).map(|_| ())
    }

    /// Checked before every model call is made. Sets in the request how long its answer may be. `Err`: it is not made
    /// now, and what follows.
    pub(super) fn fit_budgets(
        &mut self,
        core: &mut MachineCore,
        agent: &AgentSpec,
        request: Option<&mut ModelRequest>,
    ) -> Result<(), NextHandler> {
        let budgets = self.budget_scopes(core, &core.branches.current);
        let Some(request) = request.filter(|_| core.spec.checks_budgets_ahead() && !budgets.is_empty())
        else {
            return Ok(());
        };
        let need = self.usage_bound_for(core, request);
        if need.price.is_none()
            && budgets.iter().any(|(_, budget)| BudgetUnit::Cost.soft_and_hard(budget) != (None, None))
        {
            self.warn_unknown_price(core, &request.choice.model);
        }
        core.branches.current.next_call_bound = Some(need);
        let answer = self.apply_decision(core, self.budget_decision(core, &core.branches.current))?;
        core.branches.current.next_call_bound = Some(CallUsageBound { answer, ..need });
        let ends =
            |kind: BudgetUnit| budgets.iter().any(|(_, budget)| kind.soft_and_hard(budget).1.is_some());
        let counts = ends(BudgetUnit::Tokens) || need.price.is_some() && ends(BudgetUnit::Cost);
        let open = if core.spec.measures_requests() {
            counts && request.choice.needs_output_limit()
        } else {
            request.choice.may_exceed_default_answer()
        };
        if !need.is_uncapped && (answer < need.answer || open) {
            request.choice.parameters.max_output_tokens = Some(answer);
        }
        if answer < need.answer.min(SHORT) {
            let text = format!("the answer of `{}` may have {answer} tokens: more is not left", agent.id);
            core.emit_warning("answer_capped", text);
        }
        Ok(())
    }

    /// Checked before a state is entered that does not end its workflow; time passes without model calls, too.
    /// `Err`: a budget is used up, and what follows.
    pub(super) fn check_budgets(&mut self, core: &mut MachineCore) -> Result<(), NextHandler> {
        core.branches.current.next_call_bound = None;
        self.warn_budgets(core);
        match self.budget_decision(core, &core.branches.current) {
            BudgetDecision::Over(scope, kind) => Err(self.budget_exceeded(core, scope, kind)),
            BudgetDecision::Free(_) | BudgetDecision::Wait => Ok(()),
        }
    }

    /// A model call begins: it counts, and what it may use is reserved. `None`: it is skipped, which is done only
    /// where nothing is bounded.
    pub(super) fn reserve_budget(&mut self, core: &mut MachineCore, request: Option<&ModelRequest>) {
        self.model_calls = self.model_calls.saturating_add(1);
        core.branches.current.reserved_usage =
            match (core.branches.current.next_call_bound, core.spec.checks_budgets_ahead()) {
                (Some(need), _) => need.estimate_with_answer(need.answer),
                (None, true) => CallEstimate::default(),
                (None, false) => {
                    let own = request.map(estimate_call).unwrap_or_default();
                    CallEstimate {
                        tokens: own.tokens.max(self.largest_call.tokens),
                        cost_usd: own.cost_usd.max(self.largest_call.cost_usd),
                    }
                }
            };
    }

    /// A model call has reported its usage, or the usage is estimated from what arrived.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub(super) fn spend_budgets(
        &mut self,
        core: &mut MachineCore,
        checkpoints: &mut CheckpointStore,
        agent: &ModelCaller,
        usage: &TokenUsage,
        cost_usd: Option<f64>,
    ) {
        self.largest_call.tokens = self.largest_call.tokens.max(usage.total() as f64);
        self.largest_call.cost_usd = self.largest_call.cost_usd.max(cost_usd.unwrap_or(0.0));
        self.run.add_usage(usage, cost_usd);
        for (workflow, agent) in &agent.charged_agents {
            if let Some(budget_usage) = self.agent_budget_mut(workflow, agent) {
                budget_usage.add_usage(usage, cost_usd);
            }
        }
        for at in &agent.charged_visits {
            let frame =
                core.branches.by_id_mut(at.branch_id).and_then(|branch| branch.frames.get_mut(at.frame_id));
            if let Some(frame) = frame.filter(|frame| frame.visit.nth == at.nth) {
                frame.visit.budget_usage.add_usage(usage, cost_usd);
            }
            checkpoints.spend(core, at.nth, usage, cost_usd);
        }
        let counted = || {
            self.budget_scopes(core, &core.branches.current)
                .iter()
                .any(|(_, one)| BudgetUnit::Cost.soft_and_hard(one) != (None, None))
        };
        if cost_usd.is_none() && !core.spec.checks_budgets_ahead() && counted() {
            self.warn_unknown_price(core, "");
        }
        self.warn_budgets(core);
    }

    /// A branch whose held call may continue.
    pub(super) fn released_branch(&self, core: &MachineCore) -> Option<u64> {
        if core.starts_nothing_new() {
            return None;
        }
        let free = |branch: &&Branch| {
            branch.wait_state == WaitState::Held && self.budget_decision(core, branch) != BudgetDecision::Wait
        };
        core.branches.all().find(free).map(|branch| branch.id)
    }

    /// The longest answer that there is room for. `Err`: the branch waits, or a budget is used up.
    fn apply_decision(
        &mut self,
        core: &mut MachineCore,
        decision: BudgetDecision,
    ) -> Result<u64, NextHandler> {
        match decision {
            BudgetDecision::Free(answer) => Ok(answer),
            BudgetDecision::Wait => {
                core.branches.current.wait_state = WaitState::Held;
                Err(NextHandler::Wait)
            }
            BudgetDecision::Over(scope, kind) => Err(self.budget_exceeded(core, scope, kind)),
        }
    }

    /// What the request can use.
    fn usage_bound_for(&self, core: &MachineCore, request: &ModelRequest) -> CallUsageBound {
        let choice = &request.choice;
        let (measured, answer, least) = if core.spec.measures_requests() {
            (request.tokens_at_most(), choice.longest_answer(), choice.protocol.least_answer())
        } else {
            (request.readable_tokens(), choice.answer_tokens(), 1)
        };
        let density = self.token_density.get(&choice.model).copied().unwrap_or(EVEN_DENSITY);
        CallUsageBound {
            prompt: measured.saturating_mul(density) / 1_000,
            measured_tokens: measured,
            answer,
            min_answer: least,
            is_uncapped: choice.uncapped,
            price: self.highest_price(choice),
        }
    }

    /// What a call may be charged at: the price of what was asked for, or of what has answered in its place.
    fn highest_price(&self, choice: &ModelChoice) -> Option<TokenPrice> {
        match (choice.price, self.substitute_prices.get(&choice.model)) {
            (Some(own), Some(other)) => Some(own.max_per_part(*other)),
            (own, other) => own.or(other.copied()),
        }
    }

    /// Some models make more tokens of a text than it is taken for.
    pub(super) fn learn_token_density(&mut self, core: &MachineCore, model: &str, usage: &TokenUsage) {
        let Some(need) =
            core.branches.current.next_call_bound.filter(|need| need.measured_tokens >= MIN_MEASURED_TOKENS)
        else {
            return;
        };
        let real = (usage.prompt.saturating_mul(1_000) / need.measured_tokens).min(MAX_DENSITY);
        if real > EVEN_DENSITY {
            let known = self.token_density.entry(model.to_owned()).or_insert(real);
            *known = real.max(*known);
        }
    }

    /// `model`: empty in older runs, which did not store it.
    fn warn_unknown_price(&mut self, core: &mut MachineCore, model: &str) {
        if std::mem::replace(&mut self.unknown_price_reported, true) {
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
        core.emit_warning("price_unknown", format!("{what} to models.json, or set a budget of tokens"));
    }

    /// Whether the call under way could be made as it is. `None`: no hard end counts for it.
    pub(super) fn has_room(&self, core: &MachineCore, branch: &Branch) -> Option<bool> {
        let need = branch.next_call_bound?;
        let counts = [BudgetUnit::Tokens, BudgetUnit::Cost];
        let ends = |(_, budget): &(BudgetScope, Budget)| {
            counts.iter().any(|kind| kind.soft_and_hard(budget).1.is_some())
        };
        let bounded = self.budget_scopes(core, branch).iter().any(ends);
        bounded.then(|| self.budget_decision(core, branch) == BudgetDecision::Free(need.answer))
    }

    fn budget_decision(&self, core: &MachineCore, branch: &Branch) -> BudgetDecision {
        let scopes = self.budget_scopes(core, branch);
        let ends = || {
            scopes.iter().flat_map(|(scope, budget)| {
                let budget_usage = self.budget_usage(core, *scope);
                BudgetUnit::ALL.into_iter().filter_map(move |kind| {
                    let budget_usage = budget_usage?;
                    Some((
                        *scope,
                        kind,
                        budget_usage.used_amount(kind, core.now),
                        budget_usage.hard_limit(kind, budget)?,
                    ))
                })
            })
        };
        let mut answer = branch.next_call_bound.map_or(u64::MAX, |need| need.answer);
        for (scope, kind, spent, end) in ends() {
            if spent >= end {
                return BudgetDecision::Over(scope, kind);
            }
            let Some(need) = branch.next_call_bound else { continue };
            // calls under way can only make it less
            match need.answer_within(kind, end - spent) {
                Some(longest) if longest >= need.min_useful_answer(kind, end) => answer = answer.min(longest),
                Some(_) | None => return BudgetDecision::Over(scope, kind),
            }
        }
        let waits = ends().any(|(scope, kind, spent, end)| {
            let reserved = self.reserved_by_others(core, scope, branch.id, kind);
            let own = branch.next_call_bound.map(|need| need.estimate_with_answer(answer).amount(kind));
            reserved > 0.0
                && match own {
                    Some(own) => spent + reserved + own > end,
                    // it is judged once more when it is known what it can use
                    None => !core.spec.checks_budgets_ahead() && spent + reserved >= end,
                }
        });
        if waits { BudgetDecision::Wait } else { BudgetDecision::Free(answer) }
    }

    fn warn_budgets(&mut self, core: &mut MachineCore) {
        let (now, foresees) = (core.now, core.spec.checks_budgets_ahead());
        for (scope, budget) in self.budget_scopes(core, &core.branches.current) {
            for kind in BudgetUnit::ALL {
                let Some(budget_usage) = self.budget_usage_mut(core, scope) else { continue };
                let Some(soft) = budget_usage.reached_soft_limit(kind, &budget, now, foresees) else {
                    continue;
                };
                let spent = budget_usage.used_amount(kind, now);
                let hard = kind.soft_and_hard(&budget).1;
                let (scope, what) = (self.scope_name(core, scope), kind.name().to_owned());
                core.emit_event(RunEvent::BudgetWarning { scope, what, spent, soft, hard });
            }
        }
    }
}

/// Four characters a token, and the longest answer that was asked for: as older runs count.
#[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
fn estimate_call(request: &ModelRequest) -> CallEstimate {
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
