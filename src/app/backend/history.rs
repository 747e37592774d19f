//! Past runs for the screen: lists, words, and runs that go on. Blocking: on a thread of its own.

use super::isolated::{self, Elsewhere};
use super::told::here;
pub(super) use super::told::{of_store, told};
use crate::app::wiring::Wired;
use crate::app::{control, foreign, going, windows};
use crate::domain::ids::{CallId, RunId};
use crate::domain::journal::{OpenPause, PauseReason, RunQuery, RunStatus, RunSummary, SearchQuery};
use crate::domain::workflow::Program;
use crate::engine::input::Answer;
use crate::runtime::command::Control;
use crate::runtime::handle::Handle;
use crate::runtime::resume::{Going, ResumeError};
use crate::runtime::review::Which;
use crate::runtime::search::{Found, WordsKind};
use crate::tui::backend::{FoundLine, RunFilter};
use crate::tui::past::Past;
use crate::tui::update::past::{Folding, at_a_glance};

pub(super) fn list(handle: &Handle, here: &str, filter: RunFilter) -> Result<Vec<RunSummary>, String> {
    let RunFilter { here: only_here, statuses, words, limit } = filter;
    let project = only_here.then(|| here.to_owned());
    let query = RunQuery { limit, statuses, words, project, ..RunQuery::default() };
    handle.ports().store.list(&query).map_err(|error| of_store(&error))
}

/// What had happened in a run that can be taken up here.
pub(super) fn past(wired: &Wired, here: &str, run: &str, demo: Option<&str>) -> Result<Past, String> {
    let summary = to_take_up(wired, here, run, demo)?;
    let id = &summary.id;
    let told = wired.handle.retell(id.as_str(), || Folding::new(id), Folding::event);
    let (record, folding) = told.map_err(|error| of_store(&error))?;
    Ok(placed(folding.end(record.ledger), &summary))
}

/// The end of that, if it was stored. Why it cannot be taken up is told by `past`.
pub(super) fn glance(wired: &Wired, here: &str, run: &str, demo: Option<&str>) -> Option<Past> {
    let summary = to_take_up(wired, here, run, demo).ok()?;
    let glance = wired.handle.glance(&summary.id)?;
    Some(placed(at_a_glance(&summary, glance), &summary))
}

fn placed(mut past: Past, summary: &RunSummary) -> Past {
    past.view.elsewhere = summary.worktree.as_ref().map(|tree| isolated::place(&summary.id, tree));
    past
}

/// The run, if it can be taken up here.
fn to_take_up(wired: &Wired, here: &str, run: &str, demo: Option<&str>) -> Result<RunSummary, String> {
    let summary = wired.handle.summary(run).map_err(|error| of_store(&error))?;
    let id = &summary.id;
    of_here(&summary, here, &|project| format!("synthdev{project} resume {id}"))?;
    if let Some(demo) = demo.filter(|demo| *demo != summary.workflow) {
        return Err(format!("the demo's script only plays {demo}"));
    }
    match summary.progress.status {
        RunStatus::Running if wired.handle.running().contains(id) => {
            return Err(format!("run {id} is running here"));
        }
        RunStatus::Running => {
            let hint = format!("/pause {id} pauses it there; then /resume {id} takes it up here");
            return Err(told(&format!("run {id} is running in another process"), Some(&hint)));
        }
        status @ (RunStatus::Completed | RunStatus::Cancelled) => {
            return Err(over(id, &format!("is {}", status.as_str())));
        }
        RunStatus::Failed if summary.progress.pauses.is_empty() => {
            return Err(over(id, "has failed where nothing can be tried again"));
        }
        RunStatus::Failed | RunStatus::Paused | RunStatus::Interrupted => {}
    }
    Ok(summary)
}

/// Pauses or ends a run, wherever it is driven.
pub(super) async fn control(handle: &Handle, run: &str, control: Control) -> Result<String, String> {
    let summary = handle.summary(run).map_err(|error| of_store(&error))?;
    let told = control::control(handle, &summary, control).await;
    told.map(|text| here(&text)).map_err(|error| here(&of_store(&error)))
}

