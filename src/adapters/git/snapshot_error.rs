//! Turns what libgit2 and the disk say into a `SnapshotError`: what failed, where, what to do next.
//! Decides nothing about recovery.

use std::io::{Error, ErrorKind};
use std::path::Path;

use synthdev_ports::snapshot::SnapshotError;

/// The short form every function of this module returns.
pub type SnapshotResult<T> = Result<T, SnapshotError>;

/// Why nothing is run in such a project, and what to do: history would not know it again.
pub const NOT_UTF_8: (&str, &str) = (
    "the path of this project is not UTF-8 text, so no run could be found again by it",
    "Rename the directory to a name in UTF-8 (`mv`), then start there.",
);

pub fn snapshot_error(message: impl Into<String>, hint: impl Into<String>) -> SnapshotError {
    SnapshotError { message: message.into(), hint: Some(hint.into()) }
}

/// A disk error while writing the store (`place` is the file or directory meant).
pub fn store_io_error(place: &Path, error: &Error) -> SnapshotError {
    snapshot_error(
        format!("cannot write the snapshot store {}: {error}", place.display()),
        format!("Make {} writable and see that its disk has room, then try again.", place.display()),
    )
}

/// A disk error while reading or changing a file of the project.
pub fn project_io_error(place: &Path, error: &Error) -> SnapshotError {
    let hint = match error.kind() {
        ErrorKind::StorageFull => "The disk is full: make room on it, then try again.",
        ErrorKind::QuotaExceeded => "Your quota on this disk is used up: make room, then try again.",
        ErrorKind::FileTooLarge => "The file is larger than this disk or `ulimit -f` allows.",
        ErrorKind::ReadOnlyFilesystem => "The disk is mounted read-only: mount it writable, then try again.",
        ErrorKind::NotFound => "See that this path exists, then try again.",
        ErrorKind::PermissionDenied => "Check the permissions of this path and try again.",
        _ if is_name(error) => {
            "The disk there takes no such name (some want UTF-8): rename it, then try again."
        }
        _ => "See that this disk works and has room, then try again.",
    };
    snapshot_error(format!("cannot access {}: {error}", place.display()), hint)
}

/// A libgit2 error while writing objects or refs.
pub fn git_write_error(place: &Path, error: &git2::Error) -> SnapshotError {
    snapshot_error(
        // libgit2 ends a message with `: ` where the system has no words for it
        format!(
            "cannot write to the git store {}: {}",
            place.display(),
            error.message().trim_end_matches(": ")
        ),
        match blocking_lock(error) {
            Some(lock) => format!("If no git command is at work there, remove {lock}, then try again."),
            None => format!(
                "Make {} writable and see that its disk has room; `git fsck` there shows damage.",
                place.display()
            ),
        },
    )
}

/// A repository that is not opened, as that would wait for ever, or write what a link leads to.
pub fn refused_repository_error(project: &Path, error: &git2::Error) -> SnapshotError {
    snapshot_error(
        format!("the git repository of {} is not used: {}", project.display(), error.message()),
        "Remove it if you did not put it there (`rm` takes a link away, not what it leads to), then try again.",
    )
}

/// A libgit2 error while reading.
pub fn git_read_error(place: &Path, error: &git2::Error) -> SnapshotError {
    snapshot_error(
        format!("cannot read the git store {}: {}", place.display(), error.message()),
        format!("Run `git fsck` in {} to see whether objects are missing or damaged.", place.display()),
    )
}

/// Whether the disk refuses a name, not what is done with it.
fn is_name(error: &Error) -> bool {
    let refused = [rustix::io::Errno::ILSEQ, rustix::io::Errno::NAMETOOLONG, rustix::io::Errno::INVAL];
    refused.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// The lock that is in the way.
fn blocking_lock(error: &git2::Error) -> Option<String> {
    let path = error.message().split('\'').find(|part| part.ends_with(".lock"))?;
    (error.code() == git2::ErrorCode::Locked).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_fits_what_the_disk_says() {
        let rows = [
            (rustix::io::Errno::NOSPC, "make room"),
            (rustix::io::Errno::DQUOT, "quota"),
            (rustix::io::Errno::FBIG, "ulimit"),
            (rustix::io::Errno::ROFS, "read-only"),
            (rustix::io::Errno::ACCESS, "permissions"),
            (rustix::io::Errno::ILSEQ, "rename it"),
            (rustix::io::Errno::IO, "this disk works"),
        ];
        for (errno, part) in rows {
            let hint = project_io_error(Path::new("a"), &Error::from(errno)).hint.unwrap();
            assert!(hint.contains(part), "{errno}: {hint}");
        }
    }
}
