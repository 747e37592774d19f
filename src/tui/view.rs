//! The model as a picture. `arrange_screen` lays out what is on screen, `draw_screen` only reads.

use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::{Frame, Terminal};

use self::draw_helpers::{put_line, select_row};
pub use self::history_browser::BrowsedPlace;
use crate::layers::ScreenLayer;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::{PREFIX_PART, UiModel};
use crate::mouse_selection::MouseSelection;
use crate::text::{display_width, fit_entries, fit_to_columns, one_line};
use crate::transcript::layout::ItemLayoutOptions;
use synthdev_domain::ids::RunId;

mod completion_popup;
mod dialog;
mod draw_helpers;
mod editor;
mod graph_pane;
mod history_browser;
mod hyperlinks;
mod key_help;
mod pane;
mod pane_border;
mod resume_picker;
mod setup;
mod side_panel;
mod status_line;

pub use self::editor::{GRAPH_COLUMNS, text_place};
pub use pane::{is_empty_pane, pane_body, row_under_pointer};

/// Where everything is. Heights may be zero on tiny screens.
struct ScreenAreas {
    header: Rect,
    /// The conversation, if it is on screen.
    transcript: Rect,
    slots: Vec<(LayoutSlot, Rect)>,
    /// The question in front, or the setup of a model; empty where there is neither.
    question: Rect,
    note_area: Rect,
    composer: Rect,
    status: Rect,
}

/// Lays out the rows that `draw_screen` will show. Call before every frame.
pub fn arrange_screen(model: &mut UiModel) {
    dialog::lay_out_question(model);
    let layers = model.visible_layers();
    if !layers.iter().any(|layer| matches!(layer, ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion)) {
        // what is covered appears anew
        model.dialogs.iter_mut().for_each(|dialog| dialog.shown_at = None);
    }
    for layer in layers {
        match layer {
            ScreenLayer::Conversation => arrange_conversation(model),
            ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion => {
                let area = screen_areas(model).question;
                dialog::arrange_dialog(model, area);
            }
            ScreenLayer::HistoryBrowser => history_browser::arrange_browser(model, whole_screen(model)),
            ScreenLayer::WorkflowEditor => editor::arrange_editor(model, whole_screen(model)),
            ScreenLayer::KeyHelp => key_help::arrange_key_help(model, whole_screen(model)),
            ScreenLayer::ResumePicker
            | ScreenLayer::CompletionPopup
            | ScreenLayer::FocusedPane
            | ScreenLayer::SessionKeys
            | ScreenLayer::ModelSetup => {}
        }
    }
}

fn arrange_conversation(model: &mut UiModel) {
    let areas = screen_areas(model);
    let look = ItemLayoutOptions {
        columns: usize::from(areas.transcript.width),
        details: model.details,
        theme: model.theme,
        clock: (!model.reduced_motion).then_some(model.now.0),
    };
    model.transcript.arrange_rows(look, usize::from(areas.transcript.height));
    pane::arrange_panes(model, &areas.slots);
}

/// Makes the rows of the panes, for keys that come before the next frame.
pub fn arrange_panes(model: &mut UiModel) {
    let placed = screen_areas(model).slots;
    pane::arrange_panes(model, &placed);
}

/// Draws one frame, from the lowest layer to the highest; changes nothing.
pub fn draw_screen(model: &UiModel, frame: &mut Frame<'_>) {
    let areas = screen_areas(model);
    let typed_layer = model.typed_layer();
    for layer in model.visible_layers() {
        let cursor = draw_layer(model, layer, &areas, frame);
        if let Some(cursor) = cursor.filter(|_| layer == typed_layer) {
            frame.set_cursor_position(cursor);
        }
    }
    if let Some(text) = &model.unused_key_text {
        draw_unused_key(model, text, frame);
    }
    let selection = model.mouse_selection.as_ref().filter(|selection| selection.is_dragged());
    for row in selection.into_iter().flat_map(MouseSelection::rows) {
        select_row(frame, row, model.theme.selected_style());
    }
    draw_helpers::cover_wide_cells(frame);
    hyperlinks::mark_links(model, areas.transcript, frame);
}

