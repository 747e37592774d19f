//! A mock model: it replies with harmless text and alternating decisions, so that a workflow can be walked through
//! without scripted replies. Deterministic; sends nothing anywhere.
//!
//! It calls an agent's parsing tools with arguments that fit their schemas; `true` comes first, then `false`, then
//! `true` again, and the values of an enum in turn: a loop is entered once and left. It never calls other tools.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::json;

use synthdev_domain::message::{ChatRole, ToolCall};
use synthdev_domain::model::{FinishReason, ModelError, ModelReply, ModelRequest, ToolChoice};
use synthdev_domain::schema_sample::sample_value;
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_ports::simulation::ScriptedModelPort;

#[derive(Debug, Default)]
pub struct MockModel {
    /// How often an agent has answered, or called a tool.
    answer_counts: Mutex<BTreeMap<(String, String), usize>>,
}

impl ModelPort for MockModel {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let reply = self.make_reply(request);
        Box::pin(std::future::ready(Ok(reply)))
    }
}

impl ScriptedModelPort for MockModel {}

impl MockModel {
    fn make_reply(&self, request: &ModelRequest) -> ModelReply {
        let agent = &request.agent;
        let answered = request.messages.last().is_some_and(|message| message.role == ChatRole::Tool);
        let must = request.tool_choice != ToolChoice::Auto;
        let tool = request.parsing_tools.iter().find(|tool| match &request.tool_choice {
            ToolChoice::Named(name) | ToolChoice::Structured(name) => tool.name == *name,
            ToolChoice::StructuredOneOf(names) => names.contains(&tool.name),
            ToolChoice::Auto | ToolChoice::Required => must || !answered,
        });
        let Some(tool) = tool else {
            let text = format!("(simulated reply {} of {agent})", self.count_asked_before(agent, "") + 1);
            return ModelReply {
                text,
                finish: FinishReason::Stop,
                usage_estimated: true,
                ..ModelReply::default()
            };
        };
        let round = self.count_asked_before(agent, &tool.name);
        let arguments = sample_value(&tool.parameters, "", round);
        let arguments = if arguments.is_object() { arguments } else { json!({}) };
        let id = format!("call_{agent}_{}_{round}", tool.name);
        ModelReply {
            tool_calls: vec![ToolCall {
                id,
                name: tool.name.clone(),
                arguments: arguments.to_string(),
                original: None,
            }],
            finish: FinishReason::ToolCalls,
            usage_estimated: true,
            ..ModelReply::default()
        }
    }

    /// How often this was asked for before.
    fn count_asked_before(&self, agent: &str, what: &str) -> usize {
        let mut times = self.answer_counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = times.entry((agent.to_owned(), what.to_owned())).or_default();
        *count += 1;
        *count - 1
    }
}
