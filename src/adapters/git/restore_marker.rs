//! The marker of a change of the project's files as a whole: written before the first of them changes, removed when all
//! are done. A marker without a lock holder is left from a process that died in between. Requires the project's lock.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::ignore_rules::IgnoreRules;
use super::project_walk::walk_project;
use super::snapshot_entry::{RelPath, to_path};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::SnapshotLocation;
use crate::file_io::private_file;
use synthdev_domain::snapshot::InterruptedRestore;

/// What an earlier process left; a note that cannot be read is as good as none.
pub fn read_marker(place: &SnapshotLocation) -> Option<InterruptedRestore> {
    serde_json::from_slice(&fs::read(marker_file(place)).ok()?).ok()
}

/// Whether there is one, without waiting for the lock.
pub fn marker_exists(place: &SnapshotLocation) -> bool {
    fs::symlink_metadata(marker_file(place)).is_ok()
}

/// Whole or not at all, and on the disk when it returns.
///
/// # Errors
/// It cannot be written.
pub fn write_marker(place: &SnapshotLocation, note: &InterruptedRestore) -> SnapshotResult<()> {
    let (file, draft) = (marker_file(place), place.project_data.join("changing.new"));
    let text = serde_json::to_vec(note).unwrap_or_default();
    let written = private_file(&draft).and_then(|mut to| {
        to.write_all(&text)?;
        to.sync_all()
    });
    let named = written.and_then(|()| fs::rename(&draft, &file)).and_then(|()| {
        // a note that a power cut takes away would leave files of two moments unnoticed
        File::open(&place.project_data)?.sync_all()
    });
    named.map_err(|error| snapshot_error::store_io_error(&file, &error))
}

/// All files are there.
///
/// # Errors
/// It cannot be removed.
pub fn remove_marker(place: &SnapshotLocation) -> SnapshotResult<()> {
    let file = marker_file(place);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(snapshot_error::store_io_error(&file, &error))
        }
        _ => Ok(()),
    }
}

/// Removes drafts that a dying process left.
pub fn remove_drafts(place: &SnapshotLocation, rules: &IgnoreRules) {
    let files = walk_project(&place.project, rules, &|_| false, &place.program_files).files;
    for path in files.iter().filter(|path| is_draft(path)) {
        let _ = fs::remove_file(place.project.join(to_path(path)));
    }
}

/// Beside a file that is being written; [`is_draft`] knows it again.
pub fn draft_path(beside: &Path) -> PathBuf {
    let tag = uuid::Uuid::new_v4().simple().to_string();
    beside.with_file_name(format!("{DRAFT}{}", &tag[..DIGITS]))
}

const DRAFT: &str = ".synthdev-";
const DIGITS: usize = 16;

fn is_draft(path: &RelPath) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let tag = name.strip_prefix(DRAFT.as_bytes());
    tag.is_some_and(|tag| tag.len() == DIGITS && tag.iter().all(u8::is_ascii_hexdigit))
}

fn marker_file(place: &SnapshotLocation) -> PathBuf {
    place.project_data.join("changing")
}
