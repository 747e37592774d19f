//! What the real server answers with 400, checked on every request.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::support::model_server::schema;
use crate::support::model_server::strict::{ensure, image_data, object, only_known, text};

const TOP: [&str; 14] = [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "thinking",
    "output_config",
    "stop_sequences",
    "metadata",
    "stream",
];
const BREAKPOINTS: usize = 4;

type Checked = Result<(), String>;

/// What every request must say about itself.
pub fn check_headers(headers: &BTreeMap<String, String>) -> Checked {
    let version = headers.get("anthropic-version").map(String::as_str);
    ensure(version == Some("2023-06-01"), "anthropic-version: header is required")?;
    ensure(!headers.contains_key("authorization"), "authorization: a key belongs into x-api-key")
}

/// Why the real server refuses a body.
pub fn check_body(body: &Value) -> Checked {
    let body = object(body, "the body")?;
    only_known(body, &TOP, "the body")?;
    text(body, "model", "the body")?;
    let most = whole_number(body, "max_tokens")?;
    let thinks = thinking(body, most)?;
    sampling(body, thinks)?;
    let tools = tools(body)?;
    let forced = tool_choice(body, &tools)?;
    ensure(!(thinks && forced), "thinking may not be enabled when tool_choice forces tool use")?;
    if let Some(system) = body.get("system") {
        blocks(system, "system")?.iter().try_for_each(|block| plain_text(block, "system"))?;
    }
    let turns = body.get("messages").and_then(Value::as_array).ok_or("messages: field required")?;
    conversation(turns, thinks)?;
    let used = turns.iter().any(|turn| kinds(turn).contains(&"tool_use"));
    ensure(!used || !tools.is_empty(), "requests which include `tool_use` blocks must define tools")?;
    if thinks && body["thinking"]["type"] == "enabled" {
        check_begins_with_thought(turns)?;
    }
    let marks = count_marks(&Value::Object(body.clone()));
    ensure(
        marks <= BREAKPOINTS,
        &format!("a maximum of 4 blocks with cache_control may be provided, found {marks}"),
    )
}

fn whole_number(body: &Map<String, Value>, key: &str) -> Result<u64, String> {
    let found = body.get(key).and_then(Value::as_u64).filter(|count| *count > 0);
    found.ok_or_else(|| format!("{key}: field required, a whole number from 1"))
}

fn thinking(body: &Map<String, Value>, most: u64) -> Result<bool, String> {
    if let Some(config) = body.get("output_config") {
        let config = object(config, "output_config")?;
        only_known(config, &["effort", "format"], "output_config")?;
        if config.contains_key("effort") {
            text(config, "effort", "output_config")?;
        }
        if let Some(format) = config.get("format") {
            let format = object(format, "output_config.format")?;
            only_known(format, &["type", "schema"], "output_config.format")?;
            ensure(format.get("type") == Some(&"json_schema".into()), "its type must be json_schema")?;
        }
    }
    let Some(thinking) = body.get("thinking") else { return Ok(false) };
    let thinking = object(thinking, "thinking")?;
    match thinking.get("type").and_then(Value::as_str) {
        Some("enabled") => {
            only_known(thinking, &["type", "budget_tokens"], "thinking")?;
            let budget = whole_number(thinking, "budget_tokens")?;
            ensure(budget >= 1024, "thinking.budget_tokens: must be at least 1024")?;
            ensure(budget < most, "max_tokens must be greater than thinking.budget_tokens")?;
        }
        Some("adaptive") => only_known(thinking, &["type", "display"], "thinking")?,
        other => return Err(format!("thinking.type: unknown {other:?}")),
    }
    Ok(true)
}

fn sampling(body: &Map<String, Value>, thinks: bool) -> Checked {
    for key in ["temperature", "top_p"] {
        let Some(value) = body.get(key) else { continue };
        ensure(
            value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number)),
            &format!("{key}: range: 0..1"),
        )?;
    }
    let both = body.contains_key("temperature") && body.contains_key("top_p");
    ensure(!both, "temperature and top_p cannot both be specified for this model")?;
    let any = ["temperature", "top_p", "top_k"].iter().any(|key| body.contains_key(*key));
    ensure(!(thinks && any), "sampling parameters may not be set when thinking is enabled")?;
    ensure(body.get("stream").is_none_or(Value::is_boolean), "stream must be a boolean")
}

