//! What a run does meanwhile, as progress notifications: for clients that asked for them.

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

use crate::engine::event::RunEvent;

pub(super) struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    count: u32,
}

impl Progress {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self { peer: context.peer.clone(), token: context.meta.get_progress_token(), count: 0 }
    }

    /// One step further. A client that does not listen any more misses nothing.
    pub(super) async fn tell(&mut self, event: &RunEvent) {
        let (Some(token), Some(line)) = (&self.token, line(event)) else { return };
        self.count += 1;
        let told = ProgressNotificationParam::new(token.clone(), f64::from(self.count)).with_message(line);
        let _ = self.peer.notify_progress(told).await;
    }
}

fn line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::StateEntered { state, agent: Some(agent), .. } => format!("{state} ({agent})"),
        RunEvent::StateEntered { state, .. } => state.clone(),
        RunEvent::ToolStarted { tool, agent, .. } => format!("{agent} uses {tool}"),
        RunEvent::ToolRefused { tool, reason, .. } => format!("{tool} was refused: {reason}"),
        RunEvent::Replied { agent, .. } => format!("{agent} answered"),
        RunEvent::ModelRetry { attempt, reason, .. } => {
            format!("the model is asked again ({attempt}): {reason}")
        }
        RunEvent::Retrying { state, attempt, .. } => format!("{state} is tried again ({attempt})"),
        RunEvent::Caught { state, by, .. } => format!("an error of {state} was dealt with ({by})"),
        RunEvent::Waiting { state, .. } => format!("{state} waits"),
        RunEvent::BudgetWarning { what, scope, .. } => {
            format!("budget of {scope}: most of its {what} is used")
        }
        RunEvent::Warning { text, .. } => text.clone(),
        _ => return None,
    })
}
