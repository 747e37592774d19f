//! The editor of workflows and roles: a title, the text with line numbers and marks, the graph beside it, diagnostics
//! below, and two lines for prompts, diagnostics and keys.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::findings::severity_mark;
use self::prompt_line::{prompt_notice, prompt_text};
use super::draw_helpers::{draw_box, keys_room, pad_to_columns, put_keys, put_line, select_row};
use crate::editor::action::EditorAction;
use crate::editor::simulation_result::EditorSimulation;
use crate::editor::{CHECKING, DefinitionEditor, EditorPrompt, EditorScreen, SAVING};
use crate::keymap::{KeyAction, KeyBindings};
use crate::model::UiModel;
use crate::text::{display_width, fit_entries, fit_to_columns, format_count, one_line, wrap_line};
use crate::theme::ColorTheme;
use crate::transcript::layout::tone_style;
use synthdev_domain::diagnostic::DiagnosticSeverity;
use synthdev_domain::terminal_safe;

mod file_list;
mod findings;
mod prompt_line;
mod text;

/// Columns from which on the graph has room beside the text.
pub const GRAPH_COLUMNS: u16 = 110;
/// Rows of the list of findings and of completion.
const LISTED: u16 = 8;
/// A long note takes at most one row of so many: the text stays on screen.
const NOTE_SHARE: u16 = 3;

/// Where everything is. Heights may be zero on tiny screens.
struct EditorAreas {
    title: Rect,
    gutter: Rect,
    text: Rect,
    /// The graph or a simulation; where there is no room beside the text, a simulation is below it.
    side_area: Option<Rect>,
    list: Rect,
    note_area: Rect,
    keys: Rect,
}

/// Keeps the cursor on screen. Call before every frame.
pub fn arrange_editor(model: &mut UiModel, area: Rect) {
    let Some(EditorScreen::Text(editor)) = &mut model.edit else { return };
    if editor.open_question().is_some() {
        editor.prompt_guard.note_shown(model.now);
    }
    let areas = editor_areas(editor, area);
    let (_, column) = editor.buffer.cursor();
    let cursor = text::columns_before(editor.buffer.line(), column);
    editor.scroll_to_cursor(usize::from(areas.text.width), usize::from(areas.text.height), cursor);
    let lines = editor.graph_list.as_ref().map_or(0, |drawing| drawing.len());
    let (room, columns) =
        areas.side_area.map_or((0, 0), |area| (usize::from(area.height), usize::from(area.width)));
    editor.graph_top = editor.graph_top.min(lines.saturating_sub(room));
    let version = editor.buffer.version();
    let lines = editor.simulation.as_ref().map_or(0, |simulation| simulation.lines(version, columns).len());
    if let Some(simulation) = &mut editor.simulation {
        simulation.top_row = simulation.top_row.min(lines.saturating_sub(room));
    }
}

/// Where the cursor is.
pub fn draw_editor_screen(model: &UiModel, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
    match model.edit.as_ref()? {
        EditorScreen::List(listing) => file_list::draw_files(model, listing, area, frame),
        EditorScreen::Fresh(fresh) => file_list::draw_fresh(model, fresh, area, frame),
        EditorScreen::Text(editor) => draw_editor(model, editor, area, frame),
    }
}

fn editor_areas(editor: &DefinitionEditor, area: Rect) -> EditorAreas {
    let row = |y: u16, height: u16| Rect { x: area.x, y, width: area.width, height };
    let title = u16::from(area.height > 2);
    let keys = u16::from(area.height > 4);
    // the typed text is visible on a screen of one row, too
    let note = u16::from(area.height > 1 || area.height == 1 && editor.prompt.is_some());
    let note = note.max(note_height(editor, usize::from(area.width)).min(area.height / NOTE_SHARE));
    let rest = area.height.saturating_sub(title + keys + note);
    let wanted =
        || u16::try_from(findings::row_count(editor, area.width)).unwrap_or(u16::MAX).clamp(1, LISTED) + 1;
    let list = if editor.list.is_some() { wanted().min(rest / 2) } else { 0 };
    let height = rest - list;
    let wanted = editor.simulation.is_some() || editor.graph && editor.graph_list.is_some();
    let graph = (wanted && area.width >= GRAPH_COLUMNS).then_some(area.width.min(1_000) * 2 / 5);
    let below = if editor.simulation.is_some() && graph.is_none() { height / 2 } else { 0 };
    let height = height - below;
    let wide = area.width - graph.unwrap_or(0);
    let digits = editor.buffer.lines().len().to_string().len().max(3);
    let gutter = u16::try_from(digits + 2).unwrap_or(6).min(wide / 3);
    let y = area.y + title;
    let beside = graph.map(|width| Rect { x: area.x + wide + 1, y, width: width.saturating_sub(1), height });
    EditorAreas {
        title: row(area.y, title),
        gutter: Rect { x: area.x, y, width: gutter, height },
        text: Rect { x: area.x + gutter, y, width: wide - gutter, height },
        side_area: beside.or_else(|| (below > 1).then(|| row(y + height + 1, below - 1))),
        list: row(y + height + below, list),
        note_area: row(y + height + below + list, note),
        keys: row(y + height + below + list + note, keys),
    }
}

