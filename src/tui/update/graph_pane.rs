//! Keys and the mouse in the pane of the graph: choosing a state, its card, a breakpoint, how much is shown.

use ratatui::layout::Rect;

use super::active_run::active_run;
use super::clipboard;
use super::steering::run_steer_action;
use crate::keymap::KeyAction;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::body::plain_text;
use crate::pane::graph_card::{breakpoint_position, breakpoints_of, card_lines, watched_drawing};
use crate::run_view::run_graph::GraphStateRef;
use crate::slash::steering::SteerAction;
use crate::view;
use synthdev_service::definition_views::graph::chart::ChartDirection;
use synthdev_service::run_steering::Breakpoint;

/// Columns of a card that is copied.
const COPIED: usize = 100;

/// What a key does in the pane. `None`: the same as in every pane.
pub fn on_graph_action(model: &mut UiModel, action: KeyAction) -> Option<Vec<UiCommand>> {
    watched_drawing(model)?;
    match action {
        KeyAction::RowUp => choose_next(model, ChartDirection::Up),
        KeyAction::RowDown => choose_next(model, ChartDirection::Down),
        KeyAction::ChooseLeft => choose_next(model, ChartDirection::Left),
        KeyAction::ChooseRight => choose_next(model, ChartDirection::Right),
        KeyAction::PaneUp => scroll_page(model, false),
        KeyAction::PaneDown => scroll_page(model, true),
        KeyAction::First => go_to_edge(model, false),
        KeyAction::Last => go_to_edge(model, true),
        KeyAction::Open => {
            let state = &mut model.panes.graph;
            (state.card_open, state.card_top) = (!state.card_open, 0);
            state.is_held |= state.card_open;
        }
        KeyAction::GraphBreakpoint => return Some(toggle_breakpoint(model)),
        KeyAction::GraphNames => {
            let state = &mut model.panes.graph;
            state.names_only = !state.names_only;
            (state.left, state.top, state.reveals_chosen) = (0, 0, true);
        }
        KeyAction::Copy => return Some(copy_card(model)),
        KeyAction::Mark => {}
        KeyAction::Back if model.panes.graph.card_open => model.panes.graph.card_open = false,
        _ => return None,
    }
    Some(Vec::new())
}

fn choose_next(model: &mut UiModel, direction: ChartDirection) {
    let Some((_, drawing)) = watched_drawing(model) else { return };
    let from = model.panes.graph.chosen.or_else(|| drawing.drawn_states().first().copied());
    let next = from.and_then(|from| drawing.next_state(from, direction));
    if let Some(next) = next.or(from) {
        choose_state(model, next);
    }
}

fn choose_state(model: &mut UiModel, at: GraphStateRef) {
    let state = &mut model.panes.graph;
    if state.chosen != Some(at) {
        state.card_top = 0;
    }
    (state.chosen, state.is_held, state.reveals_chosen) = (Some(at), true, true);
}

/// To the first state, or to where the run is: the graph follows the run, not its last line.
pub fn go_to_edge(model: &mut UiModel, last: bool) {
    if last {
        return follow_run(model);
    }
    let first = watched_drawing(model).and_then(|(_, drawing)| drawing.drawn_states().first().copied());
    if let Some(first) = first {
        choose_state(model, first);
    }
}

/// The chosen state is the run's from now on.
fn follow_run(model: &mut UiModel) {
    let current = watched_drawing(model).and_then(|(_, drawing)| drawing.current_state());
    let state = &mut model.panes.graph;
    state.chosen = current.or(state.chosen);
    (state.is_held, state.reveals_chosen) = (false, true);
}

fn scroll_page(model: &mut UiModel, down: bool) {
    let rows = model.panes.graph.size.height.saturating_sub(1).max(1);
    if model.panes.graph.card_open {
        let lines = card_lines(model, model.panes.graph.size.width.saturating_sub(4)).len();
        let state = &mut model.panes.graph;
        let step = (rows / 3).max(1);
        state.card_top = if down {
            (state.card_top + step).min(lines.saturating_sub(1))
        } else {
            state.card_top.saturating_sub(step)
        };
    } else {
        scroll_graph(model, rows, down);
    }
}

pub fn scroll_graph(model: &mut UiModel, rows: usize, down: bool) {
    let Some((_, drawing)) = watched_drawing(model) else { return };
    let size = drawing.size();
    model.panes.graph.scroll_rows(rows, down, size);
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
    let lines: Vec<String> = card_lines(model, COPIED).iter().map(plain_text).collect();
    let name = watched_drawing(model).and_then(|(_, drawing)| {
        let node = drawing.node(model.panes.graph.chosen?)?;
        Some(node.name.clone())
    });
    let text = format!("{}\n{}", name.unwrap_or_default(), lines.join("\n"));
    let (command, message) = clipboard::copy_command(text);
    model.hint = Some(message);
    command.into_iter().collect()
}

/// A click chooses the state below it; on the chosen one it opens the card.
pub fn click_graph(model: &mut UiModel, area: Rect, column: u16, row: u16) {
    let area = view::slot_rows(model, LayoutSlot::Pane(PaneKind::Graph), area);
    let state = &model.panes.graph;
    let x = state.left + usize::from(column.saturating_sub(area.x));
    let y = state.top + usize::from(row.saturating_sub(area.y));
    let found = watched_drawing(model).and_then(|(_, drawing)| drawing.state_at(x, y));
    let Some(found) = found else { return };
    let is_again = model.panes.graph.chosen == Some(found) && model.panes.graph.is_held;
    choose_state(model, found);
    model.panes.graph.card_open = is_again;
}

/// Chooses the next state whose name, description or transitions hold the words, which are in lower case.
pub fn find_state(model: &mut UiModel, words: &str, down: bool, includes_chosen: bool) -> bool {
    let Some((_, drawing)) = watched_drawing(model) else { return false };
    let states = drawing.drawn_states();
    let count = states.len();
    let start = states.iter().position(|state| Some(*state) == model.panes.graph.chosen).unwrap_or(0);
    let holds = |at: GraphStateRef| {
        let Some((graph, node)) = drawing.graph(at.workflow).zip(drawing.node(at)) else { return false };
        let labels = graph.outgoing_edges(at.node).map(|edge| edge.label.as_str());
        let mut texts = [node.name.as_str(), node.about.as_str()].into_iter().chain(labels);
        texts.any(|text| text.to_lowercase().contains(words))
    };
    let first = usize::from(!includes_chosen);
    let mut order = (first..count + first)
        .map(|step| states[if down { (start + step) % count } else { (start + 2 * count - step) % count }]);
    let found = order.find(|state| holds(*state));
    if let Some(found) = found {
        choose_state(model, found);
    }
    found.is_some()
}
