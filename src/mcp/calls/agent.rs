//! `agent_llm`: the answer of the model call that a run asked for (C2 to C6, DELEG-20 to DELEG-25).

use serde_json::{Map, Value, json};

use super::super::answer::wanted;
use super::super::arguments::Arguments;
use super::super::refusal::{Problem, Refusal, invalid, short};
use super::call::Call;
use crate::domain::cost::Usage;
use crate::domain::message::ToolCall;
use crate::domain::model::{FinishReason, ModelError, ModelReply};
use crate::domain::tool::ParsingTool;
use crate::runtime::interactions::{Given, Interaction};

const PROCESSED: &str = "agent_response_processed_by_taskmaster";
const PROCESSED_WITH_ERROR: &str = "agent_response_processed_by_taskmaster_with_error";

pub(super) async fn respond(mut call: Call<'_>) -> Result<Value, Refusal> {
    let given = call.arguments.take();
    if given.as_ref().is_some_and(|given| given.contains_key("delegatedCallDetails")) {
        let message =
            "`delegatedCallDetails` is what a workflow sends; an agent sends `agentLLMResponse`, not both";
        return Err(wrong(message, "delegatedCallDetails"));
    }
    let required = ["interactionId", "agentLLMResponse"];
    let mut arguments = Arguments::read(given, &required, &["projectRoot", "tag"])?;
    let id = arguments.text("interactionId")?.unwrap_or_default();
    let root = arguments.text("projectRoot")?;
    if root.is_some_and(|root| root.trim_end_matches('/') != call.backend.project()) {
        let message = format!("`projectRoot` is not the project of this server: {}", call.backend.project());
        return Err(wrong(&message, "projectRoot"));
    }
    let response = arguments.object("agentLLMResponse")?;
    let said = Value::Object(response.clone()).to_string();
    let failed = failed(&response)?;
    let interactions = call.backend.interactions();
    let answer = match (interactions.find(&id), failed) {
        // only whether it is a repetition is of interest
        (None, _) => Err(ModelError::Drift { detail: String::new() }),
        (Some(_), Some(details)) => Err(error(details)),
        (Some(interaction), None) => {
            Ok(reply(&interaction, &response).map_err(|why| misfit(&call, &id, &why))?)
        }
    };
    let run = interactions.find(&id).map(|open| open.run).or_else(|| interactions.answered(&id));
    let unknown = || {
        invalid(
            format!("Unknown or expired interactionId: {}", short(&id)),
            json!({"type": "interaction_unknown"}),
        )
    };
    let run = run.ok_or_else(unknown)?;
    let events = call.backend.handle().subscribe(false);
    let again = match interactions.answer(&id, &said, answer) {
        Given::Taken => false,
        Given::Duplicate => true,
        Given::Conflict => {
            let detail = "this interaction was answered otherwise before: the first answer counts";
            return Err(
                Problem::new("interaction_conflict", "The interaction was answered already", detail).into()
            );
        }
        Given::Unknown => return Err(unknown()),
    };
    let stands = if again { call.now(&run)? } else { call.follow(&run, events).await? };
    let status = if failed.is_some() { PROCESSED_WITH_ERROR } else { PROCESSED };
    let mut told = json!({"status": status, "interactionId": id, "run": stands});
    if again {
        told["duplicate"] = json!(true);
    }
    Ok(told)
}

/// The details of an error that is handed in; `None` for a success (C4).
fn failed(response: &Map<String, Value>) -> Result<Option<&Map<String, Value>>, Refusal> {
    match response.get("status").and_then(Value::as_str) {
        Some("success") if response.get("data").is_none_or(Value::is_null) => {
            Err(wrong("a success needs `agentLLMResponse.data`", "data"))
        }
        Some("success") => Ok(None),
        Some("error") => match response.get("errorDetails") {
            Some(Value::Object(details)) => Ok(Some(details)),
            _ => Err(wrong("an error needs `agentLLMResponse.errorDetails`, an object", "errorDetails")),
        },
        _ => Err(wrong("`agentLLMResponse.status` must be success or error", "status")),
    }
}

fn wrong(message: &str, argument: &str) -> Refusal {
    invalid(message, json!({"type": "wrong_argument", "argument": argument}))
}

