//! A state failed: `retry`, `catch`, `fallback`, `on_error`, in this order (FSM-17, ERR-2).

use super::Machine;
use crate::domain::failure::Failure;

impl Machine {
    /// Deals with an error of the current state; gives it back if nothing does.
    pub(super) fn recover(&mut self, failure: Failure) -> Option<Failure> {
        Some(failure)
    }
}
