//! `multicall`: one call of a reply that holds several.
//!
//! The engine runs the inner calls as if the model had sent them one by one: each is checked, approved, run and recorded
//! once. Their answers become one answer, in their order, when the last of them is there. Refuses calls inside of calls,
//! and decisions.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent_turn::{CallBatch, OpenReply};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::AnsweredCall;
use synthdev_domain::message::ToolCall;
use synthdev_domain::secret::SecretText;
use synthdev_domain::tool::{MULTICALL, MULTICALL_LIMIT};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MulticallArguments {
    calls: Vec<InnerCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InnerCall {
    tool: String,
    #[serde(default)]
    arguments: Value,
}

/// Whether a call of this agent holds other calls.
pub(super) fn is_multicall(agent: &AgentSpec, name: &str) -> bool {
    name == MULTICALL && agent.tools.iter().any(|tool| tool.name == MULTICALL)
}

/// Adds the call and its inner calls to the reply; a wrong one is answered with what is wrong.
pub(super) fn unfold_call(open: &mut OpenReply, agent: &AgentSpec, call: ToolCall, is_denied: bool) {
    let inner =
        if is_denied { Err("denied by the approval policy".to_owned()) } else { inner_calls(agent, &call) };
    let at = open.calls.len();
    let answer = inner.as_ref().err().map(|problem| format!("not executed: {problem}")).unwrap_or_default();
    open.calls.push(AnsweredCall { call, answer, ok: false });
    let Ok(inner) = inner else { return };
    open.batches.push(CallBatch { at, count: inner.len() });
    for call in inner {
        open.pending_calls.push_back(open.calls.len());
        open.calls.push(AnsweredCall { call, answer: String::new(), ok: false });
    }
}

fn inner_calls(agent: &AgentSpec, outer: &ToolCall) -> Result<Vec<ToolCall>, String> {
    let shown = parse_calls(&outer.arguments)?;
    let is_decision = |name: &str| agent.parsing_tools.iter().any(|tool| tool.name == name);
    for (nth, inner) in shown.iter().enumerate() {
        if inner.tool == MULTICALL {
            return Err(format!("`calls`[{nth}]: a multicall cannot hold another one"));
        }
        if is_decision(&inner.tool) {
            return Err(format!("`calls`[{nth}]: `{}` is a decision; call it by itself", inner.tool));
        }
    }
    // what the model sent, where a key is hidden in what is shown
    let originals = outer.original.as_ref().and_then(|text| parse_calls(text.expose_secret()).ok());
    let call = |(nth, inner): (usize, &InnerCall)| ToolCall {
        id: format!("{}.{}", outer.id, nth + 1),
        name: inner.tool.clone(),
        arguments: arguments_text(&inner.arguments),
        original: originals
            .as_ref()
            .and_then(|all| all.get(nth))
            .map(|all| SecretText::new(arguments_text(&all.arguments))),
    };
    Ok(shown.iter().enumerate().map(call).collect())
}

fn parse_calls(text: &str) -> Result<Vec<InnerCall>, String> {
    let arguments: MulticallArguments = serde_json::from_str(text).map_err(|error| {
        format!("the arguments do not fit: {error}; write {{\"calls\": [{{\"tool\": NAME, \"arguments\": {{…}}}}]}}")
    })?;
    match arguments.calls.len() {
        1..=MULTICALL_LIMIT => Ok(arguments.calls),
        count => Err(format!("`calls` holds {count} calls; it takes 1 to {MULTICALL_LIMIT}")),
    }
}

/// Some models write an object as a text.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => arguments.to_string(),
    }
}

impl OpenReply {
    /// Puts the answers of inner calls into the calls that hold them: the conversation has the calls that the model sent.
    pub(crate) fn fold_batches(&mut self) {
        for batch in self.batches.drain(..).rev() {
            let end = (batch.at + 1 + batch.count).min(self.calls.len());
            let inner: Vec<AnsweredCall> = self.calls.drain((batch.at + 1).min(end)..end).collect();
            if let Some(outer) = self.calls.get_mut(batch.at) {
                outer.ok = inner.iter().all(|call| call.ok);
                outer.answer = joined_answer(&inner);
            }
        }
    }
}

/// A line about all, then each answer below a line with its number and tool.
fn joined_answer(inner: &[AnsweredCall]) -> String {
    let failed = inner.iter().filter(|call| !call.ok).count();
    let mut text = json!({"success": failed == 0, "tool": MULTICALL, "calls": inner.len(), "failed": failed})
        .to_string();
    for (nth, AnsweredCall { call, answer, .. }) in inner.iter().enumerate() {
        text.push_str(&format!("\n==> {} {}\n{}", nth + 1, call.name, answer.trim_end()));
    }
    text
}
