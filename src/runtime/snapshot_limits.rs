//! A run takes a snapshot; old ones go by themselves, as the settings say: by number and by age.
//!
//! Owns which of them stay whatever the limits say: those of a run that is not over, and of the runs that it came from,
//! and the one that a kept run shares since its start.
//! Refuses to delete a part of what a run took.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout};

use super::effect_executor::EffectExecutor;
use super::handle::RuntimeHandle;
use super::runtime_context::RuntimeContext;
use synthdev_domain::file_progress::FileProgress;
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{RunOrigin, RunQuery, RunStatus, RunSummary};
use synthdev_domain::snapshot::{SnapshotInfo, SnapshotLimits, SnapshotRequest, SnapshotReuse};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::Input;
use synthdev_ports::run_store::{RunStore, StoreError};
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};

const MS_OF_DAY: i64 = 86_400_000;
/// Most snapshots are over sooner, and say nothing.
const FIRST_REPORT: Duration = Duration::from_millis(500);
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

impl EffectExecutor {
    pub(super) async fn take_snapshot(&self, call: CallId, label: String, note: String) {
        let store = Arc::clone(&self.context.ports.snapshots);
        let is_first = !self.has_snapshot.swap(true, Ordering::Relaxed);
        // only the first may be that of another run: later ones of others could go before this run is over, and a resumed
        // run distinguishes its own from those of others
        let reuse = match is_first && self.is_new_run {
            true => SnapshotReuse::AnyRun,
            false => SnapshotReuse::SameRun(self.last_snapshot()),
        };
        let (own_label, own_note) = (label.clone(), note.clone());
        let request = SnapshotRequest { label, note, run: Some(self.run.clone()), reuse };
        let progress = Arc::clone(&store);
        let work = tokio::task::spawn_blocking(move || store.take(&request));
        let taken = self.report_snapshot(work, &*progress).await;
        self.send_input(match taken {
            Ok(Ok(info)) => {
                *self.last_snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.id.clone());
                if is_first {
                    // nothing waits for it: the next run does again what fails
                    let context = Arc::clone(&self.context);
                    drop(tokio::task::spawn_blocking(move || context.delete_old_snapshots()));
                }
                // a shared one has those of the state or run that took it
                let info = SnapshotInfo { label: own_label, note: own_note, ..info };
                Input::SnapshotTaken { call, info }
            }
            Ok(Err(error)) => {
                let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                Input::SnapshotFailed { call, reason: format!("{}{hint}", error.message) }
            }
            Err(error) => Input::SnapshotFailed { call, reason: format!("the snapshot broke: {error}") },
        });
    }

    fn last_snapshot(&self) -> Option<SnapshotId> {
        self.last_snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the end; what takes longer than a moment says how far it is.
    async fn report_snapshot<T>(
        &self,
        mut work: JoinHandle<T>,
        store: &dyn SnapshotPort,
    ) -> Result<T, JoinError> {
        let mut since = Instant::now();
        let mut pause = FIRST_REPORT;
        loop {
            match timeout(pause, &mut work).await {
                Ok(end) => return end,
                Err(_) => {
                    let FileProgress { done_count, total_count, .. } = store.progress();
                    if done_count == 0 {
                        since = Instant::now();
                    }
                    let elapsed_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let (done_files, total_files) = (done_count, total_count);
                    self.publish_event(RunEvent::SnapshotProgress { done_files, total_files, elapsed_ms });
                }
            }
            pause = REPORT_INTERVAL;
        }
    }
}

impl RuntimeHandle {
    /// Takes a snapshot, then deletes those beyond the limits; how many they were. Blocking.
    ///
    /// # Errors
    /// It cannot be taken.
    pub fn take_within_limits(
        &self,
        request: &SnapshotRequest,
    ) -> Result<(SnapshotInfo, usize), SnapshotError> {
        let context = &self.context;
        let (snapshots, limits) = (&context.ports.snapshots, context.options.snapshot_limits);
        if limits == SnapshotLimits::default() {
            return Ok((snapshots.take(request)?, 0));
        }
        snapshots.take_and_delete(request, &|all| context.choose_old_snapshots(all, limits))
    }
}

