//! The question in front: a region above the input line that covers nothing. Title with who asks and what is at risk, the
//! text, the answers or what is typed in their place, and on the lower edge the keys.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use self::answer_rows::{AnswerRows, LEAST_TEXT, draw_answers};
use self::question_body::layout_body;
pub use self::question_columns::question_width;
use self::question_columns::text_columns;
use self::question_title::QuestionTitle;
use super::draw_helpers::{draw_box, put_line};
use crate::dialog::{AnswerDraft, AnswerForm, DialogKind, DraftPurpose, QuestionDialog, RowExtent};
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::slash;
use crate::text::{display_width, fit_to_columns, format_count, one_line, wrap_line};
use synthdev_domain::terminal_safe;

mod answer_rows;
mod question_body;
mod question_columns;
mod question_title;

/// The most of the screen's rows that a question takes, in percent.
const MOST_PERCENT: u16 = 60;
/// Rows of the text that stay beside a long list of answers.
const TEXT_ROWS: usize = 3;
/// Rows of a long list of answers that stay beside a long text.
const ANSWER_ROWS: usize = 6;
/// A lower edge with less columns is narrow.
const NARROW: usize = 50;
/// A question with less rows has no frame.
const FRAMED_ROWS: u16 = 4;
/// Rows for what is typed inside of a question.
const DRAFT_ROWS: usize = 6;

/// Lays the question out for a screen of this width. Call before the areas are asked for.
pub fn lay_out_question(model: &mut UiModel) {
    let (width, theme) = (model.size.0, model.theme);
    if let Some(dialog) = model.dialogs.front_mut() {
        let columns = text_columns(width);
        dialog.lay_out(columns, theme, |dialog| layout_body(dialog, columns, theme));
    }
}

/// The rows that the question takes, of `free` rows between the header and the input box. None where none is on screen.
pub fn question_height(model: &UiModel, free: u16) -> u16 {
    let seen = model.is_open(ScreenLayer::KeyQuestion) || model.is_open(ScreenLayer::TypedQuestion);
    let Some(dialog) = model.dialogs.front().filter(|_| seen) else { return 0 };
    let most = largest_height(model).min(free);
    let below = below_rows(model, dialog, most);
    // one row of text alone has its frame and its keys, too
    let wanted = (text_rows(model, dialog) + below + usize::from(below > 0) + 2).max(FRAMED_ROWS.into());
    u16::try_from(wanted).unwrap_or(u16::MAX).min(most)
}

/// The rows that a question takes at most.
pub fn largest_height(model: &UiModel) -> u16 {
    let most = u32::from(model.size.1) * u32::from(MOST_PERCENT) / 100;
    u16::try_from(most).unwrap_or(u16::MAX).max(FRAMED_ROWS)
}

/// Tells the question what of it is on screen. Call before every frame.
pub fn arrange_dialog(model: &mut UiModel, area: Rect) {
    let now = model.now;
    let extent = model.dialogs.front().map(|dialog| text_extent(model, dialog, area));
    let rule_fits = model.dialogs.front().is_some_and(|dialog| shows_rule(model, dialog, area));
    for (at, dialog) in model.dialogs.iter_mut().enumerate() {
        match extent.filter(|_| at == 0) {
            Some(extent) => {
                if dialog.shown_at.is_none() {
                    dialog.typed_at = dialog.typed_at.max(model.last_letter);
                }
                let is_covered = is_short(area) && is_short_answered(dialog);
                dialog.record_visible_rows(extent, is_covered, now);
                if rule_fits && !dialog.is_rule_shown && dialog.draft.is_some() {
                    // it is read before Enter writes it
                    dialog.shown_at = Some(now);
                }
                dialog.is_rule_shown = rule_fits;
            }
            // when it comes in front, it appears anew
            None => {
                dialog.shown_at = None;
                dialog.unpick();
            }
        }
    }
}

/// What Esc does to the question that is open.
pub fn escape_hint(model: &UiModel) -> Option<&'static str> {
    model.dialogs.front().map(QuestionDialog::escape_hint)
}

