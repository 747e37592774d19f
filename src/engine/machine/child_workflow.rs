//! A child workflow begins, in isolation: it sees its inputs, the parent sees its output.

use serde_json::{Map, Value};

use super::{CallFrame, Machine, NextHandler, RunEvent};
use crate::run_spec::RunSpec;
use synthdev_domain::ids::WorkflowIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{ValueSource, Workflow, WorkflowParameter};

impl Machine {
    pub(super) fn enter_child_workflow(
        &mut self,
        ix: WorkflowIx,
        inputs: &[(String, ValueSource)],
        values: &[Option<Value>],
    ) -> NextHandler {
        let Some(child) = self.core.spec.program.workflows.get(ix.0).cloned() else {
            return NextHandler::Wait;
        };
        let depth = u32::try_from(self.core.branches.current.depth + self.core.branches.current.frames.len())
            .unwrap_or(u32::MAX);
        if depth > child.limits.max_depth {
            let failure = RunError::new(
                "limit",
                "Child workflows are nested too deep",
                format!(
                    "`{}` would be level {depth}, at most {} are allowed",
                    child.name, child.limits.max_depth
                ),
            );
            return NextHandler::fail(failure.with_hint("check the recursion's end condition"));
        }
        let given = match child_input_values(&self.core.spec, &child, inputs, values) {
            Ok(given) => given,
            Err(failure) => return NextHandler::fail(*failure),
        };
        self.core.emit_event(RunEvent::ChildStarted {
            state: self.core.state_name(),
            workflow: child.name.clone(),
            inputs: given.clone(),
        });
        self.core.last_frame_id += 1;
        let prefix = format!("{}{}/", self.child_path_prefix(), child.name);
        self.core.branches.current.frames.push(CallFrame::new(
            self.core.last_frame_id,
            ix,
            &child,
            prefix,
            given,
        ));
        self.core.arm_workflow_timer();
        self.core.branches.current.next_state = Some(child.start);
        NextHandler::Wait
    }

    /// Prefix of a child's name in paths, including the branch or item that starts it.
    fn child_path_prefix(&self) -> String {
        let is_branch =
            self.core.branches.current.parent.is_some() && self.core.branches.current.frames.len() == 1;
        let own = self.core.state_name();
        match own.rsplit_once('/') {
            Some((place, _)) if is_branch => format!("{place}/"),
            _ => self.core.frame().map(|frame| frame.prefix.clone()).unwrap_or_default(),
        }
    }
}

/// What the child is given, converted and checked; what is not given has its default.
fn child_input_values(
    spec: &RunSpec,
    child: &Workflow,
    inputs: &[(String, ValueSource)],
    values: &[Option<Value>],
) -> Result<Map<String, Value>, Box<RunError>> {
    let mut values = values.iter();
    let mut given = Map::new();
    for (name, input) in inputs {
        let value = match input {
            ValueSource::Script(_) => values.next().cloned().flatten(),
            ValueSource::Text(text) => Some(Value::String(text.clone())),
            ValueSource::Value(value) => Some(value.clone()),
            ValueSource::Absent | ValueSource::Human => None,
        };
        let parameter = child.inputs.iter().find(|parameter| parameter.name == *name);
        let value = value.filter(|value| !value.is_null());
        let default = parameter.and_then(|parameter| parameter.default.clone());
        let Some(value) = value.or(default) else {
            if parameter.is_some_and(|parameter| !parameter.required) {
                continue;
            }
            return Err(Box::new(missing_input(&child.name, name)));
        };
        let value = parameter
            .map_or(Ok(value.clone()), |parameter| check_input_value(parameter, value))
            .map_err(|problem| Box::new(wrong_input(spec, &child.name, name, &problem)))?;
        given.insert(name.clone(), value);
    }
    for parameter in child.inputs.iter().filter(|one| !inputs.iter().any(|(name, _)| *name == one.name)) {
        if let Some(default) = &parameter.default {
            given.insert(parameter.name.clone(), default.clone());
        }
    }
    Ok(given)
}

/// The value as the type of the parameter, and checked by its schema.
///
/// # Errors
/// What does not fit.
pub(super) fn check_input_value(parameter: &WorkflowParameter, value: Value) -> Result<Value, String> {
    let value = parameter.kind.convert_value(value)?;
    let Some(schema) = &parameter.schema else { return Ok(value) };
    let validator =
        jsonschema::validator_for(schema).map_err(|error| format!("the schema is broken: {error}"))?;
    let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    if problems.is_empty() { Ok(value) } else { Err(problems.join("; ")) }
}

fn missing_input(child: &str, name: &str) -> RunError {
    RunError::new(
        "input_undefined",
        "A child workflow's input is undefined",
        format!("`sub_workflow_input.{name}` for `{child}` evaluates to undefined or null"),
    )
    .with_hint("set the value in an earlier state before it is passed on")
}

fn wrong_input(spec: &RunSpec, child: &str, name: &str, problem: &str) -> RunError {
    let error = RunError::new(
        "validation",
        "A child workflow's input has the wrong type",
        format!("`sub_workflow_input.{name}` for `{child}`: {problem}"),
    );
    let hint =
        format!("pass a value that fits, or change the type or schema of the input `{name}` of `{child}`");
    spec.with_later_hint(error, hint)
}