/// Over the keys of the last row: the mode sign before it stays.
fn draw_unused_key(model: &UiModel, text: &str, frame: &mut Frame<'_>) {
    let area = frame.area();
    let text = format!("  {text} ");
    let text = fit_to_columns(&text, usize::from(area.width));
    let columns = u16::try_from(display_width(&text)).unwrap_or(area.width).min(area.width);
    let line = Line::styled(text.into_owned(), model.theme.warning_style());
    put_line(frame, area.right() - columns, area.bottom().saturating_sub(1), &line, columns);
}

/// The frame as it would be drawn, in memory: what the terminal shows is not read back.
pub fn screen_cells(model: &UiModel) -> Buffer {
    let (width, height) = model.size;
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw_screen(model, frame));
    terminal.backend().buffer().clone()
}

/// Where the cursor is if the layer has the keys.
fn draw_layer(
    model: &UiModel,
    layer: ScreenLayer,
    areas: &ScreenAreas,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    match layer {
        ScreenLayer::Conversation => draw_conversation(model, areas, frame),
        ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion => {
            dialog::draw_dialog(model, areas.question, frame)
        }
        ScreenLayer::CompletionPopup => {
            completion_popup::draw_popup(model, areas.composer, frame);
            None
        }
        // the conversation is drawn with its panes
        ScreenLayer::FocusedPane | ScreenLayer::SessionKeys => None,
        ScreenLayer::HistoryBrowser => history_browser::draw_browser(model, whole_screen(model), frame),
        ScreenLayer::ResumePicker => resume_picker::draw_picker(model, whole_screen(model), frame),
        ScreenLayer::WorkflowEditor => editor::draw_editor_screen(model, whole_screen(model), frame),
        ScreenLayer::KeyHelp => {
            key_help::draw_key_help(model, whole_screen(model), frame);
            None
        }
        ScreenLayer::ModelSetup => setup::draw_setup(model, areas.question, frame),
    }
}

fn draw_conversation(model: &UiModel, areas: &ScreenAreas, frame: &mut Frame<'_>) -> Option<Position> {
    draw_transcript(model, areas.transcript, frame);
    for (slot, area) in &areas.slots {
        match slot {
            LayoutSlot::Pane(PaneKind::Conversation) => {}
            LayoutSlot::Pane(pane) => pane::draw_pane(model, *pane, *area, frame),
            LayoutSlot::Digest => side_panel::draw_side_panel(model, *area, frame),
        }
    }
    if areas.header.height > 0 {
        side_panel::draw_header(model, areas.header, frame);
    }
    draw_note(model, areas.note_area, frame);
    let cursor = draw_composer(model, areas.composer, areas.transcript.width + 1, frame);
    status_line::draw_status(model, areas.status, frame);
    cursor
}

fn whole_screen(model: &UiModel) -> Rect {
    let (width, height) = model.size;
    Rect { x: 0, y: 0, width, height }
}

/// The slot at a cell of the screen, and its area.
pub fn slot_at(model: &UiModel, column: u16, row: u16) -> Option<(LayoutSlot, Rect)> {
    screen_areas(model).slots.into_iter().find(|(_, area)| area.contains(Position { x: column, y: row }))
}

/// What the rows of a slot are in, without its frame and its lower border.
pub fn slot_rows(model: &UiModel, slot: LayoutSlot, area: Rect) -> Rect {
    match slot {
        LayoutSlot::Pane(PaneKind::Conversation) => screen_areas(model).transcript,
        LayoutSlot::Pane(_) => pane_border::area_above_border(pane::inner_area(area)),
        LayoutSlot::Digest => {
            Rect { x: area.x + area.width.min(2), width: area.width.saturating_sub(2), ..area }
        }
    }
}

