//! What model calls are charged for: answers, attempts of which none came, and calls that were stopped; each at the
//! price of the model that the server says has served it. A price is never guessed.

use std::sync::Arc;

use super::{Branch, Machine, RunEvent, WaitState};
use crate::agent_turn::SummarizationState;
use crate::branch::BudgetScope;
use crate::model_caller::{ModelCaller, StateVisitRef};
use crate::run_spec::COUNTS_ALL_SINCE;
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
    /// Every attempt is paid for, at the price of the model that served it, and ends are moved once.
    pub(super) fn counts_all(&self) -> bool {
        self.spec.machine_version >= COUNTS_ALL_SINCE
    }

    /// The agent of the visit. Its prompt and tools are not copied.
    pub(super) fn speaking(&self) -> Option<ModelCaller> {
        self.speaking_in(&self.lane)
    }

    fn speaking_in(&self, lane: &Branch) -> Option<ModelCaller> {
        let frame = lane.frames.last()?;
        let turn = frame.turn.as_ref()?;
        let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
        workflow.agent(turn.agent)?;
        Some(ModelCaller {
            workflow: Arc::clone(workflow),
            at: turn.agent,
            state: self.name_in(lane, lane.frames.len() - 1),
            stays: self.stays_of(lane),
            sums: matches!(turn.summing, SummarizationState::Asked(_)),
            asked: turn.asked.clone(),
        })
    }

    fn stays_of(&self, lane: &Branch) -> Vec<StateVisitRef> {
        let mut stays = Vec::new();
        let mut current = Some(lane);
        while let Some(lane) = current {
            let frames = lane.frames.iter().enumerate();
            stays.extend(frames.map(|(at, frame)| StateVisitRef {
                lane: lane.id,
                frame: at,
                nth: frame.stay.nth,
            }));
            current = lane.parent.and_then(|(id, _)| self.lane_of(id));
        }
        stays
    }

    /// Enters an answer, and the attempts before it, into the ledger and the budgets.
    pub(super) fn charge(&mut self, agent: &ModelCaller, reply: &ModelReply) -> CallCharge {
        self.learn(&agent.model_choice().model, &reply.usage);
        let own = AttemptUsage {
            usage: reply.usage,
            estimated: reply.usage_estimated,
            model: reply.model.clone(),
            price: reply.price,
        };
        self.pay(agent, std::iter::once(&own).chain(&reply.failed))
    }

    /// Pays for what a call used, attempt by attempt: one line of the ledger for each model.
    pub(super) fn pay<'u>(
        &mut self,
        agent: &ModelCaller,
        attempts: impl IntoIterator<Item = &'u AttemptUsage>,
    ) -> CallCharge {
        let mut entries: Vec<CostEntry> = Vec::new();
        for used in attempts {
            let price = self.price_of(agent.model_choice(), used);
            let cost_usd = price.map(|price| price.cost_usd(&used.usage));
            // what a stand-in costs may stay unknown, but a budget must end: it counts what was reckoned with
            let counted = price.or(agent.model_choice().price).map(|price| price.cost_usd(&used.usage));
            self.spend(agent, &used.usage, counted);
            let attempt = CostEntry {
                agent: agent.id.clone(),
                role: agent.role.clone(),
                state: agent.state.clone(),
                model: used.model.as_ref().unwrap_or(&agent.model_choice().model).clone(),
                usage: used.usage,
                cost_usd,
                at: self.now,
                estimated: used.estimated,
            };
            add_charge(&mut entries, attempt);
        }
        let mut charge =
            CallCharge { entries, usage: TokenUsage::default(), cost_usd: Some(0.0), estimated: false };
        for entry in &charge.entries {
            charge.usage.add(&entry.usage);
            charge.cost_usd = charge.cost_usd.zip(entry.cost_usd).map(|(sum, one)| sum + one);
            charge.estimated |= entry.estimated && self.counts_all();
            self.ledger.entries.push(entry);
        }
        charge
    }

    /// A model that answered in another's place has a price of its own, known or not.
    fn price_of(&mut self, asked: &ModelChoice, used: &AttemptUsage) -> Option<TokenPrice> {
        if !self.counts_all() {
            return asked.price;
        }
        if asked.is_substituted_by(used.model.as_deref())
            && let Some(price) = used.price
        {
            // the next call may be served by it, too
            let known = self.served.entry(asked.model.clone()).or_insert(price);
            *known = known.higher_of(price);
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
            if let Some(agent) = self.asked_by(call) {
                self.tell_stopped(call, &agent, &attempts);
            }
        }
    }

    /// `Input::Stopped`: lanes and stays that were to pay may be gone by now; those that are still there pay, as the run
    /// and the agent do. A call that is still waited for is made once more: it pays for what it used until now.
    pub(super) fn on_stopped_call(&mut self, call: CallId, used: &[AttemptUsage]) {
        let Some(agent) = self.stopped.remove(&call).or_else(|| self.asked_by(call)) else { return };
        self.tell_stopped(call, &agent, used);
    }

    /// Who waits for that answer of a model.
    fn asked_by(&self, call: CallId) -> Option<ModelCaller> {
        self.speaking_in(self.every_lane().find(|lane| lane.phase == WaitState::Model(call))?)
    }

    fn tell_stopped(&mut self, call: CallId, agent: &ModelCaller, used: &[AttemptUsage]) {
        let spent = self.pay(agent, used).entries;
        self.emit(RunEvent::ModelStopped { call, agent: agent.id.clone(), spent });
    }

    /// Whether the same request can be made once more after what it has used until now was entered. `None`: no hard end
    /// counts for it.
    pub fn may_repeat(&self, call: CallId) -> Option<bool> {
        let lane = self.every_lane().find(|lane| lane.phase == WaitState::Model(call))?;
        if !self.counts_all() { None } else { self.has_room(lane) }
    }

    /// The last attempt has failed, and the budgets have to be asked first: the call is made shorter, or waits.
    pub(super) fn call_once_more(&mut self) {
        if let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut())
            && matches!(turn.summing, SummarizationState::Asked(_))
        {
            turn.summing = SummarizationState::Free;
        }
        self.call_model();
    }

    /// The current lane's call is about to be stopped.
    pub(super) fn note_stop(&mut self) {
        self.stopped.extend(self.stops(&self.lane));
    }

    /// The calls of all lanes below the current one, or of all others, are about to be stopped. Noted before any of
    /// them is gone: who pays is found through those between.
    pub(super) fn note_stops(&mut self, all: bool) {
        let below = BudgetScope::State { lane: self.lane.id, frame: 0 };
        let lanes = self.lanes.values().filter(|lane| matches!(lane.phase, WaitState::Model(_)));
        let lanes = lanes.filter(|lane| all || self.is_within(lane, below));
        let noted: Vec<_> = lanes.filter_map(|lane| self.stops(lane)).collect();
        for (call, agent) in noted {
            self.stopped.entry(call).or_insert(agent);
        }
    }

    /// The call of a lane that is stopped, and who pays for it, should it have used something.
    fn stops(&self, lane: &Branch) -> Option<(CallId, ModelCaller)> {
        let WaitState::Model(call) = lane.phase else { return None };
        Some((call, self.speaking_in(lane)?))
    }
}