/// Where the cursor is while something is typed in the question.
pub fn draw_dialog(model: &UiModel, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
    let dialog = model.dialogs.front()?;
    if is_short(area) {
        return draw_short(model, dialog, area, frame);
    }
    let theme = model.theme;
    let title = QuestionTitle::arrange(model, dialog);
    let edge = title.edge_style;
    // its words stay coloured while the input box has the keys
    let has_keys = model.focused_layer() == ScreenLayer::KeyQuestion;
    let inside = draw_box(frame, area, "", if has_keys { edge } else { theme.dim_style() });
    title.draw(area, frame);
    let share = RowShare::split_rows(
        model,
        dialog,
        usize::from(inside.height),
        below_rows(model, dialog, area.height),
    );
    let mut y = inside.y;
    for row in visible_text(model, dialog, share.text) {
        put_line(frame, inside.x + 1, y, &row, inside.width - 1);
        y += 1;
    }
    y += u16::from(share.has_gap);
    let below = Rect { x: inside.x + 1, y, width: inside.width - 1, height: inside.bottom() - y };
    let told = shown_problem(model, dialog, area.height, below.height);
    let below = Rect { height: below.height - u16::try_from(told.len()).unwrap_or(0), ..below };
    for (y, row) in (below.bottom()..).zip(&told) {
        put_line(frame, below.x, y, &Line::styled(row.as_str(), theme.bad_style()), below.width);
    }
    let cursor = match &dialog.draft {
        Some(draft) => draw_draft(model, &draft.label(dialog), draft, below, frame),
        None => {
            let rows = arrange_answers(model, dialog, area.height);
            draw_answers(model, dialog, &rows, below, frame);
            None
        }
    };
    draw_keys(model, dialog, area, !told.is_empty(), frame);
    cursor
}

/// The rows of the text that are on screen, behind the rest of a long title and before the values of a form.
fn visible_text(model: &UiModel, dialog: &QuestionDialog, count: usize) -> Vec<Line<'static>> {
    let title = QuestionTitle::arrange(model, dialog).rest_lines();
    let before_text = title.len();
    let before_fields = before_text + dialog.rows().len();
    let title = title.into_iter().skip(dialog.scroll);
    let text = dialog.rows().iter().skip(dialog.scroll.saturating_sub(before_text)).cloned();
    let fields = field_rows(model, dialog).into_iter().skip(dialog.scroll.saturating_sub(before_fields));
    title.chain(text).chain(fields).take(count).collect()
}

fn field_rows(model: &UiModel, dialog: &QuestionDialog) -> Vec<Line<'static>> {
    let (theme, columns) = (model.theme, text_columns(model.size.0));
    let Some(fields) = dialog.fields() else { return Vec::new() };
    let row = |line: String| {
        let style = if line.starts_with('▸') { theme.selected_style() } else { theme.text() };
        Line::styled(fit_to_columns(&line, columns).into_owned(), style)
    };
    std::iter::once(Line::default()).chain(fields.lines().into_iter().map(row)).collect()
}

/// What is typed inside of the question, below its label; returns the cursor.
fn draw_draft(
    model: &UiModel,
    label: &str,
    draft: &AnswerDraft,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    if area.height == 0 || area.width < 4 {
        return None;
    }
    let labelled = area.height > 1;
    if labelled {
        let label = Line::styled(label, model.theme.dim_style());
        put_line(frame, area.x, area.y, &label, area.width);
    }
    let y = area.y + u16::from(labelled);
    let sign = Line::styled("❯", model.theme.accent_style());
    put_line(frame, area.x, y, &sign, 1);
    let text = Rect { x: area.x + 2, y, width: area.width.saturating_sub(3), height: area.bottom() - y };
    let input = draft.text.area();
    frame.render_widget(input, text);
    let cursor = input.screen_cursor();
    let row = u16::try_from(cursor.row).unwrap_or(u16::MAX).saturating_sub(input.scroll_offset().0);
    let column = u16::try_from(cursor.col).unwrap_or(u16::MAX).min(text.width);
    Some(Position { x: text.x + column, y: (text.y + row).min(area.bottom() - 1) })
}

