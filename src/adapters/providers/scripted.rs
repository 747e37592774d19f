//! A model that answers from a file: for `simulate`, demonstrations and tests. Deterministic; the only clock is a
//! reply's own `delay_ms`.
//!
//! The file (JSON with comments; the caller reads it):
//! ```json
//! { "model": "scripted",
//!   "replies": {
//!     "coder": [
//!       { "text": "Done.", "chunk": 8, "delay_ms": 20, "reasoning": "…",
//!         "usage": { "prompt": 120, "completion": 8, "cached": 0, "reasoning": 0 } },
//!       { "tool_calls": [ { "name": "read_file", "arguments": { "path": "a.rs" } } ] },
//!       { "text": "and", "tool_calls": [ { "name": "list", "arguments": "{bad json", "id": "call_9" } ] },
//!       { "error": { "kind": "rate_limited", "retry_after_ms": 500, "message": "slow down" } },
//!       { "match": "fix (it|them)", "reply": { "text": "Fixed." } },
//!       { "sees": ["first this", "then that"], "sees_not": ["a secret"], "reply": { "text": "Seen." } }
//!     ] } }
//! ```
//! `replies` holds a list per agent id, child workflows' agents included; each call takes the next one, a retry too.
//! `match` is a regular expression or a plain part of the last message and must fit, else the run has drifted. So must
//! `sees`: each of its texts is in what the agent is shown, the system prompt included, in this order; and `sees_not`.
//! Error kinds: rate_limited, overloaded, transport, timeout, auth, too_long, refused, protocol. `chunk`
//! is the number of characters per streamed piece (default: all at once). Without `usage` it is estimated.
//! Other keys at the top belong to other readers of the file; unknown keys inside a reply are refused.

mod expectations;
mod replies_file;
mod replies_file_error;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use synthdev_domain::cost::TokenUsage;
use synthdev_domain::message::{ChatMessage, ToolCall};
use synthdev_domain::model::{DeltaKind, FinishReason, ModelError, ModelReply, ModelRequest};
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_ports::simulation::ScriptedModelPort;

use replies_file::{ScriptedReply, ScriptedReplyOutcome};
pub use replies_file_error::{RepliesFileError, RepliesFileProblem};

/// The replies and how far each agent has come.
#[derive(Debug)]
pub struct ScriptedModel {
    model: String,
    replies: BTreeMap<String, Vec<ScriptedReply>>,
    next_reply: Mutex<BTreeMap<String, usize>>,
    /// Reports delays instead of waiting for them.
    skips_delays: bool,
}

/// The whole model port: whatever provider an agent asks for, the script answers and nothing is sent anywhere.
impl ModelPort for ScriptedModel {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(Self::answer_request(self, request, sink))
    }
}

impl ScriptedModelPort for ScriptedModel {
    fn unused_replies(&self) -> Vec<String> {
        let unused = Self::unused_replies(self).into_iter();
        unused.map(|(agent, index)| format!("reply {} of agent `{agent}`", index + 1)).collect()
    }
}

impl ScriptedModel {
    /// Reads a replies file.
    ///
    /// # Errors
    /// Every problem of the file at once.
    pub fn from_value(file: &Value) -> Result<Self, RepliesFileError> {
        let (model, replies) = replies_file::parse_replies_file(file)?;
        Ok(Self { model, replies, next_reply: Mutex::default(), skips_delays: false })
    }

    /// For simulated time: a reply's delay is only reported in its `duration_ms`.
    #[must_use]
    pub fn without_delays(self) -> Self {
        Self { skips_delays: true, ..self }
    }

    /// What its answers name as the model.
    pub fn model_name(&self) -> &str {
        &self.model
    }