fn tools(body: &Map<String, Value>) -> Result<HashSet<String>, String> {
    let mut names = HashSet::new();
    let Some(tools) = body.get("tools") else { return Ok(names) };
    for tool in tools.as_array().filter(|list| !list.is_empty()).ok_or("tools: must be a non-empty list")? {
        let tool = object(tool, "a tool")?;
        only_known(tool, &["name", "description", "input_schema", "cache_control"], "a tool")?;
        let name = text(tool, "name", "a tool")?;
        ensure(
            is_plain(&name) && name.len() <= 128,
            &format!("tools.name: `{name}` does not match the pattern"),
        )?;
        ensure(tool.get("description").is_none_or(Value::is_string), "a description must be a text")?;
        schema::check_schema(tool.get("input_schema").unwrap_or(&Value::Null), false)
            .map_err(|why| format!("tools.{name}.input_schema: {why}"))?;
        ensure(names.insert(name.clone()), "tools: tool names must be unique")?;
    }
    Ok(names)
}

/// Whether a tool must be used.
fn tool_choice(body: &Map<String, Value>, tools: &HashSet<String>) -> Result<bool, String> {
    let Some(choice) = body.get("tool_choice") else { return Ok(false) };
    ensure(!tools.is_empty(), "tool_choice may only be specified while providing tools")?;
    let choice = object(choice, "tool_choice")?;
    only_known(choice, &["type", "name", "disable_parallel_tool_use"], "tool_choice")?;
    match choice.get("type").and_then(Value::as_str) {
        Some("auto" | "none") => Ok(false),
        Some("any") => Ok(true),
        Some("tool") => {
            let name = text(choice, "name", "tool_choice")?;
            ensure(
                tools.contains(&name),
                &format!("tool_choice: tool `{name}` not found in provided tools"),
            )?;
            Ok(true)
        }
        other => Err(format!("tool_choice.type: unknown {other:?}")),
    }
}

fn conversation(turns: &[Value], thinks: bool) -> Checked {
    ensure(!turns.is_empty(), "messages: at least one message is required")?;
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for (at, turn) in turns.iter().enumerate() {
        let place = format!("messages.{at}");
        let members = object(turn, &place)?;
        only_known(members, &["role", "content"], &place)?;
        let role = text(members, "role", &place)?;
        ensure(matches!(role.as_str(), "user" | "assistant"), &format!("{place}: unexpected role `{role}`"))?;
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        let order = if at == 0 { "first message must use the user role" } else { "roles must alternate" };
        ensure(role == expected, &format!("{place}: {order}"))?;
        let list = blocks(members.get("content").unwrap_or(&Value::Null), &place)?;
        if role == "user" {
            results(&list, &mut open, &place)?;
        } else {
            open = uses(&list, &mut seen, thinks, &place)?;
        }
    }
    ensure(open.is_empty(), &format!("`tool_use` ids were found without `tool_result` blocks: {open:?}"))?;
    ensure(turns.len() % 2 == 1, "this model does not support assistant message prefill")
}

/// A user's turn: the results of all open uses first, then words.
fn results(list: &[Value], open: &mut Vec<String>, place: &str) -> Checked {
    let mut words = false;
    for block in list {
        let members = object(block, place)?;
        if members.get("type") == Some(&"tool_result".into()) {
            only_known(members, &["type", "tool_use_id", "content", "is_error", "cache_control"], place)?;
            let id = text(members, "tool_use_id", place)?;
            ensure(!words, &format!("{place}: `tool_result` blocks must come first"))?;
            let found = open.iter().position(|wanted| *wanted == id);
            open.remove(found.ok_or(format!("{place}: unexpected `tool_use_id` {id}"))?);
            match members.get("content") {
                Some(Value::String(_)) => {}
                Some(Value::Array(parts)) => parts.iter().try_for_each(|part| text_or_image(part, place))?,
                _ => return Err(format!("{place}: a result is a text, or a list of texts and images")),
            }
        } else {
            words = true;
            text_or_image(block, place)?;
        }
    }
    let rest = format!(
        "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {open:?}"
    );
    ensure(open.is_empty(), &rest)
}

