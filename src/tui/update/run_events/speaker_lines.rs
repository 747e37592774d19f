//! While more than one workflow runs, a line names the run whenever the output switches to another one, so that
//! everything below it is of that run. Replies in progress grow where they began.

use crate::model::UiModel;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::RunId;

/// Prepares the line before the next output of the run; returns how much was shown before.
pub fn announce_run(model: &mut UiModel, run: &RunId) -> usize {
    let said = model.transcript.shown_count();
    // lines are named where they are printed: they come when they are finished
    let Some(view) = model.find_run(run).filter(|view| !view.chat && !model.line_mode) else { return said };
    let other = model.last_speaking_run.as_ref().is_some_and(|(last, _)| last != run);
    let goes_on = model.last_speaking_run.as_ref().is_some_and(|(last, till)| last == run && *till == said);
    let named = (other || model.has_several_live_runs()) && !goes_on;
    let line = named.then(|| TranscriptItem::line(ItemTone::Accent, &run_label(&view.workflow, run)));
    model.transcript.announce_before_next(line);
    said
}

/// Remembers the run that wrote last.
pub fn record_speaker(model: &mut UiModel, run: &RunId, before: usize) {
    model.transcript.announce_before_next(None);
    let said = model.transcript.shown_count();
    if said > before && model.find_run(run).is_some_and(|view| !view.chat) {
        // the one that is left has its line, too, after the end of another
        let ends = model.last_speaking_run.is_some() && model.find_run(run).is_some_and(|view| view.is_over);
        model.last_speaking_run = (ends || model.has_several_live_runs()).then(|| (run.clone(), said));
    }
}

/// `run each_file 1m7ybnej`
pub fn run_label(workflow: &str, run: &RunId) -> String {
    format!("run {workflow} {run}")
}
