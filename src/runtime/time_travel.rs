//! Time travel. Rewind: the same run goes back to before a step. Fork: a new run starts from a step. Replay: a run is
//! computed again from its journal, without calls, and compared. Undo is in `file_restore.rs`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::file_restore;
use super::handle::RuntimeHandle;
use super::inflight_calls::{self, InflightCalls};
use super::journal;
use super::journal_replay::{self, JournaledRun, ReplayDivergence};
use super::preview::RecentEvents;
pub use super::steps::RunStep;
use super::withdrawn_texts::withdrawn_texts;
use synthdev_domain::cost::CostEntry;
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, RunHeader, RunOrigin};
use synthdev_domain::snapshot::{SnapshotInfo, SnapshotRestoreResult};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_engine::explain::{StepExplanation, explain_step};
use synthdev_engine::input::{Input, RewindInput};
use synthdev_engine::machine::Machine;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_engine::run_spec::CONTINUED_SINCE;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotPort;

/// Changes from the step on.
#[derive(Clone, Debug, Default)]
pub struct StepChanges {
    /// `common_data` by path.
    pub set: Vec<(Vec<String>, Value)>,
    pub program: Option<WorkflowProgram>,
    /// The snapshot from which the files were restored.
    pub files: Option<SnapshotId>,
}

/// What a replay came to.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplayVerdict {
    /// As many inputs led to as many events, the same as then.
    Same { inputs: usize, events: usize },
    /// The first input that leads to different effects or events, counted from 1. The journal has only a digest of the
    /// recorded events; recorded and present effects are there as JSON texts.
    Differs {
        input: usize,
        at: Timestamp,
        diverging_input: Box<Input>,
        recorded: Vec<String>,
        recorded_requests: Vec<String>,
        replayed_events: Vec<RunEvent>,
    },
}

