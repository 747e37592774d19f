//! The body of a request: tools, system text and turns first and in this order, which is the order of the provider's
//! cache; then whatever may change from call to call.

use serde_json::{Map, Value, json};

use crate::providers::attached_images::AttachedImages;
use crate::providers::conversation::normalize_messages;
use crate::providers::offered_tools::{OfferedTool, offered_tools, structured_schema};
use crate::providers::opaque_reasoning;
use synthdev_domain::image_reference::image_tokens;
use synthdev_domain::message::OpaqueBlock;
use synthdev_domain::model::{ModelParameters, ModelRequest, ToolChoice};
use synthdev_domain::protocol::ModelProtocol;

use super::cache_marks;
use super::conversation::{AnthropicConversation, arrange_messages, lacks_signed_thought};
use super::thinking::ThinkingMode;

/// Minimum `max_tokens` to send even if our estimate says that the window is full: the estimate may be wrong. A smaller
/// `max_output_tokens` is sent as it is set.
const LEAST_ANSWER: u64 = 1_024;
/// Bytes of text and code per token, low on purpose: servers refuse a request whose prompt and `max_tokens` together pass the window.
const BYTES_PER_TOKEN: u64 = 3;

/// The body of a request, without the content of its images.
pub fn build_request(request: &ModelRequest) -> Value {
    build_with_images(request, &AttachedImages::placeholders(request))
}

/// The body of a request with these images.
pub fn build_with_images(request: &ModelRequest, images: &AttachedImages) -> Value {
    let mut messages = normalize_messages(&images.annotate(&request.messages));
    opaque_reasoning::retain_types(&mut messages, ModelProtocol::Anthropic.opaque_block_types());
    let tools = offered_tools(request);
    let answer_tokens = answer_tokens(request, &tools);
    let thinking = ThinkingMode::for_request(
        &request.choice,
        &request.tool_choice,
        answer_tokens,
        lacks_signed_thought(&messages),
    );
    let AnthropicConversation { mut system, mut turns, used_tools: used } =
        arrange_messages(messages, thinking != ThinkingMode::Off, images);
    let (mut tools, tool_choice) = tool_list(&tools, &used, &request.tool_choice);
    cache_marks::set_cache_marks(&mut tools, &mut system, &mut turns);

    let mut body = Map::new();
    body.insert("model".to_owned(), Value::String(request.choice.model.clone()));
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    if !system.is_empty() {
        body.insert("system".to_owned(), Value::Array(system));
    }
    let role = |user: bool| if user { "user" } else { "assistant" };
    let turns = turns.into_iter().map(|turn| json!({ "role": role(turn.user), "content": turn.blocks }));
    body.insert("messages".to_owned(), turns.collect());
    body.extend(tool_choice.map(|choice| ("tool_choice".to_owned(), choice)));
    body.insert("max_tokens".to_owned(), answer_tokens.into());
    thinking.write_to(&mut body);
    if let Some(schema) = structured_schema(request) {
        // an effort may stand there already
        let config = body.entry("output_config").or_insert_with(|| json!({}));
        config["format"] = json!({ "type": "json_schema", "schema": schema });
    }
    if thinking == ThinkingMode::Off {
        add_sampling(&mut body, &request.choice.parameters);
    }
    body.insert("stream".to_owned(), Value::Bool(true));
    Value::Object(body)
}

/// The tools of the request, and its `tool_choice`. Tools that were used must be known to the server even where none is
/// offered any more: then they are declared, with `tool_choice` `none`.
fn tool_list(tools: &[OfferedTool<'_>], used: &[String], choice: &ToolChoice) -> (Vec<Value>, Option<Value>) {
    if tools.is_empty() {
        let schema = json!({ "type": "object", "properties": {} });
        let list: Vec<Value> =
            used.iter().map(|name| json!({ "name": name, "input_schema": schema })).collect();
        let none = (!list.is_empty()).then(|| json!({ "type": "none" }));
        return (list, none);
    }
    let list = tools.iter().map(|tool| {
        let mut members = Map::new();
        members.insert("name".to_owned(), Value::String(tool.name.to_owned()));
        if !tool.description.is_empty() {
            members.insert("description".to_owned(), Value::String(tool.description.to_owned()));
        }
        members.insert("input_schema".to_owned(), tool.schema());
        Value::Object(members)
    });
    let choice = match choice {
        ToolChoice::Named(name) if tools.iter().any(|tool| tool.name == name) => {
            json!({ "type": "tool", "name": name })
        }
        ToolChoice::Auto | ToolChoice::Named(_) => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Structured(_) | ToolChoice::StructuredOneOf(_) => json!({ "type": "none" }),
    };
    (list.collect(), Some(choice))
}

/// The longest reply: as set, as far as there is room for it in the window.
fn answer_tokens(request: &ModelRequest, tools: &[OfferedTool<'_>]) -> u64 {
    let set = request.choice.parameters.max_output_tokens;
    let wanted = set.or(ModelProtocol::Anthropic.answer_tokens(None)).unwrap_or(LEAST_ANSWER);
    let Some(window) = request.choice.context_size else { return wanted };
    let said = request.messages.iter().map(|message| {
        let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len());
        let sealed = message.sealed.iter().filter(|one| one.is_for(ModelProtocol::Anthropic));
        let images = if request.choice.images { image_tokens(&message.content) * BYTES_PER_TOKEN } else { 0 };
        let images = usize::try_from(images).unwrap_or(usize::MAX);
        message.content.len() + images + calls.sum::<usize>() + sealed.map(OpaqueBlock::length).sum::<usize>()
    });
    let offered = tools.iter().map(|tool| tool.description.len() + tool.schema().to_string().len());
    let bytes = u64::try_from(said.chain(offered).sum::<usize>()).unwrap_or(u64::MAX);
    wanted.min(window.saturating_sub(bytes / BYTES_PER_TOKEN).max(LEAST_ANSWER))
}

fn add_sampling(body: &mut Map<String, Value>, parameters: &ModelParameters) {
    let rows: [(&str, Option<Value>); 3] = [
        ("temperature", parameters.temperature.map(Value::from)),
        ("top_p", parameters.top_p.map(Value::from)),
        ("top_k", parameters.top_k.map(Value::from)),
    ];
    body.extend(rows.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
