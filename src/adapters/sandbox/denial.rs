//! Searches the output of a command for denials: programs report them in their own words, and a model takes them for
//! bugs.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::policy::{PathAccess, SandboxPolicy};
use synthdev_domain::sandbox::{NetworkAccess, NetworkReach, ProcessLimits, SandboxMode};

/// What was denied, in lines for the model and the user.
#[derive(Default, Debug)]
pub struct SandboxDenials {
    pub lines: Vec<String>,
    /// The network was missing, and the user may be asked for it.
    pub network: bool,
}

/// Denial lines for each command; the rest is counted.
const MOST: usize = 5;

const READ_ONLY: [&str; 2] = ["Read-only file system", "EROFS"];
const NO_PERMISSION: [&str; 4] = ["Permission denied", "EACCES", "permission denied", "Access is denied"];
const NOT_PERMITTED: [&str; 9] = [
    "Operation not permitted",
    "EPERM",
    "operation not permitted",
    "Device or resource busy",
    "EBUSY",
    // a hard link or rename from one mount to another
    "Invalid cross-device link",
    "EXDEV",
    "Function not implemented",
    "ENOSYS",
];

/// Hidden directories through which something else is reached look empty.
const NOT_THERE: [&str; 3] = ["No such file or directory", "ENOENT", "not found"];

/// How programs say that no network is there.
const NO_NETWORK: [&str; 24] = [
    // the command's own loopback has no services of this machine
    "Connection refused",
    "connection refused",
    "ECONNREFUSED",
    "Address family not supported",
    "Network is unreachable",
    "network is unreachable",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "could not resolve host",
    "Couldn't resolve host",
    "Name or service not known",
    "Could not resolve proxy",
    "unable to resolve host address",
    "failed to lookup address",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    "no such host",
    "dial tcp: lookup",
    "Failed to establish a new connection",
    "getaddrinfo",
    "Could not connect to server",
    "Couldn't connect to server",
    "Failed to connect to",
];

/// The words for a refused access: "may not be read", "may not be written".
const NOT_READ: &str = "read";
const NOT_WRITTEN: &str = "written";

/// One line for a path that a file tool is denied: the words of a command's denial, then why, and what to do.
/// `path`: as it is shown.
pub fn file_tool_denial(policy: &SandboxPolicy, path: &str, access: PathAccess, reason: &str) -> String {
    let (what, reason) = match access {
        PathAccess::Hidden => (NOT_READ, reason),
        _ if policy.mode == SandboxMode::ReadOnly => (NOT_WRITTEN, "this policy lets nothing be written"),
        _ => (NOT_WRITTEN, reason),
    };
    format!("{} ({reason}); {}", denial_line(path, what, policy.mode), denial_advice("call"))
}

fn denial_line(path: impl fmt::Display, what: &str, mode: SandboxMode) -> String {
    format!("[sandbox] {path} may not be {what} (policy {})", mode.as_str())
}

fn denial_advice(of: &str) -> String {
    format!("this is the user's policy, not a fault of the {of}: do without it, or ask the user")
}

/// What a command reaches of the network, and what it should reach and does not.
#[derive(Clone, Copy)]
pub struct MissingNetwork<'a> {
    pub network_reach: NetworkReach<'a>,
    /// Why the declared ports are not reached.
    pub ports_closed_reason: Option<&'static str>,
}

/// How a command ended.
pub struct CommandOutcome {
    pub printed: String,
    pub failed: bool,
    /// Its exit code says that a server was not reached, whatever it printed.
    pub server_unreached: bool,
}

