//! Ends what a command leaves behind where it has no namespace of processes: a process that waits outside of the command's
//! reach, and whose own signals reach nothing but the command.

use std::io::{self, PipeWriter};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use landlock::{ABI, Access, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use rustix::process::{DumpableBehavior, getppid, set_dumpable_behavior, test_kill_process};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Waits until nothing holds the pipe open any more, then ends all that its signals reach.
const WAIT_AND_END: &str = "read -r _; kill -s KILL -- -1";

/// Lives until the command and this process have ended.
pub(super) struct ProcessKeeper {
    _process: Child,
    _alive: PipeWriter,
}

/// Drops root's rights over the machine: no command may have them. Other users have none.
///
/// # Errors
/// They cannot be dropped.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// `None`: the kernel cannot keep signals within the command, so nothing may be ended in this way.
///
/// # Errors
/// The keeper cannot be started.
pub(super) fn start_keeper() -> io::Result<Option<ProcessKeeper>> {
    // our parent is outside, and must be out of reach from here on: without that proof all of the user's processes
    // would be ended
    let Some(outside) = getppid().filter(|outside| test_kill_process(*outside).is_ok()) else {
        return Ok(None);
    };
    let limited = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::from_all(ABI::V6))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    if limited.is_err() || test_kill_process(outside) != Err(rustix::io::Errno::PERM) {
        return Ok(None);
    }
    // the command must not take the other end of the pipe from us
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let (waiting, alive) = io::pipe()?;
    let process = Command::new("/bin/sh")
        .args(["-c", WAIT_AND_END])
        .env_clear()
        .stdin(Stdio::from(waiting))
        .process_group(0)
        .spawn()?;
    Ok(Some(ProcessKeeper { _process: process, _alive: alive }))
}

impl ProcessKeeper {
    /// Runs the command to its end; the exit code is as shells say it.
    pub(super) fn run_to_end(self, mut command: Command) -> io::Result<u8> {
        let status = command.status()?;
        let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
        // the pipe stays open until this process exits: closed any earlier, the keeper ends this process before it can
        // say the exit code
        std::mem::forget(self);
        Ok(u8::try_from(code).unwrap_or(1))
    }
}
