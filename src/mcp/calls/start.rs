//! Tools named after workflows, and `start_workflow`.

use serde_json::{Map, Value, json};

use super::super::arguments::{ToolArguments, check_size, missing_arguments};
use super::super::backend::{ClientStartedRun, OfferedWorkflow};
use super::super::client_hints::to_tool_calls;
use super::super::error::{McpCallError, ToolResultError, invalid_request_error, shorten_text};
use super::tool_call::McpToolCall;
use synthdev_domain::workflow::{SubAgents, WorkflowParameter};
use synthdev_service::definition_check::UnknownWorkflow;
use synthdev_service::definition_views::inputs;
use synthdev_service::run_start::{DelegationOptions, FileSharingMode};

pub(super) async fn start_workflow_call(
    offered: &OfferedWorkflow,
    mut call: McpToolCall<'_>,
) -> Result<Value, McpCallError> {
    let given = call.arguments.take().unwrap_or_default();
    let is_serial = call.backend.is_serial();
    let handed_out = DelegationOptions { sub_agents: SubAgents::Items, ack_steps: false, is_serial };
    start_workflow(offered, &given, true, handed_out, FileSharingMode::default(), &call).await
}

pub(super) async fn by_name(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let mut arguments = ToolArguments::from_request(
        call.arguments.take(),
        &["name"],
        &["inputs", "wait", "agent", "ack_steps", "files"],
    )?;
    let name = arguments.text("name")?.unwrap_or_default();
    let given = arguments.object("inputs")?;
    let wait = arguments.flag("wait", true)?;
    let sub_agents = match arguments.text("agent")?.as_deref() {
        None => SubAgents::Items,
        Some("@task") => SubAgents::Run,
        Some(_) => {
            let data = json!({"type": "wrong_argument", "argument": "agent"});
            return Err(invalid_request_error("`agent` must be @task, or left out", data));
        }
    };
    let (ack_steps, is_serial) = (arguments.flag("ack_steps", false)?, call.backend.is_serial());
    let handed_out = DelegationOptions { sub_agents, ack_steps, is_serial };
    let beside = parse_sharing_mode(arguments.text("files")?.as_deref())?;
    let all = call.backend.workflows();
    let Some(offered) = all.iter().find(|one| one.name == name) else {
        return Err(not_offered(&name, &call));
    };
    start_workflow(offered, &given, wait, handed_out, beside, &call).await
}

fn parse_sharing_mode(files: Option<&str>) -> Result<FileSharingMode, McpCallError> {
    Ok(match files {
        None | Some("alone") => FileSharingMode::Refused,
        Some("wait") => FileSharingMode::Waits,
        Some("share") => FileSharingMode::Shares,
        Some("isolate") => FileSharingMode::Isolated,
        Some(_) => {
            let data = json!({"type": "wrong_argument", "argument": "files"});
            return Err(invalid_request_error("`files` must be alone, wait, share or isolate", data));
        }
    })
}

async fn start_workflow(
    offered: &OfferedWorkflow,
    given: &Map<String, Value>,
    wait: bool,
    handed_out: DelegationOptions,
    beside: FileSharingMode,
    call: &McpToolCall<'_>,
) -> Result<Value, McpCallError> {
    check_size("inputs", &Value::Object(given.clone()))?;
    let values = input_values(&offered.inputs, given)?;
    // before the subscription: a request that only waits reads no events of others
    let turn = call.await_start_turn().await?;
    let events = call.backend.handle().subscribe(false);
    let ClientStartedRun { run, warnings } =
        call.backend.start(&offered.name, values, handed_out, beside).await?;
    let mut told =
        if wait { turn.spend_on(call.follow_run(&run, events)).await? } else { call.current_status(&run)? };
    let warnings = warnings.iter().map(|line| to_tool_calls(line));
    let warnings: Vec<String> = offered.start_warnings.iter().cloned().chain(warnings).collect();
    if !warnings.is_empty() {
        told["warnings"] = json!(warnings);
    }
    Ok(told)
}

fn input_values(
    declared: &[WorkflowParameter],
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, McpCallError> {
    inputs::from_values(declared, given).map_err(|error| {
        if error.is_missing() {
            let missing: Vec<&str> = error.missing.iter().map(String::as_str).collect();
            return missing_arguments(&missing);
        }
        let data = json!({"type": "wrong_argument", "argument": shorten_text(&error.parameter)});
        invalid_request_error(format!("{}; {}", error.message, error.hint), data)
    })
}

fn not_offered(name: &str, call: &McpToolCall<'_>) -> McpCallError {
    match call.backend.broken_workflows().iter().find(|broken| broken.name == name) {
        Some(broken) => {
            ToolResultError::new("broken_workflow", "This workflow cannot be started", &broken.reason)
                .hint(Some("`synthdev check` lists its errors".to_owned()))
                .into()
        }
        None => {
            let offered = call.backend.workflows();
            let unknown =
                UnknownWorkflow::among(&shorten_text(name), offered.iter().map(|one| one.name.as_str()));
            let message = format!("{unknown}; {}", to_tool_calls(&unknown.hint()));
            invalid_request_error(message, json!({"type": "unknown_workflow"}))
        }
    }
}