pub fn find_denials(
    policy: &SandboxPolicy,
    outcome: &CommandOutcome,
    directory: &Path,
    network: MissingNetwork<'_>,
) -> SandboxDenials {
    let CommandOutcome { printed, failed, server_unreached } = outcome;
    let (printed, failed) = (printed.as_str(), *failed);
    let access = network.network_reach.access;
    let unreached = *server_unreached && access != NetworkAccess::On;
    let mut denials = SandboxDenials { network: unreached, ..SandboxDenials::default() };
    let mut more = 0_usize;
    let mode = policy.mode.as_str();
    for words in printed.lines() {
        let says = |all: &[&str]| all.iter().any(|one| words.contains(one));
        let read_only = says(&READ_ONLY);
        let refused = says(&NO_PERMISSION) || says(&NOT_PERMITTED);
        if access != NetworkAccess::On && says(&NO_NETWORK) {
            denials.network = true;
        }
        let missing = says(&NOT_THERE);
        if !read_only && !refused && !missing {
            continue;
        }
        let told = match denied_path(policy, words, directory) {
            Some((path, PathAccess::Hidden)) => denial_line(path.display(), NOT_READ, policy.mode),
            _ if missing && !read_only && !refused => continue,
            Some((path, _)) => {
                let what = if is_system_path(&path) { "reached" } else { NOT_WRITTEN };
                denial_line(path.display(), what, policy.mode)
            }
            None if read_only && failed => {
                format!("[sandbox] a path outside of what may be written was refused (policy {mode})")
            }
            None if failed && refused && !names_a_file(words, directory) && is_no_permission(words) => {
                format!("[sandbox] a path outside of what may be reached was refused (policy {mode})")
            }
            None if failed && says(&NOT_PERMITTED) => {
                format!("[sandbox] what the command asked of the system is not permitted (policy {mode})")
            }
            None => continue,
        };
        if denials.lines.contains(&told) {
            continue;
        }
        if denials.lines.len() < MOST { denials.lines.push(told) } else { more += 1 }
    }
    if more > 0 {
        denials.lines.push(format!("[sandbox] {more} more denial{}", if more == 1 { "" } else { "s" }));
    }
    if failed {
        denials.lines.extend(limits_reached(policy.limits, printed));
    }
    denials.network &= failed;
    if denials.network {
        denials.lines.push(network_line(network));
        denials.network = access == NetworkAccess::Ask;
    }
    if !denials.lines.is_empty() {
        denials.lines.push(format!("[sandbox] {}", denial_advice("command")));
    }
    denials
}

/// Other processes, the kernel's settings, devices: what is denied there may as well be reading.
fn is_system_path(path: &Path) -> bool {
    ["/proc", "/dev", "/sys"].iter().any(|place| path.starts_with(place))
}

/// Matches messages of programs that reach a limit, only for limits that are set.
fn limits_reached(limits: ProcessLimits, printed: &str) -> Vec<String> {
    let rows: [(u64, &str, &str, &[&str]); 3] = [
        (
            limits.processes,
            "max_processes",
            "processes and threads",
            &["Resource temporarily unavailable", "EAGAIN", "Cannot fork", "cannot fork"],
        ),
        (
            limits.memory_mb,
            "max_memory_mb",
            "MiB of memory",
            &[
                "Out of memory",
                "out of memory",
                "Cannot allocate memory",
                "ENOMEM",
                "memory allocation of",
                "MemoryError",
            ],
        ),
        (
            limits.file_mb,
            "max_file_mb",
            "MiB for one file",
            &["File size limit exceeded", "File too large", "EFBIG"],
        ),
    ];
    rows.into_iter()
        .filter(|(most, _, _, words)| *most > 0 && words.iter().any(|word| printed.contains(word)))
        .map(|(most, setting, of, _)| {
            format!("[sandbox] a limit of the user may be reached: {most} {of} (`sandbox.{setting}`)")
        })
        .collect()
}

/// For what reaches the network without a command.
pub fn network_denial(reach: NetworkReach<'_>) -> SandboxDenials {
    let network = MissingNetwork { network_reach: reach, ports_closed_reason: None };
    SandboxDenials { lines: vec![network_line(network)], network: true }
}

