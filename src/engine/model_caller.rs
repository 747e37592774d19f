//! The agent that makes a model call in a branch, and the scopes that are charged. Does not copy its prompt and tools.

use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

use synthdev_domain::agent::AgentSpec;
use synthdev_domain::ids::AgentIx;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::workflow::Workflow;

/// An existing agent, in the branch in which it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelCaller {
    pub workflow: Arc<Workflow>,
    pub agent_ix: AgentIx,
    /// How events name it.
    pub speaker: String,
    pub state: String,
    /// The visits of states that are charged, from its branch outwards.
    pub charged_visits: Vec<StateVisitRef>,
    /// Workflow and id of the agent, and of those that started it.
    pub charged_agents: Vec<(String, String)>,
    /// The call under way summarizes its context.
    pub is_summarizing: bool,
    /// What it was asked of, where the agent may have been given another model since.
    pub requested_model: Option<Box<ModelChoice>>,
}

/// One stay in a state. Its place may hold another one by the time a call is paid for that was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StateVisitRef {
    pub branch_id: u64,
    pub frame_id: usize,
    /// [`StateVisit::nth`](super::state_visit::StateVisit::nth)
    pub nth: u64,
}

impl Deref for ModelCaller {
    type Target = AgentSpec;

    fn deref(&self) -> &AgentSpec {
        &self.workflow.agents[self.agent_ix.0]
    }
}

impl ModelCaller {
    /// The model that is asked: for a summary that of the context, where it has one.
    pub fn model_choice(&self) -> &ModelChoice {
        self.requested_model.as_deref().unwrap_or_else(|| self.current_model_choice())
    }

    /// The same, if it were asked now.
    pub fn current_model_choice(&self) -> &ModelChoice {
        let context = self.workflow.contexts.get(self.context.0).filter(|_| self.is_summarizing);
        context.and_then(|context| context.summary.as_deref()).unwrap_or(&self.choice)
    }
}
