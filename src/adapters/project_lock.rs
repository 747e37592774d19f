//! Which runs work in which project: a register in the data directory, one file a holder.
//!
//! A holder keeps an advisory lock of the system on its own file for as long as it lives; the file names the holder and
//! its project. A new holder reads all of them first, and enters only if it is compatible with every other. Reading and
//! entering happen under a gate lock that is held for that moment only, so two that come at once see each other. The
//! system releases the locks of a process that ends, however it ends; the next holder removes its file.
//!
//! A project is its repository as a whole, and directories inside of each other are one project: a run in `/repo` may
//! change what a run in `/repo/sub` works on. A repository at the home directory or the root does not count, or
//! everything below would be one project. Worktrees of isolated runs need no lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::file_io::ensure_private_directory;
use super::git::snapshot_error::NOT_UTF_8;
use synthdev_domain::project_lock::LockHolder;
use synthdev_ports::lock::{LockError, ProjectLock, ProjectLockGuard};

/// The gate is free again within milliseconds, unless its holder was stopped.
const TRIES: usize = 400;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// No entry is longer.
const LONGEST: u64 = 64 * 1024;
const ENDING: &str = "holder";

/// The content of a holder's file.
#[derive(Serialize, Deserialize)]
struct LockRegisterEntry {
    holder: LockHolder,
    /// The top of what it works on.
    top: PathBuf,
}

/// The lock of one project.
pub struct FileLock {
    project: PathBuf,
    home: Option<PathBuf>,
    directory: PathBuf,
}

impl FileLock {
    /// `data_dir` is the user's data directory. Touches nothing until used.
    pub fn open(project: PathBuf, data_dir: &Path) -> Self {
        Self { project, home: std::env::home_dir(), directory: data_dir.join("locks") }
    }

    /// Another home directory than the environment's.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> Self {
        Self { home: Some(home), ..self }
    }

    /// The top of the project's repository, or the project.
    fn top(&self) -> Result<PathBuf, LockError> {
        let real = fs::canonicalize(&self.project).map_err(|error| lock_error(&self.project, &error))?;
        let home = self.home.as_ref().and_then(|home| fs::canonicalize(home).ok());
        let repository = real.ancestors().find(|place| fs::symlink_metadata(place.join(".git")).is_ok());
        let too_wide = |place: &Path| place.parent().is_none() || Some(place) == home.as_deref();
        Ok(repository.filter(|place| !too_wide(place)).map_or_else(|| real.clone(), Path::to_owned))
    }

    /// Open for one at a time, until the file is dropped.
    fn lock_gate(&self) -> Result<File, LockError> {
        let path = self.directory.join("gate");
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(|error| lock_error(&path, &error))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(lock_error(&path, &error)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            }
        }
        Err(LockError::Io {
            message: format!("{} is held by a process that does not go on", path.display()),
            hint: Some("Look for a stopped synthdev process and let it go on or end it.".to_owned()),
        })
    }

    /// All living holders; removes the files of dead ones. Requires the gate.
    fn living_entries(&self) -> io::Result<Vec<LockRegisterEntry>> {
        let mut present = Vec::new();
        for found in fs::read_dir(&self.directory)? {
            let path = found?.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match file.try_lock_shared() {
                Ok(()) => drop(fs::remove_file(&path)),
                Err(TryLockError::Error(error)) => return Err(error),
                // one that cannot be read was half removed, or is no file of ours
                Err(TryLockError::WouldBlock) => present.extend(parse_register_entry(&file)),
            }
        }
        Ok(present)
    }

    /// A new file with a lock on it. Only from inside the gate.
    fn register_entry(&self, entry: &LockRegisterEntry) -> io::Result<HeldLockFile> {
        let mut options = File::options();
        let options = options.write(true).create_new(true).mode(0o600);
        for number in 1.. {
            let path = self.directory.join(format!("{number}.{ENDING}"));
            let file = match options.open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // from here on `held` removes the file if anything fails
            let held = HeldLockFile { path, file };
            held.file.try_lock().map_err(io::Error::from)?;
            (&held.file).write_all(&serde_json::to_vec(entry)?)?;
            return Ok(held);
        }
        Err(io::Error::other("too many holders"))
    }
}

impl ProjectLock for FileLock {
    fn try_lock(&self, holder: &LockHolder) -> Result<ProjectLockGuard, LockError> {
        let top = self.top()?;
        if top.to_str().is_none() {
            return Err(LockError::Io {
                message: format!("{}: {}", top.display(), NOT_UTF_8.0),
                hint: Some(NOT_UTF_8.1.to_owned()),
            });
        }
        ensure_private_directory(&self.directory).map_err(|error| lock_error(&self.directory, &error))?;
        let _gate = self.lock_gate()?;
        let present = self.living_entries().map_err(|error| lock_error(&self.directory, &error))?;
        let near = |other: &LockRegisterEntry| other.top.starts_with(&top) || top.starts_with(&other.top);
        let in_the_way = present
            .into_iter()
            .find(|other| near(other) && !other.holder.hold.is_compatible_with(holder.hold));
        if let Some(other) = in_the_way {
            return Err(LockError::Held(other.holder));
        }
        let entry = LockRegisterEntry { holder: holder.clone(), top };
        let held = self.register_entry(&entry).map_err(|error| lock_error(&self.directory, &error))?;
        Ok(ProjectLockGuard::new(held))
    }
}

/// A place in the register.
struct HeldLockFile {
    path: PathBuf,
    file: File,
}

impl Drop for HeldLockFile {
    fn drop(&mut self) {
        // First the name, then the lock: a free file of that name is always one whose holder died. If this fails the
        // next one removes it.
        let _ = fs::remove_file(&self.path);
    }
}

fn parse_register_entry(mut file: &File) -> Option<LockRegisterEntry> {
    let mut text = Vec::new();
    Read::by_ref(&mut file).take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn lock_error(path: &Path, error: &io::Error) -> LockError {
    let hint = match error.kind() {
        ErrorKind::StorageFull => "The disk is full: make room on it, then try again.",
        ErrorKind::NotFound => "See that this path exists, then try again.",
        _ => "See that this path is writable and on a disk with file locks, then try again.",
    };
    LockError::Io {
        message: format!("cannot lock the project by {}: {error}", path.display()),
        hint: Some(hint.to_owned()),
    }
}
