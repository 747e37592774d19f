//! The files of a project as its index sees them, and where the index is stored. Every method may block.

use synthdev_domain::project_index::{ProjectIndexEntries, ProjectIndexEntry, ProjectScan, SizeLimit};

/// Errors are complete messages for the user: what, where, what to do.
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

    /// An exclusive writer: no other process writes while it lives.
    ///
    /// # Errors
    /// Another process writes, or the index cannot be written.
    fn writer(&self) -> Result<Box<dyn IndexWriter>, String>;
}

pub trait IndexWriter: Send {
    /// Stores an entry durably: it survives a crash.
    ///
    /// # Errors
    /// Why it cannot be written.
    fn add(&mut self, entry: &ProjectIndexEntry) -> Result<(), String>;

    /// Replaces the whole index by these entries.
    ///
    /// # Errors
    /// Why it cannot be written; added entries are kept.
    fn replace_index(&mut self, index: &ProjectIndexEntries) -> Result<(), String>;
}
