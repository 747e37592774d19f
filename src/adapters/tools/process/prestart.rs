//! Sandboxes of the next commands, made while the model thinks: mounts and namespaces take longer than most commands.
//!
//! A sandbox is used once, and only if a sandbox that is made now would be the same: the same arguments, and every path
//! that it holds the same file. Otherwise it is thrown away.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::liveness_handle::LivenessLockHandle;

use super::start::{StartPlan, StartedProcess};

/// A sandbox that no command asks for ends: an idle program holds no processes.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Most of the time of a start is waiting for the kernel: two starts take hardly longer than one. So commands that
/// follow each other at once get theirs in half the time.
const MOST_SANDBOXES: usize = 2;

/// The sandboxes that wait for a command.
#[derive(Clone, Default)]
pub(crate) struct PrestartedSandboxes(Arc<SandboxStock>);

#[derive(Default)]
struct SandboxStock {
    state: Mutex<StockState>,
    /// A start has ended, well or not.
    start_ended: Notify,
}

#[derive(Default)]
struct StockState {
    waiting: Vec<WaitingSandbox>,
    /// What is being started.
    starting: Vec<StartPlan>,
}

struct WaitingSandbox {
    plan: StartPlan,
    fingerprint: SandboxFingerprint,
    process: StartedProcess,
    expiry: AbortHandle,
}

impl PrestartedSandboxes {
    /// A sandbox that is what this plan would make now. Waits for one that is being started.
    pub(super) async fn take_matching(&self, plan: &StartPlan) -> Option<StartedProcess> {
        loop {
            let start_ended = self.0.start_ended.notified();
            {
                let mut state = self.0.lock_state();
                if let Some(process) = state.take_waiting(plan) {
                    return Some(process);
                }
                if !state.starting.contains(plan) {
                    return None;
                }
            }
            start_ended.await;
        }
    }

    /// Starts the missing ones in the background. If one cannot be started, the next command says why.
    pub(super) fn prepare_next(&self, plan: &StartPlan, liveness: &LivenessLockHandle) {
        loop {
            let mut state = self.0.lock_state();
            if state.waiting.len() + state.starting.len() >= MOST_SANDBOXES {
                return;
            }
            state.starting.push(plan.clone());
            drop(state);
            self.start_in_background(plan.clone(), liveness.clone());
        }
    }

    fn start_in_background(&self, plan: StartPlan, liveness: LivenessLockHandle) {
        let stock = Arc::downgrade(&self.0);
        tokio::task::spawn_blocking(move || {
            // looked at before the start: what changes meanwhile makes the sandbox useless
            let fingerprint = SandboxFingerprint::for_plan(&plan);
            let started = plan.start_process(&liveness);
            let Some(stock) = stock.upgrade() else { return };
            stock.finish_start(plan, fingerprint, started.ok());
        });
    }
}

impl SandboxStock {
    fn lock_state(&self) -> MutexGuard<'_, StockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish_start(
        self: &Arc<Self>,
        plan: StartPlan,
        fingerprint: SandboxFingerprint,
        started: Option<StartedProcess>,
    ) {
        let stock = Arc::downgrade(self);
        let mut state = self.lock_state();
        if let Some(index) = state.starting.iter().position(|starting| *starting == plan) {
            state.starting.swap_remove(index);
        }
        if let Some(process) = started {
            let expiry = tokio::spawn(async move {
                tokio::time::sleep(LONGEST_WAIT).await;
                // the oldest is the first in the list
                let expired = stock.upgrade().and_then(|stock| {
                    let mut state = stock.lock_state();
                    (!state.waiting.is_empty()).then(|| state.waiting.remove(0))
                });
                drop(expired);
            });
            let expiry = expiry.abort_handle();
            state.waiting.push(WaitingSandbox { plan, fingerprint, process, expiry });
        }
        drop(state);
        self.start_ended.notify_waiters();
    }
}

impl StockState {
    /// Throws away what does not match.
    fn take_waiting(&mut self, plan: &StartPlan) -> Option<StartedProcess> {
        while !self.waiting.is_empty() {
            let mut oldest = self.waiting.remove(0);
            oldest.expiry.abort();
            let same = oldest.plan == *plan && oldest.fingerprint == SandboxFingerprint::for_plan(plan);
            if same && !oldest.process.group.has_ended() {
                return Some(oldest.process);
            }
        }
        None
    }
}

/// What a sandbox is made of besides its arguments.
#[derive(PartialEq, Eq, Debug)]
struct SandboxFingerprint {
    files: Vec<Option<FileIdentity>>,
    /// What the user mounts later would be writable in a sandbox that is there already.
    mounts: Option<Vec<u8>>,
}