/// The ids that must be answered next.
fn uses(
    list: &[Value],
    seen: &mut HashSet<String>,
    thinks: bool,
    place: &str,
) -> Result<Vec<String>, String> {
    let mut open = Vec::new();
    for block in list {
        let members = object(block, place)?;
        match members.get("type").and_then(Value::as_str) {
            Some("tool_use") => {
                only_known(members, &["type", "id", "name", "input", "cache_control"], place)?;
                let id = text(members, "id", place)?;
                ensure(is_plain(&id), &format!("{place}: tool_use.id: `{id}` does not match the pattern"))?;
                ensure(seen.insert(id.clone()), &format!("{place}: `tool_use` ids must be unique"))?;
                ensure(is_plain(&text(members, "name", place)?), &format!("{place}: tool_use.name"))?;
                object(members.get("input").unwrap_or(&Value::Null), &format!("{place}: input"))?;
                open.push(id);
            }
            Some("thinking") => {
                only_known(members, &["type", "thinking", "signature"], place)?;
                ensure(thinks, &format!("{place}: thinking blocks need thinking"))?;
                let signature = text(members, "signature", place)?;
                ensure(
                    signature.starts_with("sig-"),
                    &format!("{place}: invalid `signature` in `thinking` block"),
                )?;
            }
            Some("redacted_thinking") => {
                only_known(members, &["type", "data"], place)?;
                ensure(thinks, &format!("{place}: thinking blocks need thinking"))?;
            }
            _ => plain_text(block, place)?,
        }
    }
    let last = list.last().and_then(|block| block["type"].as_str()).unwrap_or_default();
    ensure(
        !last.ends_with("thinking"),
        &format!("{place}: the final block in an assistant message cannot be thinking"),
    )?;
    Ok(open)
}

/// With a budget for thoughts, the turn that is in the middle of its tools must have begun with one.
fn check_begins_with_thought(turns: &[Value]) -> Checked {
    let Some(mut at) = turns.len().checked_sub(2) else { return Ok(()) };
    if !kinds(&turns[at]).contains(&"tool_use") {
        return Ok(());
    }
    while at >= 3 && kinds(&turns[at - 1]).iter().all(|kind| *kind == "tool_result") {
        at -= 2;
    }
    let first = kinds(&turns[at]).first().copied().unwrap_or_default();
    ensure(
        first.ends_with("thinking"),
        &format!("messages.{at}: expected `thinking` or `redacted_thinking`, but found `{first}`"),
    )
}

fn kinds(turn: &Value) -> Vec<&str> {
    let list = turn["content"].as_array().into_iter().flatten();
    list.map(|block| block["type"].as_str().unwrap_or_default()).collect()
}

fn blocks(content: &Value, place: &str) -> Result<Vec<Value>, String> {
    if let Value::String(text) = content {
        return Ok(vec![serde_json::json!({"type": "text", "text": text})]);
    }
    let list = content.as_array().filter(|list| !list.is_empty());
    list.cloned().ok_or_else(|| format!("{place}: content must be non-empty"))
}

fn text_or_image(block: &Value, place: &str) -> Checked {
    if block["type"] != "image" {
        return plain_text(block, place);
    }
    let members = object(block, place)?;
    only_known(members, &["type", "source", "cache_control"], place)?;
    let source = object(members.get("source").unwrap_or(&Value::Null), place)?;
    only_known(source, &["type", "media_type", "data"], place)?;
    ensure(source.get("type") == Some(&"base64".into()), &format!("{place}: unknown source"))?;
    image_data(&text(source, "media_type", place)?, &text(source, "data", place)?, place)
}

fn plain_text(block: &Value, place: &str) -> Checked {
    let members = object(block, place)?;
    ensure(members.get("type") == Some(&"text".into()), &format!("{place}: unexpected block {block}"))?;
    only_known(members, &["type", "text", "cache_control"], place)?;
    let words = text(members, "text", place)?;
    ensure(
        !words.trim().is_empty(),
        &format!("{place}: text content blocks must contain non-whitespace text"),
    )
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let here =
                usize::from(members.get("cache_control") == Some(&serde_json::json!({"type": "ephemeral"})));
            here + members.values().map(count_marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_marks).sum(),
        _ => 0,
    }
}
