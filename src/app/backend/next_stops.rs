//! Where the next workflow of the screen stands still.

use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::steering::Stops;

/// For the workflow that is started next; taken by it.
#[derive(Clone, Debug, Default)]
pub(super) struct NextStops(Arc<Mutex<Stops>>);

impl NextStops {
    pub(super) fn set(&self, stops: Stops) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stops;
    }

    pub(super) fn get(&self) -> Stops {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