fn network_line(network: MissingNetwork<'_>) -> String {
    let how = match network.network_reach.access {
        NetworkAccess::Off => {
            "the user allows it with `sandbox.network` (in the settings, or for the role) or --sandbox-network on"
        }
        NetworkAccess::Ask | NetworkAccess::On => {
            "the user allows it on screen when asked, or with --sandbox-network on"
        }
    };
    if network.network_reach.ports.is_empty() {
        return format!("[sandbox] network is off: {how}");
    }
    let ports = list_ports(network.network_reach.ports);
    match network.ports_closed_reason {
        None => {
            format!(
                "[sandbox] network is off, but for the ports of this machine that the workflow declares ({ports}): {how}"
            )
        }
        Some(why) => format!(
            "[sandbox] network is off, also for the ports that the workflow declares ({ports}), as {why}: {how}"
        ),
    }
}

fn list_ports(ports: &BTreeSet<u16>) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// Ports that a command was let through to, where nothing answered: no policy has denied it anything.
pub fn unanswered_ports_line(ports: &BTreeSet<u16>) -> Option<String> {
    let said = list_ports(ports);
    let what = if ports.len() == 1 { "port" } else { "ports" };
    (!ports.is_empty()).then(|| {
        format!("[sandbox] nothing listens at 127.0.0.1 on this machine at what the workflow declares: {what} {said}. Start it, and try again")
    })
}

/// Words of a line that may be paths.
fn path_candidates(line: &str) -> Vec<&str> {
    let is_border = |c: char| c.is_whitespace() || "'\"`‘’“”,;()[]<>=".contains(c);
    let words = line.split(is_border).map(|word| word.trim_end_matches([':', '.']));
    let mut candidates: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    // `sh: 1: cannot create /x: Read-only …`, `touch: /x: …`: what is behind a colon
    candidates.extend(line.split(": ").map(str::trim));
    candidates
}

/// The name next to the error is a file that is there: its mode may deny it.
fn names_a_file(line: &str, directory: &Path) -> bool {
    let Some((before, after)) = NO_PERMISSION.iter().find_map(|words| line.split_once(words)) else {
        return false;
    };
    let before = before.trim_end_matches([' ', ':']);
    let word =
        before.rsplit(|c: char| c.is_whitespace() || "'\"`‘’".contains(c)).find(|word| !word.is_empty());
    let nearest = [word, before.rsplit(": ").next(), path_candidates(after).first().copied()];
    nearest.into_iter().flatten().any(|name| !name.is_empty() && directory.join(name).exists())
}

fn is_no_permission(line: &str) -> bool {
    NO_PERMISSION.iter().any(|words| line.contains(words))
}