impl RuntimeHandle {
    /// Every state that the run entered, in order: the n-th is step n. If it was rewound and not resumed yet, the step
    /// before which it is comes after those, with visit 0.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn steps(&self, run: &RunId) -> Result<Vec<RunStep>, StoreError> {
        Ok(self.load_journaled_run(run)?.steps())
    }

    /// # Errors
    /// There is no such step, or the run is unknown or unreadable.
    pub fn find_step(&self, run: &RunId, step: u32) -> Result<RunStep, StoreError> {
        self.load_journaled_run(run)?.find_step(step)
    }

    /// Why the run took a step.
    ///
    /// # Errors
    /// As [`Self::find_step`].
    pub fn explain_step(&self, run: &RunId, step: u32) -> Result<StepExplanation, StoreError> {
        let journaled_run = self.load_journaled_run(run)?;
        let place = journaled_run.find_step(step)?;
        let inputs: Vec<(Timestamp, Input)> =
            journaled_run.entries.iter().map(|entry| (entry.at, entry.input.clone())).collect();
        explain_step(Arc::clone(&journaled_run.spec), &inputs, step).ok_or_else(|| StoreError {
            message: format!("run {run} stands before step {step} ({}) and did not take it yet", place.state),
            hint: Some(format!("synthdev resume {run}")),
        })
    }

    /// `common_data` as it was when a step began: of the workflow whose state that is.
    ///
    /// # Errors
    /// As [`Self::find_step`], or the run was made by another version.
    pub fn data_before(&self, run: &RunId, step: u32) -> Result<Map<String, Value>, StoreError> {
        let journaled_run = self.load_journaled_run(run)?;
        Ok(replay_before(&journaled_run, &journaled_run.find_step(step)?)?.0.machine.data())
    }

    /// `common_data` as it is where the run stands now, of its outermost workflow.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn data_at_end(&self, run: &RunId) -> Result<Map<String, Value>, StoreError> {
        let journaled_run = self.load_journaled_run(run)?;
        let mut replay = StepwiseReplay::new(Arc::clone(&journaled_run.spec));
        let mut entries = journaled_run.entries.iter().peekable();
        while let Some(entry) = entries.next() {
            replay.feed_input(entry.at, entry.input.clone(), entries.peek().map(|next| &next.input));
        }
        Ok(replay.machine.data())
    }

    /// The step to which a run can be rewound together with its files: inside of branches it is the one that forked, as
    /// all branches change the files at the same time, and snapshots are taken before and after.
    ///
    /// # Errors
    /// As [`Self::find_step`].
    pub fn step_with_files(&self, run: &RunId, step: u32) -> Result<RunStep, StoreError> {
        let journaled_run = self.load_journaled_run(run)?;
        let place = journaled_run.find_step(step)?;
        place.forked.map_or(Ok(place), |owner| journaled_run.find_step(owner))
    }

    /// States that other branches entered after a step of one: a rewind to the step repeats them.
    ///
    /// # Errors
    /// As [`Self::find_step`].
    pub fn concurrent_states_after(&self, run: &RunId, step: u32) -> Result<Vec<String>, StoreError> {
        let journaled_run = self.load_journaled_run(run)?;
        Ok(journaled_run.concurrent_states_after(&journaled_run.find_step(step)?))
    }

    /// Forks a run: a new run before a step of another one, with its conversations and data as they were then; the
    /// other run stays. `resume` starts it. With `changes.files` it restores the files from these snapshots after all
    /// other checks, under the project's lock.
    ///
    /// # Errors
    /// There is no such step, the new definition does not fit, the files cannot be restored, or the store cannot be
    /// written. Nothing was changed, unless the message says that some of the files are restored: then the new run
    /// exists, and `resume` restores the rest.
    pub fn fork(
        &self,
        run: &RunId,
        step: u32,
        changes: StepChanges,
        snapshots: &dyn SnapshotPort,
    ) -> Result<(RunId, Option<SnapshotRestoreResult>), StoreError> {
        self.ports().store.wait_for_commands(run)?;
        let journaled_run = self.load_journaled_run(run)?;
        let place = journaled_run.find_step(step)?;
        let new = self.draw_run_id();
        let (mut replay, mut rows) = replay_before(&journaled_run, &place)?;
        let to = changes.files.clone();
        judge_files(&place, to.is_some())?;
        if to.is_none() {
            file_restore::ensure_files_restored(run, journaled_run.pending_restore.as_ref())?;
        }
        let taken = later_snapshot(&journaled_run, &place, &replay);
        let carried = inflight_calls::inflight_calls_at(&journaled_run, place.kept, &replay);
        rows.extend(carried.to_rows(&journaled_run)?);
        let returned = RewindInput {
            fork_of: Some(run.clone()),
            taken,
            withdrawn: withdrawn_texts(&journaled_run, &place, &replay),
            ..self.rewind_input(&place, changes, Vec::new(), carried)
        };
        let (machine, row) = self.rewind_machine(&mut replay, returned)?;
        rows.extend(row);
        let header = RunHeader {
            id: new.clone(),
            definition_hash: machine.spec().program.hash.clone(),
            started: self.ports().clock.now(),
            origin: Some(RunOrigin::from_fork(journaled_run.header.origin.as_ref(), run.clone(), step)),
            worktree: None,
            ..journaled_run.header
        };
        let (store, progress) = (&self.ports().store, machine.progress());
        let preview = RecentEvents::from_events(replay.events).to_preview_json();
        let Some(to) = to else {
            store.import(&header, &rows, &progress, preview.as_deref())?;
            return Ok((new, None));
        };
        let _held = self.lock_files(&new, &header.workflow)?;
        let write = &mut |mark: JournalRow| {
            rows.push(mark);
            store.import(&header, &rows, &progress, preview.as_deref())
        };
        let done = self.restore_run_files(snapshots, &new, &to, false, write);
        let restored = done.map_err(|stopped| {
            file_restore::restore_failure_error(stopped, &format!("synthdev resume {new}"))
        })?;
        if restored.safety.is_some() {
            store.claim(&new).map_err(file_restore::unrecorded_restore_error)?;
            let settled = file_restore::restored_row(self.ports().clock.now())?;
            store
                .append(&new, &[settled], Some(&progress))
                .map_err(file_restore::unrecorded_restore_error)?;
        }
        Ok((new, Some(restored)))
    }

    /// Rewinds the run to one of its steps; what came later no longer counts, but its cost does. Files: as for `fork`.
    /// Settles an interrupted restore of the run, either way.
    ///
    /// # Errors
    /// A living process drives it, there is no such step, the files cannot be restored, or the store cannot be written.
    /// Nothing was changed, unless the message says that some of the files are restored: then the run is rewound, and
    /// `resume` restores the rest.
    pub fn rewind(
        &self,
        run: &RunId,
        step: u32,
        changes: StepChanges,
        snapshots: &dyn SnapshotPort,
    ) -> Result<Option<SnapshotRestoreResult>, StoreError> {
        let store = &self.ports().store;
        store.wait_for_commands(run)?;
        let seen = store.find(run.as_str())?;
        let journaled_run = self.load_journaled_run(run)?;
        let place = journaled_run.find_step(step)?;
        let (mut replay, _) = replay_before(&journaled_run, &place)?;
        let to = changes.files.clone();
        judge_files(&place, to.is_some())?;
        let standing = journaled_run.replay();
        let kept = replay.machine.ledger().entries.len();
        let spent = standing.machine.ledger().entries.iter().skip(kept).collect();
        let (taken, void) =
            (later_snapshot(&journaled_run, &place, &replay), voided_answers(&journaled_run, &place));
        let carried = inflight_calls::inflight_calls_at(&journaled_run, place.kept, &replay).without_costs();
        let withdrawn = withdrawn_texts(&journaled_run, &place, &replay);
        let returned = RewindInput { taken, withdrawn, ..self.rewind_input(&place, changes, spent, carried) };
        let (machine, mut rows) = self.rewind_machine(&mut replay, returned)?;
        let (progress, preview) =
            (machine.progress(), RecentEvents::from_events(replay.events).to_preview_json());
        let mut write = |mark: Option<JournalRow>| {
            rows.extend(mark);
            self.claim_as_seen(&seen)?;
            let written = store.append_and_end_tokens(run, &rows, Some(&progress), &void, preview.as_deref());
            if written.is_err() {
                self.give_back(run, seen.progress.clone());
            }
            written
        };
        let restored = if let Some(to) = to {
            let _held = self.lock_files(run, &journaled_run.header.workflow)?;
            let done = self.restore_run_files(snapshots, run, &to, false, &mut |mark| write(Some(mark)));
            let done = done.map_err(|stopped| {
                file_restore::restore_failure_error(stopped, &format!("synthdev resume {run}"))
            })?;
            self.record_restored(run, &done)?;
            Some(done)
        } else {
            let settled = journaled_run
                .pending_restore
                .is_some()
                .then(|| file_restore::restored_row(self.ports().clock.now()));
            write(settled.transpose()?)?;
            None
        };
        Ok(restored)
    }

    fn rewind_input(
        &self,
        place: &RunStep,
        changes: StepChanges,
        spent: Vec<CostEntry>,
        carried: InflightCalls,
    ) -> RewindInput {
        let StepChanges { set, program, files } = changes;
        let InflightCalls { open_calls: open, answers } = carried;
        let (step, kept) = (place.step, place.kept);
        self.context.redactor.clean_data(RewindInput {
            step,
            kept,
            set,
            program,
            spent,
            files,
            open,
            answers,
            ..RewindInput::default()
        })
    }

    /// The machine before the step, with its changes, and the row of the rewind.
    fn rewind_machine(
        &self,
        replay: &mut StepwiseReplay,
        returned: RewindInput,
    ) -> Result<(Machine, Vec<JournalRow>), StoreError> {
        if let Some(program) = &returned.program {
            self.reject_keys_in_definition(program)?;
            replay.machine.clone().upgrade_program(program.clone()).map_err(|problems| StoreError {
                message: format!("the definition cannot take the run over:\n{}", problems.join("\n")),
                hint: Some("nothing was changed".to_owned()),
            })?;
        }
        let at = self.ports().clock.now();
        let input = Input::Rewound(Box::new(returned));
        let events: Vec<StepEvent> =
            replay.feed_input(at, input.clone(), None).iter().map(|(_, event)| event.clone()).collect();
        let mut rows = Vec::new();
        journal::input_rows(at, &input, &[], &events, &mut rows)?;
        Ok((replay.machine.clone(), rows))
    }

    /// Feeds the journal again: it must lead to the same events.
    ///
    /// # Errors
    /// Unknown or unreadable, or made by another version.
    pub fn verify_replay(&self, run: &RunId) -> Result<ReplayVerdict, StoreError> {
        let journaled_run = self.load_journaled_run(run)?;
        if let Some(ReplayDivergence { index, events, recorded, intents }) = journaled_run.first_divergence()
        {
            let entry = &journaled_run.entries[index];
            let what = Box::new(entry.input.clone());
            let (input, at) = (index + 1, entry.at);
            return Ok(ReplayVerdict::Differs {
                input,
                at,
                diverging_input: what,
                recorded,
                recorded_requests: intents,
                replayed_events: events.into_iter().map(|event| event.event).collect(),
            });
        }
        let inputs = journaled_run.entries.len();
        Ok(ReplayVerdict::Same { inputs, events: journaled_run.replay().events.len() })
    }

    fn load_journaled_run(&self, run: &RunId) -> Result<JournaledRun, StoreError> {
        journal_replay::load_journaled_run(&*self.ports().store, run)
    }
}

