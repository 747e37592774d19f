//! Whether the process that drives a run is still alive.
//!
//! An owner holds a lock as long as it lives, and the lock's name is stored with the run. When it is killed, the watchers
//! of its commands hold the lock until these have ended (`liveness_handle.rs`); its process is gone by then. Without a
//! lock the process id decides: the system reuses ids, so the start time of the process is stored as well, and a process
//! of another host or container is not visible and counts as dead.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::liveness_lock::{self, LivenessLock};
use super::remote_runs;

/// Between what the system says of a process and the name of its lock.
const LOCK: char = '|';

/// Identity of a process beyond its id: boot and start time. Empty when it is unknown.
pub(super) fn process_identity(pid: u32) -> String {
    if Path::new("/proc/self/stat").exists() {
        return start_time_from_proc(pid).unwrap_or_default();
    }
    start_from_ps(pid).unwrap_or_default()
}

/// The identity of an owner that holds a lock.
pub(super) fn identity_with_lock(identity: &str, presence: &LivenessLock) -> String {
    format!("{identity}{LOCK}{}", presence.name)
}

/// The name of the lock that an owner holds; empty if it has none.
pub(super) fn lock_name(process: &str) -> &str {
    process.split_once(LOCK).map_or("", |(_, lock)| lock)
}

/// What has become of an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OwnerState {
    Alive,
    /// It was killed, and the watchers of its commands still hold its lock.
    Ending,
    Gone,
}

/// Cached answers for one listing; a process is looked up once. The default one has no locks.
#[derive(Default)]
pub(super) struct ProcessLivenessCache<'c> {
    identities: HashMap<u32, String>,
    /// Where locks are.
    locks_directory: Option<PathBuf>,
    lock_states: HashMap<String, Option<OwnerState>>,
    /// Where it is written which runs go on at a server, whether a process here drives them or not.
    keepers: Option<&'c Connection>,
    has_keepers: Option<bool>,
}

impl<'c> ProcessLivenessCache<'c> {
    /// With the locks beside this history.
    pub(super) fn for_store(connection: &Connection) -> Self {
        let place = connection.path().and_then(|path| liveness_lock::locks_directory(Path::new(path)));
        Self { locks_directory: place, ..Self::default() }
    }

    /// For readers: a run that a server keeps is not interrupted when no process here drives it.
    pub(super) fn for_readers(connection: &'c Connection) -> Self {
        Self { keepers: Some(connection), ..Self::for_store(connection) }
    }

    /// Asked only of runs that no process here drives.
    pub(super) fn is_remote(&mut self, run: &str) -> rusqlite::Result<bool> {
        let Some(connection) = self.keepers else { return Ok(false) };
        let has_keepers = match self.has_keepers {
            Some(known) => known,
            None => *self.has_keepers.insert(remote_runs::has_keepers(connection)?),
        };
        Ok(has_keepers && remote_runs::find_stored_keeper(connection, run)?.is_some())
    }

    pub(super) fn is_alive(&mut self, pid: u32, process: &str) -> bool {
        self.owner_state(pid, process) == OwnerState::Alive
    }

    pub(super) fn owner_state(&mut self, pid: u32, process: &str) -> OwnerState {
        let (process, lock) = process.split_once(LOCK).unwrap_or((process, ""));
        if let Some(place) = self.locks_directory.as_deref().filter(|_| !lock.is_empty()) {
            let state =
                self.lock_states.entry(lock.to_owned()).or_insert_with(|| lock_owner_state(place, lock, pid));
            if let Some(state) = *state {
                return state;
            }
        }
        let now = self.identities.entry(pid).or_insert_with(|| process_identity(pid));
        let is_running = !now.is_empty() && (process.is_empty() || now == process);
        if is_running { OwnerState::Alive } else { OwnerState::Gone }
    }
}

/// Of the owner with this lock; `None` if that cannot be known.
fn lock_owner_state(place: &Path, lock: &str, pid: u32) -> Option<OwnerState> {
    Some(match liveness_lock::is_lock_held(place, lock)? {
        false => OwnerState::Gone,
        true if liveness_lock::is_owner_visible(place, lock) && is_process_gone(pid) => OwnerState::Ending,
        true => OwnerState::Alive,
    })
}

/// Known for certain: no process has this id, or a dead one that its parent has not collected.
fn is_process_gone(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let missing = id.is_none_or(|id| test_kill_process(id) == Err(Errno::SRCH));
    missing || matches!(process_state(pid).as_deref(), Some("Z" | "X"))
}

/// Field 3 of `/proc/PID/stat`.
fn process_state(pid: u32) -> Option<String> {
    fields_after_name(pid)?.first().cloned()
}

/// Field 22 of `/proc/PID/stat`, in ticks since boot, behind the boot's id. Zombies count as dead.
fn start_time_from_proc(pid: u32) -> Option<String> {
    let fields = fields_after_name(pid)?;
    let (state, start) = (fields.first()?, fields.get(19)?);
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    (state != "Z" && state != "X").then(|| format!("{} {start}", boot.trim()))
}

/// Of `/proc/PID/stat`, from field 3 on. The name before it is in brackets and may hold spaces and brackets itself.
fn fields_after_name(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Systems without `/proc`: what `ps` says about the start.
fn start_from_ps(pid: u32) -> Option<String> {
    let pid = pid.to_string();
    let found = Command::new("ps")
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .args(["-o", "lstart=", "-p", &pid])
        .output()
        .ok()?;
    let start = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    (found.status.success() && !start.is_empty()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_a_reused_id_does_not() {
        let me = std::process::id();
        let mut census = ProcessLivenessCache::default();
        assert!(census.is_alive(me, &process_identity(me)));
        assert!(census.is_alive(me, ""), "an unknown start time is given the benefit of the doubt");
        assert!(!census.is_alive(me, "another boot 1"));
        assert!(!census.is_alive(u32::MAX - 1, ""));
    }

    #[test]
    fn an_ended_process_is_dead() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!ProcessLivenessCache::default().is_alive(pid, ""));
    }
}
