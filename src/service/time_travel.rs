//! When undo, rewind and fork are allowed, which step and which files are meant, and what the user must know before.
//!
//! They are done in `runtime/time_travel.rs` and `runtime/file_restore.rs`. Refuses to change anything before there is a plan.

mod changed_files;
mod edits_beside;
mod error;
mod file_restore_plan;
mod notes;
mod undo;

use std::sync::Arc;

use serde_json::Value;

use crate::run_place::{RunOperation, RunPlace, RunPlaceError};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::snapshot::{RunWorktree, SnapshotRestoreResult};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::{RunStep, StepChanges};

pub use changed_files::RunChangedFiles;
pub use error::TimeTravelError;
pub use file_restore_plan::{FileRestorePlan, StepFiles};
pub use notes::TimeTravelNote;
pub use undo::UndoPlan;

/// The snapshots that a front-end reaches: those of the project that the program works in, and of worktrees.
pub trait RunSnapshots {
    /// The canonical path of the project.
    fn project(&self) -> &str;

    fn of_project(&self) -> Arc<dyn SnapshotPort>;

    /// # Errors
    /// They cannot be opened.
    fn of_worktree(&self, tree: &RunWorktree) -> Result<Arc<dyn SnapshotPort>, TimeTravelError>;

    /// Whether a directory is on this machine.
    fn is_directory(&self, path: &str) -> bool;
}

/// A path below `common_data` with its new value.
pub type DataAssignment = (Vec<String>, Value);

/// Whether files are restored with a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileScope {
    /// If they cannot be restored, there is no plan: only its user may say that they stay as they are.
    Restored,
    /// They stay as they are.
    Kept,
}

impl FileScope {
    /// Of a rewind: the files go back with it, unless the user keeps the present ones.
    pub fn of_rewind(keeps_files: bool) -> Self {
        if keeps_files { Self::Kept } else { Self::Restored }
    }

    /// Of a fork: the files stay, unless the user wants those of the step.
    pub fn of_fork(restores_files: bool) -> Self {
        if restores_files { Self::Restored } else { Self::Kept }
    }
}

/// What a fork has that its origin has not.
#[derive(Clone, Default)]
pub struct ForkChanges {
    /// `+NAME` says that the name is new, although it may look like a slip of the finger.
    pub set: Vec<DataAssignment>,
    /// Another definition.
    pub program: Option<WorkflowProgram>,
}

/// What a rewind or a fork will do.
pub struct StepPlan {
    pub run: RunSummary,
    /// Where it goes to. With files this can be an earlier step than the one that was asked for: see the notes.
    pub step: RunStep,
    /// What the user should know before.
    pub notes: Vec<TimeTravelNote>,
    pub files: StepFiles,
    changes: ForkChanges,
}

impl StepPlan {
    /// What a fork sets, under the names that the data will have.
    pub fn assignments(&self) -> &[DataAssignment] {
        &self.changes.set
    }
}

/// A new run.
#[derive(Clone, PartialEq, Debug)]
pub struct ForkOutcome {
    pub run: RunId,
    /// `None`: the files stayed as they were.
    pub restored: Option<SnapshotRestoreResult>,
}

/// The use cases, for the runs of one history.
pub struct TimeTravelService<'s> {
    handle: &'s RuntimeHandle,
    snapshots: &'s dyn RunSnapshots,
}

impl<'s> TimeTravelService<'s> {
    pub fn new(handle: &'s RuntimeHandle, snapshots: &'s dyn RunSnapshots) -> Self {
        Self { handle, snapshots }
    }

    /// Going back to before a step. Changes nothing.
    ///
    /// # Errors
    /// The run is running, there is no such step, or its files are not to be changed from here or cannot be restored.
    pub fn plan_rewind(
        &self,
        run: &RunSummary,
        step: u32,
        files: FileScope,
    ) -> Result<StepPlan, TimeTravelError> {
        let operation = RunOperation::Rewind { step: Some(step) };
        check_not_running(&run.id, run.progress.status, operation)?;
        self.plan_step(run, step, files, operation, ForkChanges::default())
    }

