//! Another model answers while an agent's own server stays down.

use std::sync::Arc;

use super::Machine;
use crate::agent_turn::SummarizationState;
use crate::model_caller::ModelCaller;
use synthdev_domain::model::{ModelChoice, ModelError};

impl Machine {
    /// Replaces an unavailable model by its next fallback, for the rest of the run and for every agent that uses it.
    /// `false`: there is none, or all were tried in this turn, or another model would not help.
    pub(super) fn try_fallback_model(&mut self, agent: &ModelCaller, error: &ModelError) -> bool {
        let asked = agent.model_choice().clone();
        if !error.is_transient() || asked.fallback.is_empty() {
            return false;
        }
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return false;
        };
        if turn.fallback_count >= asked.fallback.len() {
            return false;
        }
        turn.fallback_count += 1;
        self.switch_agents_to_fallback(&asked);
        let Some(now) = self.current_caller().map(|agent| agent.current_model_choice().clone()) else {
            return false;
        };
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut())
            && matches!(turn.summarization, SummarizationState::Asked(_))
        {
            turn.summarization = SummarizationState::Free;
        }
        let text = format!(
            "{} cannot be had ({error}): {} answers instead",
            display_name(&asked),
            display_name(&now)
        );
        self.core.emit_warning("model_fallback", text);
        true
    }

    /// Agents that already use another model were switched by another branch.
    fn switch_agents_to_fallback(&mut self, down: &ModelChoice) {
        let mut spec = (*self.core.spec).clone();
        for workflow in spec.program.workflows.iter_mut().map(Arc::make_mut) {
            let agents = workflow.agents.iter_mut().map(|agent| &mut agent.choice);
            let summaries = workflow.contexts.iter_mut().filter_map(|context| context.summary.as_deref_mut());
            agents.chain(summaries).filter(|choice| choice.is_same_endpoint(down)).for_each(|choice| {
                choice.switch_to_fallback();
            });
        }
        self.core.spec = Arc::new(spec);
    }
}

fn display_name(choice: &ModelChoice) -> String {
    format!("`{}` ({}, level {})", choice.model, choice.provider, choice.level)
}
