//! `continue_workflow`: resumes a run that was paused, whose process died, whose client went away, that has a failed
//! step that can be retried, or, where clients may decide that, that has reached a limit.

use serde_json::{Value, json};

use super::super::arguments::ToolArguments;
use super::super::backend::McpBackend;
use super::super::client_hints::IN_A_TERMINAL;
use super::super::error::{McpCallError, ToolResultError, from_resume_error};
use super::tool_call::{McpToolCall, find_run};
use synthdev_domain::journal::RunSummary;
use synthdev_service::run_resume::{
    ContinuingParty, LimitIncrease, RunResumeError, TypedAnswers, continuation_answers, resume_run,
};

pub(super) async fn continue_workflow(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let given = call.arguments.take();
    let mut arguments = ToolArguments::from_request(given, &["workflowId"], &["pastLimits", "budget"])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let passes_limits = arguments.flag("pastLimits", false)?;
    let budget = arguments.amount("budget")?.map(|amount| json!({"budget": amount}));
    let increase = LimitIncrease { budget, passes_limits };
    let run = find_run(call.backend, &id).await?;
    if !increase.is_none() && !call.backend.remote_approvals() {
        return Err(limit_is_for_user(&run));
    }
    let party = ContinuingParty::Client;
    let typed =
        TypedAnswers { increase, approves_all: call.backend.approves_all(), ..TypedAnswers::default() };
    let given = continuation_answers(call.backend.handle(), &run, party, &typed)
        .map_err(|error| not_continued(&error, call.backend))?;
    let (handle, request) = call.backend.prepare_resume(&run)?;
    let events = handle.subscribe(false);
    resume_run(&handle, &run.id, given.add_to(request)).await.map_err(|error| from_resume_error(&error))?;
    call.follow_run(&run.id, events).await
}

/// A client passes no limit unless its user has said that clients decide.
fn limit_is_for_user(run: &RunSummary) -> McpCallError {
    let detail = format!("a client gives run {} no more of what it has used up", run.id);
    let hint = format!(
        "{IN_A_TERMINAL}synthdev resume {} --past-limits; a server started with --remote-approvals lets clients do so",
        run.id
    );
    ToolResultError::new("not_permitted", "The user must decide this", detail).hint(Some(hint)).into()
}

fn not_continued(error: &RunResumeError, backend: &dyn McpBackend) -> McpCallError {
    let (title, hint) = match error {
        RunResumeError::RunningHere(_) | RunResumeError::RunningElsewhere { .. } => (
            "The run was not interrupted",
            "pause_workflow pauses it, in whichever process it runs".to_owned(),
        ),
        RunResumeError::Over { .. } => ("The run is over", "get_workflow_status shows its result".to_owned()),
        RunResumeError::NotInterrupted { .. } => {
            ("The run was not interrupted", "get_workflow_status shows what it needs".to_owned())
        }
        RunResumeError::NeedsIncrease { has_budget, .. } if backend.remote_approvals() => {
            let amount = if *has_budget { ", \"budget\": AMOUNT for so much more of the budget" } else { "" };
            let hint = format!("continue_workflow with \"pastLimits\": true for as much again{amount}");
            ("The run has reached a limit", hint)
        }
        RunResumeError::NeedsIncrease { .. } => {
            ("The run has reached a limit", error.hint().unwrap_or_default())
        }
        other => return from_resume_error(other),
    };
    ToolResultError::new("not_continued", title, error.to_string()).hint(Some(hint)).into()
}