/// Inside of branches the files of one moment are not there: a run and its files would be of two.
fn judge_files(place: &RunStep, with_files: bool) -> Result<(), StoreError> {
    let Some((owner, forked)) = place.within.as_ref().zip(place.forked).filter(|_| with_files) else {
        return Ok(());
    };
    Err(StoreError {
        message: format!(
            "step {} is in a branch of `{owner}`: with files a run goes back to before that, which is step {forked}",
            place.step
        ),
        hint: Some("go there, or leave the files as they are".to_owned()),
    })
}

/// The snapshot that was on its way when the step began, if it was taken later.
fn later_snapshot(
    journaled_run: &JournaledRun,
    place: &RunStep,
    replay: &StepwiseReplay,
) -> Option<SnapshotInfo> {
    let asked = replay.machine.pending_snapshot()?;
    journaled_run.entries.iter().skip(place.kept).find_map(|entry| match &entry.input {
        Input::SnapshotTaken { call, info } if *call == asked => Some(info.clone()),
        _ => None,
    })
}

/// Calls that the user answered after the step began: their answers are void.
fn voided_answers(journaled_run: &JournaledRun, place: &RunStep) -> Vec<CallId> {
    let mut calls = Vec::new();
    for entry in journaled_run.entries.iter().skip(place.kept) {
        match &entry.input {
            Input::Resumed(resumed) => {
                calls.extend(resumed.answers.iter().map(|(call, _)| *call));
                calls.extend(resumed.decisions.iter().map(|(call, _)| *call));
            }
            Input::Answered { call, .. } | Input::Approved { call, .. } => calls.push(*call),
            _ => {}
        }
    }
    calls
}

