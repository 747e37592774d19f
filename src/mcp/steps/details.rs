//! A step as a sub-agent gets it (S4.4, S4.13).

use serde_json::{Value, json};

use super::super::answer::{action, asked};
use crate::domain::journal::OpenPause;
use crate::runtime::errands::{Done, Handed, Kind, Told, Work, step_id};

/// `task` is the name under which the sub-agent knows its work, `id` its workflow id: nothing else of what is around it
/// is told.
pub(in crate::mcp) fn of_step(handed: &Handed, id: &str, task: &str) -> Value {
    let step = &handed.step;
    let kind = step.work.kind();
    let parameters = match &step.work {
        Work::Tool(invocation) => invocation.arguments.clone(),
        Work::Model(request) => asked(request, task, &format!("{id}/{}", request.agent)),
        Work::Prompt(pause) if kind == Kind::Request => action(pause),
        Work::Prompt(pause) => prompt(pause),
    };
    let kind = match kind {
        Kind::Command => "shell",
        Kind::McpCall => "mcp_call",
        Kind::Model => "llm_call",
        Kind::Question => "prompt",
        Kind::Request => "delegate",
    };
    json!({
        "step_id": step_id(step.call),
        "type": kind,
        "parameters": parameters,
        "timeout": handed.lasts_ms.div_ceil(1_000),
        "state": step.state,
        "attempt": handed.attempt,
        "state_version": handed.version,
    })
}

/// What the server has done itself: to be acknowledged, with whatever result (D3).
pub(in crate::mcp) fn of_told(told: &Told) -> Value {
    let (kind, parameters) = match &told.ack.done {
        Done::Set { set, removed } if removed.is_empty() => ("set_state", json!({"updates": set})),
        Done::Set { set, removed } => ("set_state", json!({"updates": set, "removed": removed})),
        Done::Returned(result) => ("return", json!({"result": result})),
    };
    json!({
        "step_id": told.ack.id(),
        "type": kind,
        "parameters": parameters,
        "timeout": told.lasts_ms.div_ceil(1_000),
        "state": told.ack.state,
        "attempt": 1,
        "state_version": told.version,
    })
}

fn prompt(pause: &OpenPause) -> Value {
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