/// The lower edge: how much there is below, then what is wrong, or the keys, and when the question answers itself.
fn draw_keys(
    model: &UiModel,
    dialog: &QuestionDialog,
    area: Rect,
    is_problem_above: bool,
    frame: &mut Frame<'_>,
) {
    let theme = model.theme;
    let columns = usize::from(area.width.saturating_sub(4));
    let below = dialog.rows_below() as u64;
    let fresh = !model.line_mode && dialog.is_fresh(model.now);
    let more = match (below, dialog.scroll as u64) {
        // on a narrow one there is room for one of both
        _ if fresh && columns < NARROW => None,
        (0, 0) => None,
        (0, above) => Some(format!("↑ {} above", format_count(above, "line"))),
        (below, _) => Some(format!("↓ {}", format_count(below, "more line"))),
    };
    let problem = dialog.problem.as_ref().filter(|_| !is_problem_above);
    let (told, style) = match problem {
        Some(problem) => (format!("✗ {problem}"), theme.bad_style()),
        None if fresh && (!dialog.is_written() || model.composer.is_empty()) => {
            let why = if dialog.is_new(model.now) { "new" } else { "you were typing" };
            (format!("{why}: keys count in a moment"), theme.dim_style())
        }
        None if below > 0 && !dialog.read_to_end => ("Space, PgDn, End".to_owned(), theme.bold_style()),
        None => (keys_text(model, dialog).to_owned(), theme.bold_style()),
    };
    let left = dialog.deadline_text(model.now).unwrap_or_default();
    // the keys are cut before the time that is left
    let kept = if left.is_empty() { 0 } else { display_width(&left) + 3 };
    // what is wrong is read whole
    let has_room = |more: &String| display_width(more) + 3 + display_width(&told) + kept <= columns;
    let more = more.filter(|more| problem.is_none() || has_room(more));
    let mut spans = vec![Span::raw(" ")];
    for (text, style, kept) in [
        (more.unwrap_or_default(), theme.warning_style(), 0),
        (told, style, kept),
        (left, theme.dim_style(), 0),
    ] {
        let gap = if spans.len() > 1 { " · " } else { "" };
        let used: usize = spans.iter().map(|span| display_width(&span.content)).sum();
        let room = columns.saturating_sub(used + display_width(gap) + kept);
        if !text.is_empty() && room > 2 {
            spans.push(Span::styled(gap, theme.dim_style()));
            spans.push(Span::styled(fit_to_columns(&text, room).into_owned(), style));
        }
    }
    spans.push(Span::raw(" "));
    put_line(frame, area.x + 1, area.bottom() - 1, &Line::from(spans), area.width - 2);
}

/// Before the first key, the text in the input box is the beginning of something else.
fn keys_text(model: &UiModel, dialog: &QuestionDialog) -> &'static str {
    match &dialog.kind {
        DialogKind::Write { form, .. }
            if form.draft != Some(false) && slash::is_command(&model.composer.text()) =>
        {
            "Enter runs the command · then answer"
        }
        DialogKind::Write { form: AnswerForm { draft: None, .. }, .. } if !model.composer.is_empty() => {
            "Enter puts what you were writing into the history · then answer"
        }
        DialogKind::Write { .. } => dialog.keys(),
        _ if dialog.draft.is_some() || model.composer.is_empty() => dialog.keys(),
        _ if slash::is_command(&model.composer.text()) => "Enter runs the command · then answer",
        _ if is_text_begun(model, dialog) => "what you type is text now · ↑↓ and Enter answer",
        _ => dialog.keys(),
    }
}

/// Letters continue the text in the input box.
fn is_text_begun(model: &UiModel, dialog: &QuestionDialog) -> bool {
    let text = model.composer.text();
    !text.is_empty() && !dialog.is_early_answer(&text)
}

