//! A copy of the damaged history that SQLite may work on: the file itself stays as it is, whatever SQLite does.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::damaged_history::{DamagedHistory, TABLES, read_values};
use super::file_holders::ensure_unused;
use crate::file_io;
use crate::sqlite::{open, schema, store_errors, wal_sync};
use synthdev_ports::run_store::StoreError;

/// Smallest part of a disk that fails alone.
const BLOCK: usize = 4096;
/// What a log holds of each page beside the page itself.
const FRAME_HEADER: u64 = 24;
/// The number of pages in the header of a database: zero makes SQLite count them by the file's size.
const PAGE_COUNT: std::ops::Range<usize> = 28..32;

/// Removed when dropped. Its name is always the same, so the next salvage removes one that a kill left.
pub(super) struct DamagedCopy {
    directory: PathBuf,
    /// What is known to be missing, for display.
    pub(super) notes: Vec<String>,
    /// What SQLite finds wrong with it.
    pub(super) damage: Vec<String>,
}

impl DamagedCopy {
    /// # Errors
    /// The file cannot be read, or there is no room for a copy.
    pub(super) fn make(path: &Path) -> Result<Self, StoreError> {
        let directory = wal_sync::with_suffix(path, "-salvage-copy");
        let copy = directory.join("runs.sqlite");
        ensure_unused(&copy)?;
        remove_directory(&directory)
            .and_then(|()| file_io::ensure_private_directory(&directory))
            .map_err(|error| store_errors::io_error(&directory, "create", &error))?;
        let mut made = Self { directory, notes: Vec::new(), damage: Vec::new() };
        if open::is_absent(path) || open::is_too_short(path) {
            let what = if open::is_absent(path) { "missing" } else { "empty" };
            made.notes.push(format!("the file is {what}"));
            // SQLite removes a log with no pages beneath it
            drop(open::open_store(&copy).map_err(|refused| refused.error)?);
        } else {
            made.copy_file(path, &copy)?;
        }
        if wal_sync::log_bytes(path) > 0 {
            made.copy_file(&wal_sync::wal_path(path), &wal_sync::wal_path(&copy))?;
        }
        Ok(made)
    }

    fn database(&self) -> PathBuf {
        self.directory.join("runs.sqlite")
    }

    fn copy_file(&mut self, from: &Path, to: &Path) -> Result<(), StoreError> {
        let mut source = File::open(from).map_err(|error| store_errors::io_error(from, "read", &error))?;
        let lost = source
            .metadata()
            .and_then(|known| copy_readable(&mut source, &mut File::create(to)?, known.len()))
            .map_err(|error| StoreError {
                message: format!("cannot copy {} to {}: {error}", from.display(), to.display()),
                hint: Some(
                    "nothing was changed; salvaging needs room for a copy of the history and for the new one"
                        .to_owned(),
                ),
            })?;
        if lost > 0 {
            self.notes.push(format!("{lost} blocks of {} cannot be read from the disk", from.display()));
        }
        Ok(())
    }

    /// Opens it for reading over damage. Where SQLite finds no tables of ours because the beginning of the file is
    /// damaged, they are looked for where a new history has them.
    ///
    /// # Errors
    /// It is whole, but of another program or of a newer version; or the copy cannot be written.
    pub(super) fn open_history(&mut self, path: &Path) -> Result<DamagedHistory, StoreError> {
        let copy = self.database();
        let told = |error: rusqlite::Error| store_errors::explain_error(path, "read a copy of", &error);
        let marks = Connection::open(&copy).and_then(|strict| {
            open::set_keep_wal(&strict, true);
            open::read_file_marks(&strict)
        });
        let begun = match marks {
            Ok(marks) => !open::judge_marks(path, marks)? || marks.2 > 0,
            Err(error) => {
                self.damage.push(error.to_string());
                true
            }
        };
        let lenient = connect_lenient(&copy).map_err(told)?;
        self.damage.extend(find_damage(&lenient));
        self.damage.dedup();
        self.note_unread_log(&lenient);
        if begun && !TABLES.iter().all(|table| has_table(&lenient, table)) {
            // the last connection folds the log into the copy, so that no older first page is in the way
            drop(lenient);
            self.graft_beginning(&copy).map_err(|error| StoreError {
                message: format!("the beginning of {} is damaged, and a copy could not be mended: {error}", path.display()),
                hint: Some("the damaged history was left as it is; bring back a copy of it that you kept, or move it away to begin a new one".to_owned()),
            })?;
            self.notes.push(
                "the beginning of the file is damaged: its tables were looked for where a new history has them".to_owned(),
            );
            return connect_lenient(&copy).map(DamagedHistory::new).map_err(told);
        }
        Ok(DamagedHistory::new(lenient))
    }

