//! A past run comes on the screen: its end at once, if that was stored, and all of it when it is read.

use super::busy;
use crate::domain::ids::RunId;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::past::{Opening, Past};
use crate::tui::run_view::RunView;
use crate::tui::text::counted;
use crate::tui::transcript::item::Item;

/// Below a glance that does not know the end.
const LATER: &str = "… what came later is being read …";

/// Shows what was stored of a run, unless it stands here already, and asks for all of it.
pub fn glance(model: &mut Model, past: Past) -> Vec<Cmd> {
    let Past { mut view, items, behind, .. } = past;
    let run = view.id.clone();
    // who is busy by now is told so when it is read
    if model.run(&run).is_none() && !busy::is_busy(model) {
        begin(model, &view);
        let first = model.say(Item::note("… earlier messages are being read …"));
        model.say_all(items);
        if behind {
            model.say(Item::note(LATER));
        }
        let shown = Some(first..model.transcript.len());
        // nothing of it grows before it is taken up
        view.moved(|_| None);
        model.runs.push(view);
        model.opening = Some(Opening { run: run.clone(), shown });
    }
    vec![Cmd::Whole(run)]
}

/// The run is read, or cannot be: it is being opened no longer.
pub fn of(model: &mut Model, run: &RunId) -> Option<Opening> {
    model.opening.take_if(|opening| opening.run == *run)
}

/// It is not taken up: what is shown stays, as all that is known here.
pub fn given_up(model: &mut Model, opening: Opening) {
    if let Some(shown) = opening.shown {
        model.transcript.edit(shown.start, |item| *item = Item::note("… earlier messages were not read"));
        model.transcript.edit(shown.end - 1, |item| {
            if *item == Item::note(LATER) {
                *item = Item::note("… what came later was not read");
            }
        });
    }
    model.runs.retain(|known| known.id != opening.run);
}

/// Puts a run's past on the screen, unless it stands there already; gives its facts, with their places there.
pub fn shown(model: &mut Model, past: Past, opening: Option<Opening>) -> RunView {
    let Past { mut view, items, left_out, .. } = past;
    let run = view.id.clone();
    if let Some(known) = model.run(&run) {
        view.paid_here.clone_from(&known.paid_here);
    }
    let all = |items| left_out_line(&run, left_out).into_iter().chain(items).collect::<Vec<Item>>();
    let before = usize::from(left_out > 0);
    match opening {
        Some(Opening { shown: Some(shown), .. }) => {
            let items = all(items);
            let (base, end) = (shown.start + before, shown.start + items.len());
            for other in &mut model.runs {
                other.moved(|at| {
                    at.checked_sub(shown.end).map(|behind| end + behind).or((at < shown.start).then_some(at))
                });
            }
            model.transcript.replace(shown, items);
            view.moved(|at| Some(base + at));
        }
        None if model.run(&run).is_none() => {
            begin(model, &view);
            let base = model.transcript.len() + before;
            model.say_all(all(items));
            view.moved(|at| Some(base + at));
        }
        Some(Opening { shown: None, .. }) | None => view.moved(|_| None),
    }
    view
}

fn begin(model: &mut Model, view: &RunView) {
    model.say(Item::rule(&format!("{} {}", view.workflow, view.id)));
}

fn left_out_line(run: &RunId, left_out: usize) -> Option<Item> {
    let text = counted(left_out as u64, "earlier entry").replace("entrys", "entries");
    (left_out > 0).then(|| Item::note(&format!("… {text} left out; synthdev runs show {run} has all")))
}
