//! `use`: retries, timeouts, prompts, schemas and tool calls under names of their own.

use super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Map, Object, Ref, Text};
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::error_policy::retry_rules;
use super::fields::{check_object, non_null_member, read_duration, report_wrong_type, required_text};
use super::inputs::{InputFormReader, read_arguments};
use super::schema::usable_schema;
use super::spanned::{SpannedText, StepArguments};
use super::value_shapes::{DURATION, RETRIES, VALUE, WORDS};

pub(super) const USE: ObjectDeclaration = ObjectDeclaration {
    name: "use",
    noun: "`use`",
    description: "Things with a name, to be used by several states.",
    keys: &[
        declared_key("retries").with_value(Map(&RETRIES), "Lists of `retry` rules, by name."),
        declared_key("timeouts").with_value(Map(&DURATION), "Durations, by name."),
        declared_key("prompts").with_value(
            Map(&WORDS),
            "Texts with `{{ expressions }}`, by name: `{\"prompt\": \"NAME\"}` as an input.",
        ),
        declared_key("schemas").with_value(Map(&Object), "JSON Schemas, by name."),
        declared_key("tools")
            .with_value(Map(&Ref("used_tool")), "Calls of tools, by name, for states of the type `tool`."),
    ],
    future_keys: &[],
};

pub(super) const USED_TOOL: ObjectDeclaration = ObjectDeclaration {
    name: "used_tool",
    noun: "a tool of `use`",
    description: "A call of a tool with a name of its own.",
    keys: &[
        declared_key("tool").with_value(Text, "The tool.").required(),
        declared_key("arguments").with_value(Map(&VALUE), "Its usual arguments; a state may replace each."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

pub(super) fn read_definitions(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> NamedDefinitions {
    let mut named = NamedDefinitions::default();
    let Some(value) = non_null_member(node, "use") else { return named };
    if check_object(value, &USE, findings).is_none() {
        return named;
    }
    named.schemas =
        read_each(value, "schemas", findings, |one, findings| usable_schema(&one.value, findings));
    named.timeouts =
        read_each(value, "timeouts", findings, |one, findings| read_duration(&one.value, &one.key, findings));
    let timeouts = &named;
    let retries = read_each(value, "retries", findings, |one, findings| {
        Some(retry_rules(&one.value, timeouts, findings))
    });
    named.retries = retries;
    let none = NamedDefinitions::default();
    let inputs = InputFormReader { definitions: &none };
    named.prompts =
        read_each(value, "prompts", findings, |one, findings| inputs.read_prompt(&one.value, findings));
    let tools = read_each(value, "tools", findings, |one, findings| tool_call(&one.value, &named, findings));
    named.tools = tools;
    named
}

/// Only what the index of a file needs: findings are left to the full reading.
pub(super) fn read_schemas(node: &JsonNode) -> NamedDefinitions {
    let members = non_null_member(node, "use")
        .and_then(|value| non_null_member(value, "schemas"))
        .and_then(JsonNode::members);
    let schemas = members.into_iter().flatten().map(|one| (one.key.clone(), one.value.to_value()));
    NamedDefinitions { schemas: schemas.collect(), ..NamedDefinitions::default() }
}

fn tool_call(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<(SpannedText, StepArguments)> {
    check_object(node, &USED_TOOL, findings)?;
    let arguments = read_arguments(node, "arguments", InputFormReader { definitions: named }, findings);
    Some((required_text(node, "tool", "the tool", findings)?, arguments))
}

fn read_each<T>(
    node: &JsonNode,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
    read: impl Fn(&JsonMember, &mut FileDiagnostics<'_>) -> Option<T>,
) -> Vec<(String, T)> {
    let Some(value) = non_null_member(node, key) else { return Vec::new() };
    let JsonNodeKind::Object(members) = &value.kind else {
        report_wrong_type(value, &format!("`{key}` must be an object of names"), findings);
        return Vec::new();
    };
    members.iter().filter_map(|one| Some((one.key.clone(), read(one, findings)?))).collect()
}