/// The row and column of the edited text at a cell of the screen; `None`: there is no text.
pub fn text_place(model: &UiModel, column: u16, row: u16) -> Option<(usize, usize)> {
    let Some(EditorScreen::Text(editor)) = &model.edit else { return None };
    let (width, height) = model.size;
    let area = editor_areas(editor, Rect { x: 0, y: 0, width, height }).text;
    let x = column.clamp(area.x, area.right().saturating_sub(1).max(area.x)) - area.x;
    let y = row.clamp(area.y, area.bottom().saturating_sub(1).max(area.y)) - area.y;
    let line = editor.scroll_offset.row + usize::from(y);
    let text = editor.buffer.lines().get(line)?;
    Some((line, text::count_before(text, editor.scroll_offset.column + usize::from(x))))
}

fn draw_editor(
    model: &UiModel,
    editor: &DefinitionEditor,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    let theme = model.theme;
    let areas = editor_areas(editor, area);
    if areas.title.height > 0 {
        let title = editor_title(model, editor);
        let title = fit_entries(&title, usize::from(area.width));
        let line = Line::styled(pad_to_columns(&title, area.width), theme.selected_style());
        put_line(frame, areas.title.x, areas.title.y, &line, area.width);
    }
    draw_gutter(theme, editor, areas.gutter, frame);
    text::draw_text(theme, editor, areas.text, frame);
    match (areas.side_area, &editor.simulation) {
        (Some(area), Some(simulation)) => draw_simulation(model, editor, simulation, area, frame),
        (Some(area), None) => draw_graph(theme, editor, area, frame),
        (None, _) => {}
    }
    findings::draw_findings(theme, editor, areas.list, frame);
    let note = draw_note_and_keys(model, editor, &areas, frame);
    let (row, column) = editor.buffer.cursor();
    let across =
        text::columns_before(editor.buffer.line(), column).saturating_sub(editor.scroll_offset.column);
    let cursor = Position {
        x: areas.text.x.saturating_add(u16::try_from(across).unwrap_or(u16::MAX)),
        y: areas
            .text
            .y
            .saturating_add(u16::try_from(row.saturating_sub(editor.scroll_offset.row)).unwrap_or(u16::MAX)),
    };
    if editor.completion.is_some() {
        draw_offer(theme, editor, cursor, areas.text, frame);
    }
    if let Some(about) = &editor.help_text {
        // the graph beside the text leaves too little room for two columns
        let room = Rect { width: area.right().saturating_sub(areas.text.x), ..areas.text };
        draw_about(theme, about, cursor, room, frame);
    }
    match &editor.prompt {
        Some(EditorPrompt::Find(_)) if areas.note_area.height > 0 => {
            let x = u16::try_from(display_width(&note)).unwrap_or(0).min(area.width.saturating_sub(1));
            Some(Position { x: area.x + x, y: areas.note_area.y })
        }
        Some(_) => None,
        None => areas.text.contains(cursor).then_some(cursor),
    }
}

/// The rows that a note wraps to. A prompt and a finding, which is in the list of findings, too, take one.
fn note_height(editor: &DefinitionEditor, columns: usize) -> u16 {
    let note = editor.status_note.as_ref().filter(|_| editor.prompt.is_none());
    note.map_or(1, |note| u16::try_from(wrap_note(note, columns).len()).unwrap_or(u16::MAX))
}

