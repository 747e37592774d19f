//! `requirements` of a workflow: MCP servers, tools and variables that must be there before a run starts.

use std::collections::HashSet;

use super::super::json::JsonNode;
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::fields::{check_object, non_null_member, read_texts};
use super::spanned::SpannedText;
use super::value_shapes::TEXTS;
use synthdev_domain::workflow_requirements::WorkflowRequirements;

pub(super) const REQUIREMENTS: ObjectDeclaration = ObjectDeclaration {
    name: "requirements",
    noun: "`requirements`",
    description: "What must be there before a run starts. Everything that is missing is reported at once, and nothing \
                  is spent. Those of workflows that it calls count too.",
    keys: &[
        declared_key("servers")
            .with_value(TEXTS, "MCP servers, by their names in `mcpServers`; they must answer.")
            .with_example("[\"issues\"]"),
        declared_key("tools").with_value(
            TEXTS,
            "Tools by the names that agents know: `server__tool` of an MCP server, else as they are listed.",
        ),
        declared_key("variables").with_value(
            TEXTS,
            "Variables that must be set in the environment of synthdev, and not be empty.",
        ),
    ],
    future_keys: &[],
};

/// With the places of the names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequirementsForm {
    pub servers: Vec<SpannedText>,
    pub tools: Vec<SpannedText>,
    pub variables: Vec<SpannedText>,
}

impl RequirementsForm {
    pub(super) fn names(&self) -> WorkflowRequirements {
        let names = |list: &[SpannedText]| list.iter().map(|name| name.value.clone()).collect();
        WorkflowRequirements {
            servers: names(&self.servers),
            tools: names(&self.tools),
            variables: names(&self.variables),
        }
    }
}

pub(super) fn read_requirements(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> RequirementsForm {
    let Some(value) = non_null_member(node, "requirements") else { return RequirementsForm::default() };
    if check_object(value, &REQUIREMENTS, findings).is_none() {
        return RequirementsForm::default();
    }
    let variables = read_names(value, "variables", "variable", findings);
    for name in variables.iter().filter(|name| !is_variable_name(&name.value)) {
        let message = format!("`{}` is no name of a variable", name.value);
        let hint = "write the name alone, such as \"ISSUES_TOKEN\": letters, digits and `_`";
        findings.add_error("E10", name.span.clone(), message, Some(hint.to_owned()));
    }
    RequirementsForm {
        servers: read_names(value, "servers", "server", findings),
        tools: read_names(value, "tools", "tool", findings),
        variables,
    }
}

fn read_names(
    node: &JsonNode,
    key: &str,
    noun: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<SpannedText> {
    let names = read_texts(node, key, findings).unwrap_or_default();
    let mut seen = HashSet::new();
    for name in &names {
        if !seen.insert(name.value.as_str()) {
            let message = format!("the {noun} `{}` is required twice", name.value);
            findings.add_error("E13", name.span.clone(), message, Some("remove one of the two".to_owned()));
        }
    }
    names
}

fn is_variable_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit())
}
