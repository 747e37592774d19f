//! What reaches a driver.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::command::Command;
use crate::domain::ids::CallId;
use crate::engine::effect::Effect;
use crate::engine::input::Input;
use crate::ports::run_store::StoreError;

/// What reaches a driver.
pub(super) enum Mail {
    Command(Command),
    Input(Input),
    /// An effect did not begin, because the store refused to take down that it would.
    Unbegun(Box<Effect>, StoreError),
    /// A task that performed an effect panicked: its answer will never come.
    Broken,
}

/// Text that has streamed for the model calls in flight; kept when the person cancels. A call that is not in it
/// was stopped: a piece that arrives later belongs to nobody.
pub(super) type Partial = Arc<Mutex<BTreeMap<CallId, String>>>;
