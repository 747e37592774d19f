//! Workflows and conversations that start, at once or when they are prepared.

use futures_util::future::BoxFuture;

use super::Wishes;
use crate::tui::backend::{Begun, Beside, Start};
use crate::tui::msg::{Beginning, Reply};

impl Wishes {
    pub(super) fn start(&self, name: String, input: String, beside: Option<Beside>) -> Reply {
        let started = match beside {
            None => self.backend.start_workflow(&name, &input),
            Some(beside) => self.backend.start_beside(&name, &input, beside),
        };
        let run = match started {
            Ok(Start::Running(run)) => Ok(run),
            Ok(Start::Later(waits_for, begun)) => {
                self.replies.push(workflow_later(name.clone(), input, begun));
                return Reply::Beginning(Beginning { name, chat: false, waits_for });
            }
            Err(error) => Err(error),
        };
        Reply::WorkflowStarted { name, input, run, note: None }
    }

    pub(super) fn start_chat(&self, role: String) -> Reply {
        let run = match self.backend.start_chat(&role) {
            Ok(Start::Running(run)) => Ok(run),
            Ok(Start::Later(waits_for, begun)) => {
                self.replies.push(chat_later(role.clone(), begun));
                return Reply::Beginning(Beginning { name: role, chat: true, waits_for });
            }
            Err(error) => Err(error),
        };
        Reply::ChatStarted { role, run }
    }
}

fn workflow_later(name: String, input: String, begun: Begun) -> BoxFuture<'static, Reply> {
    Box::pin(async move {
        let (run, note) = match begun.await {
            Ok((run, note)) => (Ok(run), note),
            Err(error) => (Err(error), None),
        };
        Reply::WorkflowStarted { name, input, run, note }
    })
}

fn chat_later(role: String, begun: Begun) -> BoxFuture<'static, Reply> {
    Box::pin(async move { Reply::ChatStarted { role, run: begun.await.map(|(run, _)| run) } })
}
