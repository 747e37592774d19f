//! Reads one whole regular file. Refuses directories, devices and pipes (which could block for ever) and files over
//! the limit, before a byte is read.

use std::fs;
use std::io;

use super::fence::{Spot, reason};
use super::project::FILE_LIMIT;

/// The file's bytes; `Ok(None)` when there is nothing at that place.
///
/// # Errors
/// Why it cannot be read, without its path.
pub(super) fn load_if_there(spot: &Spot) -> Result<Option<Vec<u8>>, String> {
    match fs::metadata(&spot.absolute) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(reason(&error)),
        Ok(found) if found.is_dir() => Err("it is a directory; use list_directory".to_owned()),
        Ok(found) if !found.is_file() => Err("it is not a regular file".to_owned()),
        Ok(found) if found.len() > FILE_LIMIT => Err(format!(
            "it has {} bytes and the limit is {FILE_LIMIT} (10 MiB); use execute_terminal to take a part of it",
            found.len()
        )),
        Ok(_) => fs::read(&spot.absolute).map(Some).map_err(|error| reason(&error)),
    }
}

/// The file's bytes.
///
/// # Errors
/// Why it cannot be read, without its path.
pub(super) fn load(spot: &Spot) -> Result<Vec<u8>, String> {
    load_if_there(spot)?.ok_or_else(|| "it does not exist".to_owned())
}
