//! Actions on a run of the history: reports in place why an action is impossible, and shows first what changes files.

use super::requests::{next_query_number, query_command, wait_for};
use crate::editor::prompt_guard::{PromptChoice, PromptKeyGuard};
use crate::history_browser::{HistoryPrompt, HistoryRequest, HistoryWait, HistoryWaitKind, RunAction};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text_field::TextField;
use crate::update::busy::busy_reason;
use crate::update::{active_run, open_run};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunStatus;
use synthdev_service::run_export::default_file_name;
use synthdev_service::run_steering::ControlAction;
use synthdev_service::session::{RunRequest, TimeTravelRequest};

pub(super) fn run_action(model: &mut UiModel, deed: RunAction) -> Vec<UiCommand> {
    let live: Vec<RunId> = model.live_runs().map(|run| run.id.clone()).collect();
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let made = archive.page.as_ref().and_then(|page| page.resumable_run.clone());
    if let Some(run) = made.filter(|_| deed == RunAction::Resume) {
        return resume_run(model, run);
    }
    let Some(row) = archive.target_run().cloned() else {
        archive.show_note("there is no run");
        return Vec::new();
    };
    if deed == RunAction::Resume && live.contains(&row.id) {
        archive.show_error(&format!("{0} runs in this session: /watch {0} brings it to the front", row.id));
        return Vec::new();
    }
    let step = archive.selected_step();
    // rows are on their way: the run may have been paused since, and resuming looks at its record
    let may_be_paused =
        deed == RunAction::Resume && row.status == RunStatus::Running && archive.list.pending_page.is_some();
    if let Some(why) = deed.unavailable_reason(&row, step).filter(|_| !may_be_paused) {
        archive.show_error(&why);
        return Vec::new();
    }
    // a fork changes nothing that there is
    let changes = matches!(deed, RunAction::Resume | RunAction::Retry | RunAction::Rewind | RunAction::Undo);
    if let Some(why) = busy_reason(model, &format!("{} a run", deed.word())).filter(|_| changes) {
        if let Some(archive) = &mut model.history_browser {
            archive.show_error(&why);
        }
        return Vec::new();
    }
    let run = row.id;
    let step = step.unwrap_or_default();
    match deed {
        RunAction::Resume | RunAction::Retry => {
            model.retrying_run = (deed == RunAction::Retry).then(|| run.clone());
            start_waiting(model, HistoryWaitKind::TakeUp(run.clone()), "reading the run");
            open_run::start_opening(model, run.to_string())
        }
        RunAction::Fork => ask_fork(model, run, step),
        RunAction::Export => {
            let typed_text = TextField::new(&default_file_name(&run));
            ask_question(model, HistoryPrompt::Export { run, typed_text })
        }
        RunAction::Rewind => {
            let run = Some(run.to_string());
            plan_travel(model, TimeTravelRequest::Rewind { run, step: step.into(), keep_files: false })
        }
        RunAction::Undo => plan_travel(model, TimeTravelRequest::Undo { run: Some(run.to_string()) }),
        RunAction::Why => explain_step(model, run, step),
        RunAction::Compare => compare_runs(model, run),
        RunAction::Pause => {
            active_run::note_pause_request(model, &run);
            let about = format!("pausing {run} when its calls in progress have finished");
            wait_for(model, HistoryRequest::Control { run, control: ControlAction::Pause }, &about)
        }
        RunAction::Cancel => {
            let (choice, guard) = (PromptChoice::None, PromptKeyGuard::default());
            ask_question(model, HistoryPrompt::Cancel { run, choice, guard })
        }
    }
}

fn explain_step(model: &mut UiModel, run: RunId, step: u32) -> Vec<UiCommand> {
    let browser = model.history_browser.as_mut();
    let told =
        browser.filter(|browser| browser.page.as_ref().is_some_and(|page| page.explained_step == Some(step)));
    if let Some(browser) = told {
        browser.show_note(&format!("this page says why the run entered step {step}"));
        return Vec::new();
    }
    let about = format!("finding out why the run entered step {step}");
    wait_for(model, HistoryRequest::Why { run, step }, &about)
}

fn start_waiting(model: &mut UiModel, what: HistoryWaitKind, about: &str) {
    if let Some(archive) = &mut model.history_browser {
        archive.pending_wait = Some(HistoryWait { wait_kind: what, label: about.to_owned() });
    }
}

/// Resumes the run that was just made or rewound, as `/resume` does.
pub(super) fn resume_run(model: &mut UiModel, run: RunId) -> Vec<UiCommand> {
    if let Some(why) = busy_reason(model, "resume a run") {
        if let Some(archive) = &mut model.history_browser {
            archive.show_error(&why);
        }
        return Vec::new();
    }
    model.retrying_run = None;
    start_waiting(model, HistoryWaitKind::TakeUp(run.clone()), "reading the run");
    open_run::start_opening(model, run.to_string())
}

fn ask_question(model: &mut UiModel, question: HistoryPrompt) -> Vec<UiCommand> {
    if let Some(archive) = &mut model.history_browser {
        archive.question = Some(question);
    }
    Vec::new()
}

/// What can be changed is shown with the question, as soon as it was read.
fn ask_fork(model: &mut UiModel, run: RunId, step: u32) -> Vec<UiCommand> {
    let (query, asked) = (next_query_number(model), HistoryRequest::Data { run: run.clone(), step });
    let (typed_text, data) = (TextField::default(), None);
    ask_question(model, HistoryPrompt::Fork { run, step, typed_text, query, data });
    vec![query_command(query, asked)]
}

/// The files that would change are listed first.
fn plan_travel(model: &mut UiModel, travel: TimeTravelRequest) -> Vec<UiCommand> {
    start_waiting(model, HistoryWaitKind::Plan(travel.clone()), "comparing the files");
    vec![UiCommand::ask(RunRequest::Plan(travel))]
}

/// The first run is marked, the second compared with it.
fn compare_runs(model: &mut UiModel, run: RunId) -> Vec<UiCommand> {
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    match archive.compare_with.take() {
        None => {
            archive.show_note(&format!(
                "{run} is marked: press the same key on another run to compare the \
                two"
            ));
            archive.compare_with = Some(run);
            Vec::new()
        }
        Some(first) if first == run => {
            archive.show_note(&format!("{run} is no longer marked"));
            Vec::new()
        }
        Some(first) => wait_for(model, HistoryRequest::Compare(first, run), "comparing the two runs"),
    }
}
