//! What keeps others from what is ours: keys in this process, and runs, logs and snapshots in the data directory. And that
//! a file that may not grow is an error and no death.

use std::path::Path;

use synthdev_adapters::file_io;
use synthdev_domain::terminal_safe::escape_name;

/// Closes the data directory, as one that an earlier version or another program made may be open. Returns a warning for
/// the user where that is refused.
pub fn close_data(data: &Path) -> Option<String> {
    let error = file_io::restrict_to_owner(data).err()?;
    // a directory that cannot be written has nothing of ours to protect; inside of a sandbox it is read-only
    (error.kind() != std::io::ErrorKind::ReadOnlyFilesystem).then(|| {
        format!(
            "warning: other users may read the history and the snapshots in {0}, and its permissions cannot \
            be changed: \
             {error}\nhint: restrict them: chmod -R go= {0}; or set XDG_DATA_HOME to another one",
            escape_name(&data.display().to_string())
        )
    })
}

/// Makes this process unreadable for other processes of the same user: without it, `cat /proc/$PPID/environ` in a
/// command shows every key of our environment, and a debugger shows our memory. What any user may read stays readable:
/// `/proc/PID/stat`, by which `runs list` recognises running processes, and `/proc/PID/cmdline`. Commands are not
/// affected: starting a program resets the flag.
#[cfg(target_os = "linux")]
pub fn forbid_process_inspection() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Some sandboxes refuse it. Without it the program works as well, with one fence less.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Elsewhere there is no such mark, and no file with another process's environment.
#[cfg(not(target_os = "linux"))]
pub fn forbid_process_inspection() {}

/// A limit on the size of files (`ulimit -f`) ends a program by a signal unless it handles the signal. With a handler,
/// the write fails with "File too large" and is reported like every failed write. Programs that are started from here
/// do not inherit the handler.
#[cfg(unix)]
pub fn outlive_file_limits() {
    use rustix::process::Signal;
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _inside = runtime.enter();
    // the handler stays when the listener is gone; where it is refused, the signal does what it always did
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
}

#[cfg(not(unix))]
pub fn outlive_file_limits() {}

/// Lets this process have as many files open as the system allows it, within reason, and returns how many: each client
/// of a server is an open file.
#[cfg(unix)]
pub fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const ENOUGH: u64 = 8192;
    let before = getrlimit(Resource::Nofile);
    let current = before.current.unwrap_or(ENOUGH);
    let wanted = before.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if current >= wanted {
        return current;
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: before.maximum });
    if raised.is_ok() { wanted } else { current }
}

/// Elsewhere there is no such limit.
#[cfg(not(unix))]
pub fn raise_open_files() -> u64 {
    8192
}

/// Files that a shell or an editor left open for us are not for the commands that we start: a terminal, a log, a socket.
pub fn close_inherited_on_exec() {
    close_fds::set_fds_cloexec(3, &[]);
}