    /// SQLite takes a damaged log for one that a power cut tore off. Pages of an earlier use look the same, so only a
    /// log of which nothing counts is surely a loss.
    fn note_unread_log(&mut self, connection: &Connection) {
        let number = |pragma: &str, column| connection.query_row(pragma, [], |row| row.get::<_, i64>(column));
        let (Ok(known), Ok(size)) = (number("PRAGMA wal_checkpoint(NOOP)", 1), number("PRAGMA page_size", 0))
        else {
            return;
        };
        let held = wal_sync::log_bytes(&self.database()) / (size.unsigned_abs() + FRAME_HEADER);
        match u64::try_from(known).unwrap_or(0) {
            0 if held > 0 => self.notes.push("nothing of its log can be read".to_owned()),
            known if known < held => self.damage.push(format!(
                "{known} of {held} pages of its log count; the others are from an earlier use of it, or damaged"
            )),
            _ => {}
        }
    }

    /// Puts the first page of an empty database over the copy's first one, and into its schema the tables of a new
    /// history: every version of this program made them in the same order, so their trees begin at the same pages.
    fn graft_beginning(&self, copy: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let mut new = Connection::open_in_memory()?;
        let empty = self.directory.join("empty.sqlite");
        new.execute("VACUUM INTO ?1", [empty.to_string_lossy()])?;
        let mut page = fs::read(&empty)?;
        page.get_mut(PAGE_COUNT).ok_or("an empty database has no header")?.fill(0);
        File::options().write(true).open(copy)?.write_all(&page)?;
        schema::migrate_schema(&mut new)?;
        let tables = TABLES.map(|table| format!("'{table}'")).join(", ");
        let entries = format!(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema
             WHERE tbl_name IN ({tables}, 'tokens') ORDER BY rowid"
        );
        let entries: Vec<Vec<Value>> =
            new.prepare(&entries)?.query_map([], read_values)?.collect::<rusqlite::Result<_>>()?;
        let lenient = Connection::open(copy)?;
        lenient.execute_batch("PRAGMA synchronous=OFF; PRAGMA writable_schema=ON")?;
        for entry in entries {
            lenient
                .execute("INSERT INTO sqlite_schema VALUES (?1, ?2, ?3, ?4, ?5)", params_from_iter(entry))?;
        }
        Ok(())
    }
}

impl Drop for DamagedCopy {
    fn drop(&mut self) {
        // best effort: the next salvage removes it
        let _ = remove_directory(&self.directory);
    }
}

/// With this pragma SQLite ignores errors of the schema, and opens a file that is shorter than its header says.
fn connect_lenient(copy: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(copy)?;
    connection.execute_batch(
        "PRAGMA writable_schema=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// A line for each damaged place; empty if the file is sound.
fn find_damage(connection: &Connection) -> Vec<String> {
    let check = || -> rusqlite::Result<Vec<String>> {
        connection.prepare("PRAGMA quick_check")?.query_map([], |row| row.get(0))?.collect()
    };
    let found = check().unwrap_or_else(|error| vec![error.to_string()]);
    let lines = found.iter().flat_map(|text| text.lines());
    lines.filter(|line| *line != "ok" && !line.starts_with("***")).map(str::to_owned).collect()
}

fn has_table(connection: &Connection, table: &str) -> bool {
    // what it holds is not read
    connection.prepare(&format!("SELECT 1 FROM {table}")).is_ok()
}

/// Copies so many bytes. What the disk does not give back is filled with zeros, so that the rest keeps its place.
/// Returns how many blocks that were.
fn copy_readable(from: &mut (impl Read + Seek), to: &mut impl Write, bytes: u64) -> io::Result<u64> {
    let (mut block, mut lost) = (vec![0; BLOCK], 0);
    for at in (0..bytes).step_by(BLOCK) {
        let part = usize::try_from(bytes - at).unwrap_or(BLOCK).min(BLOCK);
        from.seek(SeekFrom::Start(at))?;
        if from.read_exact(&mut block[..part]).is_err() {
            block.fill(0);
            lost += 1;
        }
        to.write_all(&block[..part])?;
    }
    Ok(lost)
}

fn remove_directory(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with one sector that cannot be read.
    struct FailingDisk(io::Cursor<Vec<u8>>);

    impl Read for FailingDisk {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.position() / BLOCK as u64 == 1 {
                return Err(io::Error::other("a bad sector"));
            }
            self.0.read(into)
        }
    }

    impl Seek for FailingDisk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_bad_sector_costs_only_its_block() {
        let mut disk = FailingDisk(io::Cursor::new(vec![7; 3 * BLOCK - 10]));
        let mut copy = Vec::new();
        assert_eq!(copy_readable(&mut disk, &mut copy, 3 * BLOCK as u64 - 10).unwrap(), 1);
        let expected = [vec![7; BLOCK], vec![0; BLOCK], vec![7; BLOCK - 10]].concat();
        assert!(copy == expected);
    }
}