/// What of the history is below the pointer.
pub fn browsed_place(model: &UiModel, column: u16, row: u16) -> Option<BrowsedPlace> {
    history_browser::browsed_place(model, whole_screen(model), column, row)
}

/// Whether the setup of a model can be seen: on a screen that is too small it cannot.
pub fn shows_setup(model: &UiModel) -> bool {
    setup::has_room(screen_areas(model).question)
}

/// Where the question in front is.
pub fn question_area(model: &UiModel) -> Option<Rect> {
    Some(screen_areas(model).question).filter(|area| area.height > 0)
}

/// A screen with less rows is short.
const SHORT: u16 = 10;

fn screen_areas(model: &UiModel) -> ScreenAreas {
    let (columns, rows) = model.size;
    let status = u16::from(rows > 0);
    let most = (rows / 3).clamp(1, 12);
    let typed = model.composer.rows(usize::from(columns.saturating_sub(prefix_columns(model, columns) + 2)));
    let lines = u16::try_from(typed).unwrap_or(u16::MAX).clamp(1, most);
    // where there is no room for both, a question that one key answers has that of the input box
    let is_hidden = rows < SHORT && model.is_open(ScreenLayer::KeyQuestion);
    let composer = if is_hidden { 0 } else { (lines + 1).min(rows.saturating_sub(status)) };
    let note = u16::from(note_text(model).is_some() && rows > 6);
    let alone = model.place_slots(Rect { x: 0, y: 0, width: columns, height: rows }).len() == 1;
    let header = u16::from(alone && model.watched_run().is_some() && rows > 8);
    let free = rows.saturating_sub(status + composer + note + header);
    let question = match setup::setup_height(model, dialog::largest_height(model), free) {
        0 => dialog::question_height(model, free),
        height => height,
    };
    let height = free - question;
    let at = |y: u16, height: u16| Rect { x: 0, y, width: columns, height };
    let placed = model.place_slots(at(header, height));
    let talk = placed.iter().find(|(slot, _)| *slot == LayoutSlot::Pane(PaneKind::Conversation));
    let talk = talk.map_or(Rect { width: 0, ..at(header, 0) }, |(_, area)| *area);
    ScreenAreas {
        header: at(0, header),
        // One column stays free on the right, so that text never touches the panel's border.
        transcript: Rect { width: talk.width.saturating_sub(1), ..talk },
        slots: placed,
        question: Rect { width: dialog::question_width(columns), ..at(header + height, question) },
        note_area: at(header + free, note),
        composer: at(header + free + note, composer),
        status: at(rows.saturating_sub(status), status),
    }
}

fn draw_transcript(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    for (y, row) in (area.y..area.bottom()).zip(model.transcript.visible_rows()) {
        if let Some(line) = row {
            put_line(frame, area.x, y, line, area.width);
        }
    }
    if let Some(rows) = model.transcript.selected_rows().filter(|rows| rows.start < usize::from(area.height))
    {
        let y = area.y + u16::try_from(rows.start).unwrap_or(0);
        select_row(frame, Rect { y, height: 1, ..area }, model.theme.selected_style());
    }
}

/// The line above the input: a hint, or what waits to be read.
fn note_text(model: &UiModel) -> Option<String> {
    if let Some(hint) = &model.hint {
        return Some(hint.clone());
    }
    if let Some(search) = model.composer.search_line() {
        return Some(search);
    }
    if model.keyed_pane() == Some(PaneKind::Conversation)
        && let Some(search) = &model.panes.search
    {
        return Some(search.to_label());
    }
    queued_note(model)
}

