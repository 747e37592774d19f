//! How far the snapshot is that a tool which changes things waits for.

use synthdev_domain::ids::CallId;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SnapshotProgress {
    /// None asked for, or the person agreed to go on without.
    None,
    Pending(CallId),
    Taken,
    Failed(String),
}
