//! The status of a run, as clients get it: completed, failed, waiting, running.

mod llm_directive;
mod pending_actions;
mod plain_text;

use std::collections::HashSet;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

pub(super) use self::llm_directive::{llm_request_json, opened_messages, required_decision};
pub(super) use self::pending_actions::{
    ANSWER, PendingAction, action_json, add_client_actions, asked_party, may_answer,
};
pub(super) use self::plain_text::SUB_AGENTS;
use super::client_hints::{IN_A_TERMINAL, to_tool_calls};
use super::error::ToolResultError;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::{PauseReason, RunStatus, RunSummary};
use synthdev_domain::project_lock::LockHolder;
use synthdev_domain::run_error::RunError;
use synthdev_service::delegated_work::delegated_calls::DelegatedCall;
use synthdev_service::run_place::RunOperation;

/// Where a run is found as a resource.
pub(super) const RUNS: &str = "synthdev://runs/";

/// The name of the state at which a list of states ends.
const END: &str = "stop";
/// Replaces the omitted part of a long path.
const CUT: &str = "…";

/// The status of a run. `offers` are its open pauses with their tokens.
pub(super) fn run_status_json(run: &RunSummary, offers: &[PendingAction]) -> Value {
    let mut fields = head_fields(status_text(run, offers), run);
    match run.progress.status {
        RunStatus::Completed => {
            fields.insert("success".to_owned(), json!(true));
            let output = run.progress.output.clone().unwrap_or_default();
            fields.insert("data".to_owned(), data_fields(&output));
            fields.insert("output".to_owned(), output);
        }
        RunStatus::Failed => add_failure_fields(run, &mut fields),
        RunStatus::Paused => pending_actions::add_action_fields(run, offers, &mut fields),
        RunStatus::Running => {
            fields.insert("currentStep".to_owned(), json!(run.progress.path.last()));
            pending_actions::add_running_fields(run, &mut fields);
        }
        RunStatus::Interrupted => {
            let message = "The run was interrupted. continue_workflow resumes it.";
            fields.insert("message".to_owned(), json!(message));
        }
        RunStatus::Cancelled => {
            fields.insert("success".to_owned(), json!(false));
            fields.insert("message".to_owned(), json!("The run was cancelled."));
        }
    }
    Value::Object(fields)
}

/// What a run asks its client's model, if it does.
pub(super) fn client_directive(run: &RunSummary, open: &[DelegatedCall], now: Timestamp) -> Option<Value> {
    let asked = llm_directive::add_directive_fields(run, open, now)?;
    let mut fields = head_fields(llm_directive::PENDING, run);
    fields.extend(asked);
    Some(Value::Object(fields))
}

/// Replaces what a run of a workflow is told to need: a conversation goes on where its user writes, also one whose last
/// message failed.
pub(super) fn add_conversation_message(run: &RunSummary, told: &mut Value) {
    let place = match run.progress.status {
        RunStatus::Running => "in the process that has it open".to_owned(),
        RunStatus::Failed if run.progress.pauses.is_empty() => return,
        RunStatus::Paused | RunStatus::Interrupted | RunStatus::Failed => {
            format!("at the screen, {IN_A_TERMINAL}synthdev {}", RunOperation::Reopen.command(&run.id))
        }
        RunStatus::Completed | RunStatus::Cancelled => return,
    };
    told["message"] = json!(format!("This is a conversation. Its user continues it {place}"));
}

/// Replaces what a run is told to need that waits for a tool to be allowed, where this server allows it.
pub(super) fn add_approval_message(run: &RunSummary, told: &mut Value) {
    let is_asked = run.progress.pauses.iter().any(|pause| pause.reason == PauseReason::Approval);
    if is_asked && run.progress.status == RunStatus::Paused && told["resumeToken"].is_null() {
        let message = "The workflow waits for a tool to be allowed. This server allows it (--yes): \
            continue_workflow resumes the workflow.";
        told["message"] = json!(message);
    }
}

/// Adds that the run continues when another one has ended.
pub(super) fn add_lock_wait(told: &mut Value, other: &LockHolder) {
    told["waitsForFiles"] =
        json!({"workflowId": other.run, "workflowName": other.workflow, "process": other.pid});
    if told["status"] == RunStatus::Running.as_str() {
        told["message"] = json!(format!(
            "It waits before it changes files: {other}. It continues when that run has ended; \
                get_workflow_status with \"wait\": true reports it."
        ));
    }
}

/// A refused call, with its reason. Every refusal comes through here, so hints are put in terms of tools here only.
pub(super) fn error_json(problem: ToolResultError) -> Value {
    let ToolResultError { code, title, detail, hint, extra_fields: more } = problem;
    let mut error = Map::new();
    error.insert("type".to_owned(), json!(code));
    error.insert("title".to_owned(), json!(title));
    error.insert("detail".to_owned(), json!(detail));
    if let Some(hint) = hint {
        error.insert("hint".to_owned(), json!(to_tool_calls(&hint)));
    }
    error.extend(more.as_object().cloned().unwrap_or_default());
    json!({"status": "error", "success": false, "error": error})
}