/// An error as our own providers would report it, so that the rules of the state decide (C6).
fn error(details: &Map<String, Value>) -> ModelError {
    let text = |name: &str| details.get(name).and_then(Value::as_str).unwrap_or_default();
    let detail = match (text("message"), text("type")) {
        ("", "") => "the client's model call failed".to_owned(),
        ("", kind) => kind.to_owned(),
        (message, _) => message.to_owned(),
    };
    let kind = text("type").to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if is(&["rate_limit"]) {
        ModelError::RateLimited { retry_after_ms: None, detail }
    } else if is(&["overloaded", "server_error", "api_error", "unavailable"]) {
        ModelError::Overloaded { retry_after_ms: None, detail }
    } else if is(&["timeout"]) {
        ModelError::Timeout { detail }
    } else if is(&["auth", "permission"]) {
        ModelError::Auth { detail }
    } else if is(&["context", "too_long"]) {
        ModelError::TooLong { detail }
    } else if is(&["refus", "content_filter"]) {
        ModelError::Refused { detail }
    } else {
        ModelError::Protocol { detail }
    }
}

/// The answer does not fit: it can be given again, some times.
fn misfit(call: &Call<'_>, id: &str, why: &str) -> Refusal {
    let left = call.backend.interactions().misfit(id, why);
    let hint = if left == 0 {
        "the call failed with this"
    } else {
        "the interaction stays open: call agent_llm again"
    };
    Problem::new("validation", "The answer does not fit", why)
        .hint(Some(hint.to_owned()))
        .with("triesLeft", json!(left))
        .into()
}

/// What a success says (C5, C7).
fn reply(interaction: &Interaction, response: &Map<String, Value>) -> Result<ModelReply, String> {
    let data = response.get("data").unwrap_or(&Value::Null);
    let (text, tool_calls) = match wanted(&interaction.request) {
        Some(tool) => (String::new(), vec![decision(&interaction.id, tool, data)?]),
        None => spoken(&interaction.id, data)?,
    };
    let usage = match (data["usage"]["inputTokens"].as_u64(), data["usage"]["outputTokens"].as_u64()) {
        (None, None) => None,
        (prompt, completion) => Some((prompt.unwrap_or(0), completion.unwrap_or(0))),
    };
    let estimate = || {
        let said: usize = tool_calls.iter().map(|call| call.arguments.len()).sum();
        let heard: usize = interaction.request.messages.iter().map(|message| message.content.len()).sum();
        (tokens(heard), tokens(text.len() + said))
    };
    let (prompt, completion) = usage.unwrap_or_else(estimate);
    let finish = if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    Ok(ModelReply {
        text,
        reasoning: String::new(),
        tool_calls,
        sealed: Vec::new(),
        usage: Usage { prompt, completion, ..Usage::default() },
        usage_estimated: usage.is_none(),
        model: None,
        finish,
        duration_ms: 0,
        price: None,
        failed: Vec::new(),
    })
}

/// About so many in so many bytes of text.
fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// `data.object`, or else `data` itself, whichever fits the schema.
fn decision(id: &str, tool: &ParsingTool, data: &Value) -> Result<ToolCall, String> {
    let validator = jsonschema::validator_for(&tool.parameters)
        .map_err(|error| format!("the schema of `{}` cannot be used: {error}", tool.name))?;
    let judge = |value: &Value| -> Vec<String> {
        validator.iter_errors(value).map(|error| error.to_string()).collect()
    };
    let mut problems = Vec::new();
    for (name, value) in [("data.object", data.get("object")), ("data", Some(data))] {
        let Some(value) = value else { continue };
        match judge(value) {
            found if found.is_empty() => {
                let (id, name) = (format!("{id}-1"), tool.name.clone());
                return Ok(ToolCall { id, name, arguments: value.to_string() });
            }
            found => problems.push(format!("`{name}` does not fit the schema: {}", found.join("; "))),
        }
    }
    Err(problems.join("; "))
}

/// Words, calls of tools, or both.
fn spoken(id: &str, data: &Value) -> Result<(String, Vec<ToolCall>), String> {
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
        });
    }
    let text = data.as_str().or_else(|| data["text"].as_str());
    match text {
        Some(text) => Ok((text.to_owned(), asked)),
        None if !asked.is_empty() => Ok((String::new(), asked)),
        None => Err("`data.text` is missing (a text, or `data.toolCalls`)".to_owned()),
    }
}