/// What typing does beside a question; `None`: what it always does.
pub fn typing_hint(model: &UiModel) -> Option<&'static str> {
    let dialog = model.dialogs.front()?;
    if dialog.draft.is_some() {
        return Some("what you type goes into the question");
    }
    // until a question takes keys, they are for the input line
    if dialog.is_fresh(model.now) {
        return None;
    }
    Some(if dialog.is_approval() {
        "words deny, as the reason · / for commands"
    } else if matches!(dialog.kind, DialogKind::Choose { .. }) {
        "choose above, or type a choice · / for commands"
    } else if dialog.refuses_words() {
        "answer above · / for commands"
    } else {
        "words are a message · / for commands"
    })
}

/// Where no frame fits: the question, as much of what it is about as there are rows, and in the last one what is chosen or
/// typed. Returns the cursor while something is typed.
fn draw_short(
    model: &UiModel,
    dialog: &QuestionDialog,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    frame.render_widget(Clear, area.intersection(frame.area()));
    let is_answered = is_short_answered(dialog);
    let used = text_rows(model, dialog).saturating_sub(dialog.scroll);
    let rows = usize::from(area.height);
    let title = usize::from(!is_answered || rows > 1);
    let count = used.min(rows.saturating_sub(title + usize::from(is_answered)));
    let title = (title > 0).then(|| short_title(model, dialog, area, title + used < rows));
    let lines = title.into_iter().chain(visible_text(model, dialog, count));
    let mut y = area.y;
    for line in lines.take(rows) {
        put_line(frame, area.x, y, &line, area.width);
        y += 1;
    }
    let below = Rect { y, height: area.bottom().saturating_sub(y), ..area };
    match &dialog.draft {
        Some(draft) => draw_draft(model, &draft.label(dialog), draft, below, frame),
        None => {
            let rows = arrange_answers(model, dialog, area.height);
            draw_answers(model, dialog, &rows, below, frame);
            None
        }
    }
}

/// Where no frame fits, the last row has what was chosen or is typed.
fn is_short_answered(dialog: &QuestionDialog) -> bool {
    dialog.draft.is_some() || dialog.covers_text && dialog.selected.is_some()
}

/// What is wrong, or the title, and how much there is below.
fn short_title(model: &UiModel, dialog: &QuestionDialog, area: Rect, shows_answers: bool) -> Line<'static> {
    let theme = model.theme;
    if let Some(problem) = &dialog.problem {
        return Line::styled(format!("✗ {problem}"), theme.bad_style());
    }
    let title = QuestionTitle::arrange(model, dialog);
    let whole = terminal_safe::escape_name(&dialog.title);
    let title = if title.rest.is_empty() { whole.into_owned() } else { title.first };
    let below = match dialog.rows_below() as u64 {
        _ if dialog.draft.is_some() => String::new(),
        0 if shows_answers || is_short_answered(dialog) || dialog.is_written() => String::new(),
        // what Enter gives is on screen
        0 => match dialog.selected.and_then(|at| dialog.answers().get(at)?.letter) {
            Some(letter) => format!(" ▸ {letter}: Enter"),
            None => " ↓ answers".to_owned(),
        },
        below => format!(" ↓ {}", format_count(below, "more line")),
    };
    let room = usize::from(area.width).saturating_sub(display_width(&below));
    let style = theme.warning_style().patch(theme.bold_style());
    let title = fit_to_columns(&title, room).into_owned();
    Line::from(vec![Span::styled(title, style), Span::styled(below, theme.warning_style())])
}

/// How many rows the text has, with the rest of a long title and the values of a form.
fn text_rows(model: &UiModel, dialog: &QuestionDialog) -> usize {
    let title = QuestionTitle::arrange(model, dialog).rest.len();
    title + dialog.rows().len() + dialog.fields().map_or(0, |fields| fields.lines().len() + 1)
}

/// Rows below the text, of a question that has at most so many.
fn below_rows(model: &UiModel, dialog: &QuestionDialog, most: u16) -> usize {
    own_rows(model, dialog, most) + problem_rows(model, dialog).len()
}

