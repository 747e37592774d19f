//! What at least one real provider answers with 400, checked on every request.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::schema;

const TOP: [&str; 16] = [
    "model",
    "messages",
    "tools",
    "tool_choice",
    "response_format",
    "temperature",
    "top_p",
    "top_k",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "stream",
    "stream_options",
];

type Checked = Result<(), String>;

/// Why a strict provider refuses a body.
pub fn check_body(body: &Value) -> Checked {
    let body = object(body, "the body")?;
    only_known(body, &TOP, "the body")?;
    text(body, "model", "the body")?;
    if body.contains_key("max_tokens") && body.contains_key("max_completion_tokens") {
        return Err("max_tokens and max_completion_tokens exclude each other".to_owned());
    }
    stream(body)?;
    let tools = tools(body)?;
    tool_choice(body, &tools)?;
    if let Some(format) = body.get("response_format") {
        let format = object(format, "response_format")?;
        only_known(format, &["type", "json_schema"], "response_format")?;
        ensure(
            format.get("type") == Some(&"json_schema".into()),
            "response_format.type must be json_schema",
        )?;
        ensure(tools.is_empty(), "some servers take either tools or a response_format")?;
        named_format(object(format.get("json_schema").unwrap_or(&Value::Null), "json_schema")?)?;
    }
    let messages = body.get("messages").and_then(Value::as_array).ok_or("messages must be an array")?;
    conversation(messages)
}

/// The schema that an answer is to have, with its name.
pub fn named_format(format: &Map<String, Value>) -> Checked {
    only_known(format, &["type", "name", "schema", "strict"], "the format")?;
    text(format, "name", "the format")?;
    let strict = format.get("strict").and_then(Value::as_bool).unwrap_or(false);
    schema::check_schema(format.get("schema").unwrap_or(&Value::Null), strict)
}

fn stream(body: &Map<String, Value>) -> Checked {
    let streams = match body.get("stream") {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(other) => return Err(format!("stream must be a boolean, not {other}")),
    };
    let Some(options) = body.get("stream_options") else { return Ok(()) };
    ensure(streams, "stream_options needs stream: true")?;
    let options = object(options, "stream_options")?;
    only_known(options, &["include_usage"], "stream_options")?;
    ensure(options.get("include_usage").is_none_or(Value::is_boolean), "include_usage must be a boolean")
}

fn tools(body: &Map<String, Value>) -> Result<HashSet<String>, String> {
    let mut names = HashSet::new();
    let Some(tools) = body.get("tools") else { return Ok(names) };
    let tools = tools.as_array().filter(|list| !list.is_empty()).ok_or("tools must be a non-empty array")?;
    for tool in tools {
        let tool = object(tool, "a tool")?;
        only_known(tool, &["type", "function"], "a tool")?;
        ensure(tool.get("type") == Some(&"function".into()), "a tool's type must be function")?;
        let function = object(tool.get("function").unwrap_or(&Value::Null), "a tool's function")?;
        only_known(function, &["name", "description", "parameters", "strict"], "a function")?;
        let name = function_name(function)?;
        ensure(function.get("description").is_none_or(Value::is_string), "a description must be a text")?;
        let strict = function.get("strict").and_then(Value::as_bool).unwrap_or(false);
        let parameters = function.get("parameters").unwrap_or(&Value::Null);
        schema::check_schema(parameters, strict)
            .map_err(|why| format!("invalid schema for function `{name}`: {why}"))?;
        ensure(parameters["properties"].is_object(), "object schema missing properties")?;
        ensure(names.insert(name.clone()), &format!("two tools are named {name}"))?;
    }
    Ok(names)
}

fn tool_choice(body: &Map<String, Value>, tools: &HashSet<String>) -> Checked {
    let Some(choice) = function_choice(body, tools)? else { return Ok(()) };
    only_known(choice, &["type", "function"], "tool_choice")?;
    let name = choice.get("function").and_then(|function| function["name"].as_str()).unwrap_or_default();
    ensure(tools.contains(name), &format!("tool_choice names `{name}`, which is not offered"))
}

/// The choice of one function; `None` where there is none, or a mode.
pub fn function_choice<'a>(
    body: &'a Map<String, Value>,
    tools: &HashSet<String>,
) -> Result<Option<&'a Map<String, Value>>, String> {
    let Some(choice) = body.get("tool_choice") else { return Ok(None) };
    ensure(!tools.is_empty(), "tool_choice is only allowed when tools are given")?;
    if let Value::String(mode) = choice {
        ensure(matches!(mode.as_str(), "auto" | "none" | "required"), "unknown tool_choice")?;
        return Ok(None);
    }
    let choice = object(choice, "tool_choice")?;
    ensure(choice.get("type") == Some(&"function".into()), "tool_choice.type must be function")?;
    Ok(Some(choice))
}

