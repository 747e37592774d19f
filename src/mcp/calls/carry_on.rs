//! `continue_workflow`: a run that was paused, whose process died, whose client went away, or of which a step failed that can be tried
//! again, is taken up where it stands.

use serde_json::Value;

use super::super::arguments::Arguments;
use super::super::refusal::{Problem, Refusal, of_resume};
use super::call::{Call, run_of};
use crate::domain::ids::CallId;
use crate::domain::journal::{PauseReason, RunStatus, RunSummary};
use crate::engine::input::Answer;

pub(super) async fn carry_on(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    let run = run_of(call.backend, &id)?;
    let failed = failed(&run);
    if run.progress.status != RunStatus::Interrupted && failed.is_empty() && !stands(&run) {
        let detail = format!("it is {}, and nothing of it can be tried again", run.progress.status.as_str());
        let hint = match run.progress.status {
            RunStatus::Running => "pause_workflow pauses it, wherever it is driven",
            _ => "get_workflow_status tells what it needs",
        };
        return Err(Problem::new("not_continued", "The run was not cut off", detail)
            .hint(Some(hint.to_owned()))
            .into());
    }
    let (handle, mut going) = call.backend.taking_up(&run)?;
    going.answers = failed.into_iter().map(|call| (call, Answer::Continue)).collect();
    let events = handle.subscribe(false);
    handle.resume(&run.id, going).await.map_err(|error| of_resume(&error))?;
    call.follow(&run.id, events).await
}

/// It was paused, and nobody is asked anything.
fn stands(run: &RunSummary) -> bool {
    let open = &run.progress.pauses;
    run.progress.status == RunStatus::Paused && matches!(open.as_slice(), [only] if only.is_free())
}

/// The steps of a failed run that can be tried again.
fn failed(run: &RunSummary) -> Vec<CallId> {
    let open = run.progress.pauses.iter().filter(|_| run.progress.status == RunStatus::Failed);
    open.filter(|pause| pause.reason == PauseReason::Error).map(|pause| pause.call).collect()
}
