//! What reaches a driver.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot::Sender;

use super::command::{Command, Control, Whose};
use crate::domain::cost::Used;
use crate::domain::ids::CallId;
use crate::engine::effect::Effect;
use crate::engine::input::Input;
use crate::ports::lock::{Guard, LockError};
use crate::ports::run_store::StoreError;

/// What reaches a driver.
pub(super) enum Mail {
    Command(Command),
    Input(Input),
    /// An effect did not begin, because the store refused to take down that it would.
    Unbegun(Box<Effect>, StoreError),
    /// An attempt at a model call has failed that is paid for: may there be another one?
    Repeats {
        call: CallId,
        answer: Sender<bool>,
    },
    /// It is to be paused or ended: whether that is done.
    Control(Control, Whose, Sender<bool>),
    /// The project's files are the run's to change, or the lock cannot be asked.
    Files(Result<Guard, LockError>),
    /// A sub-agent's result.
    Submitted(Box<Submitted>),
    /// A task that performed an effect panicked: its answer will never come.
    Broken,
}

/// The result of a step that was handed out.
pub(super) struct Submitted {
    pub(super) call: CallId,
    pub(super) input: Input,
    /// What makes it the same as another one; stands in the journal with it.
    pub(super) mark: String,
    /// Whether it is written down.
    pub(super) answer: Sender<bool>,
}

/// What has come of the model calls in flight; kept when the person cancels. A call that is not in it was stopped: a
/// piece that arrives later belongs to nobody.
pub(super) type Partial = Arc<Mutex<BTreeMap<CallId, Streamed>>>;

/// What has come of one model call by now.
#[derive(Default, Debug)]
pub(super) struct Streamed {
    /// Of the attempt under way.
    pub(super) text: String,
    /// By the attempt under way, as far as it is known.
    used: Option<Used>,
    /// By those that failed before it.
    failed: Vec<Used>,
}

impl Streamed {
    /// Later reports replace earlier ones.
    pub(super) fn uses(&mut self, used: Used) {
        self.used = Some(used);
    }

    /// The attempt has failed, and another begins: what streamed is void, what it used is paid for.
    pub(super) fn fails(&mut self) {
        self.text.clear();
        self.failed.extend(self.used.take());
    }

    /// What the failed attempts used; an answer knows for itself what it used.
    pub(super) fn before(&self) -> Vec<Used> {
        self.failed.clone()
    }

    /// The same, for who pays for it now.
    pub(super) fn take_failed(&mut self) -> Vec<Used> {
        std::mem::take(&mut self.failed)
    }

    /// What all attempts used.
    pub(super) fn all(&self) -> Vec<Used> {
        self.failed.iter().chain(&self.used).cloned().collect()
    }
}
