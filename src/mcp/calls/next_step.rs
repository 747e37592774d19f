//! `get_next_step`: the step that a sub-agent is to do now.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::error::McpCallError;
use super::super::steps::{MOST_STEPS, SubAgentError, completed_step_json, step_json};
use super::find_task::{FoundTask, find_task, worker_id};
use super::tool_call::McpToolCall;
use synthdev_domain::journal::RunStatus;
use synthdev_service::delegated_work::task_queue::{NextAssignment, TaskOutcome};

/// What the run does itself between two steps mostly takes less.
const SOON: Duration = Duration::from_millis(1_000);
const RETRY_AFTER_MS: u64 = 1_000;
/// Retry delay while the user must decide something first.
const LATER_MS: u64 = 10_000;

pub(super) async fn next_step(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let optional = ["worker_id", "max_steps"];
    let mut arguments = ToolArguments::from_request(call.arguments.take(), &["workflow_id"], &optional)?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let worker = worker_id(&mut arguments)?;
    let most = arguments.take_count("max_steps", 1, MOST_STEPS)?;
    Ok(next_steps(&call, &id, &worker, most).await.unwrap_or_else(|fault| fault.into_json("error")))
}

/// `most`: so many steps of one kind, where they are ready together.
pub(super) async fn next_steps(
    call: &McpToolCall<'_>,
    id: &str,
    worker: &str,
    most: usize,
) -> Result<Value, SubAgentError> {
    let reached = find_task(call.backend, id).await?;
    let handle = call.backend.handle();
    let broker = handle.task_broker();
    let mut news = broker.watch();
    let soon = tokio::time::Instant::now() + SOON;
    loop {
        news.mark_unchanged();
        match broker.next_assignment(id, worker, most, handle.now()) {
            NextAssignment::Unknown => return Err(SubAgentError::unknown_workflow()),
            NextAssignment::Ended(TaskOutcome::Complete(result)) => {
                return Ok(json!({"status": "complete", "final_result": result}));
            }
            NextAssignment::Ended(TaskOutcome::Failed { code, text }) => {
                return Err(SubAgentError::from_end(&code, &text));
            }
            NextAssignment::Told(told, further) => {
                return Ok(pending_step(
                    &completed_step_json(&told),
                    further.iter().map(completed_step_json).collect(),
                ));
            }
            NextAssignment::Step(..) | NextAssignment::Waiting if !reached.is_driven_here => {
                return driven_elsewhere_error(&reached);
            }
            NextAssignment::Step(handed, further) => {
                let task = broker.task_status(id).map(|look| look.task.name).unwrap_or_default();
                let further = further.iter().map(|handed| step_json(handed, id, &task)).collect();
                return Ok(pending_step(&step_json(&handed, id, &task), further));
            }
            NextAssignment::Waiting => {}
        }
        tokio::select! {
            changed = news.changed() => if changed.is_err() { break },
            () = tokio::time::sleep_until(soon) => break,
            () = call.client.context.ct.cancelled() => break,
        }
    }
    Ok(json!({"status": "waiting", "retry_after_ms": RETRY_AFTER_MS}))
}

fn pending_step(step: &Value, further: Vec<Value>) -> Value {
    let mut told = json!({"status": "pending_step", "step": step});
    if !further.is_empty() {
        told["further_steps"] = Value::Array(further);
    }
    told
}

/// The run is not driven here.
fn driven_elsewhere_error(reached: &FoundTask) -> Result<Value, SubAgentError> {
    match reached.run.progress.status {
        RunStatus::Paused => {
            let message = "the user must decide something before the workflow continues";
            Ok(json!({"status": "waiting", "retry_after_ms": LATER_MS, "message": message}))
        }
        _ => Err(SubAgentError::new("not_running", "another process works on this workflow; ask its server")),
    }
}
