//! What every tool knows of the project it works in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::fence::Fence;

/// No tool reads or writes a file larger than this, in bytes (TOOL-7).
pub(super) const FILE_LIMIT: u64 = 10 * 1024 * 1024;

/// What every tool is given.
pub(super) struct Project {
    pub(super) fence: Fence,
    pub(super) terminal_timeout: Duration,
    pub(super) cap: usize,
    pub(super) strip_env: Vec<String>,
    /// Variables that hold keys of model providers, with the servers that they may be sent to.
    pub(super) key_homes: BTreeMap<String, Vec<String>>,
    /// Whose index is asked: of a worktree, that of its project.
    pub(super) indexed: PathBuf,
}
