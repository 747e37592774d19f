//! The tools of a request as every protocol offers them: each name once, each schema that of an object.

use std::collections::HashSet;

use serde_json::{Value, json};

use synthdev_domain::model::{ModelChoice, ModelRequest, ToolChoice};

use super::address::is_local;

/// Providers that take a *named* tool choice and then let the model do what it likes.
const IGNORES_NAMED: [&str; 6] = ["llama.cpp", "llamacpp", "llama-cpp", "ollama", "lmstudio", "local"];

/// One tool, ordinary or parsing.
#[derive(Clone, Copy, Debug)]
pub struct OfferedTool<'a> {
    pub name: &'a str,
    pub description: &'a str,
    schema: &'a Value,
}

/// Ordinary tools first; of two with one name the first counts.
pub fn offered_tools(request: &ModelRequest) -> Vec<OfferedTool<'_>> {
    let ordinary = request.tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
    let parsing = request.parsing_tools.iter().map(|tool| (&tool.name, &tool.description, &tool.parameters));
    let mut seen = HashSet::new();
    ordinary
        .chain(parsing)
        .filter(|(name, ..)| seen.insert(name.as_str()))
        .map(|(name, description, schema)| OfferedTool { name, description, schema })
        .collect()
}

/// How binding an offer is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolChoiceBinding<'a> {
    Auto,
    Required,
    Named(&'a str),
    /// No tool: the answer is an object of this tool's schema.
    Structured {
        name: &'a str,
        schema: Value,
    },
}

/// The tools for OpenAI's protocols, and how binding the choice is. A server that ignores a named choice gets only that
/// tool and `required`, which it does enforce; all others get the whole list, which keeps the cached prefix.
pub fn tools_with_binding(request: &ModelRequest) -> (Vec<OfferedTool<'_>>, ToolChoiceBinding<'_>) {
    let mut offered = offered_tools(request);
    let binding = match &request.tool_choice {
        ToolChoice::Auto => ToolChoiceBinding::Auto,
        ToolChoice::Required => ToolChoiceBinding::Required,
        ToolChoice::Named(name) if !offered.iter().any(|tool| tool.name == name) => ToolChoiceBinding::Auto,
        ToolChoice::Named(name) if ignores_named(&request.choice) => {
            offered.retain(|tool| tool.name == name);
            ToolChoiceBinding::Required
        }
        ToolChoice::Named(name) => ToolChoiceBinding::Named(name),
        choice @ (ToolChoice::Structured(_) | ToolChoice::StructuredOneOf(_)) => {
            match structured_schema(request) {
                Some(schema) => {
                    // some servers take either tools or a schema
                    offered.clear();
                    ToolChoiceBinding::Structured { name: schema_name(choice), schema }
                }
                None => ToolChoiceBinding::Auto,
            }
        }
    };
    (offered, binding)
}

/// The schema that the answer is to have.
pub fn structured_schema(request: &ModelRequest) -> Option<Value> {
    request.tool_choice.structured_schema(&request.parsing_tools)
}

/// What protocols that want a name for a schema call it.
fn schema_name(choice: &ToolChoice) -> &str {
    match choice.structured_tools() {
        Some([only]) => only,
        Some(_) | None => "decision",
    }
}

fn ignores_named(choice: &ModelChoice) -> bool {
    let provider = choice.provider.to_ascii_lowercase();
    IGNORES_NAMED.contains(&provider.as_str()) || is_local(&choice.base_url)
}

impl OfferedTool<'_> {
    /// A schema of an object with `properties`, which is the least that servers take.
    pub fn schema(&self) -> Value {
        let Value::Object(members) = self.schema else {
            return json!({ "type": "object", "properties": {} });
        };
        let mut members = members.clone();
        members.entry("type").or_insert_with(|| json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
        Value::Object(members)
    }
}
