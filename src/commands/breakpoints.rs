//! Breakpoints of `synthdev run`: each must be a place that the run can come to.

use anyhow::{Result, anyhow, bail};

use synthdev_cli::args::StopArgs;
use synthdev_domain::workflow::{StateBody, WorkflowProgram};
use synthdev_engine::steering::{Breakpoint, BreakpointSet};
use synthdev_language::did_you_mean;

/// # Errors
/// What is no breakpoint, or names a state or tool that the workflow does not have.
pub(crate) fn parse_breakpoints(args: &StopArgs, program: &WorkflowProgram) -> Result<BreakpointSet> {
    let stops = args.breakpoint_set().map_err(|problem| anyhow!(problem))?;
    for point in &stops.points {
        match point {
            Breakpoint::State { state } => {
                let states = program.workflows.iter().flat_map(|workflow| &workflow.states);
                let known: Vec<&str> = states.map(|state| last_segment(&state.name)).collect();
                check_known_name("state", state, last_segment(state), known)?;
            }
            Breakpoint::Tool { tool } => check_known_name("tool", tool, tool, tool_names(program))?,
            Breakpoint::Spend { .. } | Breakpoint::Now => {}
        }
    }
    Ok(stops)
}

fn check_known_name(what: &str, given: &str, name: &str, known: Vec<&str>) -> Result<()> {
    if known.contains(&name) {
        return Ok(());
    }
    let hint =
        did_you_mean::suggestion_hint(name, known).map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    bail!("--break {given}: the workflow has no such {what}{hint}")
}

fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
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
