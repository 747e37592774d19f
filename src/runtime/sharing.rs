//! The lock of runs that work beside others knowingly (`--share`): what runs alone elsewhere shares here. Whoever
//! needs the files alone still does.

use std::sync::Arc;

use crate::domain::lock::{Hold, Holder};
use crate::ports::lock::{Guard, LockError, ProjectLock};

/// A lock that runs take together.
pub struct Sharing(Arc<dyn ProjectLock>);

impl Sharing {
    pub fn over(lock: &Arc<dyn ProjectLock>) -> Arc<dyn ProjectLock> {
        Arc::new(Self(Arc::clone(lock)))
    }
}

impl ProjectLock for Sharing {
    fn try_lock(&self, holder: &Holder) -> Result<Guard, LockError> {
        let hold = match holder.hold {
            Hold::Run | Hold::Share => Hold::Share,
            Hold::Files => Hold::Files,
        };
        self.0.try_lock(&Holder { hold, ..holder.clone() })
    }
}