/// The newest text that waits to be read, for whom, and how it comes back if Up does that. Of these, the text gives way.
fn queued_note(model: &UiModel) -> Option<String> {
    const LEAST: usize = 12;
    let of = |id: &Option<RunId>| id.as_ref().and_then(|id| model.find_run(id));
    let fronts = of(&model.workflow).into_iter().chain(of(&model.chat));
    let count = fronts.clone().map(|run| run.outbox.len()).sum::<usize>() + model.queued.len();
    let taken_back = model.unread_run();
    let reader = taken_back.or_else(|| fronts.clone().find(|run| !run.outbox.is_empty()));
    let newest = reader.map_or(model.queued.last(), |run| run.outbox.back())?;
    let reader = reader.map_or(&model.facts.role, |run| &run.workflow);
    let more = if count > 1 { format!(" (+{})", count - 1) } else { String::new() };
    let head = format!("queued for {reader}{more}: ");
    let room = usize::from(model.size.0).saturating_sub(2 + display_width(&head));
    // in a question that wants a key, Up is for the answers
    let is_key_wanted = model.is_open(ScreenLayer::KeyQuestion);
    let ways = match taken_back {
        Some(run) if is_key_wanted && !run.chat => [" · /pending edit takes it back", " · /pending edit"],
        Some(_) if !is_key_wanted => [" · Up takes it back", " · Up"],
        _ => [""; 2],
    };
    let fits = |way: &&str| room >= LEAST + display_width(way);
    let way = ways.into_iter().find(fits).unwrap_or_default();
    let text = one_line(newest);
    Some(format!("{head}{}{way}", fit_to_columns(&text, room.saturating_sub(display_width(way)))))
}

fn draw_note(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    let Some(text) = note_text(model).filter(|_| area.height > 0) else { return };
    let text = fit_entries(&text, usize::from(area.width.saturating_sub(2))).into_owned();
    put_line(frame, area.x + 1, area.y, &Line::styled(text, model.theme.warning_style()), area.width);
}

/// Columns of what stands before the text of the input box: at most a quarter of them.
fn prefix_columns(model: &UiModel, columns: u16) -> u16 {
    let wanted = u16::try_from(display_width(&model.input_prefix())).unwrap_or(u16::MAX);
    wanted.min(columns / PREFIX_PART).max(1)
}

/// `width`: of the conversation above.
fn draw_composer(model: &UiModel, area: Rect, width: u16, frame: &mut Frame<'_>) -> Option<Position> {
    if area.height < 2 || area.width < 4 {
        return None;
    }
    let rule = "─".repeat(usize::from(area.width));
    // what has the keys is coloured
    let is_focused = model.focused_layer() == ScreenLayer::Conversation;
    let style = if is_focused { model.theme.accent_style() } else { model.theme.dim_style() };
    put_line(frame, area.x, area.y, &Line::styled(rule, style), area.width);
    if model.focused_pane() == Some(PaneKind::Conversation) {
        let line = pane::conversation_title(model, usize::from(width));
        put_line(frame, area.x, area.y, &line, width);
    }
    let before = prefix_columns(model, area.width);
    let prefix = fit_to_columns(&model.input_prefix(), usize::from(before)).into_owned();
    put_line(frame, area.x, area.y + 1, &Line::styled(prefix, style), before);
    let text = Rect {
        x: area.x + before + 1,
        y: area.y + 1,
        width: area.width - before - 2,
        height: area.height - 1,
    };
    let input = model.composer.area();
    frame.render_widget(input, text);
    if model.composer.is_empty() {
        let hint = match (&model.workflow_awaiting_input, dialog::typing_hint(model)) {
            _ if model.is_answer_written() => "your answer".to_owned(),
            (_, Some(hint)) => hint.to_owned(),
            (Some(name), None) => format!("input for {name}"),
            (None, None) => "message, or / for commands".to_owned(),
        };
        put_line(frame, text.x, text.y, &Line::styled(hint, model.theme.dim_style()), text.width);
    }
    let cursor = input.screen_cursor();
    let row = u16::try_from(cursor.row).unwrap_or(u16::MAX).saturating_sub(input.scroll_offset().0);
    let column = u16::try_from(cursor.col).unwrap_or(u16::MAX).min(text.width);
    Some(Position { x: (text.x + column).min(area.right() - 1), y: (text.y + row).min(text.bottom() - 1) })
}
