//! The prompt of a new sub-agent: five parts, and nothing about the work around its task.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use synthdev_domain::workflow::{
    PauseKind, StateBody, StateSpec, ValueSource, Workflow, WorkflowProgram, plain_text,
};
use synthdev_service::delegated_work::DelegatedTask;
use synthdev_service::delegated_work::task_queue::DelegatedTaskInfo;

/// Facts of an item that are elsewhere in the prompt.
const FACTS: [&str; 5] = ["item", "index", "total", "is_first", "is_last"];

pub(super) fn task_prompt(task: &DelegatedTaskInfo, program: &WorkflowProgram, debug: bool) -> String {
    let delegated_task = &task.task;
    let workflow = program.workflows.get(delegated_task.workflow.0);
    let name = &delegated_task.name;
    let ack_steps = program.workflows.first().is_some_and(|root| root.ack_steps);
    let mut parts = vec![prompt_rules(&task.id, name, delegated_task, ack_steps)];
    parts.push(format!(
        "## Your task\n{}",
        task_description(delegated_task, workflow.map(|workflow| &**workflow))
    ));
    let scope = workflow.map(|workflow| TaskStates { workflow, prefix: &delegated_task.scope });
    parts.push(format!("## Available tools\n{}", scope.as_ref().map(needed_tools).unwrap_or_default()));
    parts.push(format!("## State\n{}", visible_state_text(delegated_task)));
    parts.push(format!(
        "## Success\n{}",
        success_instructions(delegated_task, workflow.map(|workflow| &**workflow))
    ));
    if debug {
        parts.push(HINTS.to_owned());
    }
    parts.push("Begin by calling get_next_step with your workflow ID.".to_owned());
    parts.join("\n\n")
}

const HINTS: &str = "## If something is wrong\n\
    get_workflow_state(workflow_id) shows your state, the step you are at and those that are done. An error has a `code` \
    and says what to do. Tasks are given out one at a time on this server.";

fn prompt_rules(id: &str, name: &str, delegated_task: &DelegatedTask, ack_steps: bool) -> String {
    let agent =
        delegated_task.sub_agent.as_ref().map(|agent| format!("- Agent: {agent}\n")).unwrap_or_default();
    let own = if ack_steps {
        "- set_state: Acknowledge state updates (server handles internally): submit {}\n\
         \x20  - return: Acknowledge completion: submit {}\n\
         \x20  - condition: The server does it itself; you get none"
    } else {
        "- set_state, condition, return: The server does them itself; you get none"
    };
    format!(
        "<workflow-server-rules>\n\
         You are executing a workflow task through the workflow server.\n\
         You must call the workflow server to get each next step to execute.\n\n\
         ## How to interact with the workflow server:\n\
         1. Call `get_next_step(workflow_id)` to receive the next workflow step\n\
         2. Execute the step based on its type:\n\
         \x20  - shell: Execute the command and return stdout/stderr/exit_code\n\
         \x20  - mcp_call: Call the specified MCP tool with parameters and return `data` or `error`\n\
         \x20  - prompt: Show the message to your user and return `confirmed`, `input` or `choice`\n\
         \x20  - llm_call: Answer the messages and return `text`, `object` or `toolCalls`\n\
         \x20  - delegate: Do what the prompt says and return every one of requiredOutputs\n\
         \x20  {own}\n\
         3. Call `submit_step_result(workflow_id, step_id, result)` with the result\n\
         4. Repeat until you receive {{status: \"complete\"}}. On {{status: \"waiting\"}} call get_next_step again\n\
         \x20  after `retry_after_ms`\n\n\
         ## Workflow Context:\n\
         - Workflow ID: {id}\n\
         - Task: {name}\n\
         {agent}\
         - Input: {}\n\
         </workflow-server-rules>",
        plain_text(&delegated_task.item)
    )
}

fn task_description(delegated_task: &DelegatedTask, workflow: Option<&Workflow>) -> String {
    let called = workflow.filter(|_| delegated_task.scope.is_empty());
    let described = called.map(|workflow| workflow.description.as_str()).filter(|text| !text.is_empty());
    let name = &delegated_task.name;
    let mut lines = vec![match described {
        Some(text) => format!("{name}: {text}"),
        None => name.clone(),
    }];
    if !delegated_task.description.is_empty() {
        lines.push(delegated_task.description.clone());
    }
    if let Some(index) = delegated_task.index {
        lines.push(format!("It is item {} of {}. Do only this one.", index + 1, delegated_task.total));
    }
    lines.join("\n")
}

/// The states of a task.
struct TaskStates<'w> {
    workflow: &'w Workflow,
    prefix: &'w str,
}

impl TaskStates<'_> {
    fn states(&self) -> impl Iterator<Item = &StateSpec> {
        self.workflow.states.iter().filter(|state| state.name.starts_with(self.prefix))
    }
}

/// What its steps need, by what kind of work it is.
fn needed_tools(scope: &TaskStates<'_>) -> String {
    let mut lines = vec!["- get_next_step, submit_step_result: always".to_owned()];
    let mut seen = BTreeSet::new();
    for state in scope.states() {
        let line = match &state.work {
            StateBody::Action(_) if state.runs_here => continue,
            StateBody::Action(step) if step.tool == "shell" => "- a shell, for shell steps".to_owned(),
            StateBody::Action(step) if step.tool == "mcp" => {
                let said = |name: &str| {
                    let given = step.arguments.iter().find(|(path, _)| path.len() == 1 && path[0] == name);
                    match given.map(|(_, input)| input) {
                        Some(ValueSource::Text(text)) => text.clone(),
                        _ => "…".to_owned(),
                    }
                };
                format!("- MCP: {} of server {}, for mcp_call steps", said("tool"), said("server"))
            }
            StateBody::Agent { agent, .. } => match scope.workflow.agent(*agent) {
                Some(agent) => format!(
                    "- your own words as {}, for llm_call steps; tools that you call there are run by the server",
                    agent.id
                ),
                None => continue,
            },
            StateBody::Pause(pause) => match &pause.request {
                Some(request) => request
                    .available_tools
                    .iter()
                    .map(|tool| format!("- {tool}, for delegate steps"))
                    .collect::<Vec<_>>()
                    .join("\n"),
                None if pause.kind == PauseKind::Approval => continue,
                None => "- your user, for prompt steps".to_owned(),
            },
            _ => continue,
        };
        if !line.is_empty() && seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// What the loop lets it see (`needs_state`), and nothing else.
fn visible_state_text(delegated_task: &DelegatedTask) -> String {
    let shown: Map<String, Value> = delegated_task
        .data
        .iter()
        .filter(|(key, value)| {
            delegated_task.index.is_some() && !FACTS.contains(&key.as_str()) && **value != delegated_task.item
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if shown.is_empty() {
        "Nothing but your input.".to_owned()
    } else {
        format!("{:#}", Value::Object(shown))
    }
}

fn success_instructions(delegated_task: &DelegatedTask, workflow: Option<&Workflow>) -> String {
    let mut lines = vec![
        "Every step is done and submitted, and get_next_step answers {status: \"complete\"}. Its final_result is what \
         you return."
            .to_owned(),
    ];
    let output =
        workflow.filter(|_| delegated_task.scope.is_empty()).and_then(|workflow| workflow.output.as_ref());
    if let Some(output) = output {
        let about =
            if output.description.is_empty() { String::new() } else { format!(": {}", output.description) };
        lines.push(format!("It is a {} ({}){about}", output.kind.as_str(), output.name));
    }
    lines.join("\n")
}
