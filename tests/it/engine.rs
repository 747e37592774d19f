//! Runs with a user present, through the runtime's handle: the questions, and the effect of each answer.
//!
//! Nothing here waits for time: every test waits for an event.

mod approvals;
mod chat;
mod faded;
mod glance;
mod golden;
mod growth;
mod multicall;
mod questions;
mod refusals;
mod stored_state;
mod unrecorded;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::ids::{CallId, RunId};
use synthdev::domain::message::ChatMessage;
use synthdev::domain::model::{DeltaKind, ModelError, ModelReply, ModelRequest};
use synthdev::engine::effect::UserQuestion;
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::UserAnswer;
use synthdev::engine::run_spec::RunSpec;
use synthdev::ports::model::{DeltaSink, ModelPort};
use synthdev::runtime::command::RunCommand;

use super::support::stage::{Stage, Texts, spec};

/// One writer who is given a task; `more` adds to or replaces fields of the workflow.
fn texts(more: &Value, replies: Value) -> Texts {
    let mut workflow = json!({
        "workflow_name": "case",
        "input": {"name": "task", "type": "string"},
        "output": {"name": "result", "type": "string"},
        "contexts": [{"name": "talk"}],
        "agents": [{"agent_role": "writer", "context": "talk", "role": "assistant"}],
        "states": [
            {"name": "start", "agent": "writer", "input": "common_data.task", "transition": [
                {"target": "stop", "before": "() => { this.common_data.result = this.last_agent_response; }"}]},
            {"name": "stop"}]
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        workflow[key] = value.clone();
    }
    let shared: Value = serde_json::from_str(include_str!("../data/conformance/shared.json")).unwrap();
    Texts {
        roles: vec![shared["roles"].to_string()],
        workflows: vec![workflow.to_string()],
        replies,
        files: Map::from_iter([("a.txt".to_owned(), json!("alpha"))]),
        ..Texts::default()
    }
}

fn run_spec(stage: &Stage) -> RunSpec {
    let program = stage.catalog.program("case").unwrap_or_else(|found| panic!("{found:#?}"));
    spec(program, Map::from_iter([("task".to_owned(), json!("t"))]))
}

/// A user is present, and the policy is the default one: writes need approval.
fn with_default_approvals(spec: RunSpec) -> RunSpec {
    RunSpec { approvals: ApprovalPolicy::default(), interactive: true, ..spec }
}

fn call_json(tool: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": tool, "arguments": arguments}]})
}

fn write_call_json(path: &str) -> Value {
    call_json("write_file", json!({"file_path": path, "content": "new"}))
}

async fn question(stage: &mut Stage) -> (CallId, UserQuestion) {
    stage
        .wait_for(|event| match event {
            RunEvent::PersonAsked { call, question } => Some((*call, question.clone())),
            _ => None,
        })
        .await
}

fn send_answer(stage: &Stage, run: &RunId, call: CallId, answer: UserAnswer) {
    stage.handle.send_command(run, RunCommand::Answer { call, answer });
}

/// Status, path and error code of the end.
fn run_end_facts(end: &RunEvent) -> (&'static str, String, String) {
    let RunEvent::Finished { status, path, error, .. } = end else { panic!("{end:?}") };
    let code = error.as_ref().map_or_else(String::new, |error| error.code.clone());
    (status.as_str(), path.join(" > "), code)
}

fn message_lines(messages: &[ChatMessage]) -> Vec<String> {
    messages.iter().map(|message| format!("{}: {}", message.role.as_str(), message.content)).collect()
}

fn assert_sound(stage: &Stage, run: &RunId) {
    assert_eq!(stage.run_faults(run), Vec::<String>::new());
}

/// Streams half an answer to the first call (the first for a summary) and then hangs; later calls pass.
struct HangsOnce {
    inner: Arc<dyn ModelPort>,
    has_hung: AtomicBool,
    summaries: bool,
}

impl HangsOnce {
    fn wrap_model(inner: Arc<dyn ModelPort>) -> Arc<dyn ModelPort> {
        Arc::new(Self { inner, has_hung: AtomicBool::new(false), summaries: false })
    }

    fn at_summaries(inner: Arc<dyn ModelPort>) -> Arc<dyn ModelPort> {
        Arc::new(Self { inner, has_hung: AtomicBool::new(false), summaries: true })
    }
}

impl ModelPort for HangsOnce {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let other = self.summaries && !request.messages[0].content.starts_with("You keep the record");
        if other || self.has_hung.swap(true, Ordering::SeqCst) {
            return self.inner.call(request, sink);
        }
        Box::pin(async move {
            sink.delta(DeltaKind::Text, "half an ");
            std::future::pending().await
        })
    }
}
