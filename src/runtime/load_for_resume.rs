//! A run that is taken up: its machine as it stood, what it waits for, and what a reader sees of it first.
//!
//! Its journal is read twice and never held: a run of a hundred thousand messages takes the memory of its machine, not
//! that of its rows, inputs and events as well. Refuses runs that went back and runs whose errands somebody asks about:
//! those are read as a whole, as [`super::reopen`] does.

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

/// What is known of a run before it goes on.
pub(super) struct LoadedRun {
    /// Without its inputs, unless all of it was read at once.
    pub(super) story: JournaledRun,
    /// Anything had happened.
    pub(super) begun: bool,
    pub(super) machine: Machine,
    pub(super) pending: Vec<PendingEffect>,
    pub(super) ring: RecentEvents,
}

/// What is wanted of a run besides its machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadScope {
    Nothing,
    /// It goes on under another definition, whose agents look at all that was said.
    Conversations,
    /// Its inputs.
    Inputs,
}

/// Nobody else writes the run meanwhile.
///
/// # Errors
/// Unknown id, unreadable rows, or a run of a newer program.
pub(super) fn load_for_resume(
    store: &dyn RunStore,
    run: &RunId,
    wanted: LoadScope,
) -> Result<LoadedRun, StoreError> {
    if wanted != LoadScope::Inputs
        && let Some(risen) = streamed(store, run, wanted)?
    {
        return Ok(risen);
    }
    let story = journal_replay::read(store, run)?;
    let ReplayedState { machine, events, pending } = story.play();
    let begun = !story.entries.is_empty();
    Ok(LoadedRun { story, begun, machine, pending, ring: RecentEvents::from_events(events) })
}

/// `None`: it can only be understood as a whole.
fn streamed(store: &dyn RunStore, run: &RunId, wanted: LoadScope) -> Result<Option<LoadedRun>, StoreError> {
    let mut skim = AnsweredCallScan::default();
    store.read(run, &mut skim)?;
    if let Some(failed) = skim.failed {
        return Err(failed);
    }
    let (Some(story), Some(answered), false) = (skim.story, skim.answered, skim.went_back) else {
        return Ok(None);
    };
    let mut tape = StepwiseReplay::with_answers(Arc::clone(&story.spec), answered);
    if wanted == LoadScope::Nothing && !skim.upgraded {
        tape.machine.forgets();
    }
    let mut play = ResumeReplay { story, tape, ring: RecentEvents::default(), inputs: 0, failed: None };
    store.read(run, &mut play)?;
    if let Some(failed) = play.failed {
        return Err(failed);
    }
    let ResumeReplay { mut story, tape, ring, inputs, .. } = play;
    let ended = tape.end();
    // what was answered is asked for no more
    story.attempts.retain(|call, _| ended.machine.awaits(*call));
    story.begun.retain(|call, _| ended.machine.awaits(*call));
    Ok(Some(LoadedRun { story, begun: inputs > 0, machine: ended.machine, pending: ended.pending, ring }))
}

/// First: which calls are answered.
#[derive(Default)]
struct AnsweredCallScan {
    story: Option<JournaledRun>,
    answered: Option<ReplayAnswers>,
    went_back: bool,
    /// It went on under another definition once.
    upgraded: bool,
    failed: Option<StoreError>,
}

impl RunReader for AnsweredCallScan {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        match journal_replay::definition(&header) {
            Ok(spec) => {
                self.answered = Some(ReplayAnswers::new(&spec));
                self.story = Some(JournaledRun::empty(header, spec));
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        if row.kind != JournalRowKind::Input {
            return ControlFlow::Continue(());
        }
        let Some(answered) = &mut self.answered else { return ControlFlow::Break(()) };
        let known = match kind_of(row.body) {
            Some("replied" | "model_failed") => row.call.map(|call| answered.by_model(call)),
            Some("evaluated" | "script_failed") => row.call.map(|call| answered.by_script(call)),
            Some(
                "started" | "said" | "snapshot_taken" | "snapshot_failed" | "approved" | "tool_done"
                | "answered" | "stopped" | "elapsed" | "steered" | "cancelled",
            ) => Some(()),
            _ => None,
        };
        if known.is_none() {
            match journal_replay::parse::<Input>("journal", row.body) {
                Ok(Input::Returned(_)) => {
                    self.went_back = true;
                    return ControlFlow::Break(());
                }
                Ok(input) => {
                    self.upgraded |= matches!(&input, Input::Resumed(resumed) if resumed.program.is_some());
                    answered.record_input(&input);
                }
                Err(error) => {
                    self.failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The kind of an input, where it stands first.
fn kind_of(body: &str) -> Option<&str> {
    body.strip_prefix("{\"input\":\"")?.split_once('"').map(|(kind, _)| kind)
}

/// Then: the machine is fed.
struct ResumeReplay {
    story: JournaledRun,
    tape: StepwiseReplay,
    ring: RecentEvents,
    inputs: usize,
    failed: Option<StoreError>,
}

impl ResumeReplay {
    fn take(&mut self, row: JournalRowRef<'_>) -> Result<(), StoreError> {
        match (row.kind, row.call) {
            (JournalRowKind::Intent, Some(call)) => *self.story.attempts.entry(call).or_insert(0) += 1,
            (JournalRowKind::Begun, Some(call)) => {
                self.story.begun.insert(call, journal_replay::begun(row.body)?);
            }
            (JournalRowKind::Input, _) => {
                let input: Input = journal_replay::parse("journal", row.body)?;
                self.inputs += 1;
                self.tape.feed(row.at, input, None);
                for (at, event) in self.tape.events.drain(..) {
                    self.ring.push_event(at, event);
                }
            }
            (JournalRowKind::Begun, None) => {
                self.story.restoring = file_restore::read(journal_replay::parse("journal", row.body)?);
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
        match self.take(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
