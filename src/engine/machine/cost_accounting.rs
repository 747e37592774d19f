//! What model calls are charged for: answers, failed attempts, and calls that were stopped; each at the
//! price of the model that the server says has served it. A price is never guessed.

use std::sync::Arc;

use super::{Branch, BudgetTracker, Machine, NextHandler, RunEvent, WaitState};
use crate::agent_turn::SummarizationState;
use crate::model_caller::{ModelCaller, StateVisitRef};
use synthdev_domain::cost::{AttemptUsage, CostEntry, TokenPrice, TokenUsage};
use synthdev_domain::ids::CallId;
use synthdev_domain::model::{ModelChoice, ModelReply, add_charge};

/// What a call came to, with all its attempts.
pub(super) struct CallCharge {
    pub(super) entries: Vec<CostEntry>,
    pub(super) usage: TokenUsage,
    /// `None` as soon as one price is unknown.
    pub(super) cost_usd: Option<f64>,
    pub(super) estimated: bool,
}

impl Machine {
    /// The agent of the visit. Its prompt and tools are not copied.
    pub(super) fn current_caller(&self) -> Option<ModelCaller> {
        self.caller_in(&self.core.branches.current)
    }

    fn caller_in(&self, branch: &Branch) -> Option<ModelCaller> {
        let frame = branch.frames.last()?;
        let turn = frame.agent_turn.as_ref()?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        workflow.agent(turn.agent)?;
        Some(ModelCaller {
            workflow: Arc::clone(workflow),
            agent_ix: turn.agent,
            speaker: branch
                .spawned
                .as_ref()
                .map_or_else(|| turn.agent_id.clone(), |spawned| spawned.name.clone()),
            state: self.core.state_path_in(branch, branch.frames.len() - 1),
            charged_visits: self.visits_charged(branch),
            charged_agents: BudgetTracker::charged_agents(&self.core, branch)
                .map(|(workflow, agent)| (workflow.name.clone(), agent.id.clone()))
                .collect(),
            is_summarizing: matches!(turn.summarization, SummarizationState::Asked(_)),
            requested_model: turn.requested_model.clone(),
        })
    }

    fn visits_charged(&self, branch: &Branch) -> Vec<StateVisitRef> {
        let mut visits = Vec::new();
        let mut current = Some(branch);
        while let Some(branch) = current {
            let frames = branch.frames.iter().enumerate();
            visits.extend(frames.map(|(at, frame)| StateVisitRef {
                branch_id: branch.id,
                frame_id: at,
                nth: frame.visit.nth,
            }));
            current = self.core.branches.parent_of(branch);
        }
        visits
    }

    /// Enters an answer, and the attempts before it, into the ledger and the budgets.
    pub(super) fn charge_reply(&mut self, agent: &ModelCaller, reply: &ModelReply) -> CallCharge {
        self.budgets.learn_token_density(&self.core, &agent.model_choice().model, &reply.usage);
        let own = AttemptUsage {
            usage: reply.usage,
            estimated: reply.usage_estimated,
            model: reply.model.clone(),
            price: reply.price,
        };
        self.charge_attempts(agent, std::iter::once(&own).chain(&reply.failed))
    }

