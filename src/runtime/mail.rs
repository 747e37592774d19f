//! What reaches a driver.

use std::sync::{Arc, Mutex};

use super::command::Command;
use crate::engine::input::Input;

/// What reaches a driver.
pub(super) enum Mail {
    Command(Command),
    Input(Input),
    /// A task that performed an effect panicked: its answer will never come.
    Broken,
}

/// Text that has streamed for the model call in flight; kept when the person cancels.
pub(super) type Partial = Arc<Mutex<String>>;
