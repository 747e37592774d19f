//! Workflows and conversations that start, at once or when they are prepared.

use futures_util::future::BoxFuture;

use super::UiCommandRunner;
use crate::backend::{ConcurrentRunMode, DeferredStart, WorkflowStart};
use crate::msg::{BackendReply, PendingStart};

impl UiCommandRunner {
    pub(super) fn start_workflow(
        &self,
        name: String,
        input: String,
        beside: Option<ConcurrentRunMode>,
    ) -> BackendReply {
        let started = match beside {
            None => self.backend.start_workflow(&name, &input),
            Some(beside) => self.backend.start_concurrent_workflow(&name, &input, beside),
        };
        let run = match started {
            Ok(WorkflowStart::Running(run)) => Ok(run),
            Ok(WorkflowStart::Later(waits_for, begun)) => {
                self.replies.push(workflow_later(name.clone(), input, begun));
                return BackendReply::Beginning(PendingStart { name, chat: false, preparation: waits_for });
            }
            Err(error) => Err(error),
        };
        BackendReply::WorkflowStarted { name, input, run, note: None }
    }

    pub(super) fn start_chat(&self, role: String) -> BackendReply {
        let run = match self.backend.start_chat(&role) {
            Ok(WorkflowStart::Running(run)) => Ok(run),
            Ok(WorkflowStart::Later(waits_for, begun)) => {
                self.replies.push(chat_later(role.clone(), begun));
                return BackendReply::Beginning(PendingStart {
                    name: role,
                    chat: true,
                    preparation: waits_for,
                });
            }
            Err(error) => Err(error),
        };
        BackendReply::ChatStarted { role, run }
    }
}

fn workflow_later(name: String, input: String, begun: DeferredStart) -> BoxFuture<'static, BackendReply> {
    Box::pin(async move {
        let (run, note) = match begun.await {
            Ok((run, note)) => (Ok(run), note),
            Err(error) => (Err(error), None),
        };
        BackendReply::WorkflowStarted { name, input, run, note }
    })
}

fn chat_later(role: String, begun: DeferredStart) -> BoxFuture<'static, BackendReply> {
    Box::pin(async move { BackendReply::ChatStarted { role, run: begun.await.map(|(run, _)| run) } })
}