/// The machine before the step, and the rows that lead there.
fn replay_before(
    journaled_run: &JournaledRun,
    place: &RunStep,
) -> Result<(StepwiseReplay, Vec<JournalRow>), StoreError> {
    if journaled_run.spec.machine_version < CONTINUED_SINCE {
        return Err(StoreError {
            message: format!("run {} was made by an older version of the program", journaled_run.header.id),
            hint: Some("it can be looked at, not continued: start it again".to_owned()),
        });
    }
    let marker = Input::Rewound(Box::new(RewindInput { step: place.step, ..RewindInput::default() }));
    let mut replay = StepwiseReplay::new(Arc::clone(&journaled_run.spec));
    let mut rows = Vec::new();
    for (at, entry) in journaled_run.entries.iter().take(place.kept).enumerate() {
        let next = if at + 1 == place.kept {
            Some(&marker)
        } else {
            journaled_run.entries.get(at + 1).map(|entry| &entry.input)
        };
        replay.feed_input(entry.at, entry.input.clone(), next);
        let body = serde_json::to_string(&entry.input).map_err(|error| StoreError {
            message: format!("an input cannot be written: {error}"),
            hint: None,
        })?;
        rows.push(JournalRow {
            words: super::search_text::input_search_text(&entry.input),
            digest: entry.digest,
            ..JournalRow::new(JournalRowKind::Input, entry.at, entry.input.answered_call(), body)
        });
    }
    Ok((replay, rows))
}
