//! Past runs for the screen: lists, searches, and resuming. Blocking: on a thread of its own.

use std::path::Path;

pub(crate) use super::error_text::{store_error_text, with_hint};
use super::error_text::{to_slash_commands, unknown_breakpoint_text};
use super::isolated_runs::{self, IsolatedRuns};
use super::pending_breakpoints::PendingBreakpoints;
use super::ui_settings::{declared_agents, run_agents};
use crate::context_windows::SessionWindowLookup;
use crate::hinted_error::store_error;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunQuery, RunSummary, SearchQuery};
use synthdev_engine::steering::BreakpointSet;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::breakpoint_check::check_breakpoints;
use synthdev_service::conversations::{self, is_conversation};
use synthdev_service::model_windows::{ModelWindows, model_windows};
use synthdev_service::run_control::{self, ControlAction, RunControlOutcome};
use synthdev_service::run_list::{self, RunListError, SearchMatch, SearchTextKind};
use synthdev_service::run_place::RunOperation;
use synthdev_service::run_reports::{self, ModelCallSelector};
use synthdev_service::run_resume::{
    self, ContinuingParty, ResumeOptions, ResumeService, RunResumeError, TypedAnswers,
};
use synthdev_service::session::{ResumableRuns, RunFilter, SearchHitLine, SearchHitPage};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_tui::past_run::PastRun;
use synthdev_tui::update::past_run::{PastRunBuilder, from_preview};
use synthdev_tui::update::steering::stop_requested_text;

pub(crate) fn list_runs(
    handle: &RuntimeHandle,
    here: &str,
    filter: RunFilter,
) -> Result<Vec<RunSummary>, String> {
    run_list::find_runs(handle, &list_query(here, filter)).map_err(|error| list_error_text(&error))
}

/// The same without conversations.
pub(crate) fn list_workflow_runs(
    handle: &RuntimeHandle,
    here: &str,
    filter: RunFilter,
) -> Result<Vec<RunSummary>, String> {
    let query = list_query(here, filter);
    conversations::list_workflow_runs(handle, &query).map_err(|error| store_error_text(&error))
}

/// Conversations of this project, and runs of workflows.
pub(crate) fn list_resumable(
    handle: &RuntimeHandle,
    here: &str,
    filter: RunFilter,
) -> Result<ResumableRuns, String> {
    let workflows = list_workflow_runs(handle, here, filter)?;
    let conversations =
        conversations::list_conversations(handle, here).map_err(|error| store_error_text(&error))?;
    Ok(ResumableRuns { conversations, workflows })
}

fn list_query(here: &str, filter: RunFilter) -> RunQuery {
    let RunFilter { this_project_only: only_here, statuses, search_words: words, limit } = filter;
    let project = only_here.then(|| here.to_owned());
    RunQuery { limit, statuses, words, project, ..RunQuery::default() }
}

pub(crate) fn list_error_text(error: &RunListError) -> String {
    to_slash_commands(&with_hint(&error.to_string(), error.hint().as_deref()))
}

/// The past of a run that can be resumed here.
pub(crate) fn load_past_run(
    wired: &WiredRuntime,
    catalog: &ConfigCatalog,
    here: &str,
    run: &str,
    demo: Option<&str>,
) -> Result<PastRun, String> {
    let summary = find_resumable_run(wired, here, run, demo)?;
    let id = &summary.id;
    let agents = run_agents(&wired.handle, id);
    let begin = || PastRunBuilder::new(id).with_agents(&agents);
    let told = wired
        .handle
        .replay_events_and_approvals(id.as_str(), begin, |past, at, event| past.apply_event(at, event.event));
    let (record, folding) = told.map_err(|error| store_error_text(&error))?;
    let windows = model_windows(&record.program);
    let definition_note = run_resume::stored_definition_note(catalog, &summary, &record.program);
    let past = PastRun { definition_note, ..folding.into_past_run(record.ledger) };
    Ok(with_location(past, &summary, windows))
}

