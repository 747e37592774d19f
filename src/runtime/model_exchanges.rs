//! Model calls of a run so far with their answers: for recording or playing the run from there on.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use super::handle::RuntimeHandle;
use super::journal_replay::JournaledRun;
use super::{context_window, journal_replay};
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev_domain::system_context::SystemContext;
use synthdev_engine::effect::Effect;
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::Input;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_store::StoreError;

/// How a call ended.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelCallEnd {
    Replied(ModelReply),
    Failed(ModelError),
    /// The call was stopped before its answer came.
    Stopped {
        after_ms: u64,
    },
}

impl RuntimeHandle {
    /// Passes on every finished call, in the order of the ends; a call with several failed attempts once for each.
    /// Calls that a rewind discarded are left out. Keys are redacted as everywhere.
    ///
    /// # Errors
    /// Unknown id, or unreadable rows. Unknown id, or unreadable rows.
    pub fn visit_model_calls(
        &self,
        run: &RunId,
        tell: &mut dyn FnMut(ModelRequest, ModelCallEnd, Option<AttemptUsage>),
    ) -> Result<(), StoreError> {
        let journaled_run = journal_replay::load_journaled_run(&*self.ports().store, run)?;
        self.replay_model_calls(&journaled_run, Arc::clone(&journaled_run.spec), tell);
        Ok(())
    }

    /// The same with an empty system context, as tests and recordings have it. `false`: the run would have taken
    /// another path then, and the calls that were passed on are void.
    ///
    /// # Errors
    /// Unknown id, or unreadable rows.
    pub fn visit_portable_model_calls(
        &self,
        run: &RunId,
        tell: &mut dyn FnMut(ModelRequest, ModelCallEnd, Option<AttemptUsage>),
    ) -> Result<bool, StoreError> {
        let journaled_run = journal_replay::load_journaled_run(&*self.ports().store, run)?;
        let bare = RunSpec { brief: SystemContext::default(), ..(*journaled_run.spec).clone() };
        let way = self.replay_model_calls(&journaled_run, Arc::new(bare), tell);
        Ok(journaled_run.spec.brief.is_empty()
            || way
                == self.replay_model_calls(
                    &journaled_run,
                    Arc::clone(&journaled_run.spec),
                    &mut |_, _, _| {},
                ))
    }

    /// The kinds of what happened, without warnings.
    fn replay_model_calls(
        &self,
        journaled_run: &JournaledRun,
        spec: Arc<RunSpec>,
        tell: &mut dyn FnMut(ModelRequest, ModelCallEnd, Option<AttemptUsage>),
    ) -> Vec<Discriminant<RunEvent>> {
        let mut replay = StepwiseReplay::new(spec);
        let mut open = BTreeMap::<CallId, (ModelRequest, Timestamp)>::new();
        for (at, entry) in journaled_run.entries.iter().enumerate() {
            let (now, input) = (entry.at, &entry.input);
            let next = journaled_run.entries.get(at + 1).map(|entry| &entry.input);
            replay.feed_input(now, input.clone(), next);
            let asked = open_requests(&replay);
            let gone: Vec<CallId> = open.keys().filter(|call| !asked.contains_key(call)).copied().collect();
            for call in gone {
                let Some((request, since)) = open.remove(&call) else { continue };
                let later = journaled_run.entries[at..].iter().map(|entry| &entry.input);
                // one that does not fit its window was refused unasked
                let Ok(request) = context_window::fit_to_window(&request) else { continue };
                let request = self.context.redactor.clean_data(request.into_owned());
                let ends = call_ends(call, input, now.0.saturating_sub(since.0), later);
                ends.into_iter().for_each(|(over, used)| tell(request.clone(), over, used));
            }
            for (call, request) in asked {
                open.entry(call).or_insert_with(|| (request.clone(), now));
            }
        }
        let told = replay.events.iter().filter(|(_, event)| !matches!(event.event, RunEvent::Warning { .. }));
        told.map(|(_, event)| discriminant(&event.event)).collect()
    }
}

/// The model calls that are waited for.
fn open_requests(replay: &StepwiseReplay) -> BTreeMap<CallId, &ModelRequest> {
    let models = replay.open_effects().filter_map(|effect| match effect {
        Effect::CallModel { call, request } => Some((*call, &**request)),
        _ => None,
    });
    models.collect()
}

/// How a call ended with this input, once for each attempt; `later`: this input and those after it.
fn call_ends<'a>(
    call: CallId,
    input: &Input,
    after_ms: i64,
    later: impl Iterator<Item = &'a Input>,
) -> Vec<(ModelCallEnd, Option<AttemptUsage>)> {
    match input {
        Input::Replied { call: of, reply } if *of == call => {
            vec![(ModelCallEnd::Replied(reply.clone()), None)]
        }
        Input::ModelFailed { call: of, error, attempts, used, again: _ } if *of == call => {
            let failed = || ModelCallEnd::Failed(error.clone());
            (0..(*attempts).max(1) as usize).map(|attempt| (failed(), used.get(attempt).cloned())).collect()
        }
        // calls that were open then have no end here: the resumed run makes new ones
        Input::Resumed(_) | Input::Rewound(_) => Vec::new(),
        _ => {
            let after_ms = u64::try_from(after_ms).unwrap_or_default();
            vec![(ModelCallEnd::Stopped { after_ms }, used_until_stopped(call, later))]
        }
    }
}

/// The usage of a call that was stopped, with all of its attempts: from the input that stopped it, or from the one
/// right after it.
fn used_until_stopped<'a>(call: CallId, later: impl Iterator<Item = &'a Input>) -> Option<AttemptUsage> {
    let mut inputs = later;
    let told = inputs.next().into_iter().flat_map(|input| match input {
        Input::Cancelled { used, .. } => {
            used.iter().filter(|(of, _)| *of == call).map(|(_, used)| used).collect()
        }
        _ => Vec::new(),
    });
    let behind = inputs.map_while(|input| match input {
        Input::Stopped { call: of, used } => Some((*of, used)),
        _ => None,
    });
    let behind = behind.filter(|(of, _)| *of == call).flat_map(|(_, used)| used);
    told.chain(behind).cloned().reduce(|mut sum, used| {
        sum.usage.add(&used.usage);
        AttemptUsage { estimated: sum.estimated || used.estimated, usage: sum.usage, ..used }
    })
}
