//! Steps: the tools that they name, and their arguments as paths.

use serde_json::{Map, Value};

use super::super::did_you_mean::{suggest_or_list, suggestion_hint};
use super::super::source::FileDiagnostics;
use super::super::workflow_file::{StepArguments, StepForm, WorkForm, WorkflowForm};
use super::LinkContext;
use synthdev_domain::tool::ToolSpec;
use synthdev_domain::workflow::ValueSource;

/// Finds the tool of every `tool` state and takes its risk; judges the names of its arguments.
pub(super) fn step_tools(
    form: &mut WorkflowForm,
    surroundings: &LinkContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) {
    for state in &mut form.states {
        let WorkForm::Step(step) = &mut state.work else { continue };
        if step.risk.is_some() {
            continue;
        }
        match surroundings.tools.iter().find(|tool| tool.name == step.tool.value) {
            Some(tool) => {
                step.risk = Some(tool.risk);
                check_arguments_fit(step, tool, findings);
            }
            None => {
                let known: Vec<&str> = surroundings.tools.iter().map(|tool| tool.name.as_str()).collect();
                let hint = suggest_or_list(&step.tool.value, "known", &known);
                let message = format!("there is no tool `{}`", step.tool.value);
                findings.add_error("E05", step.tool.span.clone(), message, hint);
            }
        }
    }
}

fn check_arguments_fit(step: &StepForm, tool: &ToolSpec, findings: &mut FileDiagnostics<'_>) {
    let given = &step.arguments;
    let Some(properties) = tool.parameters["properties"].as_object() else { return };
    let open = tool.parameters.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    for name in given.names.iter().filter(|name| !open && !properties.contains_key(&name.value)) {
        let known = properties.keys().map(String::as_str);
        let hint = suggestion_hint(&name.value, known.clone())
            .unwrap_or_else(|| format!("it has {}", known.collect::<Vec<_>>().join(", ")));
        let message = format!("the tool `{}` has no argument `{}`", tool.name, name.value);
        findings.add_error("E10", name.span.clone(), message, Some(hint));
    }
    let required = tool.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| !given.literal.contains_key(*name)) {
        let message = format!("the tool `{}` needs the argument `{name}`", tool.name);
        let hint = format!("add \"arguments\": {{\"{name}\": …}}");
        findings.add_error("E10", step.tool.span.clone(), message, Some(hint));
    }
}

/// Arguments by path: first each one's literal part, then what is evaluated and put into it. `inputs` are those of the
/// leaves, in their order.
pub(super) fn build_arguments(
    form: &StepArguments,
    inputs: Vec<ValueSource>,
) -> Vec<(Vec<String>, ValueSource)> {
    let mut literal = Value::Object(form.literal.clone());
    let mut late = Vec::new();
    for ((path, _), input) in form.computed_leaves.iter().zip(inputs) {
        let known = match &input {
            ValueSource::Text(text) => Some(Value::String(text.clone())),
            ValueSource::Value(value) => Some(value.clone()),
            ValueSource::Absent | ValueSource::Script(_) | ValueSource::Human => None,
        };
        match (known, slot_at(&mut literal, path)) {
            (Some(value), Some(slot)) => *slot = value,
            _ => late.push((path.clone(), input)),
        }
    }
    let whole = |name: &String| late.iter().any(|(path, _)| path.len() == 1 && path[0] == *name);
    let object = if let Value::Object(object) = literal { object } else { Map::new() };
    let mut all: Vec<(Vec<String>, ValueSource)> = object
        .into_iter()
        .filter(|(name, _)| !whole(name))
        .map(|(name, value)| {
            let input = if let Value::String(text) = value {
                ValueSource::Text(text)
            } else {
                ValueSource::Value(value)
            };
            (vec![name], input)
        })
        .collect();
    all.extend(late);
    all
}

fn slot_at<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    let [first, rest @ ..] = path else { return Some(value) };
    let inner = match value {
        Value::Object(members) => members.get_mut(first)?,
        Value::Array(items) => items.get_mut(first.parse::<usize>().ok()?)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    slot_at(inner, rest)
}
