//! Whether a workflow has the places where a run is to stop.
//!
//! Owns what counts as such a place, once for all front-ends. Refuses a name that the workflow does not have: the run would
//! never stop there. Which places a run has passed already is not looked at.

use synthdev_domain::workflow::{StateBody, WorkflowProgram};
use synthdev_engine::steering::{Breakpoint, BreakpointSet};
use synthdev_language::did_you_mean::suggestion_hint;

/// Nothing was started or resumed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the workflow has no such {kind}")]
pub struct UnknownBreakpoint {
    point: Breakpoint,
    kind: &'static str,
    suggestion: Option<String>,
}

impl UnknownBreakpoint {
    /// The state or tool as the user named it.
    pub fn name(&self) -> String {
        match &self.point {
            Breakpoint::State { state: name } | Breakpoint::Tool { tool: name } => name.clone(),
            Breakpoint::Spend { .. } | Breakpoint::Now => self.point.to_string(),
        }
    }

    /// The name that is closest.
    pub fn hint(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}

/// Whether the run can come to each of these places.
///
/// # Errors
/// The first one that names a state or a tool that the workflow does not have.
pub fn check_breakpoints(stops: &BreakpointSet, program: &WorkflowProgram) -> Result<(), UnknownBreakpoint> {
    for point in &stops.points {
        let (kind, name, known) = match point {
            Breakpoint::State { state } => ("state", last_segment(state), state_names(program)),
            Breakpoint::Tool { tool } => ("tool", tool.as_str(), tool_names(program)),
            Breakpoint::Spend { .. } | Breakpoint::Now => continue,
        };
        if !known.contains(&name) {
            let suggestion = suggestion_hint(name, known);
            return Err(UnknownBreakpoint { point: point.clone(), kind, suggestion });
        }
    }
    Ok(())
}

/// A state in a branch or a called workflow has a longer name in the run.
fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn state_names(program: &WorkflowProgram) -> Vec<&str> {
    let states = program.workflows.iter().flat_map(|workflow| &workflow.states);
    states.map(|state| last_segment(&state.name)).collect()
}

fn tool_names(program: &WorkflowProgram) -> Vec<&str> {
    let agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
    let mut known: Vec<&str> =
        agents.flat_map(|agent| &*agent.tools).map(|tool| tool.name.as_str()).collect();
    for state in program.workflows.iter().flat_map(|workflow| &workflow.states) {
        if let StateBody::Action(step) = &state.work {
            known.push(&step.tool);
        }
    }
    known
}