/// What is wrong, if the lower edge has no room for all of it.
fn problem_rows(model: &UiModel, dialog: &QuestionDialog) -> Vec<String> {
    let Some(problem) = &dialog.problem else { return Vec::new() };
    let text = format!("✗ {}", one_line(problem));
    let left = dialog.deadline_text(model.now).map_or(0, |left| display_width(&left) + 3);
    let room = usize::from(question_width(model.size.0).saturating_sub(4));
    if display_width(&text) + left <= room {
        return Vec::new();
    }
    let rows = wrap_line(&text, text_columns(model.size.0));
    rows.into_iter().map(|row| text[row].trim_end().to_owned()).collect()
}

/// The same where the answers leave rows for all of it.
fn shown_problem(model: &UiModel, dialog: &QuestionDialog, most: u16, height: u16) -> Vec<String> {
    let rows = problem_rows(model, dialog);
    let fits = own_rows(model, dialog, most) + rows.len() <= usize::from(height);
    if fits { rows } else { Vec::new() }
}

/// Rows for the answers, or for what is typed in their place, of a question that has at most so many.
fn own_rows(model: &UiModel, dialog: &QuestionDialog, most: u16) -> usize {
    match &dialog.draft {
        Some(draft) => 1 + draft.text.rows(text_columns(model.size.0).saturating_sub(3)).clamp(1, DRAFT_ROWS),
        None => arrange_answers(model, dialog, most).height(),
    }
}

fn arrange_answers(model: &UiModel, dialog: &QuestionDialog, most: u16) -> AnswerRows {
    AnswerRows::arrange(dialog, text_columns(model.size.0), text_rows(model, dialog), most)
}

fn text_extent(model: &UiModel, dialog: &QuestionDialog, area: Rect) -> RowExtent {
    let rows = text_rows(model, dialog);
    if is_short(area) {
        return RowExtent { rows, page: usize::from(area.height.saturating_sub(1)) };
    }
    let inside = usize::from(area.height.saturating_sub(2));
    RowExtent {
        rows,
        page: RowShare::split_rows(model, dialog, inside, below_rows(model, dialog, area.height)).text,
    }
}

/// Whether all of the rule that is written with an "always" is on screen: as it is typed, else in the list of answers.
fn shows_rule(model: &UiModel, dialog: &QuestionDialog, area: Rect) -> bool {
    if is_short(area) {
        return false;
    }
    let (rows, columns) = (usize::from(area.height - 2), text_columns(model.size.0));
    let below = below_rows(model, dialog, area.height);
    let share = RowShare::split_rows(model, dialog, rows, below);
    let room = rows.saturating_sub(share.text + usize::from(share.has_gap));
    match &dialog.draft {
        // one row is its label
        Some(draft) if draft.purpose == DraftPurpose::Rule => {
            draft.text.rows(columns.saturating_sub(3)) <= room.saturating_sub(usize::from(room > 1))
        }
        None if matches!(dialog.kind, DialogKind::Network { .. }) => {
            let answers = arrange_answers(model, dialog, area.height);
            !answers.is_shared && answers.height() <= room
        }
        Some(_) | None => false,
    }
}

/// How many rows the text gets, and whether a blank one is below it: the answers get the rest, and never push the
/// beginning of the text off the screen.
struct RowShare {
    text: usize,
    has_gap: bool,
}

impl RowShare {
    fn split_rows(model: &UiModel, dialog: &QuestionDialog, fits: usize, below: usize) -> Self {
        let rows = text_rows(model, dialog);
        if below == 0 {
            return Self { text: fits, has_gap: false };
        }
        if rows + 1 + below <= fits {
            return Self { text: rows, has_gap: rows > 0 };
        }
        if fits < 2 {
            // the text first, then what is chosen
            return Self { text: fits - usize::from(dialog.read_to_end).min(fits), has_gap: false };
        }
        // where both have little room, the answers have it: the text scrolls
        let least = rows.min(TEXT_ROWS).min(fits / 2).min(fits.saturating_sub(below).max(1));
        let most = if below + LEAST_TEXT <= fits { below } else { ANSWER_ROWS.max(fits / 2) };
        let below = below.min(most).max(fits.saturating_sub(rows)).min(fits - least);
        Self { text: fits - below, has_gap: false }
    }
}

/// No frame fits.
fn is_short(area: Rect) -> bool {
    area.width < 10 || area.height < FRAMED_ROWS
}
