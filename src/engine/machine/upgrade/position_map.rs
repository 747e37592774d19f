//! From the positions of one program to those of another, by name.

use synthdev_domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev_domain::workflow::{Workflow, WorkflowProgram};

/// Positions of the parts of an old program in a new one; `None` for what is gone.
pub(super) struct PositionMap {
    workflows: Vec<Option<WorkflowIx>>,
    parts: Vec<WorkflowPositions>,
}

#[derive(Default)]
struct WorkflowPositions {
    states: Vec<Option<StateIx>>,
    agents: Vec<Option<AgentIx>>,
    contexts: Vec<Option<ContextIx>>,
}

impl PositionMap {
    /// The root stays the root, whatever it is called.
    pub(super) fn new(old: &WorkflowProgram, new: &WorkflowProgram) -> Self {
        let find = |(at, workflow): (usize, &std::sync::Arc<Workflow>)| {
            let named = |other: &std::sync::Arc<Workflow>| other.name == workflow.name;
            if at == 0 {
                (!new.workflows.is_empty()).then_some(0)
            } else {
                new.workflows.iter().position(named)
            }
        };
        let workflows: Vec<Option<usize>> = old.workflows.iter().enumerate().map(find).collect();
        let pairs = old.workflows.iter().zip(&workflows);
        let parts =
            pairs.map(|(was, at)| at.and_then(|at| new.workflows.get(at)).map(|now| map_positions(was, now)));
        let parts = parts.map(Option::unwrap_or_default).collect();
        Self { workflows: workflows.into_iter().map(|at| at.map(WorkflowIx)).collect(), parts }
    }

    pub(super) fn workflow(&self, at: WorkflowIx) -> Option<WorkflowIx> {
        self.workflows.get(at.0).copied().flatten()
    }

    pub(super) fn state(&self, workflow: WorkflowIx, at: StateIx) -> Option<StateIx> {
        self.parts.get(workflow.0)?.states.get(at.0).copied().flatten()
    }

    pub(super) fn agent(&self, workflow: WorkflowIx, at: AgentIx) -> Option<AgentIx> {
        self.parts.get(workflow.0)?.agents.get(at.0).copied().flatten()
    }

    pub(super) fn context(&self, workflow: WorkflowIx, at: ContextIx) -> Option<ContextIx> {
        self.parts.get(workflow.0)?.contexts.get(at.0).copied().flatten()
    }
}

fn map_positions(was: &Workflow, now: &Workflow) -> WorkflowPositions {
    WorkflowPositions {
        states: match_by_name(&was.states, &now.states, |state| &state.name)
            .into_iter()
            .map(|at| at.map(StateIx))
            .collect(),
        agents: match_by_name(&was.agents, &now.agents, |agent| &agent.id)
            .into_iter()
            .map(|at| at.map(AgentIx))
            .collect(),
        contexts: match_by_name(&was.contexts, &now.contexts, |context| &context.name)
            .into_iter()
            .map(|at| at.map(ContextIx))
            .collect(),
    }
}

fn match_by_name<T>(was: &[T], now: &[T], name: impl Fn(&T) -> &str) -> Vec<Option<usize>> {
    was.iter().map(|old| now.iter().position(|new| name(new) == name(old))).collect()
}
