//! A run that is taken up: its machine as it stood, what it waits for, and what a reader sees of it first.
//!
//! Its journal is read twice and never held: a run of a hundred thousand messages takes the memory of its machine, not
//! that of its rows, inputs and events as well. Refuses runs that went back and runs whose errands somebody asks about:
//! those are read as a whole, as [`super::reopen`] does.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::glance::Ring;
use super::reopen::{self, Standing, Story};
use super::restoring;
use crate::domain::ids::RunId;
use crate::domain::journal::{RowKind, RunHeader};
use crate::engine::input::Input;
use crate::engine::machine::Machine;
use crate::engine::replay::{Answered, Pending, Tape};
use crate::ports::run_store::{RowRef, RunReader, RunStore, StoreError};

/// What is known of a run before it goes on.
pub(super) struct Risen {
    /// Without its inputs, unless all of it was read at once.
    pub(super) story: Story,
    /// Anything had happened.
    pub(super) begun: bool,
    pub(super) machine: Machine,
    pub(super) pending: Vec<Pending>,
    pub(super) ring: Ring,
}

/// What is wanted of a run besides its machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
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
pub(super) fn rise(store: &dyn RunStore, run: &RunId, wanted: Wanted) -> Result<Risen, StoreError> {
    if wanted != Wanted::Inputs
        && let Some(risen) = streamed(store, run, wanted)?
    {
        return Ok(risen);
    }
    let story = reopen::read(store, run)?;
    let Standing { machine, events, pending } = story.play();
    let begun = !story.entries.is_empty();
    Ok(Risen { story, begun, machine, pending, ring: Ring::of(events) })
}

/// `None`: it can only be understood as a whole.
fn streamed(store: &dyn RunStore, run: &RunId, wanted: Wanted) -> Result<Option<Risen>, StoreError> {
    let mut skim = Skim::default();
    store.read(run, &mut skim)?;
    if let Some(failed) = skim.failed {
        return Err(failed);
    }
    let (Some(story), Some(answered), false) = (skim.story, skim.answered, skim.went_back) else {
        return Ok(None);
    };
    let mut tape = Tape::knowing(Arc::clone(&story.spec), answered);
    if wanted == Wanted::Nothing && !skim.upgraded {
        tape.machine.forgets();
    }
    let mut play = Play { story, tape, ring: Ring::default(), inputs: 0, failed: None };
    store.read(run, &mut play)?;
    if let Some(failed) = play.failed {
        return Err(failed);
    }
    let Play { mut story, tape, ring, inputs, .. } = play;
    let ended = tape.end();
    // what was answered is asked for no more
    story.attempts.retain(|call, _| ended.machine.awaits(*call));
    story.begun.retain(|call, _| ended.machine.awaits(*call));
    Ok(Some(Risen { story, begun: inputs > 0, machine: ended.machine, pending: ended.pending, ring }))
}

/// First: which calls are answered.
#[derive(Default)]
struct Skim {
    story: Option<Story>,
    answered: Option<Answered>,
    went_back: bool,
    /// It went on under another definition once.
    upgraded: bool,
    failed: Option<StoreError>,
}

impl RunReader for Skim {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        match reopen::definition(&header) {
            Ok(spec) => {
                self.answered = Some(Answered::of(&spec));
                self.story = Some(Story::empty(header, spec));
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn row(&mut self, row: RowRef<'_>) -> ControlFlow<()> {
        if row.kind != RowKind::Input {
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
            match reopen::parse::<Input>("journal", row.body) {
                Ok(Input::Returned(_)) => {
                    self.went_back = true;
                    return ControlFlow::Break(());
                }
                Ok(input) => {
                    self.upgraded |= matches!(&input, Input::Resumed(resumed) if resumed.program.is_some());
                    answered.meet(&input);
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
struct Play {
    story: Story,
    tape: Tape,
    ring: Ring,
    inputs: usize,
    failed: Option<StoreError>,
}

impl Play {
    fn take(&mut self, row: RowRef<'_>) -> Result<(), StoreError> {
        match (row.kind, row.call) {
            (RowKind::Intent, Some(call)) => *self.story.attempts.entry(call).or_insert(0) += 1,
            (RowKind::Begun, Some(call)) => {
                self.story.begun.insert(call, reopen::begun(row.body)?);
            }
            (RowKind::Input, _) => {
                let input: Input = reopen::parse("journal", row.body)?;
                self.inputs += 1;
                self.tape.feed(row.at, input, None);
                for (at, event) in self.tape.events.drain(..) {
                    self.ring.take(at, event);
                }
            }
            (RowKind::Begun, None) => {
                self.story.restoring = restoring::read(reopen::parse("journal", row.body)?);
            }
            (RowKind::Intent, None) => {}
        }
        Ok(())
    }
}

impl RunReader for Play {
    fn header(&mut self, _: RunHeader) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: RowRef<'_>) -> ControlFlow<()> {
        match self.take(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
