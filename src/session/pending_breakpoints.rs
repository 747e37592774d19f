//! Breakpoints for the workflow that the screen starts or resumes next.

use std::sync::{Arc, Mutex, PoisonError};

use synthdev_engine::steering::BreakpointSet;

/// For the workflow that starts or is resumed next; taken by it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingBreakpoints(Arc<Mutex<BreakpointSet>>);

impl PendingBreakpoints {
    pub(crate) fn set_breakpoints(&self, stops: BreakpointSet) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stops;
    }

    pub(crate) fn get(&self) -> BreakpointSet {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
