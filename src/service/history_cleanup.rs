//! What the history takes, and removing old runs.
//!
//! Owns which runs may be removed: those that are over, and conversations that were left; by its id any run that does not
//! work. Refuses to remove one that still has a worktree, or anything without a limit that the user set.

use std::collections::{HashMap, HashSet};

use synthdev_domain::ids::{RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{
    HistoryStorageUsage, ReclaimedSpace, RunOutline, RunQuery, RunStatus, RunSummary,
};
use synthdev_domain::snapshot::SnapshotInfo;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::{RunStore, StoreError};
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};
use synthdev_runtime::run_definition::read_definition;

const MS_OF_DAY: i64 = 86_400_000;

/// Which runs are old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CleanupLimits {
    pub older_than_days: Option<u32>,
    /// So many of the newest ones stay.
    pub keep: Option<usize>,
    /// The oldest ones go until the rows and texts of all runs take so many megabytes at most.
    pub max_megabytes: Option<u64>,
    /// The snapshots of this project that they took go with them.
    pub with_snapshots: bool,
}

impl CleanupLimits {
    /// Nothing says which runs are old.
    pub fn is_empty(self) -> bool {
        self.older_than_days.is_none() && self.keep.is_none() && self.max_megabytes.is_none()
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunsGcReport {
    /// They are gone; else they would go.
    pub is_removed: bool,
    pub runs: Vec<RunId>,
    /// What goes, or went.
    pub freed: ReclaimedSpace,
    /// Start of the oldest and the newest of them.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Runs within the limits that stay because they are not over.
    pub open_count: usize,
    /// Because they have a worktree.
    pub isolated_count: usize,
    /// Snapshots that go, or went; `None`: they were not asked about.
    pub snapshot_count: Option<usize>,
    /// What the rows and texts of all runs take without them, where a size was the limit.
    pub bytes_left: Option<u64>,
}

/// One run that is to go.
#[derive(Clone, PartialEq, Debug)]
pub struct RunDeletionPlan {
    pub run: RunSummary,
    pub freed: ReclaimedSpace,
    /// The server that goes on with the run: only the copy here is removed.
    pub keeper: Option<String>,
}

/// Why one run is not removed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunDeletionError {
    #[error("run {0} is working and was not removed")]
    Working(RunId),
    #[error("run {run} has a worktree in {} and was not removed", escape_name(.path))]
    HasWorktree { run: RunId, path: String },
    #[error("{}", .0.message)]
    Store(StoreError),
}

impl RunDeletionError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Working(run) => {
                Some(format!("wait until it ends, or `synthdev runs cancel {run}` ends it first"))
            }
            Self::HasWorktree { run, .. } => {
                Some(format!("`synthdev runs merge {run}` or `synthdev runs discard {run}` first"))
            }
            Self::Store(error) => error.hint.clone(),
        }
    }
}

impl From<StoreError> for RunDeletionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The disk usage of the history, with what hangs on it elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiskUsageReport {
    pub file: String,
    pub space: HistoryStorageUsage,
    /// Stored files of this project; `None` if they cannot be listed.
    pub snapshots: Option<usize>,
    /// Worktrees of isolated runs that are still there.
    pub worktrees: Vec<String>,
}

/// The history as a whole.
pub struct HistoryCleanup<'s> {
    pub store: &'s dyn RunStore,
    /// Of this project.
    pub snapshots: &'s dyn SnapshotPort,
    pub is_present: &'s dyn Fn(&str) -> bool,
}

