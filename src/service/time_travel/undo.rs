//! Undo: the files as they were before a run.

use super::changed_files::snapshot_before;
use super::error::TimeTravelError;
use super::file_restore_plan::FileRestorePlan;
use super::{TimeTravelService, check_not_running};
use crate::run_place::RunOperation;
use synthdev_domain::journal::{RunOrigin, RunSummary};
use synthdev_domain::snapshot::{RunWorktree, SnapshotRestoreResult, snapshot_label_before_merge};

/// What an undo will do.
pub struct UndoPlan {
    pub run: RunSummary,
    pub files: FileRestorePlan,
    /// An earlier restore was cut off: there is something to do even if no file differs.
    pub completes_restore: bool,
    /// A conversation that is open in this process: it goes on, so nothing is written to its record.
    is_open_chat: bool,
}

impl UndoPlan {
    /// The files are as they were.
    pub fn is_empty(&self) -> bool {
        self.files.changes.is_empty() && !self.completes_restore
    }

    /// The run is known to have changed no file: what differs now is the work of others, which no undo takes away.
    fn is_of_others(&self) -> bool {
        let own = self.files.run_changes.as_ref();
        !self.completes_restore && own.is_some_and(|own| own.files.is_empty() && !own.is_uncertain)
    }

    /// What the user is told where there is nothing to do. Notes of what does not come back belong below it.
    pub fn nothing_to_undo_text(&self) -> Option<String> {
        if self.is_of_others() {
            let (run, snapshot) = (&self.run.id, &self.files.snapshot);
            return Some(format!(
                "nothing to undo: run {run} changed no file. Others have changed files since: `synthdev snapshot \
                 restore {snapshot}` takes that back"
            ));
        }
        let noted = if self.files.unrestored.is_empty() { "" } else { ", except for the notes" };
        self.is_empty().then(|| {
            format!(
                "nothing to undo: the files are as they were before run {} (snapshot {}){noted}; name another run to \
                 undo that one",
                self.run.id, self.files.snapshot
            )
        })
    }

    /// An imported run: it goes back to before it began to work in this project.
    pub fn is_imported(&self) -> bool {
        self.run.origin.as_ref().is_some_and(RunOrigin::is_imported)
    }
}

impl TimeTravelService<'_> {
    /// The files as before the run. Changes nothing.
    ///
    /// # Errors
    /// The run is running, has no snapshot here, or worked on other files.
    pub fn plan_undo(&self, run: &RunSummary) -> Result<UndoPlan, TimeTravelError> {
        let is_open_chat = self.is_open_chat(run);
        if !is_open_chat {
            check_not_running(&run.id, run.progress.status, RunOperation::Undo)?;
        }
        let place = self.place_in_project(run, RunOperation::Undo)?;
        if let Some(merged) = run.worktree.as_ref().and_then(|tree| self.undo_of_merged(run, tree)) {
            return Err(merged);
        }
        place.check_project_files(&run.id)?;
        let store = self.files_of_run(run, RunOperation::Undo)?;
        let snapshot = snapshot_before(self.handle, &*store, run)?;
        let completes_restore = store.interrupted_restore().ok().flatten().is_some();
        let files = FileRestorePlan::new(self.handle, store, run, snapshot)?;
        Ok(UndoPlan { run: run.clone(), files, completes_restore, is_open_chat })
    }

    /// A conversation that this process holds. It takes no lock on the project's files while it waits for a message.
    fn is_open_chat(&self, run: &RunSummary) -> bool {
        self.handle.running_runs().contains(&run.id)
            && self
                .handle
                .definition(&run.id)
                .is_ok_and(|spec| spec.program.workflows.first().is_some_and(|root| root.conversational))
    }

    /// Does it. The run itself stays as it is.
    ///
    /// # Errors
    /// Another run works in the project, or the files cannot be restored; the message says whether any was changed.
    pub fn undo(&self, plan: &UndoPlan) -> Result<SnapshotRestoreResult, TimeTravelError> {
        if plan.is_open_chat {
            let _held = self.handle.lock_files(&plan.run.id, &plan.run.workflow)?;
            return Ok(self.handle.restore_snapshot(&plan.files.snapshot)?);
        }
        Ok(self.handle.undo(&plan.run.id, &plan.files.snapshot, &*plan.files.store)?)
    }

    /// The refusal, if the files of the run's worktree were merged into the project.
    fn undo_of_merged(&self, run: &RunSummary, tree: &RunWorktree) -> Option<TimeTravelError> {
        if !tree.is_known() {
            return None;
        }
        let label = snapshot_label_before_merge(&tree.branch);
        let taken = self.snapshots.of_project().list().unwrap_or_default();
        let merge = Box::new(taken.into_iter().find(|info| info.label == label)?);
        Some(TimeTravelError::UndoOfMerged { run: run.id.clone(), tree: tree.clone(), merge })
    }
}
