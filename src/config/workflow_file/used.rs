//! `use`: retries, timeouts, prompts, schemas and tool calls under names of their own.

use super::super::json::{Kind, Member, Node};
use super::super::source::Findings;
use super::fields::{duration, given, object, required_text, wrong};
use super::inputs::{Inputs, arguments};
use super::keys::{USE, USED_TOOL};
use super::named::Named;
use super::safety::retry_rules;
use super::schema::sound;
use super::{Arguments, Text};

pub(super) fn read(node: &Node, findings: &mut Findings<'_>) -> Named {
    let mut named = Named::default();
    let Some(value) = given(node, "use") else { return named };
    if object(value, &USE, findings).is_none() {
        return named;
    }
    named.schemas = each(value, "schemas", findings, |one, findings| sound(&one.value, findings));
    named.timeouts =
        each(value, "timeouts", findings, |one, findings| duration(&one.value, &one.key, findings));
    let timeouts = &named;
    let retries =
        each(value, "retries", findings, |one, findings| Some(retry_rules(&one.value, timeouts, findings)));
    named.retries = retries;
    let none = Named::default();
    let inputs = Inputs { named: &none };
    named.prompts = each(value, "prompts", findings, |one, findings| inputs.prompt(&one.value, findings));
    let tools = each(value, "tools", findings, |one, findings| tool_call(&one.value, &named, findings));
    named.tools = tools;
    named
}

/// Only what the index of a file needs: findings are left to the full reading.
pub(super) fn schemas_of(node: &Node) -> Named {
    let members = given(node, "use").and_then(|value| given(value, "schemas")).and_then(Node::members);
    let schemas = members.into_iter().flatten().map(|one| (one.key.clone(), one.value.to_value()));
    Named { schemas: schemas.collect(), ..Named::default() }
}

fn tool_call(node: &Node, named: &Named, findings: &mut Findings<'_>) -> Option<(Text, Arguments)> {
    object(node, &USED_TOOL, findings)?;
    let arguments = arguments(node, "arguments", Inputs { named }, findings);
    Some((required_text(node, "tool", "the tool", findings)?, arguments))
}

fn each<T>(
    node: &Node,
    key: &str,
    findings: &mut Findings<'_>,
    read: impl Fn(&Member, &mut Findings<'_>) -> Option<T>,
) -> Vec<(String, T)> {
    let Some(value) = given(node, key) else { return Vec::new() };
    let Kind::Object(members) = &value.kind else {
        wrong(value, &format!("`{key}` must be an object of names"), findings);
        return Vec::new();
    };
    members.iter().filter_map(|one| Some((one.key.clone(), read(one, findings)?))).collect()
}
