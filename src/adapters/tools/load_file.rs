//! Reads one whole regular file. Refuses directories, devices and pipes (which could block for ever) and files over
//! the limit, before a byte is read.

use std::fs;
use std::io;

use super::path_guard::{ProjectPath, ProjectPathGuard, error_reason};
use super::tool_context::FILE_LIMIT;
use crate::open_beneath::{open_unfollowed, read_open_file};

/// The file's bytes; `Ok(None)` when there is nothing at that place.
///
/// # Errors
/// Why it cannot be read, without its path.
pub(super) fn load_if_exists(
    fence: &ProjectPathGuard,
    spot: &ProjectPath,
) -> Result<Option<Vec<u8>>, String> {
    if spot.absolute == fence.root() {
        return Err(DIRECTORY.to_owned());
    }
    let found = fence.hold_parent(spot).and_then(|parent| Ok((parent.entry().symlink_metadata()?, parent)));
    let (found, parent) = match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error_reason(&error)),
        Ok(found) => found,
    };
    refuse_unreadable(&found)?;
    let file = open_unfollowed(&parent.entry()).map_err(|error| error_reason(&error))?;
    // another one may have come in its place
    file.metadata().map_err(|error| error_reason(&error)).and_then(|found| refuse_unreadable(&found))?;
    read_open_file(file, FILE_LIMIT).map(Some).map_err(|error| error_reason(&error))
}

const DIRECTORY: &str = "it is a directory; use list_directory";

fn refuse_unreadable(found: &fs::Metadata) -> Result<(), String> {
    match found {
        found if found.is_dir() => Err(DIRECTORY.to_owned()),
        found if found.is_symlink() => Err("a link has come in its place; try again".to_owned()),
        found if !found.is_file() => Err("it is not a regular file".to_owned()),
        found if found.len() > FILE_LIMIT => Err(format!(
            "it has {} bytes and the limit is {FILE_LIMIT} (10 MiB); use execute_terminal to take a part of it",
            found.len()
        )),
        _ => Ok(()),
    }
}

/// The file's bytes.
///
/// # Errors
/// Why it cannot be read, without its path.
pub(super) fn load_bytes(fence: &ProjectPathGuard, spot: &ProjectPath) -> Result<Vec<u8>, String> {
    load_if_exists(fence, spot)?.ok_or_else(|| "it does not exist".to_owned())
}