impl RuntimeContext {
    fn delete_old_snapshots(&self) -> Result<usize, SnapshotError> {
        let limits = self.options.snapshot_limits;
        if limits == SnapshotLimits::default() {
            return Ok(0);
        }
        Ok(self.ports.snapshots.delete_chosen(&|all| self.choose_old_snapshots(all, limits))?.len())
    }

    /// Those beyond the limits that no run needs.
    fn choose_old_snapshots(
        &self,
        all: &[SnapshotInfo],
        limits: SnapshotLimits,
    ) -> Result<HashSet<SnapshotId>, SnapshotError> {
        let stay = runs_that_stay(all, limits);
        let before = age_limit(limits, self.ports.clock.now());
        let is_old = |(at, info): &(usize, &SnapshotInfo)| {
            let is_counted = info.run.as_ref().is_some_and(|run| stay.contains(run));
            let is_beyond = limits.keep > 0 && *at >= limits.keep && !is_counted;
            is_beyond || before.is_some_and(|before| info.created < before)
        };
        // the newest is what was taken just now
        let old: Vec<&SnapshotInfo> =
            all.iter().enumerate().skip(1).filter(is_old).map(|(_, info)| info).collect();
        if old.is_empty() {
            return Ok(HashSet::new());
        }
        let failed = |error: StoreError| SnapshotError { message: error.message, hint: error.hint };
        let mut needed = NeededRuns::load(&*self.ports.store).map_err(failed)?;
        needed.add_starts(&*self.ports.store, &stay, before);
        let gone = old.into_iter().filter(|info| !needed.need_snapshot(info));
        Ok(gone.map(|info| info.id.clone()).collect())
    }
}

/// The runs of the newest snapshots: what one took stays as a whole.
fn runs_that_stay(list: &[SnapshotInfo], limits: SnapshotLimits) -> HashSet<RunId> {
    list.iter().take(limits.keep).filter_map(|info| info.run.clone()).collect()
}

fn age_limit(limits: SnapshotLimits, now: Timestamp) -> Option<Timestamp> {
    let days = Some(limits.keep_days).filter(|days| *days > 0)?;
    Some(Timestamp(now.0 - i64::from(days) * MS_OF_DAY))
}

/// Runs that are not over, and those that they came from.
#[derive(Default)]
struct NeededRuns {
    runs: HashSet<RunId>,
    /// The snapshots that they started from: an earlier run may have taken them.
    first_snapshots: HashSet<SnapshotId>,
}

impl NeededRuns {
    fn load(store: &dyn RunStore) -> Result<Self, StoreError> {
        let open = vec![RunStatus::Running, RunStatus::Paused, RunStatus::Interrupted];
        let mut needed = Self::default();
        for run in store.list(&RunQuery { statuses: open, ..RunQuery::default() })? {
            let mut origin = needed.add_run(run);
            while let Some(from) = origin.filter(|from| !needed.runs.contains(&from.run)) {
                // one that was deleted leads nowhere
                origin = store.find(from.run.as_str()).ok().and_then(|run| needed.add_run(run));
            }
        }
        Ok(needed)
    }

    /// What the kept runs started from, unless they are over age themselves.
    fn add_starts(&mut self, store: &dyn RunStore, kept: &HashSet<RunId>, before: Option<Timestamp>) {
        // of one that was deleted nothing is needed
        let runs = kept.iter().filter_map(|run| store.find(run.as_str()).ok());
        let young = runs.filter(|run| before.is_none_or(|before| run.started >= before));
        self.first_snapshots.extend(young.filter_map(|run| run.progress.snapshot));
    }

    /// Gives back where it came from.
    fn add_run(&mut self, run: RunSummary) -> Option<RunOrigin> {
        self.first_snapshots.extend(run.progress.snapshot);
        self.runs.insert(run.id);
        run.origin
    }

    fn need_snapshot(&self, info: &SnapshotInfo) -> bool {
        self.first_snapshots.contains(&info.id)
            || info.run.as_ref().is_some_and(|run| self.runs.contains(run))
    }
}
