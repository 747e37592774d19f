//! The description of delegated tasks for the client that started the run.

use serde_json::{Map, Value, json};

use super::super::response::{SUB_AGENTS, head_fields};
use super::prompt::task_prompt;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_service::delegated_work::task_queue::DelegatedTaskInfo;

const MESSAGE: &str = "Start a sub-agent for each of subAgents that is not `started`, with its prompt. They work through \
    get_next_step and submit_step_result. get_workflow_status with \"wait\": true answers when the workflow has ended, \
    waits for you, or has new tasks.";

/// `debug`: adds instructions for sub-agents on how to diagnose a task.
pub(crate) fn add_task_fields(
    run: &RunSummary,
    tasks: &[DelegatedTaskInfo],
    program: &WorkflowProgram,
    debug: bool,
) -> Value {
    let mut fields: Map<String, Value> = head_fields(SUB_AGENTS, run);
    let all: Vec<Value> = tasks.iter().map(|task| task_json(task, program, debug)).collect();
    fields.insert("subAgents".to_owned(), Value::Array(all));
    fields.insert("message".to_owned(), json!(MESSAGE));
    Value::Object(fields)
}

fn task_json(task: &DelegatedTaskInfo, program: &WorkflowProgram, debug: bool) -> Value {
    let mut told = json!({
        "workflow_id": task.id,
        "task": task.task.name,
        "started": task.has_contact,
    });
    if let Some(name) = &task.task.sub_agent {
        told["agent"] = json!(name);
    }
    if let Some(index) = task.task.index {
        told["index"] = json!(index);
        told["total"] = json!(task.task.total);
    }
    if !task.has_contact {
        told["prompt"] = json!(task_prompt(task, program, debug));
    }
    told
}
