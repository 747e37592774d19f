//! Another model answers while an agent's own server stays down.

use std::sync::Arc;

use super::Machine;
use crate::agent_turn::SummarizationState;
use crate::model_caller::ModelCaller;
use synthdev_domain::model::{ModelChoice, ModelError};

impl Machine {
    /// Lets the next model of the row take the place of one that could not be had, for the rest of the run and for
    /// everybody who asks it. `false`: there is none, or all were tried in this visit, or trying elsewhere would not help.
    pub(super) fn another_answers(&mut self, agent: &ModelCaller, error: &ModelError) -> bool {
        let asked = agent.model_choice().clone();
        if !error.is_transient() || asked.fallback.is_empty() {
            return false;
        }
        let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut()) else { return false };
        if turn.gave_way >= asked.fallback.len() {
            return false;
        }
        turn.gave_way += 1;
        self.give_way(&asked);
        let Some(now) = self.speaking().map(|agent| agent.would_ask().clone()) else { return false };
        if let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut())
            && matches!(turn.summing, SummarizationState::Asked(_))
        {
            turn.summing = SummarizationState::Free;
        }
        let text = format!("{} cannot be had ({error}): {} answers instead", named(&asked), named(&now));
        self.warn("model_fallback", text);
        true
    }

    /// Whoever asks something else by now was moved by another branch already.
    fn give_way(&mut self, down: &ModelChoice) {
        let mut spec = (*self.spec).clone();
        for workflow in spec.program.workflows.iter_mut().map(Arc::make_mut) {
            let agents = workflow.agents.iter_mut().map(|agent| &mut agent.choice);
            let summaries = workflow.contexts.iter_mut().filter_map(|context| context.summary.as_deref_mut());
            agents.chain(summaries).filter(|choice| choice.is_same_endpoint(down)).for_each(|choice| {
                choice.switch_to_fallback();
            });
        }
        self.spec = Arc::new(spec);
    }
}

fn named(choice: &ModelChoice) -> String {
    format!("`{}` ({}, level {})", choice.model, choice.provider, choice.level)
}
