//! The files of a project as its index sees them, and where the index is kept. Everything here may block.

use synthdev_domain::project_index::{ProjectIndexEntries, ProjectIndexEntry, ProjectScan, SizeLimit};

/// Errors are ready for people: what, where, what to do.
pub trait ProjectIndexPort: Send + Sync {
    /// What belongs into the index, with its checksums.
    ///
    /// # Errors
    /// The project cannot be walked, or is too large for an index.
    fn scan(&self, limit: SizeLimit) -> Result<ProjectScan, String>;

    /// The index as it was kept last; without one: empty. What cannot be read of it is as if it were not there.
    ///
    /// # Errors
    /// It is there and cannot be opened.
    fn load(&self) -> Result<ProjectIndexEntries, String>;

    /// The text of a file with its checksum, as they are now.
    ///
    /// # Errors
    /// Why it is not described, in a few words.
    fn read_file(&self, path: &str, limit: SizeLimit) -> Result<(String, String), String>;

    /// Nobody else writes as long as it is there.
    ///
    /// # Errors
    /// Somebody else writes, or it cannot be written.
    fn writer(&self) -> Result<Box<dyn IndexWriter>, String>;
}

pub trait IndexWriter: Send {
    /// Keeps it at once: it is there after a crash.
    ///
    /// # Errors
    /// What is in the way.
    fn add(&mut self, entry: &ProjectIndexEntry) -> Result<(), String>;

    /// In the end: exactly this is the index.
    ///
    /// # Errors
    /// What is in the way; what was added is kept.
    fn replace_index(&mut self, index: &ProjectIndexEntries) -> Result<(), String>;
}
