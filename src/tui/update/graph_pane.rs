//! Keys and the mouse in the pane of the graph: choosing a state, its card, a breakpoint, how much is shown.

use ratatui::layout::Rect;

use super::active_run::active_run;
use super::clipboard;
use super::graph_steps::{graph_step, open_card_length};
use super::steering::run_steer_action;
use crate::keymap::KeyAction;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::graph::GraphPaneState;
use crate::pane::graph_card::{
    breakpoint_position, breakpoints_of, card_text, watched_drawing, watched_graph,
};
use crate::run_view::run_graph::RunGraphDrawing;
use crate::slash::steering::SteerAction;
use crate::view;
use synthdev_service::run_steering::Breakpoint;

/// What a key does in the pane. `None`: the same as in every pane.
pub fn on_graph_action(model: &mut UiModel, action: KeyAction) -> Option<Vec<UiCommand>> {
    let shown = watched_graph(model)?;
    match action {
        KeyAction::GraphBreakpoint => return Some(toggle_breakpoint(model)),
        KeyAction::Copy => return Some(copy_card(model)),
        KeyAction::Mark => return Some(Vec::new()),
        _ => {}
    }
    let step = graph_step(action, &shown)?;
    let length = open_card_length(&shown, model.theme);
    change_graph(model, |state, drawing| state.apply_step(step, drawing, length));
    Some(Vec::new())
}

/// Changes what is seen of the drawing of the watched run.
pub fn change_graph(model: &mut UiModel, change: impl FnOnce(&mut GraphPaneState, &RunGraphDrawing)) {
    let mut state = std::mem::take(&mut model.panes.graph);
    if let Some((_, drawing)) = watched_drawing(model) {
        change(&mut state, drawing);
    }
    model.panes.graph = state;
}

/// Before the chosen state: of the run, or of the next one if it is over.
fn toggle_breakpoint(model: &mut UiModel) -> Vec<UiCommand> {
    let Some((run, drawing)) = watched_drawing(model) else { return Vec::new() };
    let Some(node) = model.panes.graph.chosen.and_then(|chosen| drawing.node(chosen)) else {
        return Vec::new();
    };
    let set = breakpoint_position(breakpoints_of(model, run), node);
    let (name, watched) = (node.name.clone(), run.id.clone());
    if active_run(model).is_some_and(|active| active.id != watched) {
        model.hint = Some(format!("another run is in front: /watch {watched} brings this one there"));
        return Vec::new();
    }
    let action = match set {
        Some(at) => SteerAction::Unbreak(Some(at + 1)),
        None => SteerAction::Break(Breakpoint::before_state(&name)),
    };
    model.hint = Some(match set {
        Some(_) => format!("the run no longer stops before {name}"),
        None if active_run(model).is_some() => format!("the run stops before {name}"),
        None => format!("the next workflow stops before {name}"),
    });
    run_steer_action(model, action)
}

fn copy_card(model: &mut UiModel) -> Vec<UiCommand> {
    let text = watched_graph(model).map(|shown| card_text(&shown, model.theme)).unwrap_or_default();
    let (command, message) = clipboard::copy_command(text);
    model.hint = Some(message);
    command.into_iter().collect()
}

/// A click chooses the state below it; on the chosen one it opens the card.
pub fn click_graph(model: &mut UiModel, area: Rect, column: u16, row: u16) {
    let area = view::slot_rows(model, LayoutSlot::Pane(PaneKind::Graph), area);
    let (x, y) = (usize::from(column.saturating_sub(area.x)), usize::from(row.saturating_sub(area.y)));
    change_graph(model, |state, drawing| state.click_cell(drawing, x, y));
}
