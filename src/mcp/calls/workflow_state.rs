//! `get_workflow_state`: how a task stands, for whoever looks for what is wrong.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::McpCallError;
use super::super::steps::SubAgentError;
use super::find_task::find_task;
use super::tool_call::McpToolCall;

pub(super) async fn workflow_state(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::read(call.arguments.take(), &["workflow_id"], &[])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    Ok(look(&call, &id).await.unwrap_or_else(|fault| fault.into_json("error")))
}

async fn look(call: &McpToolCall<'_>, id: &str) -> Result<Value, SubAgentError> {
    find_task(call.backend, id).await?;
    let look = call.backend.handle().task_broker().task_status(id).ok_or_else(SubAgentError::unknown)?;
    let mut told = json!({
        "workflow_id": id,
        "current_step": look.current,
        "state": look.errand.data,
        "completed_steps": look.completed,
        "remaining_steps": look.remaining,
    });
    if !look.points.is_empty() {
        told["checkpoints"] = json!(look.points);
    }
    Ok(told)
}
