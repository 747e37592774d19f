//! How models gave their decisions in the runs of this process: the next run asks them so at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use synthdev_domain::model::DecisionMemory;
use synthdev_domain::workflow::{Workflow, WorkflowProgram};

#[derive(Debug, Default)]
pub(super) struct SharedDecisionMemory(Mutex<DecisionMemory>);

impl SharedDecisionMemory {
    /// Takes over what a run has found out.
    pub(super) fn merge(&self, of_run: &DecisionMemory) {
        if !of_run.is_empty() {
            self.lock().merge(of_run);
        }
    }

    pub(super) fn to_memory(&self) -> DecisionMemory {
        self.lock().clone()
    }

    /// Writes it into the models of a program that is to be started; the run records it so.
    pub(super) fn apply_to(&self, program: &mut WorkflowProgram) {
        let memory = self.lock();
        if memory.is_empty() {
            return;
        }
        for workflow in &mut program.workflows {
            if workflow.agents.iter().any(|agent| !memory.source_for(&agent.choice).is_plain_call()) {
                start_as_remembered(Arc::make_mut(workflow), &memory);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, DecisionMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start_as_remembered(workflow: &mut Workflow, memory: &DecisionMemory) {
    for agent in &mut workflow.agents {
        let choice = &mut agent.choice;
        choice.decision_start = choice.decision_start.max(memory.source_for(choice));
        for other in &mut choice.fallback {
            other.decision_start = other.decision_start.max(memory.source_for(other));
        }
    }
}
