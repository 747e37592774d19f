//! Going back: forks from a step, rewinding a run in place, replaying it, ending it for good (HIST-5, SNAP-4, FSM-27).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::handle::Handle;
use super::journal;
use super::reopen::{self, Divergence, Story};
pub use super::steps::StepPlace;
use crate::domain::cost::CostEntry;
use crate::domain::ids::{RunId, SnapshotId, Timestamp};
use crate::domain::journal::{Origin, OriginKind, Row, RowKind, RunHeader, RunStatus};
use crate::domain::lock::Holder;
use crate::domain::snapshot::SnapshotInfo;
use crate::domain::workflow::Program;
use crate::engine::event::RunEvent;
use crate::engine::input::{Input, Returned};
use crate::engine::machine::Machine;
use crate::engine::replay::Tape;
use crate::engine::spec::MACHINE_VERSION;
use crate::engine::why::{Why, why};
use crate::ports::lock::{Guard, LockError};
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
    /// The first input that leads to something else now, counted from 1. Of the events that were recorded only a
    /// fingerprint is kept; what was asked for then and is asked for now is there as JSON texts.
    Differs {
        input: usize,
        at: Timestamp,
        what: Box<Input>,
        recorded: Vec<String>,
        asked: Vec<String>,
        now: Vec<RunEvent>,
    },
}

impl Handle {
    /// Every state that the run entered, in order: the n-th is step n. If it went back and did not go on yet, the
    /// step before which it stands comes after those, with visit 0.
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

    /// Why the run took a step.
    ///
    /// # Errors
    /// As `step`.
    pub fn why(&self, run: &RunId, step: u32) -> Result<Why, StoreError> {
        let story = self.story(run)?;
        let place = story.step(step)?;
        let inputs: Vec<(Timestamp, Input)> =
            story.entries.iter().map(|entry| (entry.at, entry.input.clone())).collect();
        why(Arc::clone(&story.spec), &inputs, step).ok_or_else(|| StoreError {
            message: format!("run {run} stands before step {step} ({}) and did not take it yet", place.state),
            hint: Some(format!("synthdev resume {run}")),
        })
    }

    /// `common_data` as it was when a step began: of the workflow whose state that is.
    ///
    /// # Errors
    /// As `step`, or the run was made by another version.
    pub fn data_before(&self, run: &RunId, step: u32) -> Result<Map<String, Value>, StoreError> {
        let story = self.story(run)?;
        Ok(up_to(&story, &story.step(step)?)?.0.machine.data())
    }

    /// A new run that stands before a step of another one with its conversations and data as they were; the other
    /// one stays. `resume` sets it going. `restore` brings the files back to `changes.files`, if that is wanted: it is
    /// called when all else was judged, with nobody else at work in the project.
    ///
    /// # Errors
    /// There is no such step, the new definition does not fit, the files cannot be brought back, or the store cannot
    /// be written. Nothing was written.
    pub fn fork(
        &self,
        run: &RunId,
        step: u32,
        changes: Changes,
        restore: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<RunId, StoreError> {
        let story = self.story(run)?;
        let place = story.step(step)?;
        let new = self.draw_run_id();
        let (mut tape, mut rows) = up_to(&story, &place)?;
        let files = changes.files.is_some();
        let taken = answered_later(&story, &place, &tape);
        let returned =
            Returned { fork_of: Some(run.clone()), taken, ..self.returned(&place, changes, Vec::new()) };
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
        let _held = if files { self.hold_files(&new, &header.workflow)? } else { None };
        restore()?;
        self.ports().store.import(&header, &rows, &machine.progress())?;
        Ok(new)
    }

    /// The run itself stands before one of its steps again; what came later no longer counts, but stays paid.
    /// `restore`: as for `fork`.
    ///
    /// # Errors
    /// A living process drives it, there is no such step, the files cannot be brought back, or the store cannot be
    /// written. Nothing was written.
    pub fn rewind(
        &self,
        run: &RunId,
        step: u32,
        changes: Changes,
        restore: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let store = Arc::clone(&self.ports().store);
        let before = store.claim(run)?;
        let done = self.rewind_claimed(run, step, changes, restore);
        if done.is_err() {
            self.give_back(run, before.progress);
        }
        done
    }

    fn rewind_claimed(
        &self,
        run: &RunId,
        step: u32,
        changes: Changes,
        restore: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let story = self.story(run)?;
        let place = story.step(step)?;
        let (mut tape, _) = up_to(&story, &place)?;
        let standing = story.play();
        let spent = standing.machine.ledger().entries.get(tape.machine.ledger().entries.len()..);
        let files = changes.files.is_some();
        let taken = answered_later(&story, &place, &tape);
        let spent = spent.map(<[_]>::to_vec).unwrap_or_default();
        let returned = Returned { taken, ..self.returned(&place, changes, spent) };
        let (machine, rows) = self.stand(&mut tape, returned)?;
        let _held = if files { self.hold_files(run, &story.header.workflow)? } else { None };
        restore()?;
        let store = &self.ports().store;
        store.append_and_end_tokens(run, &rows, Some(&machine.progress()))
    }

    /// Keeps runs from working in the project while its files are brought back.
    ///
    /// # Errors
    /// One works there.
    pub fn hold_files(&self, run: &RunId, workflow: &str) -> Result<Option<Guard>, StoreError> {
        let Some(lock) = &self.ports().lock else { return Ok(None) };
        let (pid, since) = (self.shared.options.pid, self.ports().clock.now());
        let holder = Holder { run: run.clone(), workflow: workflow.to_owned(), pid, since };
        lock.try_lock(&holder).map(Some).map_err(|error| match error {
            LockError::Held(_) => StoreError {
                message: format!("{error}: its files cannot be brought back under its hands"),
                hint: Some("wait for it to end, or cancel it".to_owned()),
            },
            LockError::Io { message, hint } => StoreError { message, hint },
        })
    }

    fn returned(&self, place: &StepPlace, changes: Changes, spent: Vec<CostEntry>) -> Returned {
        let Changes { set, program, files } = changes;
        let (step, kept) = (place.step, place.kept);
        self.shared.redactor.clean_data(Returned {
            step,
            kept,
            set,
            program,
            spent,
            files,
            ..Returned::default()
        })
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
        let rows: &[Row] = if output.events.is_empty() { &[] } else { &rows };
        store.append_and_end_tokens(run, rows, Some(&progress))
    }

    /// Feeds the journal again: it must lead to the same events (FSM-27).
    ///
    /// # Errors
    /// Unknown or unreadable, or made by another version.
    pub fn verify(&self, run: &RunId) -> Result<Verdict, StoreError> {
        let story = self.story(run)?;
        if let Some(Divergence { index, events, recorded, intents }) = story.divergence() {
            let entry = &story.entries[index];
            let what = Box::new(entry.input.clone());
            let (input, at) = (index + 1, entry.at);
            return Ok(Verdict::Differs { input, at, what, recorded, asked: intents, now: events });
        }
        let inputs = story.entries.len();
        Ok(Verdict::Same { inputs, events: story.play().events.len() })
    }

    fn story(&self, run: &RunId) -> Result<Story, StoreError> {
        reopen::read(&*self.ports().store, run)
    }
}

/// The snapshot that was on its way when the step began, if it was taken later.
fn answered_later(story: &Story, place: &StepPlace, tape: &Tape) -> Option<SnapshotInfo> {
    let asked = tape.machine.snapshot_asked()?;
    story.entries.iter().skip(place.kept).find_map(|entry| match &entry.input {
        Input::SnapshotTaken { call, info } if *call == asked => Some(info.clone()),
        _ => None,
    })
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
