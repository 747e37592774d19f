//! Facts of the machine that `doctor` reports. Looks and asks; changes nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::git::OutsideFiles;
use crate::git::open_repository::{self, is_outside_lead_error, is_refusal, open_around};

/// The program of this name that a command would find.
pub fn find_on_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|directory| directory.join(name)).find(|file| is_program(file))
}

/// The first line of `PROGRAM --version`; `None` without output before the deadline.
pub async fn program_version(program: &Path, deadline: Duration) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let done = tokio::time::timeout(deadline, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&done.stdout);
    done.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The git repository that a directory is in.
pub enum FoundRepository {
    /// At this place.
    Usable(PathBuf),
    /// There is none that can be used.
    Missing,
    /// A file of it is none, and git would wait for it: which.
    Stuck(String),
    /// Its own files lead out of it, and its user has not seen which: one of them.
    LeadsOut(String),
}

pub fn repository_root(directory: &Path, outside: OutsideFiles) -> FoundRepository {
    match open_around(directory, outside) {
        Ok(found) => FoundRepository::Usable(found.workdir().unwrap_or_else(|| found.path()).to_owned()),
        Err(error) if is_refusal(&error) => FoundRepository::Stuck(error.message().to_owned()),
        Err(error) if is_outside_lead_error(&error) => FoundRepository::LeadsOut(error.message().to_owned()),
        Err(_) => FoundRepository::Missing,
    }
}

/// What the git repository that a directory is in opens outside of itself, because its own files say so: a line each.
pub fn git_outside_links(directory: &Path) -> Vec<String> {
    open_repository::outside_leads(directory)
}

/// The built-in git.
pub fn git_library() -> String {
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    format!("{major}.{minor}.{patch}")
}

/// Bytes of a file; `None`: it is not there.
pub fn file_size(file: &Path) -> Option<u64> {
    std::fs::metadata(file).ok().map(|known| known.len())
}

/// Bytes that are free for this user where `place` is, or will be.
#[cfg(target_os = "linux")]
pub fn free_bytes(place: &Path) -> Option<u64> {
    let known = rustix::fs::statvfs(nearest_existing(place)?).ok()?;
    known.f_bavail.checked_mul(known.f_frsize)
}

#[cfg(not(target_os = "linux"))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Whether files can be created where `place` is, or will be; `None`: unknown on this system.
#[cfg(target_os = "linux")]
pub fn is_writable(place: &Path) -> Option<bool> {
    Some(rustix::fs::access(nearest_existing(place)?, rustix::fs::Access::WRITE_OK).is_ok())
}

#[cfg(not(target_os = "linux"))]
pub fn is_writable(_: &Path) -> Option<bool> {
    None
}

/// Whether others than the owner can read a file.
#[cfg(unix)]
pub fn is_readable_by_others(file: &Path) -> bool {
    let mode = |known: std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&known.permissions());
    std::fs::metadata(file).is_ok_and(|known| mode(known) & 0o077 != 0)
}

#[cfg(not(unix))]
pub fn is_readable_by_others(_: &Path) -> bool {
    false
}

/// The nearest directory that is there.
#[cfg(target_os = "linux")]
fn nearest_existing(place: &Path) -> Option<&Path> {
    place.ancestors().find(|directory| directory.exists())
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    let mode = |known: &std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&known.permissions());
    std::fs::metadata(file).is_ok_and(|known| known.is_file() && mode(&known) & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.with_extension("exe").is_file()
}
