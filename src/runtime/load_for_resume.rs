//! Loads a run for resuming: its machine, its pending effects, and its preview.
//!
//! Reads the journal twice and never holds it: a run of a hundred thousand messages takes the memory of its machine,
//! without that of its rows, inputs and events. Refuses rewound runs and runs with delegated tasks: `journal_replay`
//! reads those as a whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::file_restore;
use super::journal_replay::{self, JournaledRun, ReplayedState};
use super::preview::RecentEvents;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{JournalRowKind, RunHeader};
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::replay::{PendingEffect, ReplayAnswers, StepwiseReplay};
use synthdev_ports::run_store::{JournalRowRef, RunReader, RunStore, StoreError};

/// A run before it is resumed.
pub(super) struct LoadedRun {
    /// Without its inputs, unless all of it was read at once.
    pub(super) journaled_run: JournaledRun,
    /// Anything had happened.
    pub(super) has_begun: bool,
    pub(super) machine: Machine,
    pub(super) pending: Vec<PendingEffect>,
    pub(super) recent_events: RecentEvents,
}

/// What the caller needs of a run besides its machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadScope {
    Nothing,
    /// For another definition, whose agents may look at whole conversations.
    Conversations,
    /// Its inputs.
    Inputs,
}

/// The caller holds the run's claim: no other process writes its journal meanwhile.
///
/// # Errors
/// Unknown id, unreadable rows, or a run of a newer program.
pub(super) fn load_for_resume(
    store: &dyn RunStore,
    run: &RunId,
    wanted: LoadScope,
) -> Result<LoadedRun, StoreError> {
    if wanted != LoadScope::Inputs
        && let Some(risen) = stream_for_resume(store, run, wanted)?
    {
        return Ok(risen);
    }
    let journaled_run = journal_replay::load_journaled_run(store, run)?;
    let ReplayedState { machine, events, pending } = journaled_run.replay();
    let begun = !journaled_run.entries.is_empty();
    Ok(LoadedRun {
        journaled_run,
        has_begun: begun,
        machine,
        pending,
        recent_events: RecentEvents::from_events(events),
    })
}

/// `None`: it can only be understood as a whole.
fn stream_for_resume(
    store: &dyn RunStore,
    run: &RunId,
    wanted: LoadScope,
) -> Result<Option<LoadedRun>, StoreError> {
    let mut skim = AnsweredCallScan::default();
    store.read(run, &mut skim)?;
    if let Some(failed) = skim.store_error {
        return Err(failed);
    }
    let (Some(journaled_run), Some(answered), false) =
        (skim.journaled_run, skim.replay_answers, skim.was_rewound)
    else {
        return Ok(None);
    };
    let mut replay = StepwiseReplay::with_answers(Arc::clone(&journaled_run.spec), answered);
    if wanted == LoadScope::Nothing && !skim.was_upgraded {
        replay.machine.compacts_history();
    }
    let mut play = ResumeReplay {
        journaled_run,
        replay,
        recent_events: RecentEvents::default(),
        inputs: 0,
        store_error: None,
    };
    store.read(run, &mut play)?;
    if let Some(failed) = play.store_error {
        return Err(failed);
    }
    let ResumeReplay { mut journaled_run, replay, recent_events: ring, inputs, .. } = play;
    let ended = replay.finish();
    // answered calls are not pending any more
    journaled_run.attempts.retain(|call, _| ended.machine.awaits_call(*call));
    journaled_run.begun_effects.retain(|call, _| ended.machine.awaits_call(*call));
    Ok(Some(LoadedRun {
        journaled_run,
        has_begun: inputs > 0,
        machine: ended.machine,
        pending: ended.pending,
        recent_events: ring,
    }))
}

/// First: which calls are answered.
#[derive(Default)]
struct AnsweredCallScan {
    journaled_run: Option<JournaledRun>,
    replay_answers: Option<ReplayAnswers>,
    was_rewound: bool,
    /// The run was upgraded to another definition.
    was_upgraded: bool,
    store_error: Option<StoreError>,
}

impl RunReader for AnsweredCallScan {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        match journal_replay::load_definition(&header) {
            Ok(spec) => {
                self.replay_answers = Some(ReplayAnswers::new(&spec));
                self.journaled_run = Some(JournaledRun::without_rows(header, spec));
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.store_error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        if row.kind != JournalRowKind::Input {
            return ControlFlow::Continue(());
        }
        let Some(answered) = &mut self.replay_answers else { return ControlFlow::Break(()) };
        let known = match input_kind(row.body) {
            Some("replied" | "model_failed") => row.call.map(|call| answered.record_model_reply(call)),
            Some("evaluated" | "script_failed") => row.call.map(|call| answered.record_script_result(call)),
            Some(
                "started" | "said" | "snapshot_taken" | "snapshot_failed" | "approved" | "tool_done"
                | "answered" | "stopped" | "elapsed" | "steered" | "cancelled",
            ) => Some(()),
            _ => None,
        };
        if known.is_none() {
            match journal_replay::parse_stored::<Input>("journal", row.body) {
                Ok(Input::Returned(_)) => {
                    self.was_rewound = true;
                    return ControlFlow::Break(());
                }
                Ok(input) => {
                    self.was_upgraded |=
                        matches!(&input, Input::Resumed(resumed) if resumed.program.is_some());
                    answered.record_input(&input);
                }
                Err(error) => {
                    self.store_error = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The kind of an input, if it is the first field.
fn input_kind(body: &str) -> Option<&str> {
    body.strip_prefix("{\"input\":\"")?.split_once('"').map(|(kind, _)| kind)
}

/// Then: the machine is fed.
struct ResumeReplay {
    journaled_run: JournaledRun,
    replay: StepwiseReplay,
    recent_events: RecentEvents,
    inputs: usize,
    store_error: Option<StoreError>,
}

impl ResumeReplay {
    fn read_row(&mut self, row: JournalRowRef<'_>) -> Result<(), StoreError> {
        match (row.kind, row.call) {
            (JournalRowKind::Intent, Some(call)) => {
                *self.journaled_run.attempts.entry(call).or_insert(0) += 1
            }
            (JournalRowKind::Begun, Some(call)) => {
                self.journaled_run.begun_effects.insert(call, journal_replay::planned_edit(row.body)?);
            }
            (JournalRowKind::Input, _) => {
                let input: Input = journal_replay::parse_stored("journal", row.body)?;
                self.inputs += 1;
                self.replay.feed_input(row.at, input, None);
                for (at, event) in self.replay.events.drain(..) {
                    self.recent_events.push_event(at, event);
                }
            }
            (JournalRowKind::Begun, None) => {
                self.journaled_run.pending_restore =
                    file_restore::pending_restore(journal_replay::parse_stored("journal", row.body)?);
            }
            (JournalRowKind::Intent, None) => {}
        }
        Ok(())
    }
}

impl RunReader for ResumeReplay {
    fn header(&mut self, _: RunHeader) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        match self.read_row(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.store_error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
