//! Who speaks in a lane, and pays for what it asks of a model. The agent's prompt and tools are not copied.

use std::ops::Deref;
use std::sync::Arc;

use crate::domain::agent::AgentSpec;
use crate::domain::ids::AgentIx;
use crate::domain::model::ModelChoice;
use crate::domain::workflow::Workflow;

/// An agent that is there, in the lane in which it speaks.
#[derive(Clone, Debug)]
pub struct Speaking {
    pub workflow: Arc<Workflow>,
    pub at: AgentIx,
    pub lane: u64,
    pub parent: Option<u64>,
    pub state: String,
    /// The call under way sums its context up.
    pub sums: bool,
}

impl Deref for Speaking {
    type Target = AgentSpec;

    fn deref(&self) -> &AgentSpec {
        &self.workflow.agents[self.at.0]
    }
}

impl Speaking {
    /// The model that is asked: for a summary that of the context, where it has one.
    pub fn asked(&self) -> &ModelChoice {
        let context = self.workflow.contexts.get(self.context.0).filter(|_| self.sums);
        context.and_then(|context| context.summary.as_deref()).unwrap_or(&self.choice)
    }
}