fn wrap_note(note: &str, columns: usize) -> Vec<String> {
    let note = one_line(&terminal_safe::escape_controls(note));
    wrap_line(&note, columns).into_iter().map(|row| note[row].trim_end().to_owned()).collect()
}

/// The rows above the keys, and the keys; returns what stands in the first. Answers that do not fit behind their question
/// take the place of the keys: there are none then.
fn draw_note_and_keys(
    model: &UiModel,
    editor: &DefinitionEditor,
    areas: &EditorAreas,
    frame: &mut Frame<'_>,
) -> String {
    let (row, columns) = (areas.note_area, areas.keys.width);
    let (note, style) = status_note(model.theme, editor);
    let note = if note == SAVING { model.with_wait_time(&note) } else { note };
    let notice = prompt_notice(editor, model.now);
    let is_split = editor.open_question().is_some()
        && areas.keys.height > 0
        && display_width(&note) > usize::from(columns);
    let ends = [": ", "? "].into_iter().filter_map(|end| Some(note.find(end)? + end.len())).min();
    let (note, answers) = ends.filter(|_| is_split).map_or((note.as_str(), ""), |end| note.split_at(end));
    let note = if is_split { note.trim_end_matches([':', ' ']) } else { note };
    let note = match notice.as_deref().filter(|_| is_split) {
        Some(notice) => format!("{note} · {notice}"),
        None => note.to_owned(),
    };
    let room = usize::from(row.width);
    let is_note = editor.prompt.is_none() && editor.status_note.is_some();
    let is_finding = editor.prompt.is_none() && !is_note;
    let mut rows = match is_finding.then(|| findings::cut_note(model, editor, &note, room)).flatten() {
        _ if is_note => wrap_note(&note, room),
        Some(row) => vec![row],
        None => vec![fit_to_columns(&note, room).into_owned()],
    };
    if let Some(last) = usize::from(row.height).checked_sub(1).filter(|last| last + 1 < rows.len()) {
        // what has no room ends in `…`
        rows[last] = fit_to_columns(&rows[last..].join(" "), room).into_owned();
    }
    for (y, text) in (row.y..row.bottom()).zip(&rows) {
        put_line(frame, row.x, y, &Line::styled(text.as_str(), style), row.width);
    }
    let note = rows.into_iter().next().unwrap_or_default();
    if areas.keys.height > 0 {
        let keys = editor_keys(&model.keymap, editor, usize::from(keys_room(model, columns)));
        let shown = if is_split { answers } else { notice.as_deref().unwrap_or(&keys) };
        put_keys(model, &[shown], areas.keys, frame);
    }
    note
}

fn editor_title(model: &UiModel, editor: &DefinitionEditor) -> String {
    let changed = if editor.is_changed() { " · changed" } else { "" };
    let (errors, warnings) = (
        editor.count_findings(DiagnosticSeverity::Error),
        editor.count_findings(DiagnosticSeverity::Warning),
    );
    let mut state = match (editor.checked_version, errors, warnings) {
        (None, ..) => model.with_wait_time(CHECKING),
        (_, 0, 0) => "✓ nothing wrong".to_owned(),
        (_, 0, _) => format_count(warnings as u64, "warning"),
        (_, _, 0) => format_count(errors as u64, "error"),
        _ => {
            format!("{}, {}", format_count(errors as u64, "error"), format_count(warnings as u64, "warning"))
        }
    };
    let waiting = model.questions();
    if waiting > 0 {
        let verb = if waiting == 1 { "waits" } else { "wait" };
        state.push_str(&format!(
            " · {} {verb}: Esc leaves the editor",
            format_count(waiting as u64, "question")
        ));
    }
    let (row, column) = editor.buffer.cursor();
    let name = terminal_safe::escape_name(&editor.file.name);
    format!(" {name}{changed} · {state} · line {}:{} · {}", row + 1, column + 1, editor.file.layer)
}

