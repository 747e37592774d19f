//! What becomes of a run's worktree: its changes are merged into the project, or discarded.
//!
//! Owns when each is allowed, and what the user must know before. Refuses to merge what is not complete, and to discard
//! where a merge was cut off.

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::snapshot::{RunWorktree, UnmergedChanges, WorktreeMergeResult, WorktreeSource};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_ports::worktree::{MergeError, WorktreePort};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::history::inconsistent_files_error;

use crate::run_files::is_merge_interrupted;
use crate::run_place::RunPlaceError;

/// Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("run {run} has no worktree: it worked in {}", escape_name(.project))]
    NoWorktree { run: RunId, project: String },
    #[error(transparent)]
    Place(#[from] RunPlaceError),
    #[error("run {0} is still running: its changes are incomplete")]
    MergeOfRunning(RunId),
    #[error("run {0} is still running")]
    DiscardOfRunning(RunId),
    #[error("worktree and branch {} of run {run} were removed", escape_name(.branch))]
    Removed { run: RunId, branch: String },
    #[error("the worktree of run {run} is gone, and nothing that it changed was kept: {}", escape_name(.path))]
    NothingKept { run: RunId, path: String },
    /// `branch`: where its files are, if it is there.
    #[error("{error}")]
    Conflicts { error: MergeError, branch: Option<String> },
    #[error("{}", .0.message)]
    Store(StoreError),
    #[error("{}", .0.message)]
    Snapshot(SnapshotError),
}

impl WorktreeError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoWorktree { .. } | Self::Removed { .. } => return None,
            Self::Place(error) => error.hint(),
            Self::MergeOfRunning(_) | Self::DiscardOfRunning(_) => "stop it first".to_owned(),
            Self::NothingKept { run, .. } => format!("clean up with: synthdev runs discard {run}"),
            Self::Conflicts { branch: Some(branch), .. } => {
                format!("nothing was changed; merge manually: git merge {branch}")
            }
            Self::Conflicts { branch: None, .. } => {
                "nothing was changed; move these files of the project away, then merge again".to_owned()
            }
            Self::Store(error) => return error.hint.clone(),
            Self::Snapshot(error) => return error.hint.clone(),
        })
    }
}

impl From<StoreError> for WorktreeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SnapshotError> for WorktreeError {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

/// What a merge will bring into the project.
#[derive(Clone, Debug)]
pub struct MergePlan {
    pub run: RunSummary,
    pub tree: RunWorktree,
    pub changes: UnmergedChanges,
    /// An earlier merge of this run was cut off: this finishes it.
    pub is_interrupted: bool,
}

impl MergePlan {
    /// The project has everything.
    pub fn is_empty(&self) -> bool {
        self.changes.files.is_empty() && !self.is_interrupted
    }

    /// Why it would be refused.
    pub fn conflict(&self) -> Option<WorktreeError> {
        let conflicts = &self.changes.conflicts;
        (!conflicts.is_empty()).then(|| self.refused(MergeError::Conflicts(conflicts.clone())))
    }

    fn refused(&self, error: MergeError) -> WorktreeError {
        match error {
            MergeError::Failed(error) => WorktreeError::Snapshot(error),
            error @ MergeError::Conflicts(_) => {
                let is_there = self.changes.kept == WorktreeSource::Tree;
                WorktreeError::Conflicts { error, branch: is_there.then(|| self.tree.branch.clone()) }
            }
        }
    }
}

/// What a discard would throw away.
#[derive(Clone, Debug)]
pub struct DiscardPlan {
    pub run: RunSummary,
    pub tree: RunWorktree,
    pub loss: DiscardLoss,
}

#[derive(Clone, Debug)]
pub enum DiscardLoss {
    /// Worktree and branch were removed before.
    Removed,
    Changes(UnmergedChanges),
    /// It cannot be determined, and why.
    Unknown(String),
}

impl DiscardPlan {
    /// The run could go on in its worktree, and could not without it.
    pub fn blocks_run(&self) -> bool {
        let is_there = match &self.loss {
            DiscardLoss::Removed => false,
            DiscardLoss::Changes(changes) => changes.kept == WorktreeSource::Tree,
            DiscardLoss::Unknown(_) => true,
        };
        let status = self.run.progress.status;
        is_there && matches!(status, RunStatus::Paused | RunStatus::Interrupted | RunStatus::Failed)
    }

