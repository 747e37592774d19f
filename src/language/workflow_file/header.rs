//! Everything of a workflow but its contexts, agents and states.

use serde_json::Value;

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{
    check_object, non_null_member, read_choice, read_count, read_flag, read_text, report_wrong_type,
    required_text,
};
use super::keys::{LIMITS, PARAMETER};
use super::{LimitsForm, NoMatchForm, ParameterForm, SpannedText, SpannedValue, StartCondition, schema};
use crate::source::NOT_TAKEN;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::{ParameterType, SnapshotPolicy};

pub(super) fn start_condition(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> StartCondition {
    let words = [("immediate", StartCondition::Immediate), ("on_user_input", StartCondition::OnUserInput)];
    read_choice(node, "start_condition", &words, findings)
        .map_or_else(StartCondition::default, |found| found.value)
}

/// `input`: one parameter or several.
pub(super) fn read_inputs(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<ParameterForm> {
    let Some(value) = node.get("input") else { return Vec::new() };
    match &value.kind {
        JsonNodeKind::Null => Vec::new(),
        JsonNodeKind::Array(items) => {
            let mut all: Vec<ParameterForm> = Vec::new();
            for item in items {
                let Some(one) = read_parameter(item, named, findings) else { continue };
                if all.iter().any(|other| other.name.value == one.name.value) {
                    let message = format!("the input `{}` is declared twice", one.name.value);
                    findings.add_error(
                        "E13",
                        one.name.span,
                        message,
                        Some("rename one of the two".to_owned()),
                    );
                } else {
                    all.push(one);
                }
            }
            all
        }
        _ => read_parameter(value, named, findings).into_iter().collect(),
    }
}

pub(super) fn read_workflow_output(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ParameterForm> {
    let value = node.get("output").filter(|value| value.kind != JsonNodeKind::Null)?;
    // whether an output must be there is a rule of its own: by default it need not
    let required = value.get("required").is_some();
    read_parameter(value, named, findings)
        .map(|one| ParameterForm { required: one.required && required, ..one })
}

fn read_parameter(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ParameterForm> {
    check_object(node, &PARAMETER, findings)?;
    let words = [
        ("string", ParameterType::String),
        ("number", ParameterType::Number),
        ("boolean", ParameterType::Boolean),
        ("object", ParameterType::Object),
        ("array", ParameterType::Array),
    ];
    let kind = read_choice(node, "type", &words, findings).map_or(ParameterType::String, |found| found.value);
    let description = read_text(node, "description", findings).map_or_else(String::new, |text| text.value);
    let required = read_flag(node, "required", findings).unwrap_or(true);
    let schema = schema::read_schema(node, named, findings);
    let default = non_null_member(node, "default").map(|value| {
        let literal = value.to_value();
        if kind.convert_value(literal.clone()).as_ref() != Ok(&literal) {
            report_wrong_type(value, &format!("`default` must be of type {}", kind.as_str()), findings);
        } else if let Some(schema) = &schema {
            schema::check_value_fits(value, "default", schema, findings);
        }
        literal
    });
    let name = required_text(node, "name", "the parameter", findings)?;
    let required = required && default.is_none();
    Some(ParameterForm { name, kind, description, required, default, schema })
}

pub(super) fn read_variables(
    node: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<(SpannedText, Value)> {
    let Some(value) = node.get("variables").filter(|value| value.kind != JsonNodeKind::Null) else {
        return Vec::new();
    };
    let Some(members) = value.members() else {
        report_wrong_type(value, "`variables` must be an object", findings);
        return Vec::new();
    };
    members
        .iter()
        .map(|member| {
            let name = SpannedValue { value: member.key.clone(), span: member.key_span.clone() };
            (name, member.value.to_value())
        })
        .collect()
}

pub(super) fn read_limits(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> LimitsForm {
    let Some(value) = node.get("limits") else { return LimitsForm::default() };
    if check_object(value, &LIMITS, findings).is_none() {
        return LimitsForm::default();
    }
    LimitsForm {
        max_steps: read_count(value, "max_steps", findings),
        max_visits: read_count(value, "max_visits", findings),
        max_depth: read_count(value, "max_depth", findings),
        max_model_calls: read_count(value, "max_model_calls", findings),
        max_tool_rounds: read_count(value, "max_tool_rounds", findings),
        max_concurrency: read_count(value, "max_concurrency", findings),
    }
}

/// `error`, `stop`, or the state to go to.
pub(super) fn no_match(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> NoMatchForm {
    match read_text(node, "on_no_match", findings) {
        None => NoMatchForm::Error,
        Some(word) => match word.value.as_str() {
            "error" => NoMatchForm::Error,
            "stop" => NoMatchForm::Stop,
            _ => NoMatchForm::Go(word),
        },
    }
}

pub(super) fn condition_errors(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> bool {
    let words = [("error", false), ("false", true)];
    read_choice(node, "on_condition_error", &words, findings).is_some_and(|found| found.value)
}

/// Whether a run has files of its own.
pub(super) fn read_isolated(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> bool {
    let words = [("none", false), ("worktree", true)];
    read_choice(node, "isolation", &words, findings).is_some_and(|found| found.value)
}

pub(super) fn read_snapshot_policy(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> SnapshotPolicy {
    let words = [
        ("auto", SnapshotPolicy::Auto),
        ("required", SnapshotPolicy::Required),
        ("off", SnapshotPolicy::Off),
    ];
    let Some(found) = read_choice(node, "snapshot", &words, findings) else {
        return SnapshotPolicy::default();
    };
    if found.value == SnapshotPolicy::Off && findings.file.layer == ConfigLayer::Project {
        let hint = "leave it out, or keep the workflow beside your own settings".to_owned();
        let message = "`snapshot` is not taken as \"off\": a project's files cannot switch snapshots off";
        findings.add_warning(NOT_TAKEN, found.span, message, Some(hint));
        return SnapshotPolicy::default();
    }
    found.value
}