fn conversation(messages: &[Value]) -> Checked {
    let mut waiting: Vec<String> = Vec::new();
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let members = object(message, &place)?;
        let role = members.get("role").and_then(Value::as_str).unwrap_or_default();
        if role != "tool" && !waiting.is_empty() {
            return Err(format!("{place}: tool_calls without an answer: {}", waiting.join(", ")));
        }
        match role {
            "system" => {
                only_known(members, &["role", "content"], &place)?;
                ensure(at == 0, &format!("{place}: the system message must be the first"))?;
                content(members, &place)?;
            }
            "user" => {
                only_known(members, &["role", "content"], &place)?;
                ensure(before != "user", &format!("{place}: roles must alternate"))?;
                if let Some(parts) = members.get("content").and_then(Value::as_array) {
                    parts_with_images(parts, &place)?;
                } else {
                    content(members, &place)?;
                }
            }
            "assistant" => {
                only_known(members, &["role", "content", "tool_calls"], &place)?;
                let first = before.is_empty() || before == "system";
                ensure(!first, &format!("{place}: the first message must be the user's"))?;
                ensure(before != "assistant", &format!("{place}: roles must alternate"))?;
                waiting = calls(members, &place)?;
                if waiting.is_empty() || members.get("content").is_some_and(|content| !content.is_null()) {
                    content(members, &place)?;
                }
            }
            "tool" => {
                only_known(members, &["role", "content", "tool_call_id"], &place)?;
                let id = text(members, "tool_call_id", &place)?;
                ensure(
                    waiting.first() == Some(&id),
                    &format!("{place}: the answer to {id} does not follow its call"),
                )?;
                waiting.remove(0);
                content(members, &place)?;
            }
            other => return Err(format!("{place}: unknown role `{other}`")),
        }
        before = match role {
            "system" => "system",
            "user" => "user",
            "assistant" => "assistant",
            _ => "tool",
        };
    }
    ensure(waiting.is_empty(), &format!("tool_calls without an answer: {}", waiting.join(", ")))?;
    ensure(matches!(before, "user" | "tool"), "the last message must be the user's or a tool's")
}

/// The ids of the calls that must be answered next.
fn calls(members: &Map<String, Value>, place: &str) -> Result<Vec<String>, String> {
    let Some(list) = members.get("tool_calls") else { return Ok(Vec::new()) };
    let list = list
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or(format!("{place}: tool_calls must not be empty"))?;
    let mut ids = Vec::new();
    for call in list {
        let call = object(call, place)?;
        only_known(call, &["id", "type", "function"], place)?;
        ensure(
            call.get("type") == Some(&"function".into()),
            &format!("{place}: a call's type must be function"),
        )?;
        let function = object(call.get("function").unwrap_or(&Value::Null), place)?;
        only_known(function, &["name", "arguments"], place)?;
        function_name(function)?;
        let arguments = text(function, "arguments", place)?;
        let parsed = serde_json::from_str::<Value>(&arguments);
        ensure(
            matches!(parsed, Ok(Value::Object(_))),
            &format!("{place}: arguments must be a JSON object, not {arguments}"),
        )?;
        let id = text(call, "id", place)?;
        ensure(!ids.contains(&id), &format!("{place}: the id {id} stands twice"))?;
        ids.push(id);
    }
    Ok(ids)
}

/// The name of a function that is offered or called.
pub fn function_name(function: &Map<String, Value>) -> Result<String, String> {
    let name = text(function, "name", "a function")?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    ensure(plain && name.len() <= 64, &format!("invalid function name `{name}`"))?;
    Ok(name)
}

fn content(members: &Map<String, Value>, place: &str) -> Checked {
    let text = text(members, "content", place)?;
    ensure(!text.trim().is_empty(), &format!("{place}: content must not be empty"))
}

/// Texts and images of a user.
fn parts_with_images(parts: &[Value], place: &str) -> Checked {
    ensure(!parts.is_empty(), &format!("{place}: content must not be empty"))?;
    for part in parts {
        let part = object(part, place)?;
        match part.get("type").and_then(Value::as_str) {
            Some("text") => {
                only_known(part, &["type", "text"], place)?;
                text(part, "text", place)?;
            }
            Some("image_url") => {
                only_known(part, &["type", "image_url"], place)?;
                let image = object(part.get("image_url").unwrap_or(&Value::Null), place)?;
                only_known(image, &["url", "detail"], place)?;
                data_url(&text(image, "url", place)?, place)?;
            }
            other => return Err(format!("{place}: unknown part {other:?}")),
        }
    }
    Ok(())
}

/// The address of an image that it holds itself.
pub fn data_url(url: &str, place: &str) -> Checked {
    let held = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (kind, data) = held.ok_or_else(|| format!("{place}: the image is no data URL: {url}"))?;
    image_data(kind, data, place)
}

/// The content of an image.
pub fn image_data(kind: &str, data: &str, place: &str) -> Checked {
    let known = ["image/png", "image/jpeg", "image/webp", "image/gif"].contains(&kind);
    ensure(known, &format!("{place}: unknown image type `{kind}`"))?;
    let letters = data.trim_end_matches('=').bytes();
    let plain = letters.clone().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    ensure(plain && data.len().is_multiple_of(4) && !data.is_empty(), &format!("{place}: no base64: {data}"))
}

pub fn text(members: &Map<String, Value>, key: &str, place: &str) -> Result<String, String> {
    match members.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        other => Err(format!("{place}: `{key}` must be a non-empty text, not {other:?}")),
    }
}

pub fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{place} must be an object"))
}

pub fn only_known(members: &Map<String, Value>, known: &[&str], place: &str) -> Checked {
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{place}: unrecognized field `{key}`")),
        None => Ok(()),
    }
}

pub fn ensure(holds: bool, why: &str) -> Checked {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}
