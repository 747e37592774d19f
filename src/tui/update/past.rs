//! The past of a run through the same eyes as its present: events become entries and facts.

use super::runs;
use crate::domain::cost::CostLedger;
use crate::domain::ids::{RunId, Timestamp};
use crate::engine::event::RunEvent;
use crate::tui::model::Model;
use crate::tui::past::{Past, SHOWN};
use crate::tui::run_view::RunView;
use crate::tui::text::one_line;

/// Folds all of a run's events. `ledger` is what the run has cost, with what it paid before it went back.
/// Takes as long as the run is: not for the screen's own task.
pub fn fold(run: &RunId, events: Vec<(Timestamp, RunEvent)>, ledger: CostLedger) -> Past {
    let mut scratch = Model::default();
    for (at, event) in events {
        scratch.now = scratch.now.max(at);
        runs::event(&mut scratch, run, at, event);
    }
    let mut view = scratch.runs.pop().unwrap_or_else(|| RunView::new(run.clone(), "", false));
    let (left_out, items) = scratch.transcript.into_last(SHOWN);
    view.moved(|at| at.checked_sub(left_out));
    for line in &mut view.agents {
        let own = ledger.entries.iter().filter(|entry| one_line(&entry.agent) == line.name);
        line.usage = own.fold(crate::domain::cost::Usage::default(), |mut sum, entry| {
            sum.add(&entry.usage);
            sum
        });
    }
    view.paid_here = CostLedger::default();
    view.ledger = ledger;
    Past { view, items, left_out }
}
