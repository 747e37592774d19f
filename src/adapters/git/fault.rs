//! Turns what libgit2 and the disk say into a `SnapshotError`: what failed, where, what to do next.
//! Decides nothing about recovery.

use std::path::Path;

use crate::ports::snapshot::SnapshotError;

/// The short form every function of this module returns.
pub type Outcome<T> = Result<T, SnapshotError>;

pub fn fault(message: impl Into<String>, hint: impl Into<String>) -> SnapshotError {
    SnapshotError { message: message.into(), hint: Some(hint.into()) }
}

/// A disk error while writing the store (`place` is the file or directory meant).
pub fn store(place: &Path, error: &std::io::Error) -> SnapshotError {
    fault(
        format!("cannot write the snapshot store {}: {error}", place.display()),
        format!("Make {} writable and see that its disk has room, then try again.", place.display()),
    )
}

/// A disk error while reading or changing a file of the project.
pub fn project(place: &Path, error: &std::io::Error) -> SnapshotError {
    fault(
        format!("cannot access {}: {error}", place.display()),
        "Check the permissions of this path and try again.",
    )
}

/// A libgit2 error while writing objects or refs.
pub fn git_write(place: &Path, error: &git2::Error) -> SnapshotError {
    fault(
        format!("cannot write to the git store {}: {}", place.display(), error.message()),
        format!(
            "Make {} writable and see that its disk has room; `git fsck` there shows damage.",
            place.display()
        ),
    )
}

/// A libgit2 error while reading.
pub fn git_read(place: &Path, error: &git2::Error) -> SnapshotError {
    fault(
        format!("cannot read the git store {}: {}", place.display(), error.message()),
        format!("Run `git fsck` in {} to see whether objects are missing or damaged.", place.display()),
    )
}
