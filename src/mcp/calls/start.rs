//! Tools named after workflows, and `start_workflow`.

use serde_json::{Map, Value, json};

use super::super::arguments::{Arguments, missing_arguments, of_a_size};
use super::super::backend::{Beside, HandedOut, Offered};
use super::super::refusal::{Problem, Refusal, invalid, short};
use super::call::Call;
use crate::config::inputs;
use crate::domain::workflow::{Parameter, SubAgents};

pub(super) async fn workflow(offered: &Offered, mut call: Call<'_>) -> Result<Value, Refusal> {
    let given = call.arguments.take().unwrap_or_default();
    let handed_out = HandedOut { to: SubAgents::Items, ack_steps: false };
    start(offered, &given, (true, handed_out, Beside::default()), &call).await
}

pub(super) async fn by_name(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(
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
            return Err(invalid("`agent` must be @task, or left out", data));
        }
    };
    let handed_out = HandedOut { to: sub_agents, ack_steps: arguments.flag("ack_steps", false)? };
    let beside = beside(arguments.text("files")?.as_deref())?;
    let all = call.backend.workflows();
    let Some(offered) = all.iter().find(|one| one.name == name) else {
        return Err(not_offered(&name, &call));
    };
    start(offered, &given, (wait, handed_out, beside), &call).await
}

fn beside(files: Option<&str>) -> Result<Beside, Refusal> {
    Ok(match files {
        None | Some("alone") => Beside::Refused,
        Some("wait") => Beside::Waits,
        Some("share") => Beside::Shares,
        Some("isolate") => Beside::Isolated,
        Some(_) => {
            let data = json!({"type": "wrong_argument", "argument": "files"});
            return Err(invalid("`files` must be alone, wait, share or isolate", data));
        }
    })
}

async fn start(
    offered: &Offered,
    given: &Map<String, Value>,
    (wait, handed_out, beside): (bool, HandedOut, Beside),
    call: &Call<'_>,
) -> Result<Value, Refusal> {
    of_a_size("inputs", &Value::Object(given.clone()))?;
    let values = values(&offered.inputs, given)?;
    let events = call.backend.handle().subscribe(false);
    let run = call.backend.start(&offered.name, values, handed_out, beside).await?;
    let mut told = if wait { call.follow(&run, events).await? } else { call.now(&run)? };
    if !offered.start_warnings.is_empty() {
        told["warnings"] = json!(offered.start_warnings);
    }
    Ok(told)
}

fn values(declared: &[Parameter], given: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let absent = |input: &&Parameter| given.get(&input.name).is_none_or(Value::is_null);
    let required = declared.iter().filter(|input| input.required);
    let missing: Vec<&str> = required.filter(absent).map(|input| input.name.as_str()).collect();
    if !missing.is_empty() {
        return Err(missing_arguments(&missing));
    }
    inputs::from_values(declared, given).map_err(|error| {
        let data = json!({"type": "wrong_argument", "argument": short(&error.parameter)});
        invalid(format!("{}; {}", error.message, error.hint), data)
    })
}

fn not_offered(name: &str, call: &Call<'_>) -> Refusal {
    match call.backend.broken().iter().find(|broken| broken.name == name) {
        Some(broken) => Problem::new("broken_workflow", "This workflow cannot be started", &broken.why)
            .hint(Some("`synthdev check` tells all that is wrong with it".to_owned()))
            .into(),
        None => {
            let hint = "list_workflows has their names";
            invalid(format!("Unknown workflow: {}; {hint}", short(name)), json!({"type": "unknown_workflow"}))
        }
    }
}
