//! The model as a picture. `arrange_screen` lays out what is on screen, `draw_screen` only reads.

use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::{Frame, Terminal};

use self::draw_helpers::{put_line, select_row};
pub use self::history_browser::BrowsedPlace;
use crate::file_work::PendingFileWork;
use crate::layers::ScreenLayer;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::UiModel;
use crate::mouse_selection::MouseSelection;
use crate::text::{
    display_width, fit_to_columns, format_count, format_dollars, format_duration, one_line, short_number,
    window_fill_text,
};
use crate::transcript::layout::ItemLayoutOptions;
use synthdev_domain::ids::RunId;
use synthdev_service::session::{PendingStart, StartPreparation};

mod completion_popup;
mod dialog;
mod draw_helpers;
mod editor;
mod graph_pane;
mod history_browser;
mod hyperlinks;
mod key_help;
mod pane;
mod resume_picker;
mod setup;
mod side_panel;

pub use self::editor::text_place;
pub use pane::{pane_body, row_under_pointer};

/// Where everything is. Heights may be zero on tiny screens.
struct ScreenAreas {
    header: Rect,
    /// The conversation, if it is on screen.
    transcript: Rect,
    slots: Vec<(LayoutSlot, Rect)>,
    /// The question in front; empty where there is none.
    question: Rect,
    note_area: Rect,
    composer: Rect,
    status: Rect,
}

