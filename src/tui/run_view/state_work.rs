//! What the present state of a run does: whether an agent works in it, or only a script.

use crate::text::one_line;
use synthdev_service::run_events::RunEvent;

/// The state that was entered last, and what has happened in it.
#[derive(Clone, Debug, Default)]
pub struct StateWork {
    state: String,
    agent: Option<String>,
    /// It has called a tool or a workflow, started branches, waited, or asked.
    has_other_work: bool,
}

impl StateWork {
    pub fn apply_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::StateEntered { state, agent, .. } => {
                self.state = one_line(state);
                self.agent = agent.as_deref().map(one_line);
                self.has_other_work = false;
            }
            RunEvent::ToolStarted { .. }
            | RunEvent::ChildStarted { .. }
            | RunEvent::Forked { .. }
            | RunEvent::Waiting { .. }
            | RunEvent::PersonAsked { .. } => self.has_other_work = true,
            _ => {}
        }
    }

    /// The agent of the state that was entered last.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The run was in this state last, and it did nothing but a script, or chose the next state.
    pub fn ran_only_script(&self, state: &str) -> bool {
        self.state == one_line(state) && self.agent.is_none() && !self.has_other_work
    }
}
