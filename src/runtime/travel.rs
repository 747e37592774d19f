//! Going back: forks from a step, rewinding a run in place, replaying it, ending it for good (HIST-5, SNAP-4, FSM-27).

use std::sync::Arc;

use serde_json::Value;

use super::handle::Handle;
use super::journal;
pub use super::reopen::StepPlace;
use super::reopen::{self, Story};
use crate::domain::cost::CostEntry;
use crate::domain::ids::{RunId, SnapshotId, Timestamp};
use crate::domain::journal::{Origin, OriginKind, Row, RowKind, RunHeader, RunStatus};
use crate::domain::workflow::Program;
use crate::engine::event::RunEvent;
use crate::engine::input::{Input, Returned};
use crate::engine::machine::Machine;
use crate::engine::replay::Tape;
use crate::engine::spec::MACHINE_VERSION;
use crate::ports::run_store::StoreError;

/// What is different from the step on.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// `common_data` by path.
    pub set: Vec<(Vec<String>, Value)>,
    pub program: Option<Program>,
    /// The snapshot to which the files were brought back.
    pub files: Option<SnapshotId>,
}

/// What a replay came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// As many inputs led to as many events, the same as then.
    Same { inputs: usize, events: usize },
    /// The first input that leads to something else now.
    Differs { input: usize, at: Timestamp, what: Box<Input>, recorded: Vec<String>, now: Vec<RunEvent> },
}