/// Takes a run up with the person at the screen. `retry`: what failed is tried again without a question.
pub(super) fn resume(elsewhere: &Elsewhere, run: &RunId, retry: bool) -> Result<(), String> {
    let summary = elsewhere.wired().handle.summary(run.as_str()).map_err(|error| of_store(&error))?;
    let wired = &*elsewhere.of(&summary)?;
    if let Some(script) = wired.providers.scripted() {
        script.rewind();
        going::catch_up(wired, run).map_err(|error| format!("{error:#}"))?;
    }
    let stored = || Ok(wired.handle.run(run.as_str())?.program);
    let answers = if retry { tried_again(&wired.handle, run)? } else { Vec::new() };
    let going = Going { present: true, answers, ..Going::default() };
    let runtime = tokio::runtime::Handle::current();
    let windows = |program: &mut Program| {
        runtime.block_on(windows::learn(&wired.providers, program));
        Ok(())
    };
    let going = foreign::here(elsewhere.catalog(), &summary, (stored, windows), going)
        .map_err(|error| format!("{error:#}"))?;
    let done = runtime.block_on(wired.handle.resume(run, going));
    done.map_err(|error| match &error {
        ResumeError::Over { why, .. } => over(run, why),
        _ => here(&told(&error.to_string(), error.hint().as_deref())),
    })
}

/// What failed, or ran into a limit, goes on.
fn tried_again(handle: &Handle, run: &RunId) -> Result<Vec<(CallId, Answer)>, String> {
    let open = handle.open_pauses(run, None).map_err(|error| error.to_string())?;
    let again = |pause: &OpenPause| matches!(pause.reason, PauseReason::Error | PauseReason::Limit);
    Ok(open.into_iter().filter(again).map(|pause| (pause.call, Answer::Continue)).collect())
}

/// A run of another project, or one with files of its own, is not for this screen: says what to type instead.
/// `command` gets ` -C PROJECT`, or nothing.
pub(super) fn at_home(
    summary: &RunSummary,
    here: &str,
    command: &dyn Fn(&str) -> String,
) -> Result<(), String> {
    of_here(summary, here, command)?;
    match &summary.worktree {
        Some(tree) => {
            let message = format!("run {} works in a worktree of its own, {}", summary.id, tree.path);
            Err(told(&message, Some(&command(""))))
        }
        None => Ok(()),
    }
}

pub(super) fn of_here(
    summary: &RunSummary,
    here: &str,
    command: &dyn Fn(&str) -> String,
) -> Result<(), String> {
    let (run, project) = (&summary.id, &summary.project);
    if project == here {
        return Ok(());
    }
    let command = command(&format!(" -C {project}"));
    Err(told(&format!("run {run} belongs to {project}"), Some(&command)))
}

fn over(run: &RunId, why: &str) -> String {
    let hint = format!("/rewind {run} goes back to one of its steps, /fork {run} makes a new run from there");
    told(&format!("run {run} {why}"), Some(&hint))
}

/// The last request of a run with its answer.
pub(super) fn review(handle: &Handle, run: &RunId, agent: Option<String>) -> Result<String, String> {
    let found =
        handle.review(run.as_str(), &Which { step: None, agent }).map_err(|error| of_store(&error))?;
    Ok(crate::cli::review::text(&found).trim_end().to_owned())
}

/// Hits that `/search` shows.
const HITS: usize = 20;
/// Characters around the words.
const WIDTH: usize = 72;

pub(super) fn search(handle: &Handle, words: &str) -> Result<Vec<FoundLine>, String> {
    let query = SearchQuery { text: words.to_owned(), limit: HITS, ..SearchQuery::default() };
    let found = handle.search(&query, WIDTH).map_err(|error| of_store(&error))?;
    Ok(found.into_iter().map(line).collect())
}

fn line(hit: Found) -> FoundLine {
    let of = hit.name.as_deref().map(|own| format!(" {own}")).unwrap_or_default();
    let what = match hit.kind {
        WordsKind::Input => "input".to_owned(),
        WordsKind::Message => {
            hit.model.map_or_else(|| "message".to_owned(), |model| format!("message of {model}"))
        }
        WordsKind::ToolCall => format!("call of{of}"),
        WordsKind::ToolResult => "result of a tool".to_owned(),
        WordsKind::Variable => format!("variable{of}"),
        WordsKind::Person => "said by a person".to_owned(),
        WordsKind::Error => "error".to_owned(),
    };
    FoundLine { run: hit.run, workflow: hit.workflow, at: hit.at, what, text: hit.snippet.text }
}
