//! Draws the pane of the graph: the part of the drawing that is seen, the card of the chosen state over it, and the
//! keys on its lower border.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::draw_helpers::{draw_box, put_line};
use super::pane_border::{area_above_border, draw_border, list_keys};
use crate::keymap::KeyAction;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::pane::graph::GraphPaneState;
use crate::pane::graph_card::{breakpoint_position, card_lines, watched_drawing, watched_graph};
use crate::pane::shown_graph::ShownGraph;
use crate::run_view::run_graph::GraphDrawingMarks;
use crate::text::fit_to_columns;
use crate::theme::ColorTheme;
use synthdev_service::definition_views::graph::chart::window::{ChartLine, ChartStyle};
use synthdev_service::definition_views::graph::layout::{CellRect, CellSize};

/// What the numbers at states and arrows are.
pub const NUMBERS: &str = "×N times · $ spent";
/// Lays out what is on screen. `false`: there is no drawing yet.
pub fn arrange_graph(model: &mut UiModel, area: Rect) -> bool {
    let area = area_above_border(area);
    let size = CellSize { width: usize::from(area.width), height: usize::from(area.height) };
    let names_only = model.panes.graph.names_only;
    let Some(id) = watched_drawing(model).map(|(run, _)| run.id.clone()) else { return false };
    if let Some(run) = model.run_mut(&id) {
        run.pane_data.mark_graph();
        run.pane_data.lay_out_graph(size.width, names_only);
    }
    let mut state = std::mem::take(&mut model.panes.graph);
    if state.run.as_ref() != Some(&id) {
        state = GraphPaneState { run: Some(id), names_only, ..GraphPaneState::default() };
    }
    state.reveals_chosen |= state.size != size;
    state.size = size;
    if let Some((_, drawing)) = watched_drawing(model) {
        state.settle(drawing);
    }
    let (top, height) = (state.top, size.height);
    model.panes.graph = state;
    let pane = model.panes.state_mut(PaneKind::Graph);
    (pane.top_row, pane.height) = (top, height);
    true
}

/// `false`: there is no drawing yet.
pub fn draw_graph(model: &UiModel, area: Rect, frame: &mut Frame<'_>) -> bool {
    let Some(shown) = watched_graph(model).filter(|shown| !shown.drawing.is_empty()) else { return false };
    let inside = area_above_border(area);
    let focused = model.focused_pane() == Some(PaneKind::Graph);
    draw_states(&shown, focused, inside, model.theme, frame);
    draw_border(model, &graph_keys(model, &shown, focused), focused, area, frame);
    if focused && shown.state.card_open {
        draw_card(model, &shown, inside, frame);
    }
    true
}

/// All of a run's graph, with the card of the chosen state.
pub fn draw_whole_graph(model: &UiModel, shown: &ShownGraph<'_>, area: Rect, frame: &mut Frame<'_>) {
    draw_states(shown, true, area, model.theme, frame);
    if shown.state.card_open {
        draw_card(model, shown, area, frame);
    }
}

/// The part of the drawing that is seen; `…` where it goes on at the left.
fn draw_states(
    shown: &ShownGraph<'_>,
    focused: bool,
    inside: Rect,
    theme: ColorTheme,
    frame: &mut Frame<'_>,
) {
    let ShownGraph { drawing, roster, state, breakpoints: points, .. } = *shown;
    let marks = GraphDrawingMarks {
        chosen: state.chosen.filter(|_| focused),
        has_breakpoint: &|node| breakpoint_position(points, node).is_some(),
        agent_sign: &|node| {
            let agent = node.details.agent.as_ref()?;
            let number = drawing.agents().iter().position(|name| name == agent)?;
            Some((roster.mark(agent), number))
        },
    };
    let window = CellRect {
        x: state.left,
        y: state.top,
        // one more tells whether a row is cut
        width: usize::from(inside.width) + 1,
        height: usize::from(inside.height),
    };
    for (y, line) in (inside.y..inside.bottom()).zip(drawing.window_lines(window, &marks)) {
        let spans = line.into_iter().map(|span| {
            let agent = span.style.agent.and_then(|number| drawing.agents().get(number));
            let look = agent.map(|agent| roster.style(theme, agent));
            Span::styled(span.text, chart_style(span.style, look, theme))
        });
        put_line(frame, inside.x, y, &Line::from(spans.collect::<Vec<_>>()), inside.width);
    }
    if let Some(before) = state.left.checked_sub(1) {
        let column = drawing.window_lines(CellRect { x: before, width: 1, ..window }, &marks);
        // `…` alone: a heading, which is not scrolled
        let is_cut = |line: &ChartLine| line.iter().any(|span| !matches!(span.text.as_str(), " " | "…"));
        let cut = (inside.y..).zip(&column).filter(|(_, line)| is_cut(line));
        cut.for_each(|(y, _)| put_line(frame, inside.x, y, &Line::raw("…"), 1));
    }
}