    /// Something would be lost.
    pub fn needs_consent(&self) -> bool {
        let is_loss = match &self.loss {
            DiscardLoss::Removed => false,
            DiscardLoss::Changes(changes) => !changes.files.is_empty(),
            DiscardLoss::Unknown(_) => true,
        };
        is_loss || self.blocks_run()
    }
}

/// Where a run works, if that is a worktree.
///
/// # Errors
/// It is none, or not known any more.
pub fn worktree_of_run(run: &RunSummary) -> Result<&RunWorktree, WorktreeError> {
    let (id, project) = (run.id.clone(), run.project.clone());
    let tree = run.worktree.as_ref().ok_or(WorktreeError::NoWorktree { run: id.clone(), project })?;
    if tree.is_known() {
        return Ok(tree);
    }
    Err(RunPlaceError::WorktreeGone { run: id, tree: tree.clone() }.into())
}

/// The use cases, for the project of the run.
pub struct WorktreeService<'s> {
    handle: &'s RuntimeHandle,
    worktrees: &'s dyn WorktreePort,
}

impl<'s> WorktreeService<'s> {
    pub fn new(handle: &'s RuntimeHandle, worktrees: &'s dyn WorktreePort) -> Self {
        Self { handle, worktrees }
    }

    /// What a merge would bring. Changes nothing.
    ///
    /// # Errors
    /// The run is running, has no worktree, or nothing of it was kept.
    pub fn plan_merge(&self, run: &RunSummary) -> Result<MergePlan, WorktreeError> {
        let tree = worktree_of_run(run)?;
        let id = run.id.clone();
        if run.progress.status == RunStatus::Running {
            return Err(WorktreeError::MergeOfRunning(id));
        }
        self.handle.wait_for_commands(&id)?;
        let Some(changes) = self.worktrees.unmerged(tree)? else {
            return Err(WorktreeError::Removed { run: id, branch: tree.branch.clone() });
        };
        let is_interrupted = is_merge_interrupted(self.handle, tree);
        let plan = MergePlan { run: run.clone(), tree: tree.clone(), changes, is_interrupted };
        if plan.is_empty() && plan.changes.kept == WorktreeSource::Nothing {
            return Err(WorktreeError::NothingKept { run: id, path: tree.path.clone() });
        }
        Ok(plan)
    }

    /// Does it, with the project's files for itself.
    ///
    /// # Errors
    /// Another run works in the project, or the changes do not fit together.
    pub fn merge(&self, plan: &MergePlan) -> Result<WorktreeMergeResult, WorktreeError> {
        let _held = self.handle.lock_files(&plan.run.id, &plan.run.workflow)?;
        self.worktrees.merge(&plan.tree).map_err(|error| plan.refused(error))
    }

    /// What a discard would throw away. Changes nothing.
    ///
    /// # Errors
    /// The run is running, has no worktree, or a merge of it was cut off.
    pub fn plan_discard(&self, run: &RunSummary) -> Result<DiscardPlan, WorktreeError> {
        let tree = worktree_of_run(run)?;
        if run.progress.status == RunStatus::Running {
            return Err(WorktreeError::DiscardOfRunning(run.id.clone()));
        }
        self.handle.wait_for_commands(&run.id)?;
        if is_merge_interrupted(self.handle, tree)
            && let Some((found, finish)) = self.handle.interrupted_restore()
        {
            return Err(inconsistent_files_error(&found, &finish).into());
        }
        let loss = match self.worktrees.unmerged(tree) {
            Ok(None) => DiscardLoss::Removed,
            Ok(Some(changes)) => DiscardLoss::Changes(changes),
            Err(error) => DiscardLoss::Unknown(error.message),
        };
        Ok(DiscardPlan { run: run.clone(), tree: tree.clone(), loss })
    }

    /// Removes worktree and branch. `force`: also with commits that others made on the branch.
    ///
    /// # Errors
    /// There are such commits, or something cannot be removed.
    pub fn discard(&self, plan: &DiscardPlan, force: bool) -> Result<(), WorktreeError> {
        Ok(self.worktrees.discard(&plan.tree, force)?)
    }
}