    /// Pays for what a call used, attempt by attempt: one line of the ledger for each model.
    pub(super) fn charge_attempts<'u>(
        &mut self,
        agent: &ModelCaller,
        attempts: impl IntoIterator<Item = &'u AttemptUsage>,
    ) -> CallCharge {
        let mut entries: Vec<CostEntry> = Vec::new();
        for used in attempts {
            let price = self.attempt_price(agent.model_choice(), used);
            let cost_usd = price.map(|price| price.cost_usd(&used.usage));
            // the cost of a substitute model may be unknown, but a budget must end: it counts the price of the
            // requested model
            let counted = price.or(agent.model_choice().price).map(|price| price.cost_usd(&used.usage));
            self.budgets.spend_budgets(&mut self.core, &mut self.checkpoints, agent, &used.usage, counted);
            let attempt = CostEntry {
                agent: agent.id.clone(),
                role: agent.role.clone(),
                state: agent.state.clone(),
                model: used.model.as_ref().unwrap_or(&agent.model_choice().model).clone(),
                usage: used.usage,
                cost_usd,
                at: self.core.now,
                estimated: used.estimated,
            };
            add_charge(&mut entries, attempt);
        }
        let mut charge =
            CallCharge { entries, usage: TokenUsage::default(), cost_usd: Some(0.0), estimated: false };
        for entry in &charge.entries {
            charge.usage.add(&entry.usage);
            charge.cost_usd = charge.cost_usd.zip(entry.cost_usd).map(|(sum, one)| sum + one);
            charge.estimated |= entry.estimated && self.core.spec.charges_every_attempt();
            self.ledger.entries.push(entry);
        }
        charge
    }

    /// A model that answered in another's place has a price of its own, known or not.
    fn attempt_price(&mut self, asked: &ModelChoice, used: &AttemptUsage) -> Option<TokenPrice> {
        if !self.core.spec.charges_every_attempt() {
            return asked.price;
        }
        if asked.is_substituted_by(used.model.as_deref())
            && let Some(price) = used.price
        {
            // the next call may be served by it, too
            let known = self.budgets.substitute_prices.entry(asked.model.clone()).or_insert(price);
            *known = known.max_per_part(price);
        }
        asked.price_for(used)
    }

    /// What was entered for calls that the input at hand stops.
    pub(super) fn pay_stopped(&mut self, stopped: Vec<(CallId, AttemptUsage)>) {
        let mut stopped = stopped.into_iter().peekable();
        while let Some((call, used)) = stopped.next() {
            let mut attempts = vec![used];
            while let Some((_, used)) = stopped.next_if(|(next, _)| *next == call) {
                attempts.push(used);
            }
            if let Some(agent) = self.caller_waiting_for(call) {
                self.emit_model_stopped(call, &agent, &attempts);
            }
        }
    }

    /// `Input::Stopped`: branches and visits that were to be charged may be gone by now; those that still exist are
    /// charged, as the run and the agent are. A call that is still waited for is made once more: it is charged for its
    /// usage until now.
    pub(super) fn on_stopped_call(&mut self, call: CallId, used: &[AttemptUsage]) {
        let Some(agent) = self.stopped_calls.remove(&call).or_else(|| self.caller_waiting_for(call)) else {
            return;
        };
        self.emit_model_stopped(call, &agent, used);
    }

    /// The agent that waits for that answer of a model.
    fn caller_waiting_for(&self, call: CallId) -> Option<ModelCaller> {
        self.caller_in(self.core.branches.all().find(|branch| branch.wait_state == WaitState::Model(call))?)
    }

    fn emit_model_stopped(&mut self, call: CallId, agent: &ModelCaller, used: &[AttemptUsage]) {
        let spent = self.charge_attempts(agent, used).entries;
        self.core.emit_event(RunEvent::ModelStopped { call, agent: agent.speaker.clone(), spent });
    }

    /// Whether the same request can be made once more after what it has used until now was entered. `None`: no hard end
    /// counts for it.
    pub fn may_repeat(&self, call: CallId) -> Option<bool> {
        let branch = self.core.branches.all().find(|branch| branch.wait_state == WaitState::Model(call))?;
        if !self.core.spec.charges_every_attempt() { None } else { self.budgets.has_room(&self.core, branch) }
    }

    /// The last attempt has failed, and the budgets have to be asked first: the call is made shorter, or waits.
    pub(super) fn call_once_more(&mut self) -> NextHandler {
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut())
            && matches!(turn.summarization, SummarizationState::Asked(_))
        {
            turn.summarization = SummarizationState::Free;
        }
        NextHandler::CallModel
    }

    /// The current branch's call is about to be stopped.
    pub(super) fn note_stopped_call(&mut self) {
        self.stopped_calls.extend(self.stopped_call(&self.core.branches.current));
    }

    /// The calls of all branches below the current one, or of all others, are about to be stopped. Recorded before any
    /// of them is gone, because the charged scopes are found through the branches between.
    pub(super) fn note_stopped_calls(&mut self, all: bool) {
        let below = self.core.branches.current.id;
        let branches = self
            .core
            .branches
            .others
            .values()
            .filter(|branch| matches!(branch.wait_state, WaitState::Model(_)));
        let branches = branches.filter(|branch| all || self.core.branches.is_within(branch, below));
        let noted: Vec<_> = branches.filter_map(|branch| self.stopped_call(branch)).collect();
        for (call, agent) in noted {
            self.stopped_calls.entry(call).or_insert(agent);
        }
    }

    /// The call of a branch that is stopped, and the agent that is charged if the call has used something.
    fn stopped_call(&self, branch: &Branch) -> Option<(CallId, ModelCaller)> {
        let WaitState::Model(call) = branch.wait_state else { return None };
        Some((call, self.caller_in(branch)?))
    }
}
