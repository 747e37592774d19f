//! The lock of runs that the user lets work beside others (`--share`): it is shared where it would be exclusive. A run
//! that needs the files alone still gets them alone.

use std::sync::Arc;

use synthdev_domain::project_lock::{LockHolder, LockMode};
use synthdev_ports::lock::{LockError, ProjectLock, ProjectLockGuard};

/// A lock that runs take together.
pub struct SharedProjectLock(Arc<dyn ProjectLock>);

impl SharedProjectLock {
    pub fn wrap_lock(lock: &Arc<dyn ProjectLock>) -> Arc<dyn ProjectLock> {
        Arc::new(Self(Arc::clone(lock)))
    }
}

impl ProjectLock for SharedProjectLock {
    fn try_lock(&self, holder: &LockHolder) -> Result<ProjectLockGuard, LockError> {
        let hold = match holder.hold {
            LockMode::Run | LockMode::Share => LockMode::Share,
            LockMode::Files => LockMode::Files,
        };
        self.0.try_lock(&LockHolder { hold, ..holder.clone() })
    }
}
