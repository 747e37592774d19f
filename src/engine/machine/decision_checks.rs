//! What a decision has to be: a call of a parsing tool whose arguments fit its schema.

use serde_json::Value;

use super::NextHandler;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::ParsingTool;

/// How often a model may mend a decision that does not fit.
pub(super) const MAX_REPAIRS: u32 = 2;

pub(super) const UNREPAIRED: &str =
    "the model was told twice; simplify the tool's schema or use a stronger model";

/// The hint for a decision that was truncated at the output limit.
pub(super) const TRUNCATED_DECISION: &str = "the answer reached the output limit before the decision was whole: raise `max_output_tokens`, or ask for \
     less in one decision";

pub(super) fn parsing_tool<'a>(agent: &'a AgentSpec, name: &str) -> Option<&'a ParsingTool> {
    agent.parsing_tools.iter().find(|tool| tool.name == name)
}

/// Parses and validates arguments against the tool's schema.
pub(super) fn check_arguments(tool: &ParsingTool, arguments: &str) -> Result<(), String> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
    let validator = jsonschema::validator_for(&tool.parameters)
        .map_err(|error| format!("the schema of `{}` is broken: {error}", tool.name))?;
    let problems: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| {
            let at = error.instance_path().to_string();
            if at.is_empty() { error.to_string() } else { format!("{at}: {error}") }
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

pub(super) fn invalid_decision(detail: String, hint: &str) -> NextHandler {
    let failure = RunError::new("parsing_tool_invalid", "The decision does not fit its schema", detail);
    NextHandler::fail(failure.with_hint(hint))
}