    /// Does it: the run and its files, or neither.
    ///
    /// # Errors
    /// The run went on meanwhile, or the files or the history cannot be written; the message says what was changed.
    pub fn rewind(&self, plan: &StepPlan) -> Result<Option<SnapshotRestoreResult>, TimeTravelError> {
        let interrupted = self.interrupted_restore(plan);
        let (run, step) = (&plan.run.id, plan.step.step);
        let restored = match plan.files.restore_plan() {
            Some(files) => {
                let changes = StepChanges { files: Some(files.snapshot.clone()), ..StepChanges::default() };
                self.handle.rewind(run, step, changes, &*files.store)?
            }
            None => {
                let snapshots = self.snapshots.of_project();
                self.handle.rewind(run, step, StepChanges::default(), &*snapshots)?
            }
        };
        if let Some(store) = interrupted {
            store.accept_interrupted_restore()?;
        }
        Ok(restored)
    }

    /// A new run from before a step; the other one stays. Changes nothing.
    ///
    /// # Errors
    /// There is no such step, or the files cannot be those of the fork.
    pub fn plan_fork(
        &self,
        run: &RunSummary,
        step: u32,
        files: FileScope,
        changes: ForkChanges,
    ) -> Result<StepPlan, TimeTravelError> {
        let restores_files = files != FileScope::Kept;
        if let (true, Some(tree)) = (restores_files, &run.worktree) {
            let (run, tree) = (run.id.clone(), tree.clone());
            return Err(if tree.is_known() {
                TimeTravelError::ForkOfWorktree { run, tree }
            } else {
                RunPlaceError::WorktreeGone { run, tree }.into()
            });
        }
        let operation = RunOperation::Fork { step: Some(step), restores_files };
        let mut plan = self.plan_step(run, step, files, operation, changes)?;
        let known = self.handle.data_before(&run.id, plan.step.step)?;
        let said_new = notes::take_new_signs(&mut plan.changes.set, &known);
        let keys = plan.changes.set.iter().filter_map(|(path, _)| path.first());
        let doubtful = keys.clone().filter(|key| !said_new.contains(*key));
        let mut named = known.clone();
        if doubtful.clone().next().is_some() && !plan.step.state.contains('/') {
            // also names that only later states of the outermost workflow write
            named.extend(self.handle.data_at_end(&run.id)?);
        }
        if let Some((key, known)) = doubtful.clone().find_map(|key| notes::misspelled_key(key, &named)) {
            let (run, step) = (run.id.clone(), plan.step.step);
            return Err(TimeTravelError::MisspelledKey { run, step, key, known });
        }
        let mut notes = notes::new_key_notes(keys, &known, &said_new);
        notes.append(&mut plan.notes);
        if files == FileScope::Kept {
            notes.extend(self.file_difference(run, &plan.step));
        }
        Ok(StepPlan { notes, ..plan })
    }

    /// Does it.
    ///
    /// # Errors
    /// As `rewind`.
    pub fn fork(&self, plan: StepPlan) -> Result<ForkOutcome, TimeTravelError> {
        let StepPlan { run, step, files, changes: ForkChanges { set, program }, .. } = plan;
        let files = files.restore_plan();
        let changes = StepChanges { set, program, files: files.as_ref().map(|files| files.snapshot.clone()) };
        let snapshots = files.map_or_else(|| self.snapshots.of_project(), |files| Arc::clone(&files.store));
        let (run, restored) = self.handle.fork(&run.id, step.step, changes, &*snapshots)?;
        Ok(ForkOutcome { run, restored })
    }

    fn plan_step(
        &self,
        run: &RunSummary,
        asked: u32,
        scope: FileScope,
        operation: RunOperation,
        changes: ForkChanges,
    ) -> Result<StepPlan, TimeTravelError> {
        let mut step = self.handle.find_step(&run.id, asked)?;
        let mut notes = Vec::new();
        if let Some(owner) = step.within.clone() {
            match scope {
                FileScope::Restored => {
                    step = self.handle.step_with_files(&run.id, asked)?;
                    notes.push(TimeTravelNote::AllBranchesRepeated { asked, owner, step: step.clone() });
                }
                FileScope::Kept => {
                    let states = self.handle.concurrent_states_after(&run.id, asked)?;
                    if !states.is_empty() {
                        notes.push(TimeTravelNote::OtherBranchesRepeated { asked, owner, states });
                    }
                }
            }
        }
        let files = match scope {
            FileScope::Restored => self.plan_step_files(run, &step, operation)?,
            FileScope::Kept => StepFiles::Kept,
        };
        if files.restore_plan().is_some() && !step.exact {
            notes.push(TimeTravelNote::OlderFiles { step: step.step });
        }
        Ok(StepPlan { run: run.clone(), step, notes, files, changes })
    }

