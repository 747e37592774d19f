//! How far the snapshot is that a tool which changes things waits for.

use synthdev_domain::ids::CallId;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SnapshotProgress {
    /// None requested, or the user agreed to continue without one.
    None,
    Pending(CallId),
    Taken,
    Failed(String),
}
