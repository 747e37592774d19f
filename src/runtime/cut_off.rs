//! A change of the project's files as a whole that was cut off: what it was, what finishes it, and that no run begins or
//! goes on over files of two moments (ERR-12). The run that went back knows it from its journal; see `restoring`.

use super::handle::Handle;
use super::reopen;
use super::restoring::{Restoring, finish, settled};
use crate::domain::ids::{RunId, SnapshotId};
use crate::domain::snapshot::{CutOff, Goal};
use crate::ports::run_store::StoreError;

impl Handle {
    /// A change of this project's files as a whole that was cut off, and the command that finishes it.
    pub fn cut_off(&self) -> Option<(CutOff, String)> {
        let found = self.ports().snapshots.cut_off().ok()??;
        let finish = match &found.goal {
            Goal::Merge { run, .. } => format!("synthdev runs merge {run}"),
            Goal::Snapshot(to) => self.finish_of(to, &found.safety),
        };
        Some((found, finish))
    }

    /// The run that goes back knows better than the snapshot what has to be done.
    fn finish_of(&self, to: &SnapshotId, safety: &SnapshotId) -> String {
        match self.returning(to, safety) {
            Some((run, restoring)) => finish(&run, &restoring),
            None => format!("synthdev snapshot restore {to}"),
        }
    }

    /// The run whose files were on their way there.
    fn returning(&self, to: &SnapshotId, safety: &SnapshotId) -> Option<(RunId, Restoring)> {
        let run = self.ports().snapshots.find(to.as_str()).ok()?.run?;
        let restoring = reopen::read(&*self.ports().store, &run).ok()?.restoring?;
        (restoring.safety == *safety).then_some((run, restoring))
    }

    /// What was cut off is over, because a person has said otherwise what the files are to be.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn settle_cut_off(&self, found: &CutOff) -> Result<(), StoreError> {
        self.settle_cut_off_of_others(found, None)
    }

    /// The same, said by this run, which settles its own.
    pub(super) fn settle_cut_off_of_others(
        &self,
        found: &CutOff,
        own: Option<&RunId>,
    ) -> Result<(), StoreError> {
        let Goal::Snapshot(to) = &found.goal else { return Ok(()) };
        let Some((run, _)) = self.returning(to, &found.safety) else { return Ok(()) };
        if own == Some(&run) {
            return Ok(());
        }
        let (store, mark) = (&self.ports().store, settled(self.ports().clock.now())?);
        let seen = store.find(run.as_str())?;
        self.claim_as_seen(&seen)?;
        let written = store.append(&run, &[mark], Some(&seen.progress));
        if written.is_err() {
            self.give_back(&run, seen.progress);
        }
        written
    }

    /// No run begins, or goes on, over files that are of two moments.
    ///
    /// # Errors
    /// They are.
    pub fn judge_project(&self) -> Result<(), StoreError> {
        match self.cut_off() {
            Some((found, finish)) => Err(of_two_moments(&found, &finish)),
            None => Ok(()),
        }
    }
}

/// Why nothing begins in a project.
pub fn of_two_moments(found: &CutOff, finish: &str) -> StoreError {
    let what = match &found.goal {
        Goal::Snapshot(to) => format!("files of this project were on their way back to snapshot {to}"),
        Goal::Merge { run, .. } => format!("run {run} was being merged into this project"),
    };
    StoreError {
        message: format!("{what} when the program died: the files are of two moments"),
        hint: Some(format!(
            "finish it: {finish}; or go back to before it: synthdev snapshot restore {}; or keep the files as they \
             are: synthdev snapshot create",
            found.safety
        )),
    }
}