impl HistoryCleanup<'_> {
    /// Old runs. `removes`: they are removed, too.
    ///
    /// # Errors
    /// The history cannot be read or written.
    pub fn remove_old_runs(
        &self,
        limits: CleanupLimits,
        now: Timestamp,
        removes: bool,
    ) -> Result<RunsGcReport, StoreError> {
        let mut old = RunsGcReport { is_removed: removes, ..RunsGcReport::default() };
        if limits.is_empty() {
            return Ok(old);
        }
        let runs = self.store.outlines()?;
        let before = limits.older_than_days.map(|days| now.0 - i64::from(days) * MS_OF_DAY);
        let mut removable = Vec::new();
        // newest first, so what is behind `keep` is older
        for run in runs.iter().skip(limits.keep.unwrap_or(0)) {
            if before.is_some_and(|before| run.updated.0 >= before) {
                continue;
            }
            if !run.status.is_over() && !self.is_left_conversation(run) {
                old.open_count += 1;
            } else if self.remaining_worktree(run).is_some() {
                old.isolated_count += 1;
            } else {
                removable.push(run);
            }
        }
        if let Some(megabytes) = limits.max_megabytes {
            let bytes = megabytes.saturating_mul(1_000_000);
            let (kept_count, left) = self.count_kept_within(&runs, &removable, bytes)?;
            removable.drain(..kept_count);
            old.bytes_left = Some(left);
        }
        old.span =
            removable.last().zip(removable.first()).map(|(oldest, newest)| (oldest.started, newest.started));
        old.runs = removable.into_iter().map(|run| run.id.clone()).collect();
        // first: it is the history that says which of them other runs need
        if limits.with_snapshots {
            old.snapshot_count = Some(self.remove_snapshots(&old.runs, removes)?);
        }
        old.freed =
            if removes { self.store.delete(&old.runs) } else { self.store.measure_deletion(&old.runs) }?;
        Ok(old)
    }

    /// How many of the newest removable runs can stay in so many bytes, and what all runs take then: their rows and
    /// texts, and the search index as their share of these.
    fn count_kept_within(
        &self,
        all: &[RunOutline],
        removable: &[&RunOutline],
        most_bytes: u64,
    ) -> Result<(usize, u64), StoreError> {
        let ids = |runs: &[&RunOutline]| runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
        let total = self.store.measure_deletion(&ids(&all.iter().collect::<Vec<_>>()))?.bytes;
        let index_bytes = self.store.storage_usage()?.index_bytes;
        let bytes_with = |kept_count: usize| -> Result<u64, StoreError> {
            let gone = self.store.measure_deletion(&ids(&removable[kept_count..]))?.bytes;
            Ok(with_index_share(total.saturating_sub(gone), total, index_bytes))
        };
        // texts that several runs share make the sizes of single runs useless: whole groups are measured
        let (mut fits, mut too_many) = (0, removable.len() + 1);
        while fits + 1 < too_many {
            let middle = usize::midpoint(fits, too_many);
            if bytes_with(middle)? <= most_bytes { fits = middle } else { too_many = middle }
        }
        Ok((fits, bytes_with(fits)?))
    }

    /// What removing one run takes away; accepts a unique prefix of its id. Nothing is removed.
    ///
    /// # Errors
    /// The run is unknown, works, or has a worktree.
    pub fn plan_run_deletion(&self, id: &str) -> Result<RunDeletionPlan, RunDeletionError> {
        let run = self.store.find(id)?;
        let may_go_on = !run.progress.status.is_over() || !run.progress.pauses.is_empty();
        let keeper = if may_go_on { self.store.keeper(&run.id)? } else { None };
        // one that works at a server has only a copy here
        let works_here = keeper.is_none() || self.store.driver_pid(&run.id).is_some();
        if run.progress.status == RunStatus::Running && works_here {
            return Err(RunDeletionError::Working(run.id));
        }
        let path = run.worktree.as_ref().map(|tree| tree.path.clone());
        if let Some(path) = path.filter(|path| (self.is_present)(path)) {
            return Err(RunDeletionError::HasWorktree { run: run.id, path });
        }
        let freed = self.store.measure_deletion(std::slice::from_ref(&run.id))?;
        Ok(RunDeletionPlan { run, freed, keeper })
    }

    /// Removes the run of a plan.
    ///
    /// # Errors
    /// It works again, or the history cannot be written.
    pub fn delete_run(&self, plan: &RunDeletionPlan) -> Result<ReclaimedSpace, RunDeletionError> {
        Ok(self.store.delete(std::slice::from_ref(&plan.run.id))?)
    }

    /// The snapshots of these runs that no other needs. How many they are.
    fn remove_snapshots(&self, runs: &[RunId], removes: bool) -> Result<usize, StoreError> {
        // asked again while none can be taken: a run may have begun with one of them
        let choose = |all: &[SnapshotInfo]| self.choose_snapshots(all, runs);
        let failed = |error: SnapshotError| StoreError { message: error.message, hint: error.hint };
        let old = self.snapshots.list().and_then(|all| choose(&all)).map_err(failed)?;
        if old.is_empty() || !removes {
            return Ok(old.len());
        }
        Ok(self.snapshots.delete_chosen(&choose).map_err(failed)?.len())
    }

    /// Those of the runs that go, but for what a fork of one goes back to, and what another run has started from.
    fn choose_snapshots(
        &self,
        all: &[SnapshotInfo],
        runs: &[RunId],
    ) -> Result<HashSet<SnapshotId>, SnapshotError> {
        let gone: HashSet<&RunId> = runs.iter().collect();
        let known = self
            .store
            .list(&RunQuery::newest(0))
            .map_err(|error| SnapshotError { message: error.message, hint: error.hint })?;
        let origins: HashMap<&RunId, &RunId> =
            known.iter().filter_map(|run| Some((&run.id, &run.origin.as_ref()?.run))).collect();
        let remaining: Vec<&RunSummary> = known.iter().filter(|run| !gone.contains(&run.id)).collect();
        let mut needed: HashSet<&RunId> = HashSet::new();
        for run in &remaining {
            let mut at = &run.id;
            while let Some(origin) = origins.get(at).filter(|origin| needed.insert(**origin)) {
                at = *origin;
            }
        }
        let used: HashSet<_> = remaining.iter().filter_map(|run| run.progress.snapshot.as_ref()).collect();
        // one that has just begun may have the newest without having said so
        let is_starting =
            |run: &&RunSummary| run.progress.status == RunStatus::Running && run.progress.snapshot.is_none();
        let newest = all.first().filter(|_| remaining.iter().any(is_starting)).map(|info| &info.id);
        let goes = |info: &&SnapshotInfo| {
            let is_of_gone = info.run.as_ref().is_some_and(|run| gone.contains(run) && !needed.contains(run));
            is_of_gone && !used.contains(&info.id) && newest != Some(&info.id)
        };
        Ok(all.iter().filter(goes).map(|info| info.id.clone()).collect())
    }

    /// `file` is where the history is.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn measure(&self, file: String) -> Result<DiskUsageReport, StoreError> {
        let runs = self.store.outlines()?;
        Ok(DiskUsageReport {
            file,
            space: self.store.storage_usage()?,
            snapshots: self.snapshots.list().ok().map(|list| list.len()),
            worktrees: runs
                .iter()
                .filter_map(|run| self.remaining_worktree(run))
                .map(str::to_owned)
                .collect(),
        })
    }

    /// A conversation has no end of its own: one that was not used for long is old.
    fn is_left_conversation(&self, run: &RunOutline) -> bool {
        matches!(run.status, RunStatus::Paused | RunStatus::Interrupted)
            && read_definition(self.store, &run.id).is_ok_and(|spec| spec.program.is_conversation())
    }

    /// The worktree of a run if it is still there.
    fn remaining_worktree<'r>(&self, run: &'r RunOutline) -> Option<&'r str> {
        run.worktree.as_ref().map(|tree| tree.path.as_str()).filter(|path| (self.is_present)(path))
    }
}

/// What rows and texts take with their share of the index, which only knows its size as a whole.
fn with_index_share(bytes: u64, total: u64, index_bytes: u64) -> u64 {
    let share = u128::from(index_bytes) * u128::from(bytes) / u128::from(total.max(1));
    bytes.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
}
