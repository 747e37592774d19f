//! What each tool does.

mod agent;
mod call;
mod cancel;
mod carry_on;
mod checkpoint;
mod list;
mod next_step;
mod pause;
mod reach;
mod resume;
mod revived;
mod start;
mod status;
mod submit_step;
mod workflow_state;

use serde_json::Value;

pub(super) use self::call::{Call, run_of};
use super::backend::Offered;
use super::refusal::Refusal;
use super::tools::System;

/// Does what a system tool is for.
pub(super) async fn system(tool: System, call: Call<'_>) -> Result<Value, Refusal> {
    match tool {
        System::ListWorkflows => list::workflows(call),
        System::StartWorkflow => start::by_name(call).await,
        System::ResumeWorkflow => resume::resume(call).await,
        System::ContinueWorkflow => carry_on::carry_on(call).await,
        System::GetWorkflowStatus => status::status(call).await,
        System::PauseWorkflow => pause::pause(call).await,
        System::CancelWorkflow => cancel::cancel(call).await,
        System::ListRuns => list::runs(call),
        System::GetNextStep => next_step::next_step(call).await,
        System::SubmitStepResult => submit_step::submit_step(call).await,
        System::GetWorkflowState => workflow_state::workflow_state(call).await,
        System::CheckpointWorkflow => checkpoint::keep(call).await,
        System::RestoreWorkflow => checkpoint::restore(call).await,
        System::AgentLlm => agent::respond(call).await,
    }
}

/// Starts the workflow of a tool and stays with it.
pub(super) async fn workflow(offered: &Offered, call: Call<'_>) -> Result<Value, Refusal> {
    start::workflow(offered, call).await
}
