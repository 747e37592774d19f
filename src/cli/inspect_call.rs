//! One request to a model with its answer, as text and as data.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::output::{safe_name, time_text, tokens_text};
use synthdev_domain::message::{ChatMessage, ToolCall};
use synthdev_domain::terminal_safe;
use synthdev_service::run_reports::InspectedCall;

/// Everything, message by message.
pub fn call_text(review: &InspectedCall) -> String {
    let request = &review.request;
    let mut text = String::new();
    let (run, step, at) = (&review.run, review.step, time_text(review.at));
    let (agent, state) = (safe_name(&request.agent), safe_name(&request.state));
    let _ = writeln!(text, "run {run}, step {step} ({state}): `{agent}` asked at {at} UTC");
    let choice = &request.choice;
    let place = if choice.base_url.is_empty() {
        String::new()
    } else {
        format!(" at {}", terminal_safe::redact_url(&choice.base_url))
    };
    let _ = writeln!(text, "model {} of {}{place}", safe_name(&choice.model), safe_name(&choice.provider));
    let tools = request.tools.iter().map(|tool| safe_name(&tool.name));
    let tools: Vec<String> =
        tools.chain(request.parsing_tools.iter().map(|tool| safe_name(&tool.name))).collect();
    if !tools.is_empty() {
        let _ = writeln!(text, "tools {}", tools.join(", "));
    }
    for message in &request.messages {
        push_message(message, &mut text);
    }
    push_answer(review, &mut text);
    text
}

/// The same as one object. `request` is the body that a server gets, or the messages where none does.
pub fn call_json(review: &InspectedCall) -> Value {
    let request = &review.request;
    let sent = review.body.clone().unwrap_or_else(|| json!({ "messages": request.messages }));
    let (reply, error) = match &review.answer {
        Some(Ok(reply)) => (json!(reply), Value::Null),
        Some(Err(error)) => (Value::Null, json!({ "code": error.code(), "detail": error.to_string() })),
        None => (Value::Null, Value::Null),
    };
    json!({
        "run": review.run,
        "step": review.step,
        "state": request.state,
        "agent": request.agent,
        "at": review.at,
        "provider": request.choice.provider,
        "model": request.choice.model,
        "base_url": terminal_safe::redact_url(&request.choice.base_url),
        "request": sent,
        "answer": reply,
        "error": error,
    })
}

fn push_message(message: &ChatMessage, text: &mut String) {
    let call = message.tool_call_id.as_deref().map(|id| format!(" {}", safe_name(id))).unwrap_or_default();
    let _ = writeln!(text, "\n── {}{call}", message.role.as_str());
    if !message.content.is_empty() {
        let _ = writeln!(text, "{}", message.content);
    }
    push_calls(&message.tool_calls, text);
}

fn push_calls(calls: &[ToolCall], text: &mut String) {
    for call in calls {
        let _ = writeln!(text, "calls {} {} {}", safe_name(&call.name), safe_name(&call.id), call.arguments);
    }
}

fn push_answer(review: &InspectedCall, text: &mut String) {
    match &review.answer {
        None => text.push_str("\n══ no answer yet\n"),
        Some(Err(error)) => {
            let _ = writeln!(text, "\n══ no answer ({}): {error}", error.code());
        }
        Some(Ok(reply)) => {
            let model = reply.model.as_deref().unwrap_or(&review.request.choice.model);
            let used = tokens_text(&reply.usage);
            let _ = writeln!(text, "\n══ answer of {} ({used}, {} ms)", safe_name(model), reply.duration_ms);
            if !reply.reasoning.is_empty() {
                let _ = writeln!(text, "(thought) {}\n", reply.reasoning);
            }
            if !reply.text.is_empty() {
                let _ = writeln!(text, "{}", reply.text);
            }
            push_calls(&reply.tool_calls, text);
        }
    }
}
