//! Whether the write-ahead log still says what was committed.
//!
//! SQLite takes a damaged log for the remains of a power cut: it goes on with what stands before the damage and
//! writes over the rest. So this is looked at before anything is written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::salvage::wal::{is_header, is_sound};
use super::wal_sync;

const HEADER: u64 = 32;
const FRAME: u64 = 24;
/// Another process may be in the middle of a write.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// What is wrong with the log, if anything.
///
/// # Errors
/// It cannot be read.
pub(super) fn find_wal_damage(database: &Path, connection: &Connection) -> io::Result<Option<&'static str>> {
    let mut found = None;
    for _ in 0..LOOKS {
        found = inspect_wal(database, connection)?;
        if found.is_none() {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(found)
}

fn inspect_wal(database: &Path, connection: &Connection) -> io::Result<Option<&'static str>> {
    let mut log = match File::open(wal_sync::wal_path(database)) {
        Ok(log) => log,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = log.metadata()?.len();
    if bytes == 0 {
        return Ok(None);
    }
    let mut header = [0; HEADER as usize];
    if log.read_exact(&mut header).is_err() || !is_header(&header) {
        return Ok(Some("the beginning of its log makes no sense"));
    }
    // the sizes that SQLite knows: if it cannot tell them, the next statement says why
    let size = connection.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    let known = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get::<_, i64>(1));
    let (Ok(size), Ok(known)) = (u64::try_from(size), u64::try_from(known.unwrap_or(-1))) else {
        return Ok(None);
    };
    // the frame behind those that SQLite knows is the damaged one; a commit behind it was lost with it
    let big = header[3] & 1 == 1;
    let mut frame = vec![0; usize::try_from(FRAME + size).unwrap_or(0)];
    let mut before = [0; 8];
    for at in known.. {
        log.seek(SeekFrom::Start(HEADER + at * (FRAME + size)))?;
        if log.read_exact(&mut frame).is_err() || frame[8..16] != header[16..24] {
            break;
        }
        let commits = frame[4..8] != [0; 4];
        if commits && at > known && is_sound(&before, &frame, big) {
            return Ok(Some("its log is damaged in the middle"));
        }
        before.copy_from_slice(&frame[16..24]);
    }
    Ok(None)
}
