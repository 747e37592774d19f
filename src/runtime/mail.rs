//! What reaches a driver.

use std::sync::{Arc, Mutex};

use super::command::Command;
use crate::domain::ids::CallId;
use crate::engine::input::Input;

/// What reaches a driver.
pub(super) enum Mail {
    Command(Command),
    Input(Input),
    /// A task that performed an effect panicked: its answer will never come.
    Broken,
}

/// Text that has streamed for the model call in flight; kept when the person cancels.
pub(super) type Partial = Arc<Mutex<Streamed>>;

/// Bound to its call: a piece that arrives after its call was stopped belongs to nobody.
#[derive(Default)]
pub(super) struct Streamed {
    pub(super) call: CallId,
    pub(super) text: String,
}

impl Streamed {
    pub(super) fn begin(&mut self, call: CallId) {
        self.call = call;
        self.text.clear();
    }

    pub(super) fn push(&mut self, call: CallId, text: &str) {
        if self.call == call {
            self.text.push_str(text);
        }
    }
}
