//! A change of the project's files as a whole that was cut off: what it was, what finishes it, and that no run starts
//! or resumes while the files are a mix of two states. The rewound run knows it from its journal; see `restoring_run`.

use super::file_restore::{PendingRestore, restore_command_text, restored_row};
use super::handle::RuntimeHandle;
use super::journal_replay;
use synthdev_domain::ids::{RunId, SnapshotId};
use synthdev_domain::snapshot::{InterruptedRestore, RestoreTarget, SnapshotRestoreResult};
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;

impl RuntimeHandle {
    /// A change of this project's files as a whole that was cut off, and the command that finishes it.
    pub fn interrupted_restore(&self) -> Option<(InterruptedRestore, String)> {
        let found = self.ports().snapshots.interrupted_restore().ok()??;
        let finish = match &found.goal {
            RestoreTarget::Merge { run, .. } => format!("synthdev runs merge {run}"),
            RestoreTarget::Snapshot(to) => self.finish_command_for(to, &found.safety),
        };
        Some((found, finish))
    }

    /// The rewound run knows better than the snapshot what has to be done.
    fn finish_command_for(&self, to: &SnapshotId, safety: &SnapshotId) -> String {
        match self.restoring_run(to, safety) {
            Some((run, restoring)) => restore_command_text(&run, &restoring),
            None => format!("synthdev snapshot restore {to}"),
        }
    }

    /// The run whose files were on their way there.
    fn restoring_run(&self, to: &SnapshotId, safety: &SnapshotId) -> Option<(RunId, PendingRestore)> {
        let run = self.ports().snapshots.find(to.as_str()).ok()?.run?;
        let restoring =
            journal_replay::load_journaled_run(&*self.ports().store, &run).ok()?.pending_restore?;
        (restoring.safety == *safety).then_some((run, restoring))
    }

    /// Marks an interrupted restore as settled, because the user has decided otherwise what the files are to be.
    ///
    /// # Errors
    /// The store cannot be written.
    fn settle_interrupted_restore(&self, found: &InterruptedRestore) -> Result<(), StoreError> {
        self.settle_other_run_restore(found, None)
    }

    /// Restores the project's files from a snapshot. That ends a restore that was cut off.
    ///
    /// # Errors
    /// They cannot be restored, or the store cannot be written.
    pub fn restore_snapshot(&self, id: &SnapshotId) -> Result<SnapshotRestoreResult, SnapshotError> {
        let found = self.interrupted_restore();
        let done = self.ports().snapshots.restore(id)?;
        if let Some((found, _)) = found {
            self.settle_interrupted_restore(&found).map_err(snapshot_error)?;
        }
        Ok(done)
    }

    /// The present files count as intended, although a restore was cut off.
    ///
    /// # Errors
    /// The marker cannot be removed, or the store cannot be written.
    pub fn accept_present_files(&self) -> Result<(), SnapshotError> {
        let Some((found, _)) = self.interrupted_restore() else { return Ok(()) };
        self.ports().snapshots.accept_interrupted_restore()?;
        self.settle_interrupted_restore(&found).map_err(snapshot_error)
    }

    /// Settles the restore of another run; `own` is the run that settles its own restore by itself.
    pub(super) fn settle_other_run_restore(
        &self,
        found: &InterruptedRestore,
        own: Option<&RunId>,
    ) -> Result<(), StoreError> {
        let RestoreTarget::Snapshot(to) = &found.goal else { return Ok(()) };
        let Some((run, _)) = self.restoring_run(to, &found.safety) else { return Ok(()) };
        if own == Some(&run) {
            return Ok(());
        }
        let (store, mark) = (&self.ports().store, restored_row(self.ports().clock.now())?);
        let seen = store.find(run.as_str())?;
        self.claim_as_seen(&seen)?;
        let written = store.append(&run, &[mark], Some(&seen.progress));
        if written.is_err() {
            self.give_back(&run, seen.progress);
        }
        written
    }

    /// No run starts, or resumes, while the files are a mix of two states.
    ///
    /// # Errors
    /// They are.
    pub fn ensure_files_consistent(&self) -> Result<(), StoreError> {
        match self.interrupted_restore() {
            Some((found, finish)) => Err(inconsistent_files_error(&found, &finish)),
            None => Ok(()),
        }
    }
}

fn snapshot_error(StoreError { message, hint }: StoreError) -> SnapshotError {
    SnapshotError { message, hint }
}

/// Why nothing begins in a project.
pub fn inconsistent_files_error(found: &InterruptedRestore, finish: &str) -> StoreError {
    let what = match &found.goal {
        RestoreTarget::Snapshot(to) => {
            format!("files of this project were on their way back to snapshot {to}")
        }
        RestoreTarget::Merge { run, .. } => format!("run {run} was being merged into this project"),
    };
    StoreError {
        message: format!("{what} when that was cut off: the files are of two moments"),
        hint: Some(format!(
            "finish it: {finish}; or go back to before it: synthdev snapshot restore {}; or keep the files as they \
             are: synthdev snapshot create",
            found.safety
        )),
    }
}
