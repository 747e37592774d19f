//! The text with its colours: what is seen of each line, however long it is.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use super::super::draw_helpers::put_line;
use crate::editor::DefinitionEditor;
use crate::editor::json_lexer::{EditorTokenKind, editor_tokens};
use crate::theme::ColorTheme;
use synthdev_domain::terminal_safe;

/// Columns of a tab.
const TAB: usize = 4;

/// Columns that the first `count` characters of a line take.
pub fn columns_before(line: &str, count: usize) -> usize {
    line.chars().take(count).map(char_columns).sum()
}

/// How many characters of a line are left of a column.
pub fn count_before(line: &str, column: usize) -> usize {
    let mut columns = 0;
    line.chars()
        .take_while(|c| {
            columns += char_columns(*c);
            columns <= column
        })
        .count()
}

pub fn draw_text(theme: ColorTheme, editor: &DefinitionEditor, area: Rect, frame: &mut Frame<'_>) {
    let pair = editor.buffer.pair();
    for (y, row) in (area.y..area.bottom()).zip(editor.scroll_offset.row..) {
        let Some(line) = editor.buffer.lines().get(row) else { break };
        let inside = editor.comments.1.get(row).copied().unwrap_or(false);
        let mut painter = EditorLinePainter {
            theme,
            styles: Vec::new(),
            row,
            bracket_columns: pair
                .iter()
                .flatten()
                .filter(|(at, _)| *at == row)
                .map(|(_, column)| *column)
                .collect(),
            selection: editor.buffer.selection_range(),
        };
        // so many bytes are enough for what can be seen
        let far =
            (editor.scroll_offset.column + usize::from(area.width)).saturating_mul(4).saturating_add(64);
        painter.colour_line(line, inside, far);
        let painted = painter.paint_line(line, editor.scroll_offset.column, usize::from(area.width));
        put_line(frame, area.x, y, &painted, area.width);
        mark_cut_ends(theme, editor, row, Rect { y, height: 1, ..area }, frame);
    }
}

/// Shows `…` where a line goes on beyond the edges, but not on the character at the cursor.
fn mark_cut_ends(
    theme: ColorTheme,
    editor: &DefinitionEditor,
    row: usize,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let Some(line) = editor.buffer.lines().get(row).filter(|_| area.width > 2) else { return };
    let (left, room) = (editor.scroll_offset.column, usize::from(area.width));
    let (cursor_row, cursor_at) = editor.buffer.cursor();
    let cursor = (cursor_row == row).then(|| columns_before(line, cursor_at));
    let end = count_before(line, left + room);
    let goes_on = line.chars().nth(end).is_some();
    let marks = [(left, left > 0 && !line.is_empty()), (left + room - 1, goes_on)];
    for (column, _) in marks.into_iter().filter(|(column, is_cut)| *is_cut && cursor != Some(*column)) {
        let x = area.x + u16::try_from(column - left).unwrap_or(0);
        put_line(frame, x, area.y, &Line::styled("…", theme.dim_style()), 1);
    }
}

struct EditorLinePainter {
    theme: ColorTheme,
    /// Where a colour begins, in bytes of the line.
    styles: Vec<(usize, Style)>,
    row: usize,
    /// Columns of brackets that are shown as a pair.
    bracket_columns: Vec<usize>,
    selection: Option<((usize, usize), (usize, usize))>,
}

impl EditorLinePainter {
    fn colour_line(&mut self, line: &str, inside: bool, far: usize) {
        let mut before: Option<usize> = None;
        for token in editor_tokens(line, inside) {
            let theme = self.theme;
            let style = match token.kind {
                EditorTokenKind::Text => theme.good_style(),
                EditorTokenKind::Number => theme.accent_style(),
                EditorTokenKind::Word => theme.warning_style(),
                EditorTokenKind::Comment => theme.dim_style(),
                EditorTokenKind::Open(_)
                | EditorTokenKind::Close(_)
                | EditorTokenKind::Comma
                | EditorTokenKind::Colon => theme.text(),
            };
            // a text before a colon is a key
            if token.kind == EditorTokenKind::Colon
                && let Some(at) = before
            {
                self.styles[at].1 = theme.accent_style();
            }
            before = (token.kind == EditorTokenKind::Text).then_some(self.styles.len());
            self.styles.push((token.range.start, style));
            if token.range.start > far {
                break;
            }
        }
    }

    fn paint_line(&self, line: &str, left: usize, room: usize) -> Line<'static> {
        let mut spans: Vec<Span<'static>> = Vec::new();
        let (mut column, mut next, mut style) = (0, 0, Style::new());
        for (at, (byte, c)) in line.char_indices().enumerate() {
            while self.styles.get(next).is_some_and(|(from, _)| *from <= byte) {
                style = self.styles[next].1;
                next += 1;
            }
            let wide = char_columns(c);
            if column >= left + room {
                break;
            }
            if column >= left {
                let style = self.style_at(at, style);
                let text = display_char(c);
                match spans.last_mut() {
                    Some(last) if last.style == style => last.content.to_mut().push_str(&text),
                    _ => spans.push(Span::styled(text, style)),
                }
            } else if column + wide > left {
                spans.push(Span::raw(" ".repeat(column + wide - left)));
            }
            column += wide;
        }
        if line.is_empty() && self.is_selected(0) {
            spans.push(Span::styled(" ", self.theme.selected_style()));
        }
        Line::from(spans)
    }

    fn style_at(&self, at: usize, style: Style) -> Style {
        if self.is_selected(at) {
            return style.patch(self.theme.selected_style());
        }
        if self.bracket_columns.contains(&at) {
            style.patch(self.theme.selected_style()).patch(self.theme.bold_style())
        } else {
            style
        }
    }

    fn is_selected(&self, at: usize) -> bool {
        self.selection.is_some_and(|(from, to)| from <= (self.row, at) && (self.row, at) < to)
    }
}

/// Nothing in a file steers the terminal.
fn display_char(c: char) -> String {
    if c == '\t' {
        " ".repeat(TAB)
    } else {
        terminal_safe::escape_name(c.encode_utf8(&mut [0; 4])).into_owned()
    }
}

fn char_columns(c: char) -> usize {
    match c {
        '\t' => TAB,
        ' '..='~' => 1,
        _ => {
            let text = display_char(c);
            text.chars().map(|c| c.width().unwrap_or(0)).sum()
        }
    }
}