/// Lays out the rows that `draw_screen` will show. Call before every frame.
pub fn arrange_screen(model: &mut UiModel) {
    dialog::lay_out_question(model);
    for layer in model.visible_layers() {
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
    let (areas, focused) = (screen_areas(model), model.focused_layer());
    for layer in model.visible_layers() {
        let cursor = draw_layer(model, layer, &areas, frame);
        if let Some(cursor) = cursor.filter(|_| layer == focused) {
            frame.set_cursor_position(cursor);
        }
    }
    let selection = model.mouse_selection.as_ref().filter(|selection| selection.is_dragged());
    for row in selection.into_iter().flat_map(MouseSelection::rows) {
        select_row(frame, row, model.theme.selected_style());
    }
    draw_helpers::cover_wide_cells(frame);
    hyperlinks::mark_links(model, areas.transcript, frame);
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
        ScreenLayer::ModelSetup => {
            let height = areas.note_area.y.min(areas.status.y);
            setup::draw_setup(model, Rect { height, ..whole_screen(model) }, frame)
        }
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
    draw_status(model, areas.status, frame);
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

/// What the rows of a slot are in, without its frame.
pub fn slot_rows(model: &UiModel, slot: LayoutSlot, area: Rect) -> Rect {
    match slot {
        LayoutSlot::Pane(PaneKind::Conversation) => screen_areas(model).transcript,
        LayoutSlot::Pane(_) => pane::inner_area(area),
        LayoutSlot::Digest => {
            Rect { x: area.x + area.width.min(2), width: area.width.saturating_sub(2), ..area }
        }
    }
}

/// What of the history is below the pointer.
pub fn browsed_place(model: &UiModel, column: u16, row: u16) -> Option<BrowsedPlace> {
    history_browser::browsed_place(model, whole_screen(model), column, row)
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
    let question = dialog::question_height(model, free);
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
        question: at(header + height, question),
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
    let ways = if taken_back.is_some() { [" · Up takes it back", " · Up"] } else { [""; 2] };
    let fits = |way: &&str| room >= LEAST + display_width(way);
    let way = ways.into_iter().find(fits).unwrap_or_default();
    let text = one_line(newest);
    Some(format!("{head}{}{way}", fit_to_columns(&text, room.saturating_sub(display_width(way)))))
}

fn draw_note(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    let Some(text) = note_text(model).filter(|_| area.height > 0) else { return };
    let text = fit_to_columns(&text, usize::from(area.width.saturating_sub(2))).into_owned();
    put_line(frame, area.x + 1, area.y, &Line::styled(text, model.theme.warning_style()), area.width);
}

/// Columns of what stands before the text of the input box: at most a quarter of them.
fn prefix_columns(model: &UiModel, columns: u16) -> u16 {
    let wanted = u16::try_from(display_width(model.composer.prefix())).unwrap_or(u16::MAX);
    wanted.min(columns / 4).max(1)
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
    let prefix = Line::styled(model.composer.prefix(), style);
    put_line(frame, area.x, area.y + 1, &prefix, before);
    let text = Rect {
        x: area.x + before + 1,
        y: area.y + 1,
        width: area.width - before - 2,
        height: area.height - 1,
    };
    let input = model.composer.area();
    frame.render_widget(input, text);
    if model.composer.is_empty() {
        let hint = match &model.workflow_awaiting_input {
            _ if model.is_answer_written() => "your answer".to_owned(),
            Some(name) => format!("input for {name}"),
            None => "message, or / for commands".to_owned(),
        };
        put_line(frame, text.x, text.y, &Line::styled(hint, model.theme.dim_style()), text.width);
    }
    let cursor = input.screen_cursor();
    let row = u16::try_from(cursor.row).unwrap_or(u16::MAX).saturating_sub(input.scroll_offset().0);
    let column = u16::try_from(cursor.col).unwrap_or(u16::MAX).min(text.width);
    Some(Position { x: (text.x + column).min(area.right() - 1), y: (text.y + row).min(text.bottom() - 1) })
}

/// Mode, model, tokens, cost, elapsed time; keys on the right.
fn draw_status(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    if area.height == 0 {
        return;
    }
    let theme = model.theme;
    let mut keys = keys_hint(model);
    let columns = usize::from(area.width);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    if let Some(sign) = model.mode_sign() {
        spans.push(Span::styled(format!(" {sign} "), theme.selected_style()));
        spans.push(Span::raw(" "));
        used += display_width(sign) + 3;
    }
    let last_key = keys.rsplit(" · ").next().unwrap_or_default();
    let room = |keys: &str| columns.saturating_sub(display_width(keys) + 3 + used);
    let parts = status_parts(model, room(&keys), room(last_key));
    for (at, (text, style)) in parts.into_iter().enumerate() {
        let gap = if at > 0 { " · " } else { "" };
        used += display_width(gap) + display_width(&text);
        spans.push(Span::styled(gap, theme.dim_style()));
        spans.push(Span::styled(text, style));
    }
    put_line(frame, area.x, area.y, &Line::from(spans), area.width);
    // the last ones matter most
    while used + display_width(&keys) + 2 >= columns
        && let Some((_, rest)) = keys.split_once(" · ")
    {
        keys = rest.to_owned();
    }
    if used + display_width(&keys) + 2 < columns {
        let x = u16::try_from(columns - display_width(&keys) - 1).unwrap_or(0);
        put_line(frame, x, area.y, &Line::styled(keys, theme.dim_style()), area.width - x);
    }
}

/// Percent of a window from which on it is nearly full.
const NEARLY_FULL: u64 = 80;

/// How full the model's window is.
fn window_text(model: &UiModel) -> Option<(String, ratatui::style::Style)> {
    let (used, window) = model.watched_run()?.window_fill()?;
    let nearly_full = used.saturating_mul(100) / window >= NEARLY_FULL;
    let style = if nearly_full { model.theme.warning_style() } else { model.theme.text() };
    Some((window_fill_text(used, window), style))
}

/// Commands that agents have left running, in all runs of this session: each of them can be stopped from here.
fn background_text(model: &UiModel) -> Option<String> {
    let count: usize = model.runs.iter().map(|run| run.pane_data.running_commands.len()).sum();
    (count > 0).then(|| format!("{} in background", format_count(count as u64, "command")))
}

/// What fits in `columns`, in reading order: where room is short, cost and tokens go first, then the model's name. What
/// works goes only where the activity would cover the last key: it leaves `least` columns.
fn status_parts(model: &UiModel, columns: usize, least: usize) -> Vec<(String, ratatui::style::Style)> {
    let theme = model.theme;
    let name =
        model.watched_run().and_then(|run| run.speaker.as_ref()).map_or(&model.facts.model, |s| &s.model);
    let usage = model.usage();
    let used = usage.total() > 0;
    let mut parts = vec![
        Some((model.mode(), theme.accent_style().patch(theme.bold_style()))),
        (!name.is_empty()).then(|| (name.clone(), theme.text())),
        window_text(model),
        used.then(|| (format!("session {} tok", short_number(usage.total())), theme.text())),
        used.then(|| (format_dollars(model.cost_usd()), theme.text())),
        activity_text(model).map(|activity| (activity, theme.warning_style())),
        (model.questions() > 1).then(|| (format!("{} questions", model.questions()), theme.user_attention())),
        background_text(model).map(|text| (text, theme.warning_style())),
    ];
    let total = |parts: &[Option<(String, ratatui::style::Style)>]| -> usize {
        parts.iter().flatten().map(|(text, _)| display_width(text) + 3).sum()
    };
    for part in [4, 3, 1] {
        if total(&parts) > columns {
            parts[part] = None;
        }
    }
    if parts[5].is_some() && total(&parts) > least + 3 {
        parts[0] = None;
    }
    parts.into_iter().flatten().collect()
}

/// The current activity, and its duration. While a question is open, the program waits for the user.
fn activity_text(model: &UiModel) -> Option<String> {
    let Some(run) = model.busy_run() else {
        let Some(aside) = &model.side_query else { return preparation_text(model) };
        let ms = u64::try_from(model.now.0 - aside.since.0).unwrap_or(0);
        if aside.has_progress {
            return Some(aside.activity_text.clone());
        }
        return Some(with_elapsed_time(&aside.activity_text, ms, model.reduced_motion));
    };
    if model.dialogs.iter().any(|dialog| dialog.run_id() == Some(&run.id)) {
        return Some("waits for you".to_owned());
    }
    if let Some(stand) = run.stopped_at.first() {
        return Some(format!("stopped: {}", stand.stop_location()));
    }
    if let Some(progress) = &run.snapshot_facts.progress_text {
        return Some(progress.clone());
    }
    let at_once = run.concurrency_label();
    let what = match &at_once {
        Some(at_once) => at_once.as_str(),
        None if run.activity.is_empty() => "working",
        None => &run.activity,
    };
    let ms = run.times.activity_ms(model.now).or_else(|| run.elapsed_ms(model.now))?;
    Some(with_elapsed_time(what, ms, model.reduced_motion))
}

/// What is waited for before a run begins or goes on.
fn preparation_text(model: &UiModel) -> Option<String> {
    if let Some(text) = model.file_work.as_ref().and_then(PendingFileWork::activity_text) {
        return Some(text);
    }
    if let Some(PendingStart { name, preparation, .. }) = &model.pending_start {
        return Some(match preparation {
            StartPreparation::Files => format!("copying the files for {name} …"),
            StartPreparation::Windows => format!("asking for the window of {name} …"),
            StartPreparation::Requirements => format!("checking what {name} requires …"),
        });
    }
    model.opening_run.as_ref().map(|opening| format!("reading run {} …", opening.run))
}

/// One sign after the other, four a second where something is drawn anyway.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Something runs, and for how long, where it may move.
fn with_elapsed_time(what: &str, ms: u64, calm: bool) -> String {
    if calm {
        return what.to_owned();
    }
    let sign = SPINNER[usize::try_from(ms / 250).unwrap_or(0) % SPINNER.len()];
    let time = if ms < 1_000 { String::new() } else { format!(" {}", format_duration(ms / 1_000 * 1_000)) };
    format!("{sign} {what}{}", time.replace(".0 s", " s"))
}

fn keys_hint(model: &UiModel) -> String {
    let focused = model.focused_layer();
    if let Some(pane) = model.keyed_pane().filter(|_| focused == ScreenLayer::FocusedPane) {
        return pane::pane_keys(model, pane);
    }
    if focused == ScreenLayer::KeyHelp {
        return "Esc closes the keys".to_owned();
    }
    if let Some(percent) = model.transcript.scroll_percent() {
        return format!("{percent} % · End: newest");
    }
    let hint = match dialog::escape_hint(model) {
        _ if focused == ScreenLayer::ModelSetup => "Esc leaves it",
        Some(hint) => hint,
        None if model.is_workflow_stopped() => "/step · /continue",
        None if model.side_query.is_some() || model.busy_run().is_some() => "Esc stops",
        None => "/help",
    };
    hint.to_owned()
}
