//! Past runs for the screen: lists, searches, and resuming. Blocking: on a thread of its own.

use super::error_text::to_slash_commands;
pub(super) use super::error_text::{store_error_text, with_hint};
use super::isolated_runs::{self, IsolatedRuns};
use crate::bootstrap::WiredRuntime;
use crate::{imported_runs, pause_and_cancel, resume_command, windows};
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::journal::{OpenPause, PauseReason, RunQuery, RunStatus, RunSummary, SearchQuery};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::input::UserAnswer;
use synthdev_runtime::command::ControlAction;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::inspect_call::ModelCallSelector;
use synthdev_runtime::resume::{ResumeError, ResumeRequest};
use synthdev_runtime::search::{SearchMatch, SearchTextKind};
use synthdev_service::session::{RunFilter, SearchHitLine};
use synthdev_tui::past_run::PastRun;
use synthdev_tui::update::past_run::{PastRunBuilder, from_preview};

pub(super) fn list_runs(
    handle: &RuntimeHandle,
    here: &str,
    filter: RunFilter,
) -> Result<Vec<RunSummary>, String> {
    let RunFilter { this_project_only: only_here, statuses, search_words: words, limit } = filter;
    let project = only_here.then(|| here.to_owned());
    let query = RunQuery { limit, statuses, words, project, ..RunQuery::default() };
    handle.find_runs(&query).map_err(|error| store_error_text(&error))
}

/// The past of a run that can be resumed here.
pub(super) fn load_past_run(
    wired: &WiredRuntime,
    here: &str,
    run: &str,
    demo: Option<&str>,
) -> Result<PastRun, String> {
    let summary = find_resumable_run(wired, here, run, demo)?;
    let id = &summary.id;
    let begin = || PastRunBuilder::new(id);
    let told =
        wired.handle.replay_events(id.as_str(), begin, |past, at, event| past.apply_event(at, event.event));
    let (record, folding) = told.map_err(|error| store_error_text(&error))?;
    Ok(with_location(folding.into_past_run(record.ledger), &summary))
}

/// The stored end of a past run, if there is one. `past` reports why a run cannot be resumed.
pub(super) fn load_preview(
    wired: &WiredRuntime,
    here: &str,
    run: &str,
    demo: Option<&str>,
) -> Option<PastRun> {
    let summary = find_resumable_run(wired, here, run, demo).ok()?;
    let glance = wired.handle.load_preview(&summary.id)?;
    Some(with_location(from_preview(&summary, glance), &summary))
}

fn with_location(mut past: PastRun, summary: &RunSummary) -> PastRun {
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
    let summary = wired.handle.summary(run).map_err(|error| store_error_text(&error))?;
    let id = &summary.id;
    ensure_same_project(&summary, here, &|project| format!("synthdev{project} resume {id}"))?;
    if let Some(demo) = demo.filter(|demo| *demo != summary.workflow) {
        return Err(format!("the demo's script only plays {demo}"));
    }
    match summary.progress.status {
        RunStatus::Running if wired.handle.running_runs().contains(id) => {
            return Err(format!("run {id} is running here"));
        }
        RunStatus::Running => {
            let hint = format!("/pause {id} pauses it there; then /resume {id} takes it up here");
            return Err(with_hint(&format!("run {id} is running in another process"), Some(&hint)));
        }
        status @ (RunStatus::Completed | RunStatus::Cancelled) => {
            return Err(is_over_text(id, &format!("is {}", status.as_str())));
        }
        RunStatus::Failed if summary.progress.pauses.is_empty() => {
            return Err(is_over_text(id, "failed and cannot be retried"));
        }
        RunStatus::Failed | RunStatus::Paused | RunStatus::Interrupted => {}
    }
    Ok(summary)
}

/// Pauses or ends a run, wherever it is driven.
pub(super) async fn control_run(
    handle: &RuntimeHandle,
    run: &str,
    control: ControlAction,
) -> Result<String, String> {
    let summary = handle.summary(run).map_err(|error| store_error_text(&error))?;
    let told = pause_and_cancel::control_run(handle, &summary, control).await;
    told.map(|text| to_slash_commands(&text)).map_err(|error| to_slash_commands(&store_error_text(&error)))
}

