//! The text with its colours: what is seen of each line, however long it is.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use super::super::draw_helpers::put;
use crate::editor::DefinitionEditor;
use crate::editor::json_lexer::{EditorTokenKind, tokens};
use crate::theme::ColorTheme;
use synthdev_domain::terminal_safe;

/// Columns of a tab.
const TAB: usize = 4;

/// Columns that the first `count` characters of a line take.
pub fn columns_before(line: &str, count: usize) -> usize {
    line.chars().take(count).map(columns).sum()
}

pub fn draw(theme: ColorTheme, editor: &DefinitionEditor, area: Rect, frame: &mut Frame<'_>) {
    let pair = editor.buffer.pair();
    for (y, row) in (area.y..area.bottom()).zip(editor.corner.row..) {
        let Some(line) = editor.buffer.lines().get(row) else { break };
        let inside = editor.comments.1.get(row).copied().unwrap_or(false);
        let mut painter = EditorLinePainter {
            theme,
            styles: Vec::new(),
            row,
            marked: pair.iter().flatten().filter(|(at, _)| *at == row).map(|(_, column)| *column).collect(),
            selection: editor.buffer.selection(),
        };
        // so many bytes are enough for what can be seen
        let far = (editor.corner.column + usize::from(area.width)).saturating_mul(4).saturating_add(64);
        painter.colour(line, inside, far);
        let line = painter.line(line, editor.corner.column, usize::from(area.width));
        put(frame, area.x, y, &line, area.width);
    }
}

struct EditorLinePainter {
    theme: ColorTheme,
    /// Where a colour begins, in bytes of the line.
    styles: Vec<(usize, Style)>,
    row: usize,
    /// Columns of brackets that are shown as a pair.
    marked: Vec<usize>,
    selection: Option<((usize, usize), (usize, usize))>,
}

impl EditorLinePainter {
    fn colour(&mut self, line: &str, inside: bool, far: usize) {
        let mut before: Option<usize> = None;
        for token in tokens(line, inside) {
            let theme = self.theme;
            let style = match token.kind {
                EditorTokenKind::Text => theme.good(),
                EditorTokenKind::Number => theme.accent(),
                EditorTokenKind::Word => theme.warning(),
                EditorTokenKind::Comment => theme.dim(),
                EditorTokenKind::Open(_)
                | EditorTokenKind::Close(_)
                | EditorTokenKind::Comma
                | EditorTokenKind::Colon => theme.text(),
            };
            // a text before a colon is a key
            if token.kind == EditorTokenKind::Colon
                && let Some(at) = before
            {
                self.styles[at].1 = theme.accent();
            }
            before = (token.kind == EditorTokenKind::Text).then_some(self.styles.len());
            self.styles.push((token.range.start, style));
            if token.range.start > far {
                break;
            }
        }
    }

    fn line(&self, line: &str, left: usize, room: usize) -> Line<'static> {
        let mut spans: Vec<Span<'static>> = Vec::new();
        let (mut column, mut next, mut style) = (0, 0, Style::new());
        for (at, (byte, c)) in line.char_indices().enumerate() {
            while self.styles.get(next).is_some_and(|(from, _)| *from <= byte) {
                style = self.styles[next].1;
                next += 1;
            }
            let wide = columns(c);
            if column >= left + room {
                break;
            }
            if column >= left {
                let style = self.over(at, style);
                let text = shown(c);
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
            spans.push(Span::styled(" ", self.theme.selected()));
        }
        Line::from(spans)
    }

    fn over(&self, at: usize, style: Style) -> Style {
        if self.is_selected(at) {
            return style.patch(self.theme.selected());
        }
        if self.marked.contains(&at) {
            style.patch(self.theme.selected()).patch(self.theme.bold())
        } else {
            style
        }
    }

    fn is_selected(&self, at: usize) -> bool {
        self.selection.is_some_and(|(from, to)| from <= (self.row, at) && (self.row, at) < to)
    }
}

/// Nothing in a file steers the terminal.
fn shown(c: char) -> String {
    if c == '\t' {
        " ".repeat(TAB)
    } else {
        terminal_safe::escape_name(c.encode_utf8(&mut [0; 4])).into_owned()
    }
}

fn columns(c: char) -> usize {
    match c {
        '\t' => TAB,
        ' '..='~' => 1,
        _ => {
            let text = shown(c);
            text.chars().map(|c| c.width().unwrap_or(0)).sum()
        }
    }
}