/// `agent`: the look of the agent whose sign it is.
fn chart_style(style: ChartStyle, agent: Option<Style>, theme: ColorTheme) -> Style {
    let look = agent.unwrap_or_else(|| theme.graph(style.tone));
    let look = match (style.is_chosen, agent) {
        (true, None) => look.patch(theme.accent_style()).add_modifier(Modifier::BOLD),
        _ => look,
    };
    if style.is_filled { look.add_modifier(Modifier::REVERSED) } else { look }
}

fn graph_keys(model: &UiModel, shown: &ShownGraph<'_>, focused: bool) -> Vec<String> {
    if !focused {
        return list_keys(model, PaneKind::Graph, false);
    }
    let key =
        |action: KeyAction, about: &str| model.keymap.pane_key(action).map(|key| format!("{key} {about}"));
    let state = shown.state;
    let names = if state.names_only { "conditions" } else { "names only" };
    let open = if state.card_open { "closes" } else { "opens" };
    let keys = [
        Some("arrows choose".to_owned()),
        key(KeyAction::Open, open),
        shown.is_wide().then(|| key(KeyAction::GraphRight, "moves it")).flatten(),
        key(KeyAction::GraphBreakpoint, "breakpoint"),
        key(KeyAction::GraphNames, names),
        key(KeyAction::Last, "the run"),
    ];
    keys.into_iter().flatten().collect()
}

/// The chosen state over the lower part of the drawing, or over the upper one where that would hide its box.
fn draw_card(model: &UiModel, shown: &ShownGraph<'_>, area: Rect, frame: &mut Frame<'_>) {
    let ShownGraph { state, drawing, .. } = *shown;
    let Some((chosen, node)) = state.chosen.and_then(|chosen| Some((chosen, drawing.node(chosen)?))) else {
        return;
    };
    if area.height < 5 || area.width < 12 {
        return;
    }
    let lines = card_lines(shown, model.theme, usize::from(area.width.saturating_sub(4)));
    let most = area.height * 2 / 3;
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(most.max(5));
    let row = drawing.state_area(chosen).map_or(0, |area| area.y.saturating_sub(state.top));
    let is_low = row + 2 > usize::from(area.height - height);
    let y = if is_low { area.y } else { area.bottom() - height };
    let area = Rect { y, height, ..area };
    let theme = model.theme;
    let title = fit_to_columns(&format!(" {} ", node.name), usize::from(area.width - 4)).into_owned();
    let inside = draw_box(frame, area, &title, theme.accent_style());
    let room = usize::from(inside.height);
    let top = state.card_top.min(lines.len().saturating_sub(room));
    for (y, line) in (inside.y..inside.bottom()).zip(lines.iter().skip(top)) {
        put_line(frame, inside.x + 1, y, line, inside.width.saturating_sub(2));
    }
    let below = lines.len().saturating_sub(top + room);
    if below > 0 {
        let key =
            model.keymap.pane_key(KeyAction::PaneDown).map_or_else(String::new, |key| format!(", {key}"));
        let text = format!(" ↓ {below} more{key} ");
        put_line(
            frame,
            area.x + 2,
            area.bottom() - 1,
            &Line::styled(text, theme.accent_style()),
            area.width - 4,
        );
    }
}
