//! `get_workflow_state`: the state of a task, for diagnosis.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::McpCallError;
use super::super::steps::SubAgentError;
use super::find_task::find_task;
use super::tool_call::McpToolCall;

pub(super) async fn workflow_state(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflow_id"], &[])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    Ok(task_state(&call, &id).await.unwrap_or_else(|fault| fault.into_json("error")))
}

async fn task_state(call: &McpToolCall<'_>, id: &str) -> Result<Value, SubAgentError> {
    find_task(call.backend, id).await?;
    let look =
        call.backend.handle().task_broker().task_status(id).ok_or_else(SubAgentError::unknown_workflow)?;
    let mut told = json!({
        "workflow_id": id,
        "current_step": look.current_step,
        "state": look.task.data,
        "completed_steps": look.completed,
        "remaining_steps": look.remaining_steps,
    });
    if !look.points.is_empty() {
        told["checkpoints"] = json!(look.points);
    }
    Ok(told)
}