/// The stored end of a past run, if there is one. `past` reports why a run cannot be resumed.
pub(crate) fn load_preview(
    wired: &WiredRuntime,
    here: &str,
    run: &str,
    demo: Option<&str>,
) -> Option<PastRun> {
    let summary = find_resumable_run(wired, here, run, demo).ok()?;
    let glance = wired.handle.load_preview(&summary.id)?;
    let definition = wired.handle.definition(&summary.id).ok();
    let (windows, agents) = definition
        .map(|spec| (model_windows(&spec.program), declared_agents(&spec.program)))
        .unwrap_or_default();
    Some(with_location(from_preview(&summary, glance, &agents), &summary, windows))
}

fn with_location(mut past: PastRun, summary: &RunSummary, windows: ModelWindows) -> PastRun {
    past.view.windows = windows;
    past.view.worktree_note =
        summary.worktree.as_ref().map(|tree| isolated_runs::worktree_text(&summary.id, tree));
    past
}

/// The run, if it can be resumed here.
fn find_resumable_run(
    wired: &WiredRuntime,
    here: &str,
    run: &str,
    demo: Option<&str>,
) -> Result<RunSummary, String> {
    tokio::runtime::Handle::current().block_on(wired.handle.refresh_from_server(run));
    let summary = wired.handle.summary(run).map_err(|error| store_error_text(&error))?;
    if let Some(demo) = demo.filter(|demo| *demo != summary.workflow) {
        return Err(format!("the demo's script only plays {demo}"));
    }
    run_resume::check_resumable(&wired.handle, &summary, here, RunOperation::Resume, is_directory)
        .map_err(|error| resume_error_text(&error))?;
    Ok(summary)
}

fn is_directory(path: &str) -> bool {
    Path::new(path).is_dir()
}

/// Pauses or ends a run, wherever it is driven.
pub(crate) async fn control_run(
    handle: &RuntimeHandle,
    run: &str,
    control: ControlAction,
) -> Result<String, String> {
    handle.refresh_from_server(run).await;
    let summary = handle.summary(run).map_err(|error| store_error_text(&error))?;
    let told = run_control::control_run(handle, &summary, control).await;
    told.map(|done| control_outcome_text(&done))
        .map_err(|error| to_slash_commands(&with_hint(&error.to_string(), error.hint())))
}

fn control_outcome_text(done: &RunControlOutcome) -> String {
    match done {
        // it was named by a part of its id or chosen in the history, and need not be in front
        RunControlOutcome::StopRequested(run) => stop_requested_text(run, false),
        done => to_slash_commands(&done.to_string()),
    }
}

/// Resumes a run with the user at the screen. A retry tries the failed state again without a question.
pub(crate) fn resume_run(
    elsewhere: &IsolatedRuns,
    run: &RunId,
    operation: RunOperation,
    pending: &PendingBreakpoints,
) -> Result<(), String> {
    let refused = |error: RunResumeError| resume_error_text(&error);
    let handle = &elsewhere.current_runtime().handle;
    let summary = handle.summary(run.as_str()).map_err(|error| store_error_text(&error))?;
    let here = elsewhere.project().display().to_string();
    run_resume::check_resumable(handle, &summary, &here, operation, is_directory).map_err(refused)?;
    let wired = &*elsewhere.runtime_for_run(&summary).map_err(|error| refused(error.into()))?;
    if let Some(script) = wired.providers.scripted_model() {
        script.rewind_replies();
        skip_used_replies(wired, run).map_err(|error| format!("{error:#}"))?;
    }
    let windows = SessionWindowLookup(&wired.providers);
    let service = ResumeService::new(&wired.handle, elsewhere.current_catalog(), &windows);
    let options = ResumeOptions { user_present: true, ..ResumeOptions::default() };
    let mut request = service.prepare(&summary, options).map_err(refused)?;
    if operation == RunOperation::Retry {
        let (party, typed) = (ContinuingParty::User, TypedAnswers::default());
        let again = run_resume::continuation_answers(&wired.handle, &summary, party, &typed);
        request.answers = again.map_err(refused)?.answers;
    }
    let breakpoints = pending.get();
    // a conversation has no states to stop before: they stay for a workflow
    if !breakpoints.is_empty() && !is_conversation(&wired.handle, &summary) {
        let stored = wired.handle.load_record(run.as_str()).map_err(|error| store_error_text(&error))?;
        let program = request.program.as_ref().unwrap_or(&stored.program);
        check_breakpoints(&breakpoints, program).map_err(|unknown| unknown_breakpoint_text(&unknown))?;
        request.breakpoints = Some(breakpoints);
    }
    let takes_breakpoints = request.breakpoints.is_some();
    let resuming = run_resume::resume_run(&wired.handle, run, request);
    tokio::runtime::Handle::current().block_on(resuming).map_err(refused)?;
    if takes_breakpoints {
        pending.set_breakpoints(BreakpointSet::default());
    }
    Ok(())
}

