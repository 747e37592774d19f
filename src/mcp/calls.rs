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

pub(super) use self::tool_call::{McpToolCall, find_run};
use super::backend::OfferedWorkflow;
use super::error::McpCallError;
use super::tools::SystemTool;

/// Does what a system tool is for.
pub(super) async fn call_system_tool(tool: SystemTool, call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    match tool {
        SystemTool::ListWorkflows => list::list_workflows(call),
        SystemTool::StartWorkflow => start::by_name(call).await,
        SystemTool::ResumeWorkflow => resume::resume_workflow(call).await,
        SystemTool::ContinueWorkflow => continue_workflow::continue_workflow(call).await,
        SystemTool::GetWorkflowStatus => status::workflow_status(call).await,
        SystemTool::PauseWorkflow => pause::pause_workflow(call).await,
        SystemTool::CancelWorkflow => cancel::cancel_workflow(call).await,
        SystemTool::ListRuns => list::list_runs(call),
        SystemTool::GetNextStep => next_step::next_step(call).await,
        SystemTool::SubmitStepResult => submit_step::submit_step(call).await,
        SystemTool::GetWorkflowState => workflow_state::workflow_state(call).await,
        SystemTool::CheckpointWorkflow => checkpoint::checkpoint_workflow(call).await,
        SystemTool::RestoreWorkflow => checkpoint::restore_workflow(call).await,
        SystemTool::AgentLlm => agent_llm::respond_to_call(call).await,
    }
}

/// Starts the workflow of a tool and stays with it.
pub(super) async fn call_workflow_tool(
    offered: &OfferedWorkflow,
    call: McpToolCall<'_>,
) -> Result<Value, McpCallError> {
    start::start_workflow_call(offered, call).await
}
