//! The lock of a project: an advisory lock of the system on a file in the data directory, with the holder's name in it.
//! The system releases it when the process ends, however it ends. The file stays: removing it would let two in.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::lock::Holder;
use crate::ports::lock::{Guard, LockError, ProjectLock};

/// A holder writes its name right after locking; a reader that comes between asks again.
const READINGS: usize = 40;
const BETWEEN_READINGS: Duration = Duration::from_millis(5);
/// No holder's name is longer.
const LONGEST: u64 = 64 * 1024;

/// The lock of one project.
pub struct FileLock {
    project: PathBuf,
    directory: PathBuf,
}

impl FileLock {
    /// `data_dir` is the user's data directory. Touches nothing until used.
    pub fn open(project: PathBuf, data_dir: &Path) -> Self {
        Self { project, directory: data_dir.join("locks") }
    }

    fn path(&self) -> Result<PathBuf, LockError> {
        let real = fs::canonicalize(&self.project).map_err(|error| failed(&self.project, &error))?;
        let hash = Sha256::digest(real.as_os_str().as_bytes());
        let key: String = hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        Ok(self.directory.join(format!("{key}.lock")))
    }
}

impl ProjectLock for FileLock {
    fn try_lock(&self, holder: &Holder) -> Result<Guard, LockError> {
        let path = self.path()?;
        fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, &error))?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(|error| failed(&path, &error))?;
        let mut last = None;
        for _ in 0..READINGS {
            match file.try_lock() {
                Ok(()) => return sign(file, holder).map_err(|error| failed(&path, &error)),
                Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
                Err(TryLockError::WouldBlock) => {}
            }
            // Two equal readings: the name of an earlier holder is not taken for that of the present one.
            let now = read(&mut file);
            if let (Some(now), true) = (&now, now == last) {
                return Err(LockError::Held(now.clone()));
            }
            last = now;
            std::thread::sleep(BETWEEN_READINGS);
        }
        Err(LockError::Io {
            message: format!("{} is locked by a process that does not say who it is", path.display()),
            hint: Some("Wait for the other run to end, then try again.".to_owned()),
        })
    }
}

/// Clears the holder's name before the lock goes.
struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file releases the lock in any case.
        let _ = self.0.set_len(0);
    }
}

fn sign(file: File, holder: &Holder) -> std::io::Result<Guard> {
    let held = Held(file);
    let mut file = &held.0;
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&serde_json::to_vec(holder)?)?;
    Ok(Guard::holding(held))
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn failed(path: &Path, error: &std::io::Error) -> LockError {
    LockError::Io {
        message: format!("cannot lock the project by {}: {error}", path.display()),
        hint: Some(
            "See that this path is writable and on a disk with file locks, then try again.".to_owned(),
        ),
    }
}