/// The result as structured content, and as text for clients that read only text.
pub(super) fn call_result(answer: Value) -> CallToolResult {
    let wrong = matches!(answer["status"].as_str(), Some("failed" | "error"));
    let mut result = CallToolResult::success(vec![ContentBlock::text(plain_text::readable_text(&answer))]);
    result.is_error = Some(wrong);
    result.structured_content = Some(answer);
    result
}

pub(super) fn head_fields(status: &str, run: &RunSummary) -> Map<String, Value> {
    let head = json!({
        "status": status,
        "workflowId": run.id,
        "workflowName": run.workflow,
        "completedSteps": completed_steps(run),
    });
    head.as_object().cloned().unwrap_or_default()
}

fn status_text(run: &RunSummary, offers: &[PendingAction]) -> &'static str {
    match run.progress.status {
        RunStatus::Paused if offers.iter().any(|offer| offer.token.is_some()) => pending_actions::AWAITING,
        status => status.as_str(),
    }
}

/// Fields of an output that is an object, else the output under its own name.
fn data_fields(output: &Value) -> Value {
    match output {
        Value::Object(_) => output.clone(),
        Value::Null => json!({}),
        other => json!({"output": other}),
    }
}

/// The names of states in the order of their visits, `name#2` for the second visit; without the states that the run, a
/// branch or an item is in, or was in when it was withdrawn.
fn completed_steps(run: &RunSummary) -> Vec<String> {
    let mut path: Vec<&str> = run.progress.path.iter().map(AsRef::as_ref).collect();
    if run.progress.status != RunStatus::Completed {
        remove_last_states(&mut path);
    }
    let mut visits = std::collections::HashMap::<&str, usize>::new();
    let numbered = path.into_iter().map(|state| {
        let visit = visits.entry(state).or_default();
        *visit += 1;
        if *visit == 1 { state.to_owned() } else { format!("{state}#{visit}") }
    });
    numbered.collect()
}

/// Takes out the last state of the run, of each branch, item and sub-workflow, unless it is its end: a state is left
/// when the next one of the same list is entered.
fn remove_last_states(path: &mut Vec<&str>) {
    let mut seen = HashSet::new();
    let is_last = |name: &str| {
        let (list, state) = name.rsplit_once('/').unwrap_or(("", name));
        state != CUT && seen.insert(list.to_owned()) && state != END
    };
    let last: Vec<bool> = path.iter().rev().copied().map(is_last).collect();
    let mut last = last.into_iter().rev();
    path.retain(|_| last.next() != Some(true));
}

fn add_failure_fields(run: &RunSummary, fields: &mut Map<String, Value>) {
    let error = run.progress.error.clone().unwrap_or_default();
    let causes = std::iter::successors(Some(&error), |error| error.cause.as_deref());
    let errors: Vec<Value> = causes.map(|cause| problem_json(run, cause)).collect();
    fields.insert("success".to_owned(), json!(false));
    fields.insert("failedStep".to_owned(), json!(error.state));
    fields.insert("error".to_owned(), problem_json(run, &error));
    fields.insert("errors".to_owned(), json!(errors));
    if !run.progress.pauses.is_empty() {
        let message = format!(
            "Retry the failed step with continue_workflow, or {IN_A_TERMINAL}synthdev runs retry {}",
            run.id
        );
        fields.insert("message".to_owned(), json!(message));
    }
}

fn problem_json(run: &RunSummary, error: &RunError) -> Value {
    let mut problem = json!({
        "type": error.code,
        "title": error.title,
        "detail": error.detail,
        "instance": format!("{RUNS}{}", run.id),
    });
    if let Some(hint) = &error.hint {
        problem["hint"] = json!(hint);
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_never_continued_by_a_client() {
        let open =
            json!([{"call": 1, "state": "talk", "reason": "error", "message": "no answer", "since": 0}]);
        let rows = [
            ("running", json!([]), "Its user continues it in the process that has it open"),
            ("paused", open.clone(), "in a terminal: synthdev --resume r1"),
            ("failed", open, "in a terminal: synthdev --resume r1"),
            ("failed", json!([]), ""),
            ("completed", json!([]), ""),
        ];
        for (status, pauses, expected) in rows {
            let run: RunSummary = serde_json::from_value(json!({
                "id": "r1", "workflow": "chat", "definition_hash": "", "input": "hi", "project": "/p", "started": 0,
                "status": status, "path": [], "usage": {}, "cost_usd": null, "snapshot": null, "output": null,
                "error": null, "updated": 0, "pauses": pauses}))
            .unwrap();
            let mut told = run_status_json(&run, &[]);
            add_conversation_message(&run, &mut told);
            let message = told["message"].as_str().unwrap_or_default();
            assert!(!message.contains("continue_workflow"), "{status}: {message}");
            assert!(message.ends_with(expected), "{status}: {message}");
        }
    }
}