/// The first path in a line that the policy denies something.
fn denied_path(policy: &SandboxPolicy, line: &str, directory: &Path) -> Option<(PathBuf, PathAccess)> {
    for candidate in path_candidates(line) {
        let path = directory.join(candidate);
        let like_a_path = candidate.contains('/') || path.exists();
        if !like_a_path || candidate.contains("//") {
            continue;
        }
        let (access, _) = policy.access_to(&path);
        if access != PathAccess::Write {
            return Some((path, access));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::sandbox_places::SandboxPlaces;
    use synthdev_domain::sandbox::SandboxSettings;

    const NO_PORTS: MissingNetwork<'_> = MissingNetwork {
        network_reach: NetworkReach { access: NetworkAccess::Off, ports: &BTreeSet::new() },
        ports_closed_reason: None,
    };

    fn printed_outcome(printed: &str, failed: bool) -> CommandOutcome {
        CommandOutcome { printed: printed.to_owned(), failed, server_unreached: false }
    }

    #[test]
    fn a_client_that_fails_silently_is_told_by_its_exit_code() {
        let policy = SandboxPolicy::from_settings(
            &SandboxSettings::default(),
            &SandboxPlaces::for_project(Path::new("/home/x/p")),
        );
        let silent = CommandOutcome { printed: String::new(), failed: true, server_unreached: true };
        let told = find_denials(&policy, &silent, Path::new("/"), NO_PORTS);
        assert!(told.lines[0].starts_with("[sandbox] network is off"), "{:?}", told.lines);
    }

    #[test]
    fn declared_ports_are_told_with_the_network() {
        let places = SandboxPlaces::for_project(Path::new("/home/x/p"));
        let policy = SandboxPolicy::from_settings(&SandboxSettings::default(), &places);
        let ports = BTreeSet::from([80, 5432]);
        for (closed, expected) in [
            (
                None,
                "network is off, but for the ports of this machine that the workflow declares (80, 5432): the user",
            ),
            (
                Some("x"),
                "network is off, also for the ports that the workflow declares (80, 5432), as x: the user",
            ),
        ] {
            let reach = NetworkReach { access: NetworkAccess::Off, ports: &ports };
            let network = MissingNetwork { network_reach: reach, ports_closed_reason: closed };
            let outcome = printed_outcome("connect: Connection refused", true);
            let told = find_denials(&policy, &outcome, Path::new("/"), network);
            assert!(told.lines[0].starts_with(&format!("[sandbox] {expected}")), "{:?}", told.lines);
        }
        assert_eq!(unanswered_ports_line(&BTreeSet::new()), None);
        assert!(unanswered_ports_line(&ports).unwrap().contains("ports 80, 5432."));
    }

    #[test]
    fn denials_are_told_by_their_path() {
        let settings =
            SandboxSettings { hidden: vec!["/home/x/.ssh".to_owned()], ..SandboxSettings::default() };
        let policy =
            SandboxPolicy::from_settings(&settings, &SandboxPlaces::for_project(Path::new("/home/x/p")));
        let told = |printed: &str, failed: bool| {
            find_denials(&policy, &printed_outcome(printed, failed), Path::new("/home/x/p"), NO_PORTS)
        };
        for (printed, expected) in [
            (
                "touch: cannot touch '/etc/x': Read-only file system",
                "[sandbox] /etc/x may not be written (policy project)",
            ),
            (
                "sh: 1: cannot create ../y: Read-only file system",
                "[sandbox] /home/x/p/../y may not be written (policy project)",
            ),
            (
                "cat: /home/x/.ssh/id: Permission denied",
                "[sandbox] /home/x/.ssh/id may not be read (policy project)",
            ),
            (
                "OSError: [Errno 30] Read-only file system: '/opt/a'",
                "[sandbox] /opt/a may not be written (policy project)",
            ),
            (
                "unshare: unshare failed: Operation not permitted",
                "[sandbox] what the command asked of the system is not permitted (policy project)",
            ),
            ("curl: (6) Could not resolve host: example.org", "[sandbox] network is off"),
        ] {
            let denials = told(printed, true);
            assert!(denials.lines[0].starts_with(expected), "{printed}: {:?}", denials.lines);
        }
        for (printed, failed) in [
            ("all is well", true),
            ("Could not resolve host", false),
            ("a Read-only file system is one that", false),
        ] {
            assert!(told(printed, failed).lines.is_empty(), "{printed}");
        }
        let project = tempfile::tempdir().unwrap();
        let policy = SandboxPolicy::from_settings(
            &SandboxSettings::default(),
            &SandboxPlaces::for_project(project.path()),
        );
        std::fs::write(project.path().join("a"), "").unwrap();
        for (line, lines) in [
            ("cat: ./a: Permission denied", 0),
            ("./a: 2: cannot create b: Permission denied", 2),
            ("PermissionError: [Errno 13] Permission denied: 'a'", 0),
        ] {
            assert_eq!(
                find_denials(&policy, &printed_outcome(line, true), project.path(), NO_PORTS).lines.len(),
                lines,
                "{line}"
            );
        }
        let many: String = (0..20).map(|at| format!("touch: /etc/{at}: Read-only file system\n")).collect();
        assert_eq!(told(&many, true).lines.len(), MOST + 2);
    }
}
