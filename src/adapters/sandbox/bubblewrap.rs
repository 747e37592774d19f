//! The layer of namespaces: a command sees a file system of its own, has processes and a network of its own.
//!
//! `bwrap` makes them; what is given to it comes from the policy only.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::launch::{PORTS_COMMAND, SandboxLaunch, SandboxedCommand, TERMINAL_COMMAND};
use super::policy::{PathAccess, PathRule};
use super::port_listener;
use super::syscall_filter::{self, SocketPolicy};

/// Never looked up in `PATH`: a project's directory could be in it.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// What every command gets.
const ALWAYS: [&str; 14] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
];

/// The file number of the filter of system calls.
const CALL_FILTER: u32 = 8;

/// The number of what `bwrap` writes about the first process of the namespace, which ends last.
const LAST_PROCESS: u32 = 7;

/// Where a command sees this program: on the outside it may be anywhere, also where the command sees nothing.
const HELPER: &str = "/dev/synthdev";

/// # Errors
/// It is not there, or namespaces cannot be made: why.
pub fn find_bubblewrap() -> Result<PathBuf, String> {
    let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
    let program = program.ok_or("bubblewrap: not installed")?;
    let tried = Command::new(&program)
        .args(ALWAYS)
        .args(["--unshare-net", "--", "/bin/sh", "-c", ":"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    match tried {
        Ok(tried) if tried.status.success() => Ok(program),
        Ok(tried) => {
            let said = String::from_utf8_lossy(&tried.stderr);
            Err(format!("bubblewrap: {}", said.lines().next().unwrap_or("it does not work here").trim()))
        }
        Err(error) => Err(format!("bubblewrap: {error}")),
    }
}

/// # Errors
/// A filter cannot be written.
pub fn wrap_command(
    program: &Path,
    launch: &SandboxLaunch<'_>,
    arguments: &[OsString],
) -> io::Result<SandboxedCommand> {
    let mut line: Vec<OsString> = vec![program.into()];
    line.extend(ALWAYS.map(OsString::from));
    if !launch.network {
        line.push("--unshare-net".into());
    }
    let private = launch.private;
    push_bind(&mut line, "--bind", private.temporary_path(), Path::new("/tmp"));
    if Path::new("/var/tmp").is_dir() {
        push_bind(&mut line, "--bind", &private.second_temporary(), Path::new("/var/tmp"));
    }
    if Path::new("/run").is_dir() {
        // sockets of services are there: a command that reaches them is outside
        line.extend(["--perms", "0755", "--tmpfs", "/run"].map(OsString::from));
        if launch.network {
            name_servers(&mut line);
        }
    }
    mount_policy(&mut line, launch)?;
    for (name, value) in [("TMPDIR", "/tmp"), ("TEMP", "/tmp"), ("TMP", "/tmp")] {
        line.extend(["--setenv", name, value].map(OsString::from));
    }
    let forwarded = if launch.network { BTreeSet::new() } else { launch.ports.clone() };
    if forwarded.is_empty() {
        for (name, value) in launch.environment {
            line.extend(["--setenv", name, value].map(OsString::from));
        }
    }
    line.push("--chdir".into());
    line.push(launch.directory.into());
    let sockets = if launch.network { SocketPolicy::Internet } else { SocketPolicy::OwnNetwork };
    let filter = private.layer_file(&format!("calls-{}", sockets.name()), || {
        Ok(syscall_filter::program_bytes(&syscall_filter::denying_and_missing_filter(sockets)?))
    })?;
    line.extend(["--seccomp".into(), OsString::from(CALL_FILTER.to_string())]);
    line.extend(["--info-fd".into(), OsString::from(LAST_PROCESS.to_string())]);
    if !forwarded.is_empty() || launch.terminal {
        push_bind(&mut line, "--ro-bind", launch.helper, Path::new(HELPER));
    }
    // most are named twice: outside and inside
    let mounted: BTreeSet<&Path> = line.iter().map(Path::new).filter(|path| path.is_absolute()).collect();
    let mounted_paths = mounted.into_iter().map(Path::to_owned).collect();
    line.push("--".into());
    push_helpers(&mut line, launch, &forwarded);
    line.extend_from_slice(arguments);
    Ok(SandboxedCommand {
        arguments: line,
        files: vec![(CALL_FILTER, filter)],
        last_process: Some(LAST_PROCESS),
        mounted_paths,
        forwarded_ports: forwarded,
    })
}

/// What this program does within the sandbox before it becomes the command.
fn push_helpers(line: &mut Vec<OsString>, launch: &SandboxLaunch<'_>, forwarded: &BTreeSet<u16>) {
    if !forwarded.is_empty() {
        // it sets the variables after its own work: with `LD_PRELOAD` the project would send sockets in its place
        line.extend([HELPER, PORTS_COMMAND].map(OsString::from));
        line.extend(port_listener::listener_arguments(forwarded, launch.environment));
    }
    if launch.terminal {
        line.extend([HELPER, TERMINAL_COMMAND].map(OsString::from));
    }
}

/// Shortest paths first: a later mount covers an earlier one.
fn mount_policy(line: &mut Vec<OsString>, launch: &SandboxLaunch<'_>) -> io::Result<()> {
    let unreadable = launch.private.unreadable_file()?;
    let mut held = launch.policy.directories_to_pin(&launch.rules);
    held.sort_by_key(|path| path.as_os_str().len());
    let mut held = held.iter().peekable();
    let mut closed: Vec<&Path> = Vec::new();
    for rule in launch.rules.iter().copied() {
        // a mount cannot be renamed
        while let Some(path) = held.next_if(|path| path.as_os_str().len() < rule.path.as_os_str().len()) {
            push_bind(line, "--bind", path, path);
        }
        push_mount(line, launch, rule, &unreadable);
        if rule.access == PathAccess::Hidden && rule.path.is_dir() {
            closed.push(&rule.path);
        }
    }
    for socket in super::local_services::visible_sockets(launch.policy) {
        push_bind(line, "--ro-bind", Path::new("/dev/null"), &socket);
    }
    for path in closed {
        line.extend(["--remount-ro".into(), OsString::from(path)]);
    }
    Ok(())
}

fn push_mount(line: &mut Vec<OsString>, launch: &SandboxLaunch<'_>, rule: &PathRule, unreadable: &Path) {
    let path = rule.path.as_path();
    // the private directory is mounted as /tmp; the whole file system is read only already
    let is_private = path == launch.private.temporary_path();
    if is_private || path == Path::new("/") {
        return;
    }
    match rule.access {
        PathAccess::Write => push_bind(line, "--bind", path, path),
        PathAccess::Read => push_bind(line, "--ro-bind", path, path),
        PathAccess::Hidden if path.is_dir() => {
            // what is open below it must be reached through it
            let open = launch.policy.rules.iter().any(|other| {
                let below = other.path != path && other.path.starts_with(path);
                below && other.access != PathAccess::Hidden && other.path != launch.private.temporary_path()
            });
            let mode = if open { "0111" } else { "0000" };
            line.extend(["--perms", mode, "--tmpfs"].map(OsString::from));
            line.push(path.into());
        }
        PathAccess::Hidden if rule.empty => {
            push_bind(line, "--ro-bind", &launch.private.empty_file(path), path);
        }
        PathAccess::Hidden => push_bind(line, "--ro-bind", unreadable, path),
    }
}

fn push_bind(line: &mut Vec<OsString>, how: &str, from: &Path, to: &Path) {
    line.extend([how.into(), from.into(), OsString::from(to)]);
}

/// `/etc/resolv.conf` is often a link into `/run`.
fn name_servers(line: &mut Vec<OsString>) {
    if let Ok(real) = Path::new("/etc/resolv.conf").canonicalize()
        && real.starts_with("/run")
    {
        push_bind(line, "--ro-bind", &real, &real);
    }
}
