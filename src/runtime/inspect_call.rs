//! What a model was asked, and what it answered: put together again from the journal, so that nothing more has to be
//! kept of a run. Keys are removed, as they are everywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::handle::RuntimeHandle;
use super::journal_replay::{self, JournaledRun};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev_engine::effect::Effect;
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_engine::input::Input;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_ports::run_store::StoreError;

/// Which request: of what fits, the last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelCallSelector {
    /// The step in which it was made, as `runs show` numbers them.
    pub step: Option<u32>,
    pub agent: Option<String>,
}

/// One request with its answer.
#[derive(Clone, PartialEq, Debug)]
pub struct InspectedCall {
    pub run: RunId,
    pub step: u32,
    pub at: Timestamp,
    pub request: ModelRequest,
    /// As the server gets it; `None` where no server does.
    pub body: Option<Value>,
    /// `None`: there is none yet.
    pub answer: Option<Result<ModelReply, ModelError>>,
}

/// A request that was made.
struct ModelCallRef {
    call: CallId,
    step: u32,
    agent: String,
    at: Timestamp,
}

impl RuntimeHandle {
    /// A request of a run; accepts a unique prefix of the id.
    ///
    /// # Errors
    /// Unknown id, unreadable rows, or nothing that fits: says what was asked.
    pub fn inspect_call(&self, id: &str, which: &ModelCallSelector) -> Result<InspectedCall, StoreError> {
        let record = self.load_record(id)?;
        let run = record.summary.id.clone();
        let all = recorded_requests(&record.events);
        let fits = |one: &&ModelCallRef| {
            which.step.is_none_or(|step| one.step == step)
                && which.agent.as_ref().is_none_or(|agent| one.agent == *agent)
        };
        let Some(found) = all.iter().rev().find(fits) else {
            return Err(no_such_call_error(&run, which, &all));
        };
        let journaled_run = journal_replay::load_journaled_run(&*self.ports().store, &run)?;
        let request = rebuild_request(&journaled_run, found.call).ok_or_else(|| StoreError {
            message: format!("the request cannot be put together again: run {run} went back behind it"),
            hint: None,
        })?;
        let request = self.context.redactor.clean_data(request);
        let body = self.ports().models.request_body(&request);
        let answer = recorded_answer(&journaled_run, found.call)
            .map(|answer| self.context.redactor.clean_data(answer));
        Ok(InspectedCall { run, step: found.step, at: found.at, request, body, answer })
    }
}

/// Every request of an agent, in the order in which they were made.
fn recorded_requests(events: &[(Timestamp, StepEvent)]) -> Vec<ModelCallRef> {
    let call_of = |(at, StepEvent { at_step, event }): &(Timestamp, StepEvent)| match event {
        RunEvent::ModelCalled { call, agent, .. } => {
            Some(ModelCallRef { call: *call, step: *at_step, agent: agent.clone(), at: *at })
        }
        _ => None,
    };
    events.iter().filter_map(call_of).collect()
}

fn no_such_call_error(run: &RunId, which: &ModelCallSelector, all: &[ModelCallRef]) -> StoreError {
    let steps = which.step.map(|step| format!(" in step {step}")).unwrap_or_default();
    let agent = which.agent.as_ref().map(|agent| format!(" of `{agent}`")).unwrap_or_default();
    let agents: BTreeSet<&str> = all.iter().map(|one| one.agent.as_str()).collect();
    let agents: Vec<&str> = agents.into_iter().collect();
    let hint = match agents.as_slice() {
        [] => format!("no model was asked in run {run} so far"),
        agents => format!("asked were: {}; synthdev runs show {run} lists the steps", agents.join(", ")),
    };
    StoreError { message: format!("run {run} has no request{agent}{steps}"), hint: Some(hint) }
}

/// The journal is fed again; of what is asked, only this call is put together.
fn rebuild_request(journaled_run: &JournaledRun, wanted: CallId) -> Option<ModelRequest> {
    let inputs = || journaled_run.entries.iter().map(|entry| &entry.input);
    let mut replay = StepwiseReplay::skipping_all_but(Arc::clone(&journaled_run.spec), inputs(), wanted);
    let mut found = None;
    for (at, entry) in journaled_run.entries.iter().enumerate() {
        let next = journaled_run.entries.get(at + 1).map(|entry| &entry.input);
        replay.feed_input(entry.at, entry.input.clone(), next);
        let request = replay.open_effects().find_map(|effect| match effect {
            Effect::CallModel { call, request } if *call == wanted => Some(request),
            _ => None,
        });
        if let Some(request) = request {
            found = Some((**request).clone());
        } else if found.is_some() {
            break;
        }
    }
    found
}

fn recorded_answer(journaled_run: &JournaledRun, wanted: CallId) -> Option<Result<ModelReply, ModelError>> {
    journaled_run.entries.iter().rev().find_map(|entry| match &entry.input {
        Input::Replied { call, reply } if *call == wanted => Some(Ok(reply.clone())),
        Input::ModelFailed { call, error, .. } if *call == wanted => Some(Err(error.clone())),
        _ => None,
    })
}
