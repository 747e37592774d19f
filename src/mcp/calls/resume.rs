//! `resume_workflow`: the results of what a run asked for, with the token that it gave.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::super::arguments::{ToolArguments, check_size, missing_arguments};
use super::super::await_run::run_summary;
use super::super::client_hints::IN_A_TERMINAL;
use super::super::error::{
    McpCallError, ToolResultError, from_token_error, invalid_request_error, token_of_other_project,
};
use super::super::response::{ANSWER, action_json, may_answer};
use super::tool_call::McpToolCall;
use synthdev_domain::journal::{OpenPause, RunStatus};
use synthdev_service::run_place::{RunOperation, RunPlace};
use synthdev_service::run_resume::{TokenError, allows_rest_of_run, answer_key, redeem_token};

pub(super) async fn resume_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let (token, results) = parse_arguments(&mut call)?;
    let backend = call.backend;
    let (run, pause) =
        backend.handle().pause_for_token(&token).map_err(|error| from_token_error(error, &[]))?;
    backend.handle().refresh_from_server(run.as_str()).await;
    let before = run_summary(backend.handle(), &run)?;
    RunPlace::of_run(&before, backend.project())
        .check_project(&run, RunOperation::Resume)
        .map_err(|error| token_of_other_project(&error, &run))?;
    // an answered pause, or one of a run that has continued, is not open any more
    let pause = before.progress.pauses.iter().find(|open| open.call == pause);
    let pause = pause.filter(|_| before.progress.status == RunStatus::Paused);
    let missing = pause.map(|pause| missing_answers(pause, &results)).unwrap_or_default();
    let (handle, going) = backend.prepare_resume(&before)?;
    let events = handle.subscribe(false);
    // asked of the pause that is answered: a run that was cut off has open ones, too
    let remote = backend.remote_approvals();
    let (asked, given) = (results.clone(), results);
    let may = |pause: &OpenPause| refusal_reason(pause, &given, remote).is_none();
    let redeemed = redeem_token(&handle, &token, asked, going, &may).await.map_err(|error| {
        let why = if let TokenError::Forbidden(pause) = &error {
            refusal_reason(pause, &given, remote)
        } else {
            None
        };
        why.unwrap_or_else(|| from_token_error(error, &missing))
    })?;
    let again = redeemed.earlier_answer.is_some();
    let mut answer = if again && !handle.running_runs().contains(&run) {
        call.current_status(&run)?
    } else {
        call.follow_run(&run, events).await?
    };
    if again {
        answer["duplicate"] = json!(true);
    }
    if !redeemed.ignored_names.is_empty() {
        answer["ignoredResults"] = json!(redeemed.ignored_names);
    }
    Ok(answer)
}

fn parse_arguments(call: &mut McpToolCall<'_>) -> Result<(String, Value), McpCallError> {
    let given = call.arguments.take().map(gather_results);
    let there =
        |name: &str| given.as_ref().and_then(|given| given.get(name)).is_some_and(|value| !value.is_null());
    let mut missing = Vec::new();
    if !there("resumeToken") {
        missing.push("resumeToken");
    }
    if !there("results") && !there("stepData") {
        missing.push("results");
    }
    if !missing.is_empty() {
        return Err(missing_arguments(&missing));
    }
    let mut arguments = ToolArguments::from_request(given, &["resumeToken"], &["results", "stepData"])?;
    let name = match (arguments.has_argument("results"), arguments.has_argument("stepData")) {
        (true, true) => {
            let message = "give `results` or `stepData`, not both";
            return Err(invalid_request_error(
                message,
                json!({"type": "wrong_argument", "argument": "stepData"}),
            ));
        }
        (true, false) => "results",
        (false, _) => "stepData",
    };
    let token = arguments.text("resumeToken")?.unwrap_or_default();
    let results = arguments.remove_value(name);
    if !results.is_object() {
        return Err(invalid_request_error(
            format!("`{name}` must be an object"),
            json!({"type": "wrong_argument", "argument": name}),
        ));
    }
    check_size(name, &results)?;
    Ok((token, results))
}

/// Results beside the token count as `results`; the token may be called `workflowId` then.
fn gather_results(mut given: JsonObject) -> JsonObject {
    let there = |name: &str| given.get(name).is_some_and(|value| !value.is_null());
    if there("results") || there("stepData") {
        return given;
    }
    let token = if there("resumeToken") { "resumeToken" } else { "workflowId" };
    let Some(token) = given.shift_remove(token) else { return given };
    given.retain(|name, value| !(matches!(name.as_str(), "results" | "stepData") && value.is_null()));
    let mut gathered = JsonObject::new();
    gathered.insert("resumeToken".to_owned(), token);
    if !given.is_empty() {
        gathered.insert("results".to_owned(), Value::Object(given));
    }
    gathered
}

/// A token gives no right to a decision that only the user may take.
fn refusal_reason(pause: &OpenPause, results: &Value, remote_approvals: bool) -> Option<McpCallError> {
    if !may_answer(pause, remote_approvals) {
        let detail = format!("state `{}` waits for the user: {}", pause.state, pause.message);
        // not a hint that names a tool: the answer has to come from the user
        let hint = format!(
            "{IN_A_TERMINAL}`synthdev resume` answers it; a server started with --remote-approvals lets clients do so"
        );
        let problem = ToolResultError::new("not_permitted", "The user must decide this", detail);
        return Some(problem.hint(Some(hint)).into());
    }
    if allows_rest_of_run(pause, results) {
        let detail = "a client allows or denies this one call";
        return Some(
            ToolResultError::new("not_permitted", "Approvals cannot be widened from here", detail).into(),
        );
    }
    None
}

/// Missing answers, by the names that the client got.
fn missing_answers(pause: &OpenPause, results: &Value) -> Vec<String> {
    let outputs = action_json(pause)["requiredOutputs"].clone();
    let absent = |name: &&str| match *name {
        ANSWER if pause.required_outputs.is_empty() => answer_key(results).is_none(),
        name => results.get(name).is_none_or(Value::is_null),
    };
    let names = outputs.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter(absent).map(str::to_owned).collect()
}
