//! One run at a time changes the files of a project, unless others share them knowingly; isolated
//! runs need no lock.

use synthdev_domain::project_lock::LockHolder;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockError {
    /// Another run holds an incompatible lock on this project, in this process or another.
    #[error("{0}")]
    Held(LockHolder),
    /// The lock cannot be asked: what failed and where.
    #[error("{message}")]
    Io { message: String, hint: Option<String> },
}

/// The lock, as long as this lives; a process that dies loses it.
#[must_use = "the lock is released when this is dropped"]
pub struct ProjectLockGuard {
    _held_lock: Box<dyn Send + Sync>,
}

impl ProjectLockGuard {
    /// `held` releases the lock when it is dropped.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held_lock: Box::new(held) }
    }
}

impl std::fmt::Debug for ProjectLockGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProjectLockGuard").finish_non_exhaustive()
    }
}

/// Blocking, but never waits for a holder. One lock serves one project directory, and all that its git repository
/// holds; directories inside of each other are one project.
pub trait ProjectLock: Send + Sync {
    /// Takes the lock in the mode of `holder.hold`, and records its holder.
    /// # Errors
    /// Another run holds an incompatible lock; the data directory cannot be written; its file system has no locks.
    fn try_lock(&self, holder: &LockHolder) -> Result<ProjectLockGuard, LockError>;
}
