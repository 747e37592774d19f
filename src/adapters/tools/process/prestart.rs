//! The sandbox of the next command, made while the model thinks: mounts and namespaces take longer than most commands.
//!
//! It is used once, and only if a sandbox that is made now would be the same: the same arguments, and every path that
//! it holds the same file. Otherwise it is thrown away.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::task::AbortHandle;

use super::start::{StartPlan, StartedProcess};

/// A sandbox that nothing asks for ends: an idle program holds no processes.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// At most one sandbox that waits for a command.
#[derive(Clone, Default)]
pub(crate) struct PrestartedSandbox(Arc<Mutex<PrestartSlot>>);

#[derive(Default)]
struct PrestartSlot {
    waiting_sandbox: Option<WaitingSandbox>,
    /// One is being made.
    is_preparing: bool,
}

struct WaitingSandbox {
    plan: StartPlan,
    fingerprint: SandboxFingerprint,
    process: StartedProcess,
    expiry: AbortHandle,
}

impl PrestartedSandbox {
    /// The sandbox that waits, if it is what this plan would make now.
    pub(super) fn take_matching(&self, plan: &StartPlan) -> Option<StartedProcess> {
        let mut waiting = lock_slot(&self.0).waiting_sandbox.take()?;
        waiting.expiry.abort();
        let same = waiting.plan == *plan && waiting.fingerprint == SandboxFingerprint::for_plan(plan);
        (same && !waiting.process.group.has_ended()).then_some(waiting.process)
    }

    /// Makes one in the background. If it cannot be made, the next command says why.
    pub(super) fn prepare_next(&self, plan: StartPlan) {
        let mut slot = lock_slot(&self.0);
        if slot.is_preparing || slot.waiting_sandbox.is_some() {
            return;
        }
        slot.is_preparing = true;
        drop(slot);
        let slot = Arc::downgrade(&self.0);
        tokio::task::spawn_blocking(move || {
            // seen before it is made: what changes meanwhile makes it useless
            let surroundings = SandboxFingerprint::for_plan(&plan);
            let started = plan.start_process();
            let Some(slot) = slot.upgrade() else { return };
            let expiring = Arc::downgrade(&slot);
            let mut slot = lock_slot(&slot);
            slot.is_preparing = false;
            let Ok(started) = started else { return };
            let expiry = tokio::spawn(async move {
                tokio::time::sleep(LONGEST_WAIT).await;
                drop(expiring.upgrade().and_then(|slot| lock_slot(&slot).waiting_sandbox.take()));
            });
            let expiry = expiry.abort_handle();
            slot.waiting_sandbox =
                Some(WaitingSandbox { plan, fingerprint: surroundings, process: started, expiry });
        });
    }
}

fn lock_slot(slot: &Mutex<PrestartSlot>) -> MutexGuard<'_, PrestartSlot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
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

    async fn waiting(plan: &StartPlan) -> PrestartedSandbox {
        let prestarted = PrestartedSandbox::default();
        prestarted.prepare_next(plan.clone());
        while lock_slot(&prestarted.0).is_preparing {
            tokio::task::yield_now().await;
        }
        prestarted
    }

    #[tokio::test]
    async fn it_runs_the_command_that_it_is_given() {
        let prestarted = waiting(&StartPlan::for_test(&[])).await;
        let mut started = prestarted.take_matching(&StartPlan::for_test(&[])).unwrap();
        let arguments = ["%s|".to_owned(), "it's".to_owned(), "a\nb $HOME".to_owned()];
        send_command(started.commands, JobCommand::Program("printf", &arguments)).await;
        let mut printed = String::new();
        started.output.read_to_string(&mut printed).await.unwrap();
        assert_eq!(printed, "it's|a\nb $HOME|");
        assert!(prestarted.take_matching(&StartPlan::for_test(&[])).is_none(), "it is used once");
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
            assert_eq!(prestarted.take_matching(&plan).is_some(), used, "{name}");
        }
    }

    #[tokio::test]
    async fn another_plan_or_one_that_has_ended_is_not_used() {
        let prestarted = waiting(&StartPlan::for_test(&[])).await;
        assert!(prestarted.take_matching(&StartPlan::for_test(&[PathBuf::from("/")])).is_none());
        let prestarted = waiting(&StartPlan::for_test(&[])).await;
        lock_slot(&prestarted.0).waiting_sandbox.as_mut().unwrap().process.group.kill_group();
        while !lock_slot(&prestarted.0).waiting_sandbox.as_mut().unwrap().process.group.has_ended() {
            tokio::task::yield_now().await;
        }
        assert!(prestarted.take_matching(&StartPlan::for_test(&[])).is_none());
    }
}