fn draw_gutter(theme: ColorTheme, editor: &DefinitionEditor, area: Rect, frame: &mut Frame<'_>) {
    let digits = usize::from(area.width).saturating_sub(2);
    let count = editor.buffer.lines().len();
    for (y, row) in (area.y..area.bottom()).zip(editor.scroll_offset.row..count) {
        let found = editor.finding_at(row).map(|finding| severity_mark(theme, finding.severity));
        let (sign, style) = found.unwrap_or((" ", theme.dim_style()));
        let here = row == editor.buffer.cursor().0;
        let number = Span::styled(
            format!("{:>digits$} ", row + 1),
            if here { theme.bold_style() } else { theme.dim_style() },
        );
        put_line(frame, area.x, y, &Line::from(vec![Span::styled(sign, style), number]), area.width);
    }
}

fn draw_simulation(
    model: &UiModel,
    editor: &DefinitionEditor,
    shown: &EditorSimulation,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let theme = model.theme;
    let lines = shown.lines(editor.buffer.version(), usize::from(area.width));
    if area.x > 0 {
        (area.y..area.bottom())
            .for_each(|y| put_line(frame, area.x - 1, y, &Line::styled("│", theme.dim_style()), 1));
    } else {
        let title = "── simulation ".to_owned();
        let rule = "─".repeat(usize::from(area.width).saturating_sub(display_width(&title)));
        put_line(
            frame,
            area.x,
            area.y.saturating_sub(1),
            &Line::styled(title + &rule, theme.dim_style()),
            area.width,
        );
    }
    for (y, (tone, text)) in (area.y..area.bottom()).zip(lines.into_iter().skip(shown.top_row)) {
        let text = if shown.result.is_none() { model.with_wait_time(&text) } else { text };
        put_line(frame, area.x, y, &Line::styled(text, tone_style(tone, theme)), area.width);
    }
}

fn draw_graph(theme: ColorTheme, editor: &DefinitionEditor, area: Rect, frame: &mut Frame<'_>) {
    let Some(drawing) = &editor.graph_list else { return };
    let looks = drawing.layout_for(usize::from(area.width));
    let edge = area.x.saturating_sub(1);
    for (y, at) in (area.y..area.bottom()).zip(editor.graph_top..) {
        put_line(frame, edge, y, &Line::styled("│", theme.dim_style()), 1);
        let first = at == editor.graph_top;
        if first && editor.graph_outdated {
            // as far from the border as the rows
            let told =
                if editor.graph_is_sketch { " as far as it can be read" } else { " as before the error" };
            let line = Line::styled(told, theme.warning_style());
            put_line(frame, area.x, y, &line, area.width);
        } else if at < drawing.len() {
            let spans = drawing.line(at, &looks).into_iter();
            let spans: Vec<Span<'_>> =
                spans.map(|span| Span::styled(span.text, theme.graph(span.tone))).collect();
            put_line(frame, area.x, y, &Line::from(spans), area.width);
        }
    }
}

/// The prompt, else the note, else the diagnostic of the line under the cursor or the next one.
fn status_note(theme: ColorTheme, editor: &DefinitionEditor) -> (String, Style) {
    if let Some(prompt) = &editor.prompt {
        return (prompt_text(prompt, editor.prompt_choice), theme.accent_style().patch(theme.bold_style()));
    }
    if let Some(note) = &editor.status_note {
        return (note.clone(), theme.accent_style());
    }
    let (row, _) = editor.buffer.cursor();
    match editor.finding_from(row) {
        Some(finding) => {
            let (sign, style) = severity_mark(theme, finding.severity);
            let place = format!("{}:{}", finding.place.line, finding.place.column);
            (format!("{sign} {place} {}", findings::finding_text(finding)), style)
        }
        None => (String::new(), theme.text()),
    }
}

fn editor_keys(keymap: &KeyBindings, editor: &DefinitionEditor, room: usize) -> String {
    if editor.completion.is_some() {
        return "↑↓ Enter takes it · typing narrows · Esc closes".to_owned();
    }
    match editor.prompt {
        Some(EditorPrompt::Find(_)) => {
            "type · ↓ the next · ↑ the previous one · Enter stays here · Esc".to_owned()
        }
        Some(_) => String::new(),
        None if editor.list.is_some() => key_hints(
            keymap,
            "↑↓ choose · Enter goes there · Esc closes",
            &[(EditorAction::Help, "keys")],
            room,
        ),
        None if editor.simulation.is_some() => {
            let shown = [
                (EditorAction::Simulate, "plays it again"),
                (EditorAction::GraphUp, "up"),
                (EditorAction::GraphDown, "down"),
            ];
            key_hints(keymap, "Esc closes the simulation", &shown, room)
        }
        None => {
            let mut shown = [
                (EditorAction::Help, "keys"),
                (EditorAction::Save, "save"),
                (EditorAction::Leave, "leave"),
                (EditorAction::Simulate, "simulate"),
                (EditorAction::Offer, "what fits"),
                (EditorAction::NextFinding, "next finding"),
                (EditorAction::Describe, "meaning"),
            ];
            if !editor.findings.is_empty() {
                // what is wrong comes first
                shown[3..6].rotate_right(1);
            }
            key_hints(keymap, "", &shown, room)
        }
    }
}