/// Resumes a run with the user at the screen. `retry`: the failed state is tried again without a question.
pub(super) fn resume_run(elsewhere: &IsolatedRuns, run: &RunId, retry: bool) -> Result<(), String> {
    let summary =
        elsewhere.current_runtime().handle.summary(run.as_str()).map_err(|error| store_error_text(&error))?;
    let wired = &*elsewhere.runtime_for_run(&summary)?;
    if let Some(script) = wired.providers.scripted_model() {
        script.rewind_replies();
        resume_command::skip_used_replies(wired, run).map_err(|error| format!("{error:#}"))?;
    }
    let stored = || Ok(wired.handle.load_record(run.as_str())?.program);
    let answers = if retry { retry_answers(&wired.handle, run)? } else { Vec::new() };
    let going = ResumeRequest { user_present: true, answers, ..ResumeRequest::default() };
    let runtime = tokio::runtime::Handle::current();
    let windows = |program: &mut WorkflowProgram| {
        runtime.block_on(windows::ask_unknown_windows(&wired.providers, program));
        Ok(())
    };
    let going =
        imported_runs::adapt_imported_run(elsewhere.current_catalog(), &summary, stored, windows, going)
            .map_err(|error| format!("{error:#}"))?;
    let done = runtime.block_on(wired.handle.resume(run, going));
    done.map_err(|error| match &error {
        ResumeError::Over { reason: why, .. } => is_over_text(run, why),
        _ => to_slash_commands(&with_hint(&error.to_string(), error.hint().as_deref())),
    })
}

/// Answers that retry a failed state and continue past a limit.
fn retry_answers(handle: &RuntimeHandle, run: &RunId) -> Result<Vec<(CallId, UserAnswer)>, String> {
    let open = handle.open_pauses(run, None).map_err(|error| error.to_string())?;
    let again = |pause: &OpenPause| matches!(pause.reason, PauseReason::Error | PauseReason::Limit);
    Ok(open.into_iter().filter(again).map(|pause| (pause.call, UserAnswer::Continue)).collect())
}

/// A run of another project, or one with files of its own, is not for this screen: says what to type instead.
/// `command` gets ` -C PROJECT`, or nothing.
pub(super) fn ensure_runs_in_project(
    summary: &RunSummary,
    here: &str,
    command: &dyn Fn(&str) -> String,
) -> Result<(), String> {
    ensure_same_project(summary, here, command)?;
    match &summary.worktree {
        Some(tree) => {
            let message = format!("run {} works in a worktree of its own, {}", summary.id, tree.path);
            Err(with_hint(&message, Some(&command(""))))
        }
        None => Ok(()),
    }
}

pub(super) fn ensure_same_project(
    summary: &RunSummary,
    here: &str,
    command: &dyn Fn(&str) -> String,
) -> Result<(), String> {
    let (run, project) = (&summary.id, &summary.project);
    if project == here {
        return Ok(());
    }
    let command = command(&format!(" -C {project}"));
    Err(with_hint(&format!("run {run} belongs to {project}"), Some(&command)))
}

fn is_over_text(run: &RunId, why: &str) -> String {
    let hint = format!("/rewind {run} goes back to one of its steps, /fork {run} makes a new run from there");
    with_hint(&format!("run {run} {why}"), Some(&hint))
}

/// The last request of a run with its answer.
pub(super) fn review_last_call(
    handle: &RuntimeHandle,
    run: &RunId,
    agent: Option<String>,
) -> Result<String, String> {
    let found = handle
        .inspect_call(run.as_str(), &ModelCallSelector { step: None, agent })
        .map_err(|error| store_error_text(&error))?;
    Ok(synthdev_cli::inspect_call::call_text(&found).trim_end().to_owned())
}

/// Hits that `/search` shows.
const HITS: usize = 20;
/// Characters around the words.
const WIDTH: usize = 72;

pub(super) fn search_history(handle: &RuntimeHandle, words: &str) -> Result<Vec<SearchHitLine>, String> {
    let query = SearchQuery { text: words.to_owned(), limit: HITS, ..SearchQuery::default() };
    let found = handle.search(&query, WIDTH).map_err(|error| store_error_text(&error))?;
    Ok(found.into_iter().map(hit_line).collect())
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
