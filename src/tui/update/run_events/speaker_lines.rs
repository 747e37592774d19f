//! While more than one workflow goes on: a line names the run whenever another one begins to speak, so that everything
//! below it is of that run. Replies that go on grow where they began.

use crate::model::UiModel;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::RunId;

/// Prepares the line that comes before what the run says next; gives how much was said before.
pub fn announce_run(model: &mut UiModel, run: &RunId) -> usize {
    let said = model.transcript.shown_count();
    // lines are named where they are printed: they come when they are finished
    let Some(view) = model.run(run).filter(|view| !view.chat && !model.linear) else { return said };
    let other = model.voice.as_ref().is_some_and(|(last, _)| last != run);
    let goes_on = model.voice.as_ref().is_some_and(|(last, till)| last == run && *till == said);
    let named = (other || model.several()) && !goes_on;
    let line = named.then(|| TranscriptItem::line(ItemTone::Accent, &line(&view.workflow, run)));
    model.transcript.announce(line);
    said
}

/// Remembers who spoke.
pub fn record_speaker(model: &mut UiModel, run: &RunId, before: usize) {
    model.transcript.announce(None);
    let said = model.transcript.shown_count();
    if said > before && model.run(run).is_some_and(|view| !view.chat) {
        // the one that is left has its line, too, after the end of another
        let ends = model.voice.is_some() && model.run(run).is_some_and(|view| view.over);
        model.voice = (ends || model.several()).then(|| (run.clone(), said));
    }
}

/// `run each_file 1m7ybnej`
pub fn line(workflow: &str, run: &RunId) -> String {
    format!("run {workflow} {run}")
}
