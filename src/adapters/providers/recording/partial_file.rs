//! The file beside a recording in which it grows, until it takes its place.
//!
//! Its name has the number of its process (`FILE.4711.part`), and its writer locks it, which ends with the process
//! however it ends: so a second process that would record the same file gets an error that names the first. Refuses to
//! open an existing file: an earlier recording stays as it is.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::format::RecordingError;
use crate::hidden_recording::{PART_ENDING as ENDING, process_of_part};

/// So many that a process has left behind are passed over.
const MOST: usize = 1_000;

pub(super) struct PartialRecordingFile {
    path: PathBuf,
    file: File,
}

impl PartialRecordingFile {
    /// A new, empty file beside `target`.
    ///
    /// # Errors
    /// Another process records that file already, or no file can be created there.
    pub(super) fn create_beside(target: &Path) -> Result<Self, RecordingError> {
        let cannot =
            |error: io::Error| RecordingError(format!("{} cannot be recorded: {error}", target.display()));
        require_unlocked(target, None)?;
        let part = Self::create_locked(target).map_err(cannot)?;
        // of two that begin at the same moment one continues
        require_unlocked(target, Some(&part.path)).inspect_err(|_| part.remove_file())?;
        Ok(part)
    }

    fn create_locked(target: &Path) -> io::Result<Self> {
        let process = std::process::id();
        let ours = (0..MOST).map(|number| match number {
            0 => format!(".{process}{ENDING}"),
            number => format!(".{process}-{number}{ENDING}"),
        });
        for ending in ours {
            let mut path = target.as_os_str().to_owned();
            path.push(ending);
            let path = PathBuf::from(path);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    // where a file system knows no locks, the names keep two apart
                    let _ = file.lock();
                    return Ok(Self { path, file });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!(
            "too many unfinished recordings lie beside it (*{ENDING}): remove them"
        )))
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn write_text(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())
    }

    /// # Errors
    /// The system's error; the target is as it was.
    pub(super) fn move_to(&self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)
    }

    /// Best effort.
    pub(super) fn remove_file(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Fails if another process records `target`. `own`: our file; then only one whose name comes first counts.
fn require_unlocked(target: &Path, own: Option<&Path>) -> Result<(), RecordingError> {
    let Some(name) = target.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let before = |path: &Path| own.is_none_or(|own| path.file_name() < own.file_name());
    // a directory that cannot be read is no obstacle: creating the file reports the error
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let other = entry.file_name();
        let Some(process) = other.to_str().and_then(|other| process_of_part(other, name)) else { continue };
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && before(&entry.path()) && is_locked_by_other(&entry.path()) {
            return Err(RecordingError(format!(
                "{} is being recorded by process {process} already\nhint: wait until it is done, or name another file",
                target.display()
            )));
        }
    }
    Ok(())
}

fn is_locked_by_other(path: &Path) -> bool {
    // shared: processes that check do not take each other for the writer
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
