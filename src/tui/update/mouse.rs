//! The mouse: the wheel scrolls what is below it, a click gives a pane the keys, and what is dragged over is copied.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::panes::{scroll_pane, scroll_target};
use super::{clipboard, file_mentions, graph_pane};
use crate::layers::ScreenLayer;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::UiModel;
use crate::mouse_selection::MouseSelection;
use crate::msg::UiCommand;
use crate::pane::graph::WHEEL_COLUMNS;
use crate::text::display_width;
use crate::view;

/// Rows that one step of the wheel moves.
const WHEEL: usize = 3;

/// The mouse is moved with the button down, or let go: what is selected is copied. `None`: it means something else.
pub fn drag_selection(model: &mut UiModel, event: MouseEvent) -> Option<Vec<UiCommand>> {
    match event.kind {
        MouseEventKind::Drag(MouseButton::Left) => {
            model.mouse_selection.as_mut()?.drag_to(event.column, event.row);
            Some(Vec::new())
        }
        MouseEventKind::Up(MouseButton::Left) => {
            let selection = model.mouse_selection.take()?;
            if !selection.is_dragged() {
                return None;
            }
            view::arrange_screen(model);
            let (cmd, said) = clipboard::copy_command(selected_text(model, &selection));
            model.hint = Some(said);
            Some(cmd.into_iter().collect())
        }
        _ => {
            model.mouse_selection = None;
            None
        }
    }
}

/// After a click did what it means: a selection begins there.
pub fn begin_selection(model: &mut UiModel, event: MouseEvent) {
    if event.kind == MouseEventKind::Down(MouseButton::Left) {
        let area = selectable_area(model, event.column, event.row);
        model.mouse_selection = area.map(|area| MouseSelection::begin(area, event.column, event.row));
    }
}

/// Over the conversation and its panes. Beside them the wheel moves what the page keys would.
pub fn on_mouse(model: &mut UiModel, event: MouseEvent) -> Vec<UiCommand> {
    let found = view::slot_at(model, event.column, event.row);
    let pane = match found {
        Some((LayoutSlot::Pane(pane), _)) => pane,
        Some((LayoutSlot::Digest, _)) | None => scroll_target(model),
    };
    match (event.kind, found) {
        (MouseEventKind::ScrollUp, _) => scroll_pane(model, pane, WHEEL, false),
        (MouseEventKind::ScrollDown, _) => scroll_pane(model, pane, WHEEL, true),
        (MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight, _) if pane == PaneKind::Graph => {
            let right = event.kind == MouseEventKind::ScrollRight;
            graph_pane::change_graph(model, |state, drawing| {
                state.scroll_columns(WHEEL_COLUMNS, right, drawing.size());
            });
        }
        (MouseEventKind::Down(MouseButton::Left), None) => model.panes.focus_input(),
        (MouseEventKind::Down(MouseButton::Left), Some((LayoutSlot::Pane(_), area))) => {
            if let Some(cmd) = file_mentions::open_clicked(model, event, area) {
                return vec![cmd];
            }
            focus_clicked_pane(model, pane, area, event);
        }
        _ => {}
    }
    Vec::new()
}

fn focus_clicked_pane(model: &mut UiModel, pane: PaneKind, area: Rect, event: MouseEvent) {
    model.panes.focus_pane(pane);
    if pane == PaneKind::Graph {
        graph_pane::click_graph(model, area, event.column, event.row);
    }
    if pane != PaneKind::Conversation {
        let len = view::pane_body(model, pane).map_or(0, |body| body.len());
        let row = view::row_under_pointer(model, pane, area, event.column, event.row);
        model.panes.state_mut(pane).go_to(row, len);
    }
}

/// The area around a cell that a selection stays in; `None`: nothing is selected there.
fn selectable_area(model: &UiModel, column: u16, row: u16) -> Option<Rect> {
    let place = Position { x: column, y: row };
    match model.focused_layer() {
        ScreenLayer::HistoryBrowser | ScreenLayer::ResumePicker => {
            let (width, height) = model.size;
            return Some(Rect { x: 0, y: 0, width, height });
        }
        ScreenLayer::ModelSetup | ScreenLayer::WorkflowEditor | ScreenLayer::KeyHelp => return None,
        _ => {}
    }
    let asked =
        view::question_area(model).filter(|area| area.contains(place) && area.width > 4 && area.height > 2);
    let area = match asked {
        Some(area) => Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 },
        None => view::slot_at(model, column, row).map(|(slot, area)| view::slot_rows(model, slot, area))?,
    };
    (area.width > 0 && area.height > 0).then_some(area)
}

/// The text of the selected cells as the screen shows it, without blanks that only indent all of it.
fn selected_text(model: &UiModel, selection: &MouseSelection) -> String {
    let buffer = view::screen_cells(model);
    let line = |row: &Rect| {
        let (mut text, mut skip) = (String::new(), 0);
        for x in row.x..row.right() {
            let Some(cell) = buffer.cell((x, row.y)).filter(|_| skip == 0) else {
                skip = usize::saturating_sub(skip, 1);
                continue;
            };
            skip = display_width(cell.symbol()).saturating_sub(1);
            text.push_str(cell.symbol());
        }
        (row.x == selection.left_edge(), text.trim_end().to_owned())
    };
    let lines: Vec<(bool, String)> = selection.rows().iter().map(line).collect();
    let indent = |text: &str| text.len() - text.trim_start_matches(' ').len();
    // a row that begins in the middle says nothing about the margin
    let whole = lines.iter().filter(|(is_whole, text)| *is_whole && !text.is_empty());
    let margin = whole.map(|(_, text)| indent(text)).min().unwrap_or(0);
    let cut = |(is_whole, text): &(bool, String)| {
        let from = if *is_whole { margin.min(text.len()) } else { 0 };
        text[from..].to_owned()
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}