    fn plan_step_files(
        &self,
        run: &RunSummary,
        step: &RunStep,
        operation: RunOperation,
    ) -> Result<StepFiles, TimeTravelError> {
        let store = self.files_of_run(run, operation)?;
        let unknown = |reason: String| {
            let (run, step) = (run.id.clone(), step.step);
            Err(TimeTravelError::FilesNotRestorable { run, step, reason, operation })
        };
        let Some(snapshot) = step.files.clone() else {
            if changed_files::changes_nothing(self.handle, run) {
                return Ok(StepFiles::Kept);
            }
            return unknown("none were stored by then".to_owned());
        };
        if let Err(error) = store.find(snapshot.as_str()) {
            return unknown(error.message);
        }
        FileRestorePlan::new(self.handle, store, run, snapshot)
            .map(|plan| StepFiles::Restored(Box::new(plan)))
    }

    /// The store with the files of a run that `operation` changes.
    fn files_of_run(
        &self,
        run: &RunSummary,
        operation: RunOperation,
    ) -> Result<Arc<dyn SnapshotPort>, TimeTravelError> {
        let place = self.place_in_project(run, operation)?;
        match place.present_worktree(&run.id, |path| self.snapshots.is_directory(path))? {
            Some(tree) => self.snapshots.of_worktree(tree),
            None => Ok(self.snapshots.of_project()),
        }
    }

    /// Where a run of this project works.
    fn place_in_project(
        &self,
        run: &RunSummary,
        operation: RunOperation,
    ) -> Result<RunPlace, TimeTravelError> {
        let place = RunPlace::of_run(run, self.snapshots.project());
        let place = place.on_disk(|path| self.snapshots.is_directory(path));
        place.check_project(&run.id, operation)?;
        Ok(place)
    }

    /// How the files differ from those of the step, for a run in this project.
    fn file_difference(&self, run: &RunSummary, step: &RunStep) -> Option<TimeTravelNote> {
        if run.worktree.is_some() {
            return Some(TimeTravelNote::ForkLeavesWorktree);
        }
        let operation = RunOperation::Fork { step: Some(step.step), restores_files: true };
        let store = self.files_of_run(run, operation).ok()?;
        let unknown = Some(TimeTravelNote::KeptFilesUnknown { step: step.step });
        let Some(snapshot) = step.files.clone() else {
            return unknown.filter(|_| !changed_files::changes_nothing(self.handle, run));
        };
        match store.changes(&snapshot, None) {
            Ok(changes) if changes.is_empty() => None,
            Ok(changes) => Some(TimeTravelNote::KeptFilesDiffer { step: step.step, snapshot, changes }),
            Err(_) => unknown,
        }
    }

    /// The store of the run's files, if a restore of them was cut off and a rewind leaves them as they are.
    fn interrupted_restore(&self, plan: &StepPlan) -> Option<Arc<dyn SnapshotPort>> {
        if plan.files.restore_plan().is_some() {
            return None;
        }
        let restoring = self.handle.load_record(plan.run.id.as_str()).ok()?.pending_restore?;
        let operation = RunOperation::Rewind { step: Some(plan.step.step) };
        let store = self.files_of_run(&plan.run, operation).ok()?;
        let found = store.interrupted_restore().ok()??;
        (found.safety == restoring.safety).then_some(store)
    }
}

/// Whether a run of this status can go back.
///
/// # Errors
/// It is running: its record and its files change meanwhile.
pub fn check_not_running(
    run: &RunId,
    status: RunStatus,
    operation: RunOperation,
) -> Result<(), TimeTravelError> {
    let run = run.clone();
    match (status, operation) {
        (RunStatus::Running, RunOperation::Rewind { step }) => {
            Err(TimeTravelError::RewindOfRunning { run, step })
        }
        (RunStatus::Running, RunOperation::Undo) => Err(TimeTravelError::UndoOfRunning(run)),
        _ => Ok(()),
    }
}
