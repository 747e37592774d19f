//! Commands that failed because the sandbox keeps the network off: the user allows it for a call, or for the run.
//!
//! Only of this process: a run that is resumed asks again. Not an input of the run, as only the command's result counts.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::pending_questions::PendingQuestions;
use synthdev_domain::ids::{CallId, RunId};

/// What the user says to a command that needs the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkAnswer {
    /// The result stays as it is.
    Deny,
    /// The command is executed again with the network.
    Call,
    /// The same, and every later command of the run has the network.
    Run,
}

#[derive(Default)]
pub(super) struct NetworkGrants {
    runs: Mutex<BTreeSet<RunId>>,
    questions: PendingQuestions<NetworkAnswer>,
}

impl NetworkGrants {
    pub(super) fn is_granted(&self, run: &RunId) -> bool {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).contains(run)
    }

    /// A question whose asker is gone counts as denied.
    pub(super) fn ask_network(&self, run: &RunId, call: CallId) -> oneshot::Receiver<NetworkAnswer> {
        self.questions.ask(run, call)
    }

    pub(super) fn answer_network(&self, run: &RunId, call: CallId, answer: NetworkAnswer) {
        if answer == NetworkAnswer::Run {
            self.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone());
        }
        self.questions.answer(run, call, answer);
    }
}
