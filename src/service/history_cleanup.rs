//! What the history takes, and removing old runs.
//!
//! Owns which runs may be removed: those that are over, and conversations that were left. Refuses to remove one that still
//! has a worktree, or anything without a limit that the user set.

use std::collections::{HashMap, HashSet};

use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{HistoryStorageUsage, ReclaimedSpace, RunOutline, RunQuery, RunStatus};
use synthdev_domain::snapshot::{SnapshotInfo, SnapshotRetention};
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
    /// The snapshots of this project that they took go with them.
    pub with_snapshots: bool,
}

impl CleanupLimits {
    /// Nothing says which runs are old.
    pub fn is_empty(self) -> bool {
        self.older_than_days.is_none() && self.keep.is_none()
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
                let (oldest, newest) = old.span.unwrap_or((run.started, run.started));
                old.span = Some((oldest.min(run.started), newest.max(run.started)));
                old.runs.push(run.id.clone());
            }
        }
        // first: it is the history that says which of them other runs need
        if limits.with_snapshots {
            old.snapshot_count = Some(self.remove_snapshots(&old.runs, removes)?);
        }
        old.freed =
            if removes { self.store.delete(&old.runs) } else { self.store.measure_deletion(&old.runs) }?;
        Ok(old)
    }

    /// The snapshots of these runs, but for those that a fork of one goes back to. How many they are.
    fn remove_snapshots(&self, runs: &[RunId], removes: bool) -> Result<usize, StoreError> {
        let gone: HashSet<&RunId> = runs.iter().collect();
        let known = self.store.list(&RunQuery::newest(0))?;
        let origins: HashMap<&RunId, &RunId> =
            known.iter().filter_map(|run| Some((&run.id, &run.origin.as_ref()?.run))).collect();
        let mut needed: HashSet<&RunId> = HashSet::new();
        for run in known.iter().filter(|run| !gone.contains(&run.id)) {
            let mut at = &run.id;
            while let Some(origin) = origins.get(at).filter(|origin| needed.insert(**origin)) {
                at = *origin;
            }
        }
        let goes = |info: &SnapshotInfo| {
            info.run.as_ref().is_some_and(|run| gone.contains(run) && !needed.contains(run))
        };
        let failed = |error: SnapshotError| StoreError { message: error.message, hint: error.hint };
        let (old, others): (Vec<_>, Vec<_>) =
            self.snapshots.list().map_err(failed)?.into_iter().partition(goes);
        let Some(newest) = old.iter().map(|info| info.created.0).max() else { return Ok(0) };
        let sweep = SnapshotRetention {
            keep: 0,
            // one that a run takes just now is not among the others
            older_than: Some(Timestamp(newest + 1)),
            keep_ids: others.into_iter().map(|info| info.id).collect(),
            dry: !removes,
        };
        Ok(self.snapshots.delete_old(&sweep).map_err(failed)?.len())
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
