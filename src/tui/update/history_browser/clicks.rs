//! Clicks in the history: on a run, a step or a state, and on what is chosen already.

use super::keys::open_selected;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::view::{self, BrowsedPlace};

/// Chooses what is below the pointer; what is chosen already is opened.
pub(super) fn on_click(model: &mut UiModel, column: u16, row: u16) -> Vec<UiCommand> {
    let place = view::browsed_place(model, column, row);
    let Some(archive) = &mut model.history_browser else { return Vec::new() };
    let is_typing = archive.search.as_ref().is_some_and(|search| search.is_typing);
    if archive.pending_wait.is_some() || archive.question.is_some() || is_typing {
        return Vec::new();
    }
    archive.status_note = None;
    let is_chosen = match place {
        None => return Vec::new(),
        Some(BrowsedPlace::Cell { column, row }) => {
            if let Some(graph) = archive.front_graph() {
                graph.change_view(|state, drawing| state.click_cell(drawing, column, row));
            }
            return Vec::new();
        }
        Some(BrowsedPlace::Run(at)) => {
            archive.list.is_typing = false;
            archive.list.seek_last = false;
            let is_chosen = archive.list.cursor == at;
            archive.list.select_row(at);
            is_chosen
        }
        Some(BrowsedPlace::Step(at)) => {
            let Some(run) = &mut archive.run else { return Vec::new() };
            let had_bar = run.chosen_bar.take().is_some();
            let is_chosen = run.cursor == at && !had_bar;
            run.select_row(at);
            is_chosen
        }
    };
    if is_chosen { open_selected(model) } else { Vec::new() }
}
