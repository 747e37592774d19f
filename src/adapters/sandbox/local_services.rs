//! Services of this machine that listen on files: a network namespace does not keep a command from them.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::policy::{PathAccess, SandboxPolicy};

/// Directories that a sandboxed command has for itself: of the host's content only what a rule names is visible.
const OWN: [&str; 5] = ["/tmp", "/var/tmp", "/run", "/dev", "/proc"];

/// More of them would make each command slow.
const MOST: usize = 256;

/// Sockets that a command would see. Those of other network namespaces, as of containers, are not known.
pub(super) fn visible_sockets(policy: &SandboxPolicy) -> Vec<PathBuf> {
    let listed = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut found: Vec<PathBuf> = listed
        .lines()
        .filter_map(socket_path)
        .filter_map(|path| visible_path(policy, Path::new(path)))
        .collect();
    found.sort();
    found.dedup();
    found.truncate(MOST);
    found
}

/// The eighth column; names that begin with `@` are no files.
fn socket_path(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..7 {
        rest = rest.trim_start();
        rest = &rest[rest.find(char::is_whitespace)?..];
    }
    let path = rest.trim_start();
    path.starts_with('/').then_some(path)
}

fn visible_path(policy: &SandboxPolicy, path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let named =
        policy.rules.iter().any(|rule| rule.access != PathAccess::Hidden && path.starts_with(&rule.path));
    let own = !named && OWN.iter().any(|own| path.starts_with(own));
    let hidden = policy.access_to(&path).0 == PathAccess::Hidden;
    let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    (!own && !hidden && is_socket).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_the_kernels_table() {
        for (line, expected) in [
            ("Num       RefCount Protocol Flags    Type St Inode Path", None),
            (
                "000000009b33d2c1: 00000002 00000000 00010000 0001 01 16211 /home/x/a b.sock",
                Some("/home/x/a b.sock"),
            ),
            ("000000009b33d2c1: 00000002 00000000 00010000 0001 01 16211 @/abstract", None),
            ("000000009b33d2c1: 00000003 00000000 00000000 0001 03 16299", None),
        ] {
            assert_eq!(socket_path(line), expected, "{line}");
        }
    }
}
