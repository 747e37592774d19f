//! Actions on a run of the history: what is in the way is told in place, what changes files is shown first.

use super::asking::wait_for;
use crate::domain::ids::RunId;
use crate::runtime::command::Control;
use crate::tui::archive::{Asked, Deed, Question, Wait, Waiting};
use crate::tui::backend::Travel;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::update::busy::in_the_way;
use crate::tui::update::opening;

pub(super) fn act(model: &mut Model, deed: Deed) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let Some(row) = archive.meant().cloned() else {
        archive.tell("there is no run");
        return Vec::new();
    };
    let step = archive.step();
    if let Some(why) = deed.why_not(&row, step) {
        archive.refuse(&why);
        return Vec::new();
    }
    let changes = matches!(deed, Deed::Resume | Deed::Retry | Deed::Fork | Deed::Rewind | Deed::Undo);
    if let Some(why) = in_the_way(model, &format!("{} a run", deed.word())).filter(|_| changes) {
        if let Some(archive) = &mut model.archive {
            archive.refuse(&why);
        }
        return Vec::new();
    }
    let run = row.id;
    let step = step.unwrap_or_default();
    match deed {
        Deed::Resume | Deed::Retry => {
            model.retrying = (deed == Deed::Retry).then(|| run.clone());
            wait(model, Waiting::TakeUp(run.clone()), "reading the run");
            opening::wanted(model, run.to_string())
        }
        Deed::Fork => question(model, Question::Fork { run, step, typed: String::new() }),
        Deed::Export => {
            let typed = format!("run-{run}.json");
            question(model, Question::Export { run, typed })
        }
        Deed::Rewind => plan(model, Travel::Rewind { run: Some(run.to_string()), step }),
        Deed::Undo => plan(model, Travel::Undo { run: Some(run.to_string()) }),
        Deed::Why => {
            let about = format!("looking why step {step} was taken");
            wait_for(model, Asked::Why { run, step }, &about)
        }
        Deed::Compare => compare(model, run),
        Deed::Pause => {
            let about = format!("pausing {run} when what is under way has ended");
            wait_for(model, Asked::Control { run, control: Control::Pause }, &about)
        }
        Deed::Cancel => question(model, Question::Cancel { run }),
    }
}

fn wait(model: &mut Model, what: Waiting, about: &str) {
    if let Some(archive) = &mut model.archive {
        archive.wait = Some(Wait { what, about: about.to_owned() });
    }
}

fn question(model: &mut Model, question: Question) -> Vec<Cmd> {
    if let Some(archive) = &mut model.archive {
        archive.question = Some(question);
    }
    Vec::new()
}

/// The files that would change are listed first.
fn plan(model: &mut Model, travel: Travel) -> Vec<Cmd> {
    wait(model, Waiting::Plan, "comparing the files");
    vec![Cmd::Plan(travel)]
}

/// The first run is marked, the second compared with it.
fn compare(model: &mut Model, run: RunId) -> Vec<Cmd> {
    let Some(archive) = &mut model.archive else { return Vec::new() };
    match archive.marked.take() {
        None => {
            archive.tell(&format!("{run} is marked: the same key on another run compares the two"));
            archive.marked = Some(run);
            Vec::new()
        }
        Some(first) if first == run => {
            archive.tell(&format!("{run} is marked no longer"));
            Vec::new()
        }
        Some(first) => wait_for(model, Asked::Compare(first, run), "comparing the two runs"),
    }
}
