//! What the real server answers with 400, checked on every request, and what no client of ours may ask: that the
//! server keeps anything.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::support::model_server::schema;
use crate::support::model_server::strict::{
    data_url, ensure, function_choice, function_name, named_format, object, only_known, text,
};

const TOP: [&str; 16] = [
    "text",
    "model",
    "instructions",
    "tools",
    "input",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
    "include",
    "metadata",
    "prompt_cache_key",
    "store",
    "stream",
];
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const SEALED: &str = "reasoning.encrypted_content";

type Checked = Result<(), String>;

/// Why the real server refuses a body.
pub fn check_body(body: &Value) -> Checked {
    let body = object(body, "the body")?;
    only_known(body, &TOP, "the body")?;
    let model = text(body, "model", "the body")?;
    if let Some(asked) = body.get("text") {
        let asked = object(asked, "text")?;
        only_known(asked, &["format"], "text")?;
        let format = object(asked.get("format").unwrap_or(&Value::Null), "text.format")?;
        ensure(format.get("type") == Some(&"json_schema".into()), "text.format.type must be json_schema")?;
        named_format(format)?;
    }
    ensure(body.get("store") == Some(&false.into()), "store: nothing may be kept here")?;
    ensure(body.get("stream").is_none_or(Value::is_boolean), "stream must be a boolean")?;
    if body.contains_key("instructions") {
        text(body, "instructions", "the body")?;
    }
    let least = body.get("max_output_tokens").is_none_or(|most| most.as_u64().is_some_and(|most| most >= 16));
    ensure(least, "max_output_tokens: expected a whole number from 16")?;
    let reasons = reasoning(body)? || ["gpt-5", "o1", "o3", "o4"].iter().any(|name| model.starts_with(name));
    let sampled = ["temperature", "top_p"].iter().find(|key| body.contains_key(**key));
    let thinks = reasons && body.get("reasoning").is_none_or(|reasoning| reasoning["effort"] != "none");
    ensure(!thinks || sampled.is_none(), &format!("unsupported parameter with this model: {sampled:?}"))?;
    include(body, reasons)?;
    let tools = tools(body)?;
    tool_choice(body, &tools)?;
    let items = body.get("input").and_then(Value::as_array).filter(|list| !list.is_empty());
    input(items.ok_or("input: a non-empty list is needed")?, reasons)
}

/// Whether reasoning is asked for.
fn reasoning(body: &Map<String, Value>) -> Result<bool, String> {
    let Some(reasoning) = body.get("reasoning") else { return Ok(false) };
    let reasoning = object(reasoning, "reasoning")?;
    only_known(reasoning, &["effort", "summary"], "reasoning")?;
    let effort = text(reasoning, "effort", "reasoning")?;
    ensure(EFFORTS.contains(&effort.as_str()), &format!("reasoning.effort: unknown `{effort}`"))?;
    let summary = reasoning.get("summary").and_then(Value::as_str).unwrap_or("auto");
    ensure(matches!(summary, "auto" | "concise" | "detailed"), "reasoning.summary: unknown")?;
    Ok(true)
}

fn include(body: &Map<String, Value>, reasons: bool) -> Checked {
    let Some(include) = body.get("include") else { return Ok(()) };
    let list = include.as_array().ok_or("include must be a list")?;
    ensure(list.iter().all(|one| one == SEALED), &format!("include: unknown {include}"))?;
    ensure(reasons, "encrypted content is not supported with this model")
}

fn tools(body: &Map<String, Value>) -> Result<HashSet<String>, String> {
    let mut names = HashSet::new();
    let Some(tools) = body.get("tools") else { return Ok(names) };
    for tool in tools.as_array().filter(|list| !list.is_empty()).ok_or("tools must be a non-empty list")? {
        let tool = object(tool, "a tool")?;
        only_known(tool, &["type", "name", "description", "parameters", "strict"], "a tool")?;
        ensure(tool.get("type") == Some(&"function".into()), "a tool's type must be function")?;
        let name = function_name(tool)?;
        ensure(tool.get("description").is_none_or(Value::is_string), "a description must be a text")?;
        let strict = tool.get("strict").and_then(Value::as_bool).ok_or("a tool says whether it is strict")?;
        let parameters = tool.get("parameters").unwrap_or(&Value::Null);
        schema::check_schema(parameters, strict)
            .map_err(|why| format!("invalid schema for function `{name}`: {why}"))?;
        ensure(parameters["properties"].is_object(), "object schema missing properties")?;
        ensure(names.insert(name.clone()), &format!("two tools are named {name}"))?;
    }
    Ok(names)
}

