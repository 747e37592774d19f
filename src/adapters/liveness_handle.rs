//! The lock by which other processes see that this one lives, for the watchers of its commands.
//!
//! A killed process loses its lock at once, while its commands may still be ending: a write that the kernel has begun
//! goes on to its end. A watcher holds the lock until the commands are gone, so that no other process continues a run
//! whose commands still change something.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Given to the store, which acquires the lock, and to the tools that start commands. The default one has no lock.
#[derive(Clone, Default, Debug)]
pub struct LivenessLockHandle(Arc<Mutex<Option<File>>>);

impl LivenessLockHandle {
    /// Commands that start from now on hold this lock as well. Where it cannot be shared, they hold none.
    pub(crate) fn share_lock(&self, locked: &File) {
        *self.lock_file() = locked.try_clone().ok();
    }

    /// Another handle of the lock, which holds it until it is closed.
    pub(crate) fn another_holder(&self) -> Option<File> {
        self.lock_file().as_ref()?.try_clone().ok()
    }

    fn lock_file(&self) -> MutexGuard<'_, Option<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