impl Handle {
    /// Every state that the run entered, in order; the n-th is step n.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepPlace>, StoreError> {
        Ok(self.story(run)?.steps())
    }

    /// # Errors
    /// There is no such step, or the run is unknown or unreadable.
    pub fn step(&self, run: &RunId, step: u32) -> Result<StepPlace, StoreError> {
        self.story(run)?.step(step)
    }

    /// A new run that stands before a step of another one with its conversations and data as they were; the other
    /// one stays. `resume` sets it going.
    ///
    /// # Errors
    /// There is no such step, the new definition does not fit, or the store cannot be written. Nothing was written.
    pub fn fork(&self, run: &RunId, step: u32, changes: Changes) -> Result<RunId, StoreError> {
        let story = self.story(run)?;
        let place = story.step(step)?;
        let new = self.draw_run_id();
        let (mut tape, mut rows) = up_to(&story, &place)?;
        let returned = self.returned(&place, changes, Some(run.clone()), Vec::new());
        let (machine, row) = self.stand(&mut tape, returned)?;
        rows.extend(row);
        let hash = machine.spec().program.hash.clone();
        let header = RunHeader {
            id: new.clone(),
            definition_hash: hash,
            started: self.ports().clock.now(),
            origin: Some(Origin { run: run.clone(), kind: OriginKind::Fork, step: Some(step) }),
            worktree: None,
            ..story.header
        };
        self.ports().store.import(&header, &rows, &machine.progress())?;
        Ok(new)
    }

    /// The run itself stands before one of its steps again; what came later no longer counts, but stays paid.
    ///
    /// # Errors
    /// A living process drives it, there is no such step, or the store cannot be written. Nothing was written.
    pub fn rewind(&self, run: &RunId, step: u32, changes: Changes) -> Result<(), StoreError> {
        let store = Arc::clone(&self.ports().store);
        let before = store.claim(run)?;
        let done = self.rewind_claimed(run, step, changes);
        if done.is_err() {
            self.give_back(run, before.progress);
        }
        done
    }

    fn rewind_claimed(&self, run: &RunId, step: u32, changes: Changes) -> Result<(), StoreError> {
        let story = self.story(run)?;
        let place = story.step(step)?;
        let (mut tape, _) = up_to(&story, &place)?;
        let spent = story
            .play()
            .machine
            .ledger()
            .entries
            .get(tape.machine.ledger().entries.len()..)
            .map(<[_]>::to_vec);
        let returned = self.returned(&place, changes, None, spent.unwrap_or_default());
        let (machine, rows) = self.stand(&mut tape, returned)?;
        let store = &self.ports().store;
        store.append(run, &rows, Some(&machine.progress()))?;
        store.revoke_tokens(run)
    }

    fn returned(
        &self,
        place: &StepPlace,
        changes: Changes,
        fork_of: Option<RunId>,
        spent: Vec<CostEntry>,
    ) -> Returned {
        let Changes { set, program, files } = changes;
        let (step, kept) = (place.step, place.kept);
        self.shared.redactor.clean_data(Returned { step, kept, fork_of, set, program, spent, files })
    }

    /// The machine before the step, with its changes, and the row that says so.
    fn stand(&self, tape: &mut Tape, returned: Returned) -> Result<(Machine, Vec<Row>), StoreError> {
        if let Some(program) = &returned.program {
            tape.machine.clone().upgrade(program.clone()).map_err(|problems| StoreError {
                message: format!("the definition cannot take the run over:\n{}", problems.join("\n")),
                hint: Some("nothing was changed".to_owned()),
            })?;
        }
        let at = self.ports().clock.now();
        let input = Input::Returned(Box::new(returned));
        let events: Vec<RunEvent> =
            tape.feed(at, input.clone(), None).iter().map(|(_, event)| event.clone()).collect();
        let mut rows = Vec::new();
        journal::rows(at, &input, &[], &events, &mut rows)?;
        Ok((tape.machine.clone(), rows))
    }

    /// Ends a run for good: what waits or was interrupted is cancelled. A run of this process is told to end.
    ///
    /// # Errors
    /// Another living process drives it, it has ended, or the store cannot be written.
    pub fn cancel(&self, run: &RunId) -> Result<(), StoreError> {
        if self.running().contains(run) {
            self.send(run, super::command::Command::End);
            return Ok(());
        }
        let store = Arc::clone(&self.ports().store);
        let before = store.claim(run)?;
        let ended = matches!(before.progress.status, RunStatus::Completed | RunStatus::Cancelled);
        let done = if ended {
            Err(StoreError {
                message: format!("run {run} is {} already", before.progress.status.as_str()),
                hint: None,
            })
        } else {
            self.cancel_claimed(run)
        };
        if done.is_err() {
            self.give_back(run, before.progress);
        }
        done
    }

    fn cancel_claimed(&self, run: &RunId) -> Result<(), StoreError> {
        let mut machine = self.story(run)?.play().machine;
        let (at, store) = (self.ports().clock.now(), &self.ports().store);
        let input = Input::Cancelled { partial: Vec::new(), end: true };
        let output = machine.handle(at, input.clone());
        let mut rows = Vec::new();
        journal::rows(at, &input, &[], &output.events, &mut rows)?;
        // one that has failed for good takes no more inputs: only its status changes
        let progress = crate::domain::journal::RunProgress {
            status: RunStatus::Cancelled,
            updated: at,
            ..machine.progress()
        };
        store.append(run, if output.events.is_empty() { &[] } else { &rows }, Some(&progress))?;
        store.revoke_tokens(run)
    }

    /// Feeds the journal again: it must lead to the same events (FSM-27).
    ///
    /// # Errors
    /// Unknown or unreadable, or made by another version.
    pub fn verify(&self, run: &RunId) -> Result<Verdict, StoreError> {
        let story = self.story(run)?;
        if let Some((input, now)) = story.divergence() {
            let entry = &story.entries[input];
            let call = entry.input.answers();
            let recorded = story.intents.iter().filter(|(asked, _)| Some(*asked) > call);
            let recorded = recorded.take(3).map(|(_, body)| body.clone()).collect();
            let what = Box::new(entry.input.clone());
            return Ok(Verdict::Differs { input: input + 1, at: entry.at, what, recorded, now });
        }
        let inputs = story.entries.len();
        Ok(Verdict::Same { inputs, events: story.play().events.len() })
    }

    fn story(&self, run: &RunId) -> Result<Story, StoreError> {
        reopen::read(&*self.ports().store, run)
    }
}

/// A machine that stands before the step, and the rows that led there.
fn up_to(story: &Story, place: &StepPlace) -> Result<(Tape, Vec<Row>), StoreError> {
    if story.spec.machine_version != MACHINE_VERSION {
        return Err(StoreError {
            message: format!("run {} was made by an older version of the program", story.header.id),
            hint: Some("it can be looked at, not continued: start it again".to_owned()),
        });
    }
    let marker = Input::Returned(Box::new(Returned { step: place.step, ..Returned::default() }));
    let mut tape = Tape::new(Arc::clone(&story.spec));
    let mut rows = Vec::new();
    for (at, entry) in story.entries.iter().take(place.kept).enumerate() {
        let next = if at + 1 == place.kept {
            Some(&marker)
        } else {
            story.entries.get(at + 1).map(|entry| &entry.input)
        };
        tape.feed(entry.at, entry.input.clone(), next);
        let body = serde_json::to_string(&entry.input).map_err(|error| StoreError {
            message: format!("an input cannot be written: {error}"),
            hint: None,
        })?;
        rows.push(Row {
            words: super::words::of(&entry.input),
            digest: entry.digest,
            ..Row::new(RowKind::Input, entry.at, entry.input.answers(), body)
        });
    }
    Ok((tape, rows))
}
