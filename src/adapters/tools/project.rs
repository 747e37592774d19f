//! What every tool knows of the project it works in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::sandbox::Sandbox;

use super::fence::Fence;

/// No tool reads or writes a file larger than this, in bytes (TOOL-7).
pub(super) const FILE_LIMIT: u64 = 10 * 1024 * 1024;

/// What every tool is given.
pub(super) struct Project {
    pub(super) fence: Fence,
    pub(super) terminal_timeout: Duration,
    pub(super) cap: usize,
    pub(super) strip_env: Vec<String>,
    pub(super) sandbox: Arc<Sandbox>,
    /// Whose index is asked: of a worktree, that of its project.
    pub(super) indexed: PathBuf,
}
