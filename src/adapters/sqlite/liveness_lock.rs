//! A lock on a file beside the history that shows that an owner lives.
//!
//! The system releases the lock when the process ends, however it ends, and every process on the same file system sees
//! it: in another container, too, where the owner's process id means nothing. Optional: where no lock is available,
//! the process id is used.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::{control_socket, file_io};

/// A cleanup in another process may remove a file before it is locked.
const TRIES: usize = 5;

/// Held as long as this lives.
#[derive(Debug)]
pub(super) struct LivenessLock {
    pub(super) name: String,
    path: PathBuf,
    pub(super) locked_file: File,
}

/// Where the owner of that name listens to others.
pub(super) fn control_socket_path(store: &Path, name: &str) -> Option<PathBuf> {
    is_name(name).then(|| Some(control_socket::socket_path(&locks_directory(store)?, name))).flatten()
}

/// Where the locks of a history's owners are.
pub(super) fn locks_directory(store: &Path) -> Option<PathBuf> {
    store.parent().map(|parent| parent.join("drivers"))
}

impl LivenessLock {
    /// `None` where no lock can be had.
    pub(super) fn acquire_lock(store: &Path) -> Option<Self> {
        let place = locks_directory(store)?;
        file_io::ensure_private_directory(&place).ok()?;
        remove_stale_locks(&place);
        (0..TRIES).find_map(|_| {
            let name = Uuid::new_v4().simple().to_string();
            let path = place.join(&name);
            file_io::create_private(&path).ok()?;
            let mut locked = File::options().read(true).write(true).open(&path).ok()?;
            let held = locked.try_lock().is_ok();
            // without it, the owner's process id means nothing to others
            let _ = locked.write_all(pid_namespace().as_bytes());
            // a cleanup may have removed it in between: a lock on an unlinked file is invisible to others
            (held && path.exists()).then_some(Self { name, path, locked_file: locked })
        })
    }
}

impl Drop for LivenessLock {
    fn drop(&mut self) {
        // removed while the lock is held; if that fails, the next one tidies up
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the process ids of that owner mean the same here.
pub(super) fn is_owner_visible(place: &Path, name: &str) -> bool {
    let own = pid_namespace();
    let recorded = || fs::read_to_string(place.join(name));
    is_name(name) && !own.is_empty() && recorded().is_ok_and(|recorded| recorded == own)
}

/// The boot and the namespace of this process's id; empty on systems that tell none.
fn pid_namespace() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let link = fs::read_link("/proc/self/ns/pid");
    link.map(|namespace| format!("{} {}", boot.trim(), namespace.display())).unwrap_or_default()
}

/// Whether the lock of that name is held; `None` if it is unknown.
pub(super) fn is_lock_held(place: &Path, name: &str) -> Option<bool> {
    if !is_name(name) {
        return None;
    }
    match File::open(place.join(name)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(false),
        Err(_) => None,
        // shared: processes that check do not take each other for the owner
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        },
    }
}

/// One out of a file is no path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether an owner lives, or may live, whose name begins so.
fn is_there(place: &Path, beginning: &str) -> bool {
    let names = fs::read_dir(place).into_iter().flatten().flatten();
    let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| {
        is_name(&name) && name.starts_with(beginning) && is_lock_held(place, &name) != Some(false)
    })
}

/// Removes what killed processes have left.
fn remove_stale_locks(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Some(beginning) = control_socket::socket_owner(&path) {
            if !is_there(place, beginning) {
                let _ = fs::remove_file(&path);
            }
            continue;
        }
        if let Ok(file) = File::open(&path)
            && file.try_lock_shared().is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_seen_as_long_as_its_holder_lives() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("runs.sqlite");
        let place = locks_directory(&store).unwrap();
        let (one, two) =
            (LivenessLock::acquire_lock(&store).unwrap(), LivenessLock::acquire_lock(&store).unwrap());
        let name = one.name.clone();
        assert_eq!(is_lock_held(&place, &name), Some(true));
        drop(one);
        assert_eq!((is_lock_held(&place, &name), is_lock_held(&place, &two.name)), (Some(false), Some(true)));
        assert_eq!(is_lock_held(&place, "../runs"), None, "a name out of a file is no path");
    }

    #[test]
    fn what_a_killed_process_left_is_tidied_up() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("runs.sqlite");
        let place = locks_directory(&store).unwrap();
        let one = LivenessLock::acquire_lock(&store).unwrap();
        let left = [place.join("left"), control_socket::socket_path(&place, "left")];
        left.iter().for_each(|left| fs::write(left, "").unwrap());
        let mine = control_socket_path(&store, &one.name).unwrap();
        fs::write(&mine, "").unwrap();
        assert_eq!(is_lock_held(&place, "left"), Some(false));
        let _two = LivenessLock::acquire_lock(&store).unwrap();
        assert!(!left.iter().any(|left| left.exists()) && one.path.exists() && mine.exists());
        assert_eq!(control_socket_path(&store, "../runs"), None, "a name out of a file is no path");
    }
}
