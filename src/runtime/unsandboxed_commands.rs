//! Commands on a machine on which no sandbox works: the user is asked for each, and a yes counts for that one only.
//!
//! Only of this process, and no input of the run: a run that is resumed asks again.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::network_access::NetworkGrants;
use super::pending_questions::PendingQuestions;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::tool::ToolInvocation;

/// The user's permissions for commands that the sandbox cannot confine, or keeps from the network.
#[derive(Default)]
pub(super) struct SandboxExceptions {
    pub(super) network: NetworkGrants,
    pub(super) unsandboxed_commands: UnsandboxedCommands,
}

#[derive(Default)]
pub(super) struct UnsandboxedCommands {
    questions: PendingQuestions<bool>,
    /// Allowed when the approval was asked, and not executed yet.
    allowed: Mutex<Vec<(RunId, ToolInvocation)>>,
}

impl UnsandboxedCommands {
    /// A question whose asker is gone counts as denied.
    pub(super) fn ask_permission(&self, run: &RunId, call: CallId) -> oneshot::Receiver<bool> {
        self.questions.ask(run, call)
    }

    pub(super) fn answer_permission(&self, run: &RunId, call: CallId, allowed: bool) {
        self.questions.answer(run, call, allowed);
    }

    /// The yes to an approval is the yes to the command that follows from it.
    pub(super) fn remember_approval(&self, run: &RunId, invocation: &ToolInvocation) {
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        allowed.push((run.clone(), invocation.clone()));
    }

    /// Whether this command was allowed: once.
    pub(super) fn consume_permission(&self, run: &RunId, invocation: &ToolInvocation) -> bool {
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        let at = allowed.iter().position(|(of, kept)| of == run && kept == invocation);
        at.map(|at| allowed.swap_remove(at)).is_some()
    }
}
