//! Breakpoints of `synthdev run` and `synthdev resume`.

use anyhow::{Result, anyhow};

use super::read_only::error_with_hint;
use synthdev_cli::args::StopArgs;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::steering::BreakpointSet;
use synthdev_service::breakpoint_check::{UnknownBreakpoint, check_breakpoints};

/// # Errors
/// What is no breakpoint, or names a state or tool that the workflow does not have.
pub(crate) fn parse_breakpoints(args: &StopArgs, program: &WorkflowProgram) -> Result<BreakpointSet> {
    let stops = args.breakpoint_set().map_err(|problem| anyhow!(problem))?;
    check_breakpoints(&stops, program).map_err(unknown_breakpoint)?;
    Ok(stops)
}

fn unknown_breakpoint(error: UnknownBreakpoint) -> anyhow::Error {
    error_with_hint(&format!("--break {}: {error}", error.name()), error.hint())
}
