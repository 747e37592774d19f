//! Saves what can be read of a damaged history into a new one beside it.
//!
//! SQLite reads a copy of the damaged file (`damaged_copy`) row by row (`damaged_history`). The file itself is never
//! written to and never deleted; taking its place means that it is renamed (`replace`).

mod damaged_copy;
mod damaged_history;
mod file_holders;
mod indexes;
mod rebuild;
mod replace;

use std::path::Path;

use rusqlite::Connection;

use super::{open, store_errors, wal_sync};
use synthdev_ports::run_store::StoreError;

pub use replace::{finish_replacement, replace_store};

use damaged_copy::DamagedCopy;
use rebuild::RescueTotals;

/// What could be saved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SalvageReport {
    pub runs: u64,
    pub rows: u64,
    /// What SQLite finds wrong with the damaged file, a line each. Not all of it need cost something.
    pub damage: Vec<String>,
    /// What could not be saved, a line each; empty if nothing is lost.
    pub lost_items: Vec<String>,
}

/// Copies every run that can be read from `path` to a new history at `to`, and checks the new one. Of a run whose
/// journal has a hole only the rows before it are kept, and it counts as interrupted. The search index is made anew by
/// the first search. No store of this process may be open on `path`: copying the file by another way than SQLite's
/// would drop the locks that it holds.
///
/// # Errors
/// Another process has `path` open, there is nothing at `path`, it is sound but not ours, something is at `to`, a file
/// cannot be read or written, or the new file did not turn out sound. Then nothing is left at `to`.
pub fn salvage_store(path: &Path, to: &Path) -> Result<SalvageReport, StoreError> {
    file_holders::ensure_unused(path)?;
    open::refuse_unfinished(path)?;
    if open::is_absent(path) && wal_sync::log_bytes(path) == 0 {
        return Err(StoreError {
            message: format!("there is no run history {}", path.display()),
            hint: None,
        });
    }
    if !open::is_absent(to) {
        return Err(StoreError {
            message: format!("{} is there already", to.display()),
            hint: Some("nothing is overwritten: move it away".to_owned()),
        });
    }
    let mut copy = DamagedCopy::make(path)?;
    let damaged = copy.open_history(path)?;
    let saved = fill_new_store(to, |connection| rebuild::write_rescued(connection, &damaged));
    if saved.is_err() {
        for file in [to.to_owned(), wal_sync::wal_path(to), wal_sync::with_suffix(to, "-shm")] {
            // best effort: the first error is the one to report
            let _ = std::fs::remove_file(file);
        }
    }
    let RescueTotals { runs, rows, lost_items } = saved?;
    let (damage, notes) = (std::mem::take(&mut copy.damage), std::mem::take(&mut copy.notes));
    Ok(SalvageReport { runs, rows, damage, lost_items: [notes, lost_items].concat() })
}

fn fill_new_store(
    to: &Path,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<RescueTotals>,
) -> Result<RescueTotals, StoreError> {
    let mut connection = open::open_store(to).map_err(|refused| refused.error)?;
    let told = |error: rusqlite::Error| store_errors::explain_error(to, "write", &error);
    let saved = work(&mut connection).map_err(told)?;
    let sound: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(told)?;
    let loose: i64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .map_err(told)?;
    let counted: (u64, u64) = connection
        .query_row("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM rows)", [], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
        })
        .map_err(told)?;
    if sound != "ok" || loose > 0 || counted != (saved.runs, saved.rows) {
        return Err(StoreError {
            message: format!("the new history {} did not turn out sound: {sound}", to.display()),
            hint: Some("the damaged one was left as it is; check the disk".to_owned()),
        });
    }
    connection.close().map_err(|(_, error)| told(error))?;
    Ok(saved)
}
