//! Actions on a run of the history: what is in the way is told in place, what changes files is shown first.

use super::requests::wait_for;
use crate::backend::TimeTravelRequest;
use crate::history_browser::{HistoryPrompt, HistoryRequest, HistoryWait, HistoryWaitKind, RunAction};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::update::busy::busy_reason;
use crate::update::open_run;
use synthdev_domain::ids::RunId;
use synthdev_runtime::command::ControlAction;

pub(super) fn act(model: &mut UiModel, deed: RunAction) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let Some(row) = archive.target_run().cloned() else {
        archive.show_note("there is no run");
        return Vec::new();
    };
    let step = archive.step();
    if let Some(why) = deed.why_not(&row, step) {
        archive.refuse(&why);
        return Vec::new();
    }
    let changes = matches!(
        deed,
        RunAction::Resume | RunAction::Retry | RunAction::Fork | RunAction::Rewind | RunAction::Undo
    );
    if let Some(why) = busy_reason(model, &format!("{} a run", deed.word())).filter(|_| changes) {
        if let Some(archive) = &mut model.archive {
            archive.refuse(&why);
        }
        return Vec::new();
    }
    let run = row.id;
    let step = step.unwrap_or_default();
    match deed {
        RunAction::Resume | RunAction::Retry => {
            model.retrying = (deed == RunAction::Retry).then(|| run.clone());
            wait(model, HistoryWaitKind::TakeUp(run.clone()), "reading the run");
            open_run::start_opening(model, run.to_string())
        }
        RunAction::Fork => question(model, HistoryPrompt::Fork { run, step, typed: String::new() }),
        RunAction::Export => {
            let typed = format!("run-{run}.json");
            question(model, HistoryPrompt::Export { run, typed })
        }
        RunAction::Rewind => plan(model, TimeTravelRequest::Rewind { run: Some(run.to_string()), step }),
        RunAction::Undo => plan(model, TimeTravelRequest::Undo { run: Some(run.to_string()) }),
        RunAction::Why => {
            let about = format!("looking why step {step} was taken");
            wait_for(model, HistoryRequest::Why { run, step }, &about)
        }
        RunAction::Compare => compare(model, run),
        RunAction::Pause => {
            let about = format!("pausing {run} when what is under way has ended");
            wait_for(model, HistoryRequest::Control { run, control: ControlAction::Pause }, &about)
        }
        RunAction::Cancel => question(model, HistoryPrompt::Cancel { run }),
    }
}

fn wait(model: &mut UiModel, what: HistoryWaitKind, about: &str) {
    if let Some(archive) = &mut model.archive {
        archive.wait = Some(HistoryWait { what, about: about.to_owned() });
    }
}

fn question(model: &mut UiModel, question: HistoryPrompt) -> Vec<UiCommand> {
    if let Some(archive) = &mut model.archive {
        archive.question = Some(question);
    }
    Vec::new()
}

/// The files that would change are listed first.
fn plan(model: &mut UiModel, travel: TimeTravelRequest) -> Vec<UiCommand> {
    wait(model, HistoryWaitKind::Plan, "comparing the files");
    vec![UiCommand::Plan(travel)]
}

/// The first run is marked, the second compared with it.
fn compare(model: &mut UiModel, run: RunId) -> Vec<UiCommand> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    match archive.marked.take() {
        None => {
            archive.show_note(&format!("{run} is marked: the same key on another run compares the two"));
            archive.marked = Some(run);
            Vec::new()
        }
        Some(first) if first == run => {
            archive.show_note(&format!("{run} is marked no longer"));
            Vec::new()
        }
        Some(first) => wait_for(model, HistoryRequest::Compare(first, run), "comparing the two runs"),
    }
}