impl SandboxFingerprint {
    fn for_plan(plan: &StartPlan) -> Self {
        let files = plan.mounted_paths.iter().map(|path| FileIdentity::from_path(path)).collect();
        Self { files, mounts: std::fs::read("/proc/self/mountinfo").ok() }
    }
}

#[derive(PartialEq, Eq, Debug)]
struct FileIdentity {
    device: u64,
    inode: u64,
    /// Numbers are used again.
    created_at: Option<SystemTime>,
    /// A file that was moved away and back is no longer what was mounted. Directories change with what is in them.
    changed_at: Option<(i64, i64)>,
}

impl FileIdentity {
    fn from_path(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            created_at: found.created().ok(),
            changed_at: found.is_file().then(|| (found.ctime(), found.ctime_nsec())),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use tokio::io::AsyncReadExt;

    use super::super::job::JobCommand;
    use super::super::start::send_command;
    use super::*;

    async fn waiting(plan: &StartPlan) -> PrestartedSandboxes {
        let prestarted = PrestartedSandboxes::default();
        prestarted.prepare_next(plan, &LivenessLockHandle::default());
        while !prestarted.0.lock_state().starting.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(prestarted.0.lock_state().waiting.len(), MOST_SANDBOXES);
        prestarted
    }

    #[tokio::test]
    async fn it_runs_the_command_that_it_is_given() {
        let prestarted = waiting(&StartPlan::for_test(&[])).await;
        let mut started = prestarted.take_matching(&StartPlan::for_test(&[])).await.unwrap();
        let arguments = ["%s|".to_owned(), "it's".to_owned(), "a\nb $HOME".to_owned()];
        send_command(started.commands, JobCommand::Program("printf", &arguments)).await;
        let mut printed = String::new();
        started.output.read_to_string(&mut printed).await.unwrap();
        assert_eq!(printed, "it's|a\nb $HOME|");
        assert!(prestarted.take_matching(&StartPlan::for_test(&[])).await.is_some(), "the second one");
        assert!(prestarted.take_matching(&StartPlan::for_test(&[])).await.is_none(), "each is used once");
    }

    #[tokio::test]
    async fn a_command_waits_for_one_that_is_being_started() {
        let prestarted = PrestartedSandboxes::default();
        prestarted.prepare_next(&StartPlan::for_test(&[]), &LivenessLockHandle::default());
        for _ in 0..MOST_SANDBOXES {
            assert!(prestarted.take_matching(&StartPlan::for_test(&[])).await.is_some());
        }
        assert!(prestarted.take_matching(&StartPlan::for_test(&[])).await.is_none());
    }

    #[tokio::test]
    async fn it_is_used_only_where_nothing_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        type Change = fn(&dyn Fn(&str) -> PathBuf);
        let rows: [(&str, bool, Change); 7] = [
            ("nothing", true, |_| {}),
            ("a file in a directory", true, |path| fs::write(path("directory/new"), "x").unwrap()),
            ("a file replaced", false, |path| {
                fs::write(path("new"), "x").unwrap();
                fs::rename(path("new"), path("file")).unwrap();
            }),
            ("a file moved away and back", false, |path| {
                fs::rename(path("file"), path("away")).unwrap();
                fs::rename(path("away"), path("file")).unwrap();
            }),
            ("a file removed", false, |path| fs::remove_file(path("file")).unwrap()),
            ("a directory made anew", false, |path| {
                fs::remove_dir_all(path("directory")).unwrap();
                fs::create_dir(path("directory")).unwrap();
            }),
            ("a missing path made", false, |path| fs::write(path("missing"), "x").unwrap()),
        ];
        for (name, used, change) in rows {
            let _ = fs::remove_file(path("missing"));
            fs::write(path("file"), "x").unwrap();
            fs::create_dir_all(path("directory")).unwrap();
            let plan = StartPlan::for_test(&[path("file"), path("directory"), path("missing")]);
            let prestarted = waiting(&plan).await;
            change(&path);
            assert_eq!(prestarted.take_matching(&plan).await.is_some(), used, "{name}");
        }
    }

    #[tokio::test]
    async fn another_plan_or_one_that_has_ended_is_not_used() {
        let prestarted = waiting(&StartPlan::for_test(&[])).await;
        assert!(prestarted.take_matching(&StartPlan::for_test(&[PathBuf::from("/")])).await.is_none());
        let prestarted = waiting(&StartPlan::for_test(&[])).await;
        for index in 0..MOST_SANDBOXES {
            prestarted.0.lock_state().waiting[index].process.group.kill_group();
            while !prestarted.0.lock_state().waiting[index].process.group.has_ended() {
                tokio::task::yield_now().await;
            }
        }
        assert!(prestarted.take_matching(&StartPlan::for_test(&[])).await.is_none());
    }
}
