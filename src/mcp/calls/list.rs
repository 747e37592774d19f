//! `list_workflows` and `list_runs`.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::backend::OfferedWorkflow;
use super::super::error::{McpCallError, ToolResultError, invalid, short};
use super::super::timestamp::iso;
use super::super::tool_schema;
use super::super::tools::names;
use super::tool_call::McpToolCall;
use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary};

const RUNS: usize = 20;
const MOST_RUNS: usize = 200;

pub(super) fn workflows(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    ToolArguments::read(call.arguments.take(), &[], &[])?;
    let offered = call.backend.workflows();
    let line = |(tool, one): (String, &OfferedWorkflow)| {
        json!({
            "name": one.name,
            "tool": tool,
            "description": one.description,
            "inputSchema": tool_schema::input_schema(&one.inputs),
        })
    };
    let workflows: Vec<Value> = names(&offered).into_iter().zip(offered.iter()).map(line).collect();
    let broken: Vec<Value> = call
        .backend
        .broken_workflows()
        .iter()
        .map(|broken| json!({"name": broken.name, "why": broken.why}))
        .collect();
    let mut answer = json!({"workflows": workflows});
    if !broken.is_empty() {
        answer["broken"] = json!(broken);
    }
    if !call.backend.notes().is_empty() {
        answer["notes"] = json!(&*call.backend.notes());
    }
    Ok(answer)
}

pub(super) fn runs(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments =
        ToolArguments::read(call.arguments.take(), &[], &["status", "workflow", "words", "limit"])?;
    let limit = arguments.count("limit", RUNS, MOST_RUNS)?;
    let statuses = arguments.text("status")?.map(|word| status(&word)).transpose()?;
    let query = RunQuery {
        limit,
        statuses: statuses.into_iter().collect(),
        workflow: arguments.text("workflow")?,
        words: arguments.text("words")?,
        project: Some(call.backend.project().to_owned()),
        ..RunQuery::default()
    };
    let found = call.backend.handle().ports().store.list(&query).map_err(|error| {
        ToolResultError::new("store", "The history cannot be read", error.message).hint(error.hint)
    })?;
    Ok(json!({"runs": found.iter().map(line).collect::<Vec<_>>()}))
}

/// A run as lists show it.
pub(super) fn line(run: &RunSummary) -> Value {
    let mut line = json!({
        "workflowId": run.id,
        "workflowName": run.workflow,
        "status": run.progress.status,
        "started": iso(run.started),
        "updated": iso(run.progress.updated),
        "input": short(&run.input),
    });
    if let Some(error) = &run.progress.error {
        line["error"] = json!({"type": error.code, "detail": short(&error.detail)});
    }
    line
}

fn status(word: &str) -> Result<RunStatus, McpCallError> {
    RunStatus::ALL.into_iter().find(|status| status.as_str() == word).ok_or_else(|| {
        let known: Vec<&str> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
        let message = format!("`status` must be one of {}", known.join(", "));
        invalid(message, json!({"type": "wrong_argument", "argument": "status"}))
    })
}