/// Keys with their actions, as many as there is room for; none is cut in half.
fn key_hints(keymap: &KeyBindings, first: &str, shown: &[(EditorAction, &str)], room: usize) -> String {
    let mut line = first.to_owned();
    for (act, about) in shown {
        let Some(key) = keymap.key(KeyAction::Editor(*act)) else { continue };
        let gap = if line.is_empty() { "" } else { " · " };
        let part = format!("{gap}{key} {about}");
        if display_width(&line) + display_width(&part) <= room {
            line.push_str(&part);
        }
    }
    line
}

fn draw_offer(
    theme: ColorTheme,
    editor: &DefinitionEditor,
    cursor: Position,
    room: Rect,
    frame: &mut Frame<'_>,
) {
    let Some(offer) = &editor.completion else { return };
    let below = room.bottom().saturating_sub(cursor.y + 1);
    let above = cursor.y.saturating_sub(room.y);
    let wanted = u16::try_from(offer.list.len()).unwrap_or(LISTED).min(LISTED) + 2;
    let height = wanted.min(below.max(above));
    if height < 3 || room.width < 24 {
        return;
    }
    let columns = room.width.min(76);
    let x = cursor.x.min(room.right().saturating_sub(columns)).max(room.x);
    let y = if below >= height { cursor.y + 1 } else { cursor.y - height };
    let inside = draw_box(frame, Rect { x, y, width: columns, height }, "", theme.dim_style());
    let fits = usize::from(inside.height);
    let first = (offer.selected + 1).saturating_sub(fits);
    let rows = offer.list.iter().enumerate().skip(first).take(fits);
    let wide = usize::from(inside.width);
    let names = offer.list.iter().map(|one| display_width(&one.label)).max().unwrap_or(0).min(wide / 2);
    for (y, (at, candidate)) in (inside.y..).zip(rows) {
        let label = fit_to_columns(&terminal_safe::escape_name(&candidate.label), names).into_owned();
        let gap = " ".repeat(names.saturating_sub(display_width(&label)) + 2);
        let about =
            fit_to_columns(&one_line(&candidate.description), wide.saturating_sub(names + 2)).into_owned();
        let spans = vec![Span::raw(label), Span::raw(gap), Span::styled(about, theme.dim_style())];
        put_line(frame, inside.x, y, &Line::from(spans), inside.width);
        if at == offer.selected {
            select_row(frame, Rect { y, height: 1, ..inside }, theme.selected_style());
        }
    }
}

fn draw_about(theme: ColorTheme, about: &str, cursor: Position, room: Rect, frame: &mut Frame<'_>) {
    let columns = room.width.min(80);
    if columns < 12 || room.height < 3 {
        return;
    }
    let inner = usize::from(columns - 2);
    let clean = terminal_safe::escape_controls(about);
    let lines: Vec<String> = clean
        .lines()
        .flat_map(|line| wrap_line(line, inner).into_iter().map(|row| line[row].to_owned()))
        .collect();
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(room.height);
    let below = cursor.y + 1 + height <= room.bottom();
    let y = if below { cursor.y + 1 } else { cursor.y.saturating_sub(height).max(room.y) };
    let x = cursor.x.min(room.right().saturating_sub(columns)).max(room.x);
    let inside = draw_box(frame, Rect { x, y, width: columns, height }, "", theme.accent_style());
    for (y, line) in (inside.y..inside.bottom()).zip(&lines) {
        put_line(frame, inside.x, y, &Line::raw(line.as_str()), inside.width);
    }
}
