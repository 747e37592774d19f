//! What a client says that its own model answered, as our own providers would report it.

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::response::required_decision;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::message::ToolCall;
use synthdev_domain::model::{FinishReason, ModelError, ModelReply, ModelRequest};
use synthdev_domain::tool::ParsingTool;
use synthdev_domain::workflow::strip_code_fence;
use synthdev_service::delegated_work::delegated_calls::PROVIDER;

/// An error of the client's call, under a name of its own, so that the rules of the state decide. A prompt that does
/// not fit the model's window is reported as for any model, so that the conversation can be cut.
pub(super) fn parse_error(details: &Map<String, Value>) -> ModelError {
    let text = |name: &str| details.get(name).and_then(Value::as_str).unwrap_or_default();
    let detail = match (text("message"), text("type")) {
        ("", "") => "the client's model call failed".to_owned(),
        ("", kind) => kind.to_owned(),
        (message, _) => message.to_owned(),
    };
    let kind = text("type");
    let is = |words: &[&str]| words.iter().any(|word| kind.to_lowercase().contains(word));
    if is(&["context", "too_long"]) {
        return ModelError::TooLong { detail };
    }
    let transient = is(&["rate_limit", "overloaded", "server_error", "api_error", "unavailable", "timeout"]);
    let detail = if kind.is_empty() || detail == kind { detail } else { format!("{kind}: {detail}") };
    ModelError::Delegated { transient, detail }
}

/// What a success says.
///
/// # Errors
/// It is none: what is missing, or does not fit.
pub(super) fn parse_reply(id: &str, request: &ModelRequest, data: &Value) -> Result<ModelReply, String> {
    let (text, tool_calls) = match required_decision(request) {
        Some(tool) => (String::new(), vec![parse_decision(id, tool, data)?]),
        None => match answer_validator(request) {
            Some(validator) if !has_calls(data) => (parse_answer(&validator, data)?, Vec::new()),
            _ => parse_text_and_calls(id, data)?,
        },
    };
    let usage = match (data["usage"]["inputTokens"].as_u64(), data["usage"]["outputTokens"].as_u64()) {
        (None, None) => None,
        (prompt, completion) => Some((prompt.unwrap_or(0), completion.unwrap_or(0))),
    };
    let estimate = || {
        let said: usize = tool_calls.iter().map(|call| call.arguments.len()).sum();
        let heard: usize = request.messages.iter().map(|message| message.content.len()).sum();
        (estimate_tokens(heard), estimate_tokens(text.len() + said))
    };
    let (prompt, completion) = usage.unwrap_or_else(estimate);
    let finish = if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    Ok(ModelReply {
        text,
        reasoning: String::new(),
        tool_calls,
        sealed: Vec::new(),
        usage: TokenUsage { prompt, completion, ..TokenUsage::default() },
        usage_estimated: usage.is_none(),
        // not the model of the settings: that one was not asked, and only gives the client a hint
        model: (request.choice.provider == PROVIDER).then(|| PROVIDER.to_owned()),
        finish,
        duration_ms: 0,
        price: None,
        failed: Vec::new(),
    })
}

/// About so many in so many bytes of text.
fn estimate_tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// What is wrong, and where in the value.
pub(super) fn located_message(error: &jsonschema::ValidationError<'_>) -> String {
    match error.instance_path().to_string() {
        at if at.is_empty() => error.to_string(),
        at => format!("{at}: {error}"),
    }
}

/// `data.object`, or else `data` itself, whichever fits the schema.
fn parse_decision(id: &str, tool: &ParsingTool, data: &Value) -> Result<ToolCall, String> {
    let validator = jsonschema::validator_for(&tool.parameters)
        .map_err(|error| format!("the schema of `{}` cannot be used: {error}", tool.name))?;
    let judge = |value: &Value| -> Vec<String> {
        validator.iter_errors(value).map(|error| located_message(&error)).collect()
    };
    let mut problems = Vec::new();
    for (name, value) in [("data.object", data.get("object")), ("data", Some(data))] {
        let Some(value) = value else { continue };
        match judge(value) {
            found if found.is_empty() => {
                let (id, name) = (format!("{id}-1"), tool.name.clone());
                return Ok(ToolCall { id, name, arguments: value.to_string(), original: None });
            }
            found => problems.push(format!("`{name}` does not fit the schema: {}", found.join("; "))),
        }
    }
    Err(problems.join("; "))
}

/// What the answer must fit; a schema that cannot be used is reported by the run itself.
fn answer_validator(request: &ModelRequest) -> Option<Validator> {
    jsonschema::validator_for(request.answer_schema.as_ref()?).ok()
}

fn has_calls(data: &Value) -> bool {
    data["toolCalls"].as_array().is_some_and(|calls| !calls.is_empty())
}

/// The result of a state, as text: `data.object`, `data.text` or `data` itself, whichever fits the schema. A text fits
/// as it is, or as the JSON in it.
fn parse_answer(validator: &Validator, data: &Value) -> Result<String, String> {
    let mut problems = Vec::new();
    let mut judge = |name: &str, value: &Value| {
        if validator.is_valid(value) {
            return true;
        }
        let found: Vec<String> = validator.iter_errors(value).map(|error| located_message(&error)).collect();
        problems.push(format!("`{name}` does not fit the schema: {}", found.join("; ")));
        false
    };
    let object = data.get("object").filter(|object| !object.is_null());
    if let Some(object) = object.filter(|object| judge("data.object", object)) {
        return Ok(compact_text(object));
    }
    if let Some(text) = data.as_str().or_else(|| data["text"].as_str()) {
        let text = text.to_owned();
        let parsed = serde_json::from_str::<Value>(strip_code_fence(&text)).ok();
        let whole = Value::String(text);
        if validator.is_valid(&whole) || judge("data.text", parsed.as_ref().unwrap_or(&whole)) {
            return Ok(compact_text(&whole));
        }
    } else if object.is_none() && judge("data", data) {
        return Ok(compact_text(data));
    }
    Err(problems.join("; "))
}

/// A text as it is, anything else as JSON.
fn compact_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Words, calls of tools, or both.
fn parse_text_and_calls(id: &str, data: &Value) -> Result<(String, Vec<ToolCall>), String> {
    let calls = data["toolCalls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut asked = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let name = call["name"].as_str().ok_or_else(|| format!("`data.toolCalls[{at}]` has no `name`"))?;
        let arguments = match &call["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            value => value.to_string(),
        };
        let own = call["id"].as_str().filter(|own| !own.is_empty()).map(str::to_owned);
        asked.push(ToolCall {
            id: own.unwrap_or_else(|| format!("{id}-{}", at + 1)),
            name: name.to_owned(),
            arguments,
            original: None,
        });
    }
    let text = data.as_str().or_else(|| data["text"].as_str());
    match text {
        Some(text) => Ok((text.to_owned(), asked)),
        None if !asked.is_empty() => Ok((String::new(), asked)),
        None => Err("`data.text` is missing (a text, or `data.toolCalls`)".to_owned()),
    }
}