    /// Agents that the file has replies for.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.replies.keys().map(String::as_str)
    }

    /// Begins anew: the next run is answered from the first replies on.
    pub fn rewind_replies(&self) {
        self.next_reply.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Skips the replies that an agent has had before its run was resumed.
    pub fn skip_replies(&self, agent: &str, replies: usize) {
        self.next_reply.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.to_owned(), replies);
    }

    /// Whether there are replies for this agent.
    pub fn has_replies_for(&self, agent: &str) -> bool {
        self.replies.contains_key(agent)
    }

    /// The replies that no request has used: agent and position from 0.
    pub fn unused_replies(&self) -> Vec<(String, usize)> {
        let next = self.next_reply.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = |(agent, list): (&String, &Vec<ScriptedReply>)| {
            let used = next.get(agent).copied().unwrap_or(0);
            (used..list.len()).map(|index| (agent.clone(), index)).collect::<Vec<_>>()
        };
        self.replies.iter().flat_map(rest).collect()
    }

    /// Answers with the agent's next reply.
    ///
    /// # Errors
    /// The scripted error; `Drift` where the script holds no fitting reply.
    pub async fn answer_request(
        &self,
        request: &ModelRequest,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let (index, reply) = self.next_reply(request)?;
        if reply.delay_ms > 0 && !self.skips_delays {
            tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
        }
        let answer = match &reply.outcome {
            ScriptedReplyOutcome::Error(error) => return Err(error.clone()),
            ScriptedReplyOutcome::Answer(answer) => answer,
        };
        stream_text(sink, DeltaKind::Reasoning, &answer.reasoning, reply.chunk_chars).await;
        stream_text(sink, DeltaKind::Text, &answer.text, reply.chunk_chars).await;
        let call = |(number, call): (usize, &ToolCall)| {
            let made = || format!("call_{}_{index}_{number}", request.agent);
            ToolCall { id: if call.id.is_empty() { made() } else { call.id.clone() }, ..call.clone() }
        };
        let tool_calls: Vec<_> = answer.tool_calls.iter().enumerate().map(call).collect();
        Ok(ModelReply {
            text: answer.text.clone(),
            reasoning: answer.reasoning.clone(),
            finish: if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
            sealed: Vec::new(),
            usage: reply.usage.unwrap_or_else(|| estimate_usage(request, &answer.text, &tool_calls)),
            usage_estimated: reply.usage.is_none(),
            tool_calls,
            model: Some(self.model.clone()),
            duration_ms: reply.delay_ms,
            ..ModelReply::default()
        })
    }

    fn next_reply(&self, request: &ModelRequest) -> Result<(usize, &ScriptedReply), ModelError> {
        let agent = &request.agent;
        let drift = |detail: String| ModelError::Drift { detail };
        let asked = request.messages.last().map_or_else(|| "(nothing)".to_owned(), message_excerpt);
        let Some(list) = self.replies.get(agent) else {
            let known: Vec<_> = self.replies.keys().map(String::as_str).collect();
            return Err(drift(format!(
                "agent `{agent}` in state `{}` asked {asked}, but the script has no replies for it (it has: {})",
                request.state,
                known.join(", ")
            )));
        };
        let mut next = self.next_reply.lock().unwrap_or_else(PoisonError::into_inner);
        let index = next.get(agent).copied().unwrap_or(0);
        let Some(reply) = list.get(index) else {
            return Err(drift(format!(
                "agent `{agent}` in state `{}` asked {asked}, but all {} replies of its script are used",
                request.state,
                list.len()
            )));
        };
        if let Err(wanted) = reply.expectation.check_messages(&request.messages) {
            return Err(drift(format!(
                "agent `{agent}` in state `{}` asked {asked}, but reply {} of its script expects {wanted}",
                request.state,
                index + 1,
            )));
        }
        next.insert(agent.clone(), index + 1);
        Ok((index, reply))
    }
}

async fn stream_text(sink: &dyn DeltaSink, kind: DeltaKind, text: &str, chunk: Option<usize>) {
    let Some(chunk) = chunk.filter(|_| !text.is_empty()) else {
        if !text.is_empty() {
            sink.delta(kind, text);
        }
        return;
    };
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(chunk).map_or(rest.len(), |(at, _)| at);
        sink.delta(kind, &rest[..end]);
        rest = &rest[end..];
        // Lets a cancel in between two pieces.
        tokio::task::yield_now().await;
    }
}

fn message_excerpt(message: &ChatMessage) -> String {
    let mut text: String = message.content.chars().take(120).collect();
    if text.len() < message.content.len() {
        text.push('…');
    }
    format!("({}) {text:?}", message.role.as_str())
}

/// Four bytes a token, as for servers that report nothing.
fn estimate_usage(request: &ModelRequest, text: &str, calls: &[ToolCall]) -> TokenUsage {
    let size = |message: &ChatMessage| {
        message.content.len() + message.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>()
    };
    let prompt: usize = request.messages.iter().map(size).sum();
    let completion = text.len() + calls.iter().map(|c| c.name.len() + c.arguments.len()).sum::<usize>();
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
    TokenUsage { prompt: tokens(prompt), completion: tokens(completion), ..TokenUsage::default() }
}

#[cfg(test)]
mod tests;
