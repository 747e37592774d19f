//! The files of a run: what became of them, and what a step changed.
//!
//! Owns which stored states are those before and after a step. Refuses to guess where none was stored.

use crate::run_place::RunPlace;
use synthdev_domain::ids::{RunId, SnapshotId};
use synthdev_domain::journal::{RunOrigin, RunSummary};
use synthdev_domain::snapshot::{ChangedFile, RestoreTarget, RunWorktree};
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::RunStep;

/// The present state of a run's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFilesStatus {
    pub place: RunPlace,
    pub worktree_gone: bool,
    /// There is something to undo it to.
    pub undo: bool,
    /// A merge of it was cut off.
    pub merge_interrupted: bool,
}

/// What the project's files differ in from the beginning of a step to the next stored state.
#[derive(Clone, PartialEq, Debug)]
pub enum StepFileChanges {
    /// Empty: none was changed.
    Known(Vec<ChangedFile>),
    /// There is no such step any more.
    NoStep,
    /// It is in a branch: all of them are stored together, from the step at which they were forked.
    InBranch {
        owner: String,
        forked: Option<u32>,
    },
    /// No files were stored by then.
    NoneStored,
    /// No snapshot after it is another one: none was taken, or nothing had changed.
    NoneStoredAfter,
    Unreadable {
        message: String,
        hint: Option<String>,
    },
}

/// The files of runs, seen from one project.
pub struct RunFiles<'s> {
    pub handle: &'s RuntimeHandle,
    pub snapshots: &'s dyn SnapshotPort,
    pub project: &'s str,
}

impl RunFiles<'_> {
    pub fn status(&self, run: &RunSummary, is_directory: impl Fn(&str) -> bool) -> RunFilesStatus {
        let is_gone = |tree: &RunWorktree| tree.is_known() && !is_directory(&tree.path);
        let is_imported = run.origin.as_ref().is_some_and(RunOrigin::is_imported);
        let is_here = run.project == self.project;
        let is_stored = |id: &SnapshotId| self.snapshots.find(id.as_str()).is_ok();
        let tree = run.worktree.as_ref();
        RunFilesStatus {
            place: RunPlace::of_run(run, self.project),
            worktree_gone: tree.is_some_and(is_gone),
            undo: !is_imported || (is_here && run.progress.snapshot.as_ref().is_some_and(is_stored)),
            merge_interrupted: is_here && tree.is_some_and(|tree| is_merge_interrupted(self.handle, tree)),
        }
    }

    pub fn changes_of_step(&self, run: &RunId, step: u32) -> StepFileChanges {
        let steps = match self.handle.steps(run) {
            Ok(steps) => steps,
            Err(StoreError { message, hint }) => return StepFileChanges::Unreadable { message, hint },
        };
        let at = usize::try_from(step).unwrap_or(usize::MAX).saturating_sub(1);
        let Some(place) = steps.get(at) else { return StepFileChanges::NoStep };
        if let Some(owner) = place.within.clone() {
            return StepFileChanges::InBranch { owner, forked: place.forked };
        }
        let Some(before) = &place.files else { return StepFileChanges::NoneStored };
        match self.stored_after(run, place, before, steps.get(at + 1..).unwrap_or_default()) {
            Some(after) => self.changes_between(before, &after),
            None => StepFileChanges::NoneStoredAfter,
        }
    }

    fn changes_between(&self, before: &SnapshotId, after: &SnapshotId) -> StepFileChanges {
        if before == after {
            return StepFileChanges::Known(Vec::new());
        }
        match self.snapshots.changes(before, Some(after)) {
            Ok(changes) => StepFileChanges::Known(changes),
            Err(SnapshotError { message, hint }) => StepFileChanges::Unreadable { message, hint },
        }
    }

    /// The next stored state: of a later step, which shares that of this one where nothing has changed, or the newest of
    /// the run.
    fn stored_after(
        &self,
        run: &RunId,
        place: &RunStep,
        before: &SnapshotId,
        later: &[RunStep],
    ) -> Option<SnapshotId> {
        let is_next =
            |other: &&RunStep| other.within.is_none() && (other.exact || other.files != place.files);
        let next = later.iter().find(is_next);
        next.and_then(|next| next.files.clone()).or_else(|| {
            let taken = self.snapshots.list().ok()?.into_iter();
            let mut of_run = taken.filter(|info| info.run.as_ref() == Some(run));
            of_run.next().map(|info| info.id).filter(|id| id != before)
        })
    }
}

/// Whether a merge of this worktree was cut off.
pub(super) fn is_merge_interrupted(handle: &RuntimeHandle, tree: &RunWorktree) -> bool {
    handle.interrupted_restore().is_some_and(
        |(found, _)| matches!(found.goal, RestoreTarget::Merge { branch, .. } if branch == tree.branch),
    )
}
