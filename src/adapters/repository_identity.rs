//! What copies of a repository have in common, on all machines.

use std::path::Path;

use crate::git::OutsideFiles;
use crate::git::open_repository::open_around;

/// The first commit, along first parents from HEAD, and the project's place in the work tree. `None`: no repository, or
/// one without a commit.
pub fn repository_identity(project: &Path) -> Option<String> {
    let repository = open_around(project, OutsideFiles::Refused).ok()?;
    let mut walk = repository.revwalk().ok()?;
    walk.push_head().ok()?;
    walk.simplify_first_parent().ok()?;
    let first = walk.last()?.ok()?;
    let work = std::fs::canonicalize(repository.workdir()?).ok()?;
    let place = project.strip_prefix(work).ok()?;
    let place = if place.as_os_str().is_empty() { String::new() } else { format!(":{}", place.display()) };
    Some(format!("git:{first}{place}"))
}

/// Distinguishes a directory from every other, also of other machines: hosts that have the same one share its files.
pub fn directory_identity(directory: &Path) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let inode = std::fs::metadata(directory).map(|found| inode_text(&found)).unwrap_or_default();
    format!("{}:{inode}:{}", boot.trim(), directory.display())
}

#[cfg(unix)]
fn inode_text(found: &std::fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    format!("{}:{}", found.dev(), found.ino())
}

#[cfg(not(unix))]
fn inode_text(_: &std::fs::Metadata) -> String {
    String::new()
}
