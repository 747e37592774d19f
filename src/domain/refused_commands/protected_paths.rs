//! Directories that no user means to remove or overwrite as a whole, and block devices.

use std::path::Path;

use super::input::RefusedCommandInput;
use super::placeholders::{ANY, DOWNLOADED, ONE, UNKNOWN};

/// The system's own directories. Those for temporary files, caches and logs are not among them.
const SYSTEM: [&str; 51] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/media",
    "/mnt",
    "/mnt/c",
    "/mnt/d",
    "/nix",
    "/nix/store",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/Applications",
    "/Library",
    "/System",
    "/System/Library",
    "/Users",
    "/Volumes",
    "/cores",
    "/private",
    "/private/etc",
    "/private/var",
    "/etc/ssl",
    "/boot/efi",
];

/// How the names of disks and their partitions begin, below `/dev`.
const DISKS: [&str; 20] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "mapper/", "nbd", "bcache",
    "sr", "dasd", "pmem", "mtdblock", "ada", "vg", "zd",
];

/// What is neither a disk nor can be written without harm.
const MEMORY: [&str; 5] = ["/dev/mem", "/dev/kmem", "/dev/port", "/proc/sysrq-trigger", "/proc/kcore"];

/// What paths of a command are resolved against.
#[derive(Clone, Copy)]
pub(super) struct CommandLocation<'a> {
    pub(super) input: &'a RefusedCommandInput<'a>,
    /// The working directory, where it is known.
    pub(super) directory: Option<&'a str>,
}

impl CommandLocation<'_> {
    /// A protected directory in words, if `field` names one or everything in one.
    pub(super) fn protected_directory(self, field: &str) -> Option<String> {
        let path = self.absolute_path(field)?;
        let (parent, last) = path.rsplit_once('/').unwrap_or(("", &path));
        if matches_everything(last) {
            let parent = if parent.is_empty() { "/" } else { parent };
            return self.protected_name(parent).map(|name| format!("everything in {name}"));
        }
        self.protected_name(&path)
    }

    /// Root, or one of the system's directories itself.
    pub(super) fn system_directory(self, field: &str) -> Option<String> {
        let path = self.absolute_path(field)?;
        (path == "/" || SYSTEM.contains(&path.as_str())).then_some(path)
    }

    /// A disk, or memory that must not be written.
    pub(super) fn device_path(self, field: &str) -> Option<String> {
        let path = self.absolute_path(field)?;
        if MEMORY.contains(&path.as_str()) {
            return Some(path);
        }
        let name = path.strip_prefix("/dev/")?;
        let disk = DISKS.iter().any(|disk| name.starts_with(disk));
        disk.then(|| display_path(&path))
    }

    /// Without `.` and `..`. `None` where it cannot be known.
    pub(super) fn absolute_path(self, field: &str) -> Option<String> {
        if field.is_empty() || field.starts_with(is_unknown_character) {
            return None;
        }
        let whole = match field.strip_prefix('/') {
            Some(_) => field.to_owned(),
            None => format!("{}/{field}", self.directory?),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_some_and(|gone| gone.contains(is_unknown_character)) {
                        return None;
                    }
                }
                part => parts.push(part),
            }
            // links of the kernel
            match parts[..] {
                ["proc", "self" | "thread-self", "cwd"] => {
                    parts = self.directory?.split('/').filter(|part| !part.is_empty()).collect();
                }
                ["proc", process, "root"] if is_process(process) => parts.clear(),
                _ => {}
            }
        }
        Some(format!("/{}", parts.join("/")))
    }

    pub(super) fn is_in_project(self, path: &str) -> bool {
        Path::new(path).starts_with(self.input.project)
    }

    fn protected_name(self, path: &str) -> Option<String> {
        let pattern = path.contains([ANY, ONE]);
        let is = |place: &str| if pattern { glob_matches(path, place) } else { path == place };
        if is("/") {
            return Some("/".to_owned());
        }
        if path.contains(is_unknown_character) {
            return None;
        }
        let home = self.input.home.and_then(Path::to_str).map(|home| home.trim_end_matches('/'));
        if home.is_some_and(|home| !home.is_empty() && is(home)) {
            return Some("the home directory".to_owned());
        }
        if home.is_some_and(|home| home.starts_with(&format!("{path}/"))) {
            return Some(format!("{path}, where the home directory is"));
        }
        if self.input.project.to_str() == Some(path) {
            return None;
        }
        if let Some(place) = SYSTEM.iter().find(|place| is(place)) {
            return Some((*place).to_owned());
        }
        let other = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"));
        let whole = other.is_some_and(|name| !name.is_empty() && !pattern && !name.contains('/'));
        whole.then(|| format!("the home directory {path}"))
    }
}

fn is_process(name: &str) -> bool {
    matches!(name, "self" | "thread-self") || name.chars().all(|letter| letter.is_ascii_digit())
}

fn is_unknown_character(letter: char) -> bool {
    letter == UNKNOWN || letter == DOWNLOADED
}

/// For display.
fn display_path(path: &str) -> String {
    path.chars()
        .map(|letter| match letter {
            ANY => '*',
            ONE => '?',
            UNKNOWN | DOWNLOADED => '…',
            letter => letter,
        })
        .collect()
}

/// A pattern that leaves nothing out, such as `*`, `.*` and `*.*`.
fn matches_everything(name: &str) -> bool {
    name.contains(ANY) && name.chars().all(|letter| letter == ANY || letter == ONE || letter == '.')
}

/// Whether a pattern of the shell fits a path.
fn glob_matches(pattern: &str, path: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(part)) if part_fits(pattern, part) => {}
            _ => return false,
        }
    }
}

fn part_fits(pattern: &str, part: &str) -> bool {
    let mut patterns = pattern.chars();
    match patterns.next() {
        None => part.is_empty(),
        Some(ANY) => {
            let rest = patterns.as_str();
            let ends = part.char_indices().map(|(at, _)| at).chain([part.len()]);
            ends.into_iter().any(|at| part_fits(rest, part.get(at..).unwrap_or_default()))
        }
        Some(letter) => {
            let mut letters = part.chars();
            letters.next().is_some_and(|found| letter == ONE || letter == found)
                && part_fits(patterns.as_str(), letters.as_str())
        }
    }
}
