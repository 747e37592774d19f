//! The body of a request: nothing in it that was not asked for, and nothing that the server would keep.

use serde_json::{Map, Value, json};

use crate::providers::attached_images::AttachedImages;
use crate::providers::conversation::normalize_messages;
use crate::providers::offered_tools::{OfferedTool, ToolChoiceBinding, tools_with_binding};
use crate::providers::opaque_reasoning;
use synthdev_domain::model::{ModelChoice, ModelParameters, ModelRequest};
use synthdev_domain::protocol::ModelProtocol;

use super::input::{ResponsesInput, arrange_messages};
use super::server_quirks::UnsupportedFeatures;
use crate::providers::strict_schema::is_strict;

/// The body of a request, with everything that is good to have, but for the content of its images.
pub fn build_request(request: &ModelRequest) -> Value {
    build_within(request, UnsupportedFeatures::default(), &AttachedImages::placeholders(request))
}

/// The body of a request to a server that refuses some of it.
pub fn build_within(
    request: &ModelRequest,
    unsupported: UnsupportedFeatures,
    images: &AttachedImages,
) -> Value {
    let choice = &request.choice;
    let reasons = !unsupported.without_opaque
        && (choice.parameters.requests_reasoning() || reasons_by_default(&choice.model));
    let mut messages = normalize_messages(&images.annotate(&request.messages));
    // Other models refuse opaque reasoning blocks.
    opaque_reasoning::retain_types(
        &mut messages,
        if reasons { ModelProtocol::Responses.opaque_block_types() } else { &[] },
    );
    let ResponsesInput { instructions, items } = arrange_messages(messages, images);
    let (offered, binding) = tools_with_binding(request);

    let mut body = Map::new();
    body.insert("model".to_owned(), Value::String(choice.model.clone()));
    body.extend(instructions.map(|text| ("instructions".to_owned(), Value::String(text))));
    if !offered.is_empty() {
        body.insert("tools".to_owned(), offered.iter().map(tool_json).collect());
    }
    body.insert("input".to_owned(), Value::Array(items));
    if !offered.is_empty() {
        let binding = match &binding {
            ToolChoiceBinding::Auto => json!("auto"),
            ToolChoiceBinding::Required => json!("required"),
            ToolChoiceBinding::Named(name) => json!({ "type": "function", "name": name }),
            ToolChoiceBinding::Structured { .. } => json!("none"),
        };
        body.insert("tool_choice".to_owned(), binding);
    }
    if let ToolChoiceBinding::Structured { name, schema } = binding {
        let format =
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": is_strict(&schema)});
        body.insert("text".to_owned(), json!({ "format": format }));
    }
    add_parameters(&mut body, choice, unsupported);
    if reasons {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    body.insert("store".to_owned(), Value::Bool(false));
    body.insert("stream".to_owned(), Value::Bool(true));
    Value::Object(body)
}

/// Always sends whether a tool is strict: servers take a missing value for true.
fn tool_json(tool: &OfferedTool<'_>) -> Value {
    let schema = tool.schema();
    let mut members = Map::new();
    members.insert("type".to_owned(), json!("function"));
    members.insert("name".to_owned(), json!(tool.name));
    if !tool.description.is_empty() {
        members.insert("description".to_owned(), json!(tool.description));
    }
    members.insert("strict".to_owned(), Value::Bool(is_strict(&schema)));
    members.insert("parameters".to_owned(), schema);
    Value::Object(members)
}

fn add_parameters(body: &mut Map<String, Value>, choice: &ModelChoice, unsupported: UnsupportedFeatures) {
    let ModelParameters { temperature, top_p, max_output_tokens, reasoning_effort, .. } = &choice.parameters;
    let effort = reasoning_effort.as_deref().map(str::trim).filter(|effort| !effort.is_empty());
    let summed = choice.parameters.requests_reasoning() && !unsupported.without_summaries;
    let rows: [(&str, Option<Value>); 4] = [
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        (
            "max_output_tokens",
            max_output_tokens.map(|most| most.max(ModelProtocol::Responses.least_answer()).into()),
        ),
        ("reasoning", effort.map(|effort| reasoning_options(effort, summed))),
    ];
    body.extend(rows.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
}

/// A user who sets an effort wants to see the reasoning.
fn reasoning_options(effort: &str, summed: bool) -> Value {
    let effort = match effort.to_ascii_lowercase().as_str() {
        "off" => "none".to_owned(),
        "max" => "xhigh".to_owned(),
        other => other.to_owned(),
    };
    if summed { json!({ "effort": effort, "summary": "auto" }) } else { json!({ "effort": effort }) }
}

/// Whether a model reasons by default, judged by its name; the others refuse a request for opaque
/// reasoning blocks.
fn reasons_by_default(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_prefix("ft:").unwrap_or(&name);
    let number = |prefix: &str| {
        let digits = name.strip_prefix(prefix)?.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    };
    let reasons =
        number("o").is_some() || number("gpt-").is_some_and(|age| age >= 5) || name.starts_with("codex-");
    reasons && !name.contains("-chat")
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
