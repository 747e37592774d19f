//! The list of answers: which stand in which row. A label that is too long for its row wraps, and the list scrolls to the
//! chosen one; nothing of it is cut.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use crate::dialog::{AnswerChoice, QuestionDialog};
use crate::model::UiModel;
use crate::text::{display_width, wrap_line};

/// Columns before a label: mark, letter and a blank behind each.
const BEFORE_LABEL: usize = 4;

/// A text that keeps so many rows has the answers below it in a row each.
pub(super) const LEAST_TEXT: usize = 6;

/// Which answers stand in which row.
pub(super) struct AnswerRows {
    answers: Vec<AnswerChoice>,
    /// By their places in the list.
    rows: Vec<Range<usize>>,
    /// Several stand in a row.
    pub is_shared: bool,
    columns: usize,
}

impl AnswerRows {
    /// For a text of so many rows. A row each; where that leaves less than `LEAST_TEXT` rows of a longer text in `most` rows
    /// of the screen, as many in a row as fit.
    pub(super) fn arrange(dialog: &QuestionDialog, columns: usize, text_rows: usize, most: u16) -> Self {
        let answers = dialog.answers();
        let rows = (0..answers.len()).map(|at| at..at + 1).collect();
        let apart = Self { answers, rows, is_shared: false, columns };
        // its frame, and a blank row below the text
        if text_rows.min(LEAST_TEXT) + apart.height() + 3 <= usize::from(most) {
            return apart;
        }
        let (mut rows, mut used) = (Vec::<Range<usize>>::new(), 0);
        for (at, answer) in apart.answers.iter().enumerate() {
            let needs = display_width(answer.compact_label()) + BEFORE_LABEL;
            match rows.last_mut().filter(|_| used + needs < columns) {
                Some(row) => {
                    row.end = at + 1;
                    used += needs + 1;
                }
                None => {
                    rows.push(at..at + 1);
                    used = needs;
                }
            }
        }
        let is_shared = rows.len() < apart.answers.len();
        Self { rows, is_shared, ..apart }
    }

    /// Rows on screen that all of them take.
    pub(super) fn height(&self) -> usize {
        self.rows.iter().map(|row| self.row_height(row)).sum()
    }

    /// Several stand in a row only where none of them wraps.
    fn row_height(&self, row: &Range<usize>) -> usize {
        let first = self.answers.get(row.start);
        first.map_or(1, |answer| self.wrap_label(self.label(answer)).len())
    }

    fn label<'a>(&self, answer: &'a AnswerChoice) -> &'a str {
        if self.is_shared { answer.compact_label() } else { &answer.label }
    }

    fn wrap_label(&self, label: &str) -> Vec<Range<usize>> {
        wrap_line(label, self.columns.saturating_sub(BEFORE_LABEL))
    }

    /// What is drawn for a row.
    fn lines(&self, row: &Range<usize>, chosen: Option<usize>, style_of: &AnswerStyle<'_>) -> Vec<Line<'_>> {
        let (mut spans, mut rest) = (Vec::new(), Vec::new());
        for (at, answer) in row.clone().zip(self.answers.iter().skip(row.start)) {
            let style = style_of(at, answer);
            let letter = answer.letter.map_or_else(|| " ".to_owned(), String::from);
            let mark = if chosen == Some(at) { "▸" } else { " " };
            let label = self.label(answer);
            let mut parts = self.wrap_label(label).into_iter();
            let first = &label[parts.next().unwrap_or_default()];
            spans.extend([
                Span::styled(format!("{mark} "), style),
                Span::styled(letter, style.add_modifier(Modifier::BOLD)),
                Span::styled(format!(" {first}"), style),
                Span::raw(if at + 1 < row.end { " " } else { "" }),
            ]);
            let indent = " ".repeat(BEFORE_LABEL);
            rest.extend(parts.map(|part| Line::styled(format!("{indent}{}", &label[part]), style)));
        }
        std::iter::once(Line::from(spans)).chain(rest).collect()
    }
}

/// The style of an answer, by its place in the list.
type AnswerStyle<'a> = dyn Fn(usize, &AnswerChoice) -> Style + 'a;

pub(super) fn draw_answers(
    model: &UiModel,
    dialog: &QuestionDialog,
    rows: &AnswerRows,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let theme = model.theme;
    let fresh = !model.line_mode && dialog.is_fresh(model.now);
    let style_of = |at: usize, answer: &AnswerChoice| {
        let waits = fresh || dialog.lets_happen(answer.meaning) && !dialog.read_to_end;
        match (dialog.selected == Some(at), waits) {
            (true, false) => theme.selected_style(),
            (true, true) => theme.selected_style().patch(theme.dim_style()),
            (false, true) => theme.dim_style(),
            (false, false) => theme.text(),
        }
    };
    let fits = usize::from(area.height);
    let is_chosen = |row: &Range<usize>| dialog.selected.is_some_and(|at| row.contains(&at));
    let above: usize =
        rows.rows.iter().take_while(|row| !is_chosen(row)).map(|row| rows.row_height(row)).sum();
    let chosen_height = rows.rows.iter().find(|row| is_chosen(row)).map(|row| rows.row_height(row));
    // the beginning of the chosen one is on screen in any case
    let first = chosen_height.map_or(0, |height| (above + height).saturating_sub(fits).min(above));
    let lines = rows.rows.iter().flat_map(|row| {
        let lines = rows.lines(row, dialog.selected, &style_of);
        let last = lines.len() - 1;
        lines.into_iter().enumerate().map(move |(at, line)| (row, at == last, line))
    });
    let height: usize = rows.height();
    for (y, (row, is_last, line)) in (area.y..area.bottom()).zip(lines.skip(first)) {
        put_line(frame, area.x, y, &line, area.width);
        let has_more = !is_last || height > first + fits;
        if has_more && y + 1 == area.bottom() && area.width > 0 {
            put_line(frame, area.right() - 1, y, &Line::raw("…"), 1);
        }
        let alone = dialog.selected.filter(|_| !rows.is_shared && is_chosen(row));
        if let Some((at, answer)) = alone.and_then(|at| Some((at, rows.answers.get(at)?))) {
            select_row(frame, Rect { y, height: 1, ..area }, style_of(at, answer));
        }
    }
}
