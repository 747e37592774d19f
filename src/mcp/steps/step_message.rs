//! A step as a sub-agent gets it.

use serde_json::{Value, json};

use super::super::response::{action_json, llm_request_json};
use synthdev_domain::journal::OpenPause;
use synthdev_service::delegated_work::task_queue::{
    AckedAction, AssignedAck, AssignedStep, TaskStepKind, TaskStepWork, step_id,
};

/// `task` is the name under which the sub-agent knows its work, `id` its workflow id: the message has nothing else
/// about the work around it.
pub(crate) fn step_json(handed: &AssignedStep, id: &str, task: &str) -> Value {
    let step = &handed.step;
    let kind = step.work.kind();
    let parameters = match &step.work {
        TaskStepWork::Tool(invocation) => invocation.arguments.clone(),
        TaskStepWork::Model(request) => llm_request_json(request, task, &format!("{id}/{}", request.agent)),
        TaskStepWork::Prompt(pause) if kind == TaskStepKind::Request => action_json(pause),
        TaskStepWork::Prompt(pause) => prompt_message(pause),
    };
    let kind = match kind {
        TaskStepKind::Command => "shell",
        TaskStepKind::McpCall => "mcp_call",
        TaskStepKind::Model => "llm_call",
        TaskStepKind::Question => "prompt",
        TaskStepKind::Request => "delegate",
    };
    json!({
        "step_id": step_id(step.call),
        "type": kind,
        "parameters": parameters,
        "timeout": handed.lease_ms.div_ceil(1_000),
        "state": step.state,
        "attempt": handed.attempt,
        "state_version": handed.version,
    })
}

/// What the server has done itself: to be acknowledged, with whatever result.
pub(crate) fn completed_step_json(told: &AssignedAck) -> Value {
    let (kind, parameters) = match &told.ack.action {
        AckedAction::Set { set, removed } if removed.is_empty() => ("set_state", json!({"updates": set})),
        AckedAction::Set { set, removed } => ("set_state", json!({"updates": set, "removed": removed})),
        AckedAction::Returned(result) => ("return", json!({"result": result})),
    };
    json!({
        "step_id": told.ack.id(),
        "type": kind,
        "parameters": parameters,
        "timeout": told.lease_ms.div_ceil(1_000),
        "state": told.ack.state,
        "attempt": 1,
        "state_version": told.version,
    })
}

fn prompt_message(pause: &OpenPause) -> Value {
    let kind = pause.kind.as_deref().unwrap_or("text");
    let kind = if kind == "boolean" { "confirm" } else { kind };
    let mut parameters = json!({"prompt_type": kind, "message": pause.message});
    if !pause.choices.is_empty() {
        parameters["choices"] = json!(pause.choices);
    }
    for (name, value) in [("schema", &pause.schema), ("default", &pause.default)] {
        if let Some(value) = value {
            parameters[name] = value.clone();
        }
    }
    parameters
}
