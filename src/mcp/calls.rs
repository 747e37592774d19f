//! What each tool does.

mod agent_llm;
mod cancel;
mod checkpoint;
mod continue_workflow;
mod find_task;
mod list;
mod next_step;
mod pause;
mod recovered_calls;
mod resume;
mod start;
mod status;
mod submit_step;
mod tool_call;
mod workflow_state;

use serde_json::Value;

pub(super) use self::tool_call::{McpToolCall, run_of};
use super::backend::OfferedWorkflow;
use super::error::McpCallError;
use super::tools::SystemTool;

/// Does what a system tool is for.
pub(super) async fn system(tool: SystemTool, call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    match tool {
        SystemTool::ListWorkflows => list::workflows(call),
        SystemTool::StartWorkflow => start::by_name(call).await,
        SystemTool::ResumeWorkflow => resume::resume(call).await,
        SystemTool::ContinueWorkflow => continue_workflow::continue_workflow(call).await,
        SystemTool::GetWorkflowStatus => status::status(call).await,
        SystemTool::PauseWorkflow => pause::pause(call).await,
        SystemTool::CancelWorkflow => cancel::cancel(call).await,
        SystemTool::ListRuns => list::runs(call),
        SystemTool::GetNextStep => next_step::next_step(call).await,
        SystemTool::SubmitStepResult => submit_step::submit_step(call).await,
        SystemTool::GetWorkflowState => workflow_state::workflow_state(call).await,
        SystemTool::CheckpointWorkflow => checkpoint::keep(call).await,
        SystemTool::RestoreWorkflow => checkpoint::restore(call).await,
        SystemTool::AgentLlm => agent_llm::respond(call).await,
    }
}

/// Starts the workflow of a tool and stays with it.
pub(super) async fn workflow(
    offered: &OfferedWorkflow,
    call: McpToolCall<'_>,
) -> Result<Value, McpCallError> {
    start::workflow(offered, call).await
}
