//! What keeps the commands that agents run from reading keys out of this process.

/// Makes this process unreadable for others of the same user: without it, `cat /proc/$PPID/environ` in a command
/// shows every key of our environment, and a debugger shows our memory. What any user may read stays readable:
/// `/proc/PID/stat`, from which `runs list` tells living runs, and `/proc/PID/cmdline`. Commands themselves are not
/// touched: starting a program resets the mark.
#[cfg(target_os = "linux")]
pub(super) fn close_to_others() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Some sandboxes refuse it. Without it the program works as well, with one fence less.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Elsewhere there is no such mark, and no file with another process's environment.
#[cfg(not(target_os = "linux"))]
pub(super) fn close_to_others() {}

/// Files that a shell or an editor left open for us are not for the commands that we start: a terminal, a log, a socket.
pub(super) fn keep_inherited_files() {
    close_fds::set_fds_cloexec(3, &[]);
}
