//! The journal of every run, shared safely by several processes.

use crate::domain::ids::RunId;
use crate::domain::journal::{Row, RunHeader, RunProgress, RunSummary};

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub message: String,
    pub hint: Option<String>,
}

/// Calls are short (tens of microseconds) and synchronous; `sync` blocks on the disk and is called from a
/// blocking thread.
pub trait RunStore: Send + Sync {
    /// # Errors
    /// The id exists, or the store cannot be written.
    fn create(&self, header: &RunHeader) -> Result<(), StoreError>;

    /// Appends rows in one transaction that survives a kill of this process, and the progress if given.
    /// # Errors
    /// The store cannot be written.
    fn append(&self, run: &RunId, rows: &[Row], progress: Option<&RunProgress>) -> Result<(), StoreError>;

    /// Makes everything appended so far survive a power cut.
    /// # Errors
    /// The disk refused.
    fn sync(&self) -> Result<(), StoreError>;

    /// Newest first; `limit` 0 means all.
    /// # Errors
    /// The store cannot be read.
    fn list(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError>;

    /// Accepts a unique prefix.
    /// # Errors
    /// Unknown or ambiguous id.
    fn find(&self, id: &str) -> Result<RunSummary, StoreError>;

    /// The run's header and all rows in order.
    /// # Errors
    /// Unknown id, unreadable store.
    fn load(&self, run: &RunId) -> Result<(RunHeader, Vec<Row>), StoreError>;
}
