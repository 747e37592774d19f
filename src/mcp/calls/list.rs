//! `list_workflows` and `list_runs`.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::backend::OfferedWorkflow;
use super::super::error::{McpCallError, ToolResultError, invalid_request_error, shorten_text};
use super::super::response::asked_party;
use super::super::timestamp::to_rfc3339;
use super::super::tool_schema;
use super::super::tools::tool_names;
use super::tool_call::McpToolCall;
use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary};
use synthdev_service::conversations::is_conversation;
use synthdev_service::run_list::{self, find_runs};

const RUNS: usize = 20;
const MOST_RUNS: usize = 200;

pub(super) fn list_workflows(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    ToolArguments::from_request(call.arguments.take(), &[], &[])?;
    let offered = call.backend.workflows();
    let line = |(tool, one): (String, &OfferedWorkflow)| {
        json!({
            "name": one.name,
            "tool": tool,
            "description": one.description,
            "inputSchema": tool_schema::input_schema(&one.inputs),
        })
    };
    let workflows: Vec<Value> = tool_names(&offered).into_iter().zip(offered.iter()).map(line).collect();
    let broken: Vec<Value> = call
        .backend
        .broken_workflows()
        .iter()
        .map(|broken| json!({"name": broken.name, "why": broken.reason}))
        .collect();
    let mut answer = json!({"workflows": workflows});
    if !broken.is_empty() {
        answer["broken"] = json!(broken);
    }
    if !call.backend.config_notes().is_empty() {
        answer["notes"] = json!(&*call.backend.config_notes());
    }
    Ok(answer)
}

pub(super) fn list_runs(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments =
        ToolArguments::from_request(call.arguments.take(), &[], &["status", "workflow", "words", "limit"])?;
    let limit = arguments.take_count("limit", RUNS, MOST_RUNS)?;
    let statuses = arguments.text("status")?.map(|word| parse_status(&word)).transpose()?;
    let query = RunQuery {
        limit,
        statuses: statuses.into_iter().collect(),
        workflow: arguments.text("workflow")?,
        words: arguments.text("words")?,
        project: Some(call.backend.project().to_owned()),
        ..RunQuery::default()
    };
    let found = find_runs(call.backend.handle(), &query).map_err(|error| {
        ToolResultError::new("store", "The history cannot be read", error.to_string()).hint(error.hint())
    })?;
    let (handle, remote) = (call.backend.handle(), call.backend.remote_approvals());
    let approves_all = |run: &RunSummary| call.backend.approves_all() && !is_conversation(handle, run);
    Ok(json!({"runs": found.iter().map(|run| run_json(run, remote, approves_all(run))).collect::<Vec<_>>()}))
}

/// A run as lists show it.
fn run_json(run: &RunSummary, remote_approvals: bool, approves_all: bool) -> Value {
    let mut line = json!({
        "workflowId": run.id,
        "workflowName": run.workflow,
        "status": run.progress.status,
        "started": to_rfc3339(run.started),
        "updated": to_rfc3339(run.progress.updated),
        "input": shorten_text(&run.input),
    });
    if let Some(asked) = asked_party(run, remote_approvals, approves_all) {
        line["waitsFor"] = json!(asked);
    }
    if let Some(error) = &run.progress.error {
        line["error"] = json!({"type": error.code, "detail": shorten_text(&error.detail)});
    }
    line
}

fn parse_status(word: &str) -> Result<RunStatus, McpCallError> {
    run_list::parse_status(word).map_err(|_| {
        let message = format!("`status` must be one of {}", RunStatus::ALL.map(RunStatus::as_str).join(", "));
        invalid_request_error(message, json!({"type": "wrong_argument", "argument": "status"}))
    })
}
