//! Snapshots in git.
