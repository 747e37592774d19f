//! What this machine has and says: programs, disk, clock, and whether the history can be read.

use std::path::Path;

pub use synthdev_adapters::git::OutsideFiles;
use synthdev_adapters::sqlite::SqliteStore;
use synthdev_adapters::system_clock::{SystemClock, SystemIds};
pub use synthdev_adapters::system_info;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunQuery;
use synthdev_ports::clock::{ClockPort as _, IdSource as _};
use synthdev_ports::run_store::{RunStore as _, StoreError};

/// The time of this machine.
pub fn current_time() -> Timestamp {
    SystemClock.now()
}

/// An identifier that no run has.
pub fn new_run_id() -> RunId {
    SystemIds.run_id()
}

/// Reads a little of a history; gives the version of its format.
///
/// # Errors
/// It cannot be read.
pub fn history_version(file: &Path) -> Result<i32, StoreError> {
    SqliteStore::new(file.to_owned()).list(&RunQuery::newest(1)).map(|_| SqliteStore::VERSION)
}