fn tool_choice(body: &Map<String, Value>, tools: &HashSet<String>) -> Checked {
    let Some(choice) = function_choice(body, tools)? else { return Ok(()) };
    only_known(choice, &["type", "name"], "tool_choice")?;
    let name = text(choice, "name", "tool_choice")?;
    ensure(tools.contains(&name), &format!("tool_choice names `{name}`, which is not offered"))
}

fn input(items: &[Value], reasons: bool) -> Checked {
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let place = format!("input[{at}]");
        let members = object(item, &place)?;
        match members.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message" => {
                ensure(open.is_empty(), &format!("{place}: no tool output found for {open:?}"))?;
                message(members, &place)?;
            }
            "function_call" => {
                only_known(members, &["type", "id", "call_id", "name", "arguments", "status"], &place)?;
                function_name(members)?;
                let arguments = text(members, "arguments", &place)?;
                ensure(
                    matches!(serde_json::from_str(&arguments), Ok(Value::Object(_))),
                    &format!("{place}: arguments must be a JSON object, not {arguments}"),
                )?;
                let id = text(members, "call_id", &place)?;
                ensure(id.len() <= 64, &format!("{place}: call_id: string too long"))?;
                ensure(seen.insert(id.clone()), &format!("{place}: duplicate call_id {id}"))?;
                open.push(id);
            }
            "function_call_output" => {
                only_known(members, &["type", "call_id", "output"], &place)?;
                let id = text(members, "call_id", &place)?;
                let found = open.iter().position(|wanted| *wanted == id);
                open.remove(found.ok_or(format!("{place}: no tool call found for {id}"))?);
                match members.get("output") {
                    Some(Value::Array(parts)) => parts_with_images(parts, &place)?,
                    _ => drop(text(members, "output", &place)?),
                }
            }
            "reasoning" => {
                ensure(reasons, &format!("{place}: reasoning items are not supported with this model"))?;
                check_sealed(members, &place)?;
                ensure(
                    items.get(at + 1).is_some_and(follows_a_thought),
                    &format!("{place}: `reasoning` was provided without its required following item"),
                )?;
            }
            other => return Err(format!("{place}: unknown type `{other}`")),
        }
    }
    ensure(open.is_empty(), &format!("no tool output found for {open:?}"))
}

fn message(members: &Map<String, Value>, place: &str) -> Checked {
    only_known(members, &["type", "role", "content"], place)?;
    let role = text(members, "role", place)?;
    ensure(matches!(role.as_str(), "user" | "assistant"), &format!("{place}: unknown role `{role}`"))?;
    if let Some(parts) = members.get("content").and_then(Value::as_array).filter(|_| role == "user") {
        return parts_with_images(parts, place);
    }
    let words = text(members, "content", place)?;
    ensure(!words.trim().is_empty(), &format!("{place}: content must not be empty"))
}

fn parts_with_images(parts: &[Value], place: &str) -> Checked {
    ensure(!parts.is_empty(), &format!("{place}: a list of parts must not be empty"))?;
    for part in parts {
        let part = object(part, place)?;
        match part.get("type").and_then(Value::as_str) {
            Some("input_text") => {
                only_known(part, &["type", "text"], place)?;
                text(part, "text", place)?;
            }
            Some("input_image") => {
                only_known(part, &["type", "image_url", "detail"], place)?;
                data_url(&text(part, "image_url", place)?, place)?;
            }
            other => return Err(format!("{place}: unknown part {other:?}")),
        }
    }
    Ok(())
}

fn check_sealed(members: &Map<String, Value>, place: &str) -> Checked {
    ensure(!members.contains_key("id"), &format!("{place}: item not found: nothing is kept here"))?;
    only_known(members, &["type", "summary", "encrypted_content"], place)?;
    ensure(
        members.get("summary").is_some_and(Value::is_array),
        &format!("{place}: summary: a list is needed"),
    )?;
    let content = text(members, "encrypted_content", place)?;
    ensure(content.starts_with("enc-"), &format!("{place}: the encrypted content could not be verified"))
}

/// Something that the model said or called.
fn follows_a_thought(item: &Value) -> bool {
    item["type"] == "function_call" || item["type"] == "reasoning" || item["role"] == "assistant"
}
