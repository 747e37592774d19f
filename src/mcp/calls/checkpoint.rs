//! `checkpoint_workflow` and `restore_workflow`: stores the state of a task, and restores it.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::{McpCallError, invalid_request_error};
use super::super::steps::SubAgentError;
use super::find_task::find_task;
use super::tool_call::McpToolCall;
use synthdev_service::delegated_work::MAX_CHECKPOINTS;
use synthdev_service::delegated_work::task_queue::{DelegatedTaskStatus, SubmitError};
use synthdev_service::run_control::command_driven_run;
use synthdev_service::run_steering::{RunCommand, SteeringAction};

/// The run does it between two inputs; it may have much to do before.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of a name, in characters.
const LONGEST: usize = 64;

pub(super) async fn checkpoint_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments =
        ToolArguments::from_request(call.arguments.take(), &["workflow_id"], &["checkpoint"])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let name = checkpoint_name(&mut arguments)?;
    Ok(save_checkpoint(&call, &id, name).await.unwrap_or_else(|fault| fault.into_json("error")))
}

pub(super) async fn restore_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments =
        ToolArguments::from_request(call.arguments.take(), &["workflow_id", "checkpoint"], &[])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let name = checkpoint_name(&mut arguments)?.unwrap_or_default();
    Ok(restore_checkpoint(&call, &id, name).await.unwrap_or_else(|fault| fault.into_json("error")))
}

fn checkpoint_name(arguments: &mut ToolArguments) -> Result<Option<String>, McpCallError> {
    let name = arguments.text("checkpoint")?;
    if name.as_ref().is_some_and(|name| name.trim().is_empty() || name.chars().count() > LONGEST) {
        let message = format!("`checkpoint` must be a name of 1 to {LONGEST} characters");
        return Err(invalid_request_error(
            message,
            json!({"type": "wrong_argument", "argument": "checkpoint"}),
        ));
    }
    Ok(name)
}

async fn save_checkpoint(
    call: &McpToolCall<'_>,
    id: &str,
    name: Option<String>,
) -> Result<Value, SubAgentError> {
    let look = open_task(call, id).await?;
    if matches!(look.remaining_steps, None | Some(0)) {
        let text = "nothing waits for you at this moment; call get_next_step, then this again";
        return Err(SubAgentError::new("no_step", text));
    }
    let free = |number: &usize| !look.points.contains(&format!("checkpoint-{number}"));
    let name = name.unwrap_or_else(|| {
        let number = (1..).find(free).unwrap_or_default();
        format!("checkpoint-{number}")
    });
    if look.points.contains(&name) {
        return Err(SubAgentError::new(
            "checkpoint_exists",
            format!("there is a checkpoint `{name}` already"),
        ));
    }
    if look.points.len() >= MAX_CHECKPOINTS {
        let text = format!("a task has at most {MAX_CHECKPOINTS} checkpoints");
        return Err(SubAgentError::new("too_many_checkpoints", text));
    }
    let steering = SteeringAction::Keep { lane: look.branch_id, name: name.clone() };
    let there = |now: &DelegatedTaskStatus| now.points.contains(&name);
    let now = steer_and_wait(call, id, steering, there).await?;
    Ok(json!({"status": "stored", "workflow_id": id, "checkpoint": name, "state_version": now.version}))
}

async fn restore_checkpoint(call: &McpToolCall<'_>, id: &str, name: String) -> Result<Value, SubAgentError> {
    let look = open_task(call, id).await?;
    if !look.points.contains(&name) {
        let text = match look.points.as_slice() {
            [] => "this task has no checkpoint".to_owned(),
            known => format!("there is no such checkpoint; there are {}", known.join(", ")),
        };
        return Err(SubAgentError::new("unknown_checkpoint", text));
    }
    let before = look.restore_count;
    let steering = SteeringAction::GoBack { lane: look.branch_id, name: name.clone() };
    let now =
        steer_and_wait(call, id, steering, |now| now.restore_count > before && now.current_step.is_some())
            .await?;
    Ok(json!({
        "status": "restored",
        "workflow_id": id,
        "checkpoint": name,
        "current_step": now.current_step,
        "state": now.task.data,
        "state_version": now.version,
    }))
}

/// A task that is not done, of a run that is driven here.
async fn open_task(call: &McpToolCall<'_>, id: &str) -> Result<DelegatedTaskStatus, SubAgentError> {
    let reached = find_task(call.backend, id).await?;
    let look =
        call.backend.handle().task_broker().task_status(id).ok_or_else(SubAgentError::unknown_workflow)?;
    if let Some(ended) = look.outcome {
        return Err(SubAgentError::from_submit_error(SubmitError::Over(ended)));
    }
    if reached.is_driven_here {
        Ok(look)
    } else {
        Err(SubAgentError::from_submit_error(SubmitError::NotRunning))
    }
}

/// Has the run do it, and waits until it has.
async fn steer_and_wait(
    call: &McpToolCall<'_>,
    id: &str,
    steering: SteeringAction,
    there: impl Fn(&DelegatedTaskStatus) -> bool,
) -> Result<DelegatedTaskStatus, SubAgentError> {
    let handle = call.backend.handle();
    let broker = handle.task_broker();
    let mut news = broker.watch();
    let run = broker.run_for_task(id).ok_or_else(SubAgentError::unknown_workflow)?;
    command_driven_run(handle, &run, RunCommand::Steer(steering));
    let wait = async {
        loop {
            news.mark_unchanged();
            let now = broker.task_status(id).ok_or_else(SubAgentError::unknown_workflow)?;
            if there(&now) {
                return Ok(now);
            }
            if news.changed().await.is_err() {
                return Err(SubAgentError::from_submit_error(SubmitError::NotRunning));
            }
        }
    };
    let text = "the task is between two steps; call get_next_step, then this again";
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| Err(SubAgentError::new("no_step", text)))
}