/// Why a run is not resumed, with what to do on the screen.
fn resume_error_text(error: &RunResumeError) -> String {
    match error {
        RunResumeError::RunningHere(run) => {
            with_hint(&error.to_string(), Some(&format!("/watch {run} brings it to the front")))
        }
        error => to_slash_commands(&with_hint(&error.to_string(), error.hint().as_deref())),
    }
}

/// The last request of a run with its answer.
pub(crate) fn review_last_call(
    handle: &RuntimeHandle,
    run: &RunId,
    agent: Option<String>,
) -> Result<String, String> {
    let last = ModelCallSelector { step: None, agent };
    let found = run_reports::inspect_call(handle, run.as_str(), &last);
    let found = found.map_err(|error| store_error_text(&error))?;
    Ok(synthdev_cli::inspect_call::call_text(&found).trim_end().to_owned())
}

/// Hits that `/search` shows.
const HITS: usize = 20;
/// Characters around the words.
const WIDTH: usize = 72;

pub(crate) fn search_history(handle: &RuntimeHandle, words: &str) -> Result<SearchHitPage, String> {
    // one more than is shown tells whether there are more
    let query = SearchQuery { text: words.to_owned(), limit: HITS + 1, ..SearchQuery::default() };
    let found = run_list::search_texts(handle, &query, WIDTH).map_err(|error| list_error_text(&error))?;
    let has_more = found.len() > HITS;
    Ok(SearchHitPage { lines: found.into_iter().take(HITS).map(hit_line).collect(), has_more })
}

fn hit_line(hit: SearchMatch) -> SearchHitLine {
    let of = hit.name.as_deref().map(|own| format!(" {own}")).unwrap_or_default();
    let what = match hit.kind {
        SearchTextKind::Input => "input".to_owned(),
        SearchTextKind::Message => {
            hit.model.map_or_else(|| "message".to_owned(), |model| format!("message of {model}"))
        }
        SearchTextKind::ToolCall => format!("call of{of}"),
        SearchTextKind::ToolResult => "result of a tool".to_owned(),
        SearchTextKind::Variable => format!("variable{of}"),
        SearchTextKind::Person => "message of the user".to_owned(),
        SearchTextKind::Error => "error".to_owned(),
    };
    SearchHitLine { run: hit.run, workflow: hit.workflow, at: hit.at, location: what, text: hit.snippet.text }
}

/// Scripted replies that the run has had are not given again.
pub fn skip_used_replies(wired: &WiredRuntime, run: &RunId) -> anyhow::Result<()> {
    let Some(script) = wired.providers.scripted_model() else { return Ok(()) };
    let used = run_resume::count_used_replies(&wired.handle, run).map_err(store_error)?;
    used.iter().for_each(|(agent, replies)| script.skip_replies(agent, *replies));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::journal::RunStatus;

    #[test]
    fn a_run_that_is_not_resumed_says_what_to_type_on_the_screen() {
        let run = || RunId::from("r1");
        let back = "/rewind r1 goes back to one of its steps, /fork r1 makes a new run from there";
        let rows = [
            (RunResumeError::Over { run: run(), status: RunStatus::Completed }, back),
            (RunResumeError::NotFailed { run: run(), status: RunStatus::Completed }, back),
            (RunResumeError::NotFailed { run: run(), status: RunStatus::Paused }, "/resume r1"),
            (RunResumeError::NotFailed { run: run(), status: RunStatus::Running }, "look at it: /history"),
            (RunResumeError::RunningHere(run()), "/watch r1 brings it to the front"),
        ];
        for (error, hint) in rows {
            assert_eq!(resume_error_text(&error), format!("{error}\nhint: {hint}"));
        }
        let stops = RunControlOutcome::StopRequested(run());
        assert_eq!(control_outcome_text(&stops), format!("{stops}: /watch r1, then /continue"));
    }
}
