//! The agents of a run: a line for each that has answered, and a look for each that has appeared.

use super::{AgentActivity, AgentLine, RunView};
use synthdev_domain::context::ConversationSide;
use synthdev_domain::cost::TokenUsage;
use synthdev_service::run_events::RunEvent;

impl RunView {
    /// An agent appears: from now on it has its look.
    pub(super) fn note_agent(&mut self, event: &RunEvent) {
        match event {
            RunEvent::StateEntered { agent: Some(agent), .. }
            | RunEvent::SummaryCalled { agent, .. }
            | RunEvent::AgentSpawned { agent, .. }
            | RunEvent::ToolStarted { agent, .. } => self.roster.add_agent(agent),
            _ => {}
        }
    }

    pub(super) fn set_agents_idle(&mut self) {
        self.agents.iter_mut().for_each(|agent| agent.activity = AgentActivity::Nothing);
        self.pane_data.agents += 1;
    }

    pub fn agent_mut(&mut self, name: &str, side: ConversationSide) -> &mut AgentLine {
        let at = self.agents.iter().position(|agent| agent.name == name).unwrap_or_else(|| {
            self.roster.add_agent(name);
            self.agents.push(AgentLine {
                name: name.to_owned(),
                side,
                model: String::new(),
                usage: TokenUsage::default(),
                requested_model: None,
                activity: AgentActivity::Nothing,
            });
            self.agents.len() - 1
        });
        &mut self.agents[at]
    }
}
