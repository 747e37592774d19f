//! The inputs of a workflow in progress, under its new declaration.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::machine::child_workflow::check_input_value;
use synthdev_domain::workflow::{Workflow, WorkflowParameter};

/// What was given, converted to the new types, with the defaults of what is new. A value that is no longer declared
/// stays: a script may read it. `of` names the workflow where it is not the root.
///
/// # Errors
/// What is required and not there, and what no longer fits.
pub(super) fn migrate_input_values(
    workflow: Option<&Arc<Workflow>>,
    given: &Map<String, Value>,
    of: &str,
) -> Result<Map<String, Value>, Vec<String>> {
    let mut all = given.clone();
    let mut problems = Vec::new();
    for parameter in workflow.into_iter().flat_map(|workflow| &workflow.inputs) {
        match migrate_value(parameter, given.get(&parameter.name)) {
            Ok(Some(value)) => {
                all.insert(parameter.name.clone(), value);
            }
            Ok(None) => {}
            Err(why) => problems.push(format!("input `{}`{of} {why}", parameter.name)),
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

fn migrate_value(parameter: &WorkflowParameter, given: Option<&Value>) -> Result<Option<Value>, String> {
    match given.or(parameter.default.as_ref()) {
        Some(value) => check_input_value(parameter, value.clone())
            .map(Some)
            .map_err(|problem| format!("has a value that no longer fits: {problem}")),
        None if parameter.required => {
            Err("is required in the new file, and this run has no value for it: give it a \"default\""
                .to_owned())
        }
        None => Ok(None),
    }
}
