//! Just enough Markdown for answers: headings, fences, lists, quotes, **bold** and `code`.
//!
//! Works line by line on finished texts; while an answer streams it is shown as it comes.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::text::wrap_hanging;
use crate::tui::theme::Theme;

/// Lays out a cleaned text; `indent` columns stay free on the left.
pub fn layout(text: &str, columns: usize, indent: usize, theme: Theme, rows: &mut Vec<Line<'static>>) {
    let mut fence: Option<&str> = None;
    for line in text.split('\n') {
        let trimmed = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker));
        if let Some(open) = fence {
            if marker == Some(open) {
                fence = None;
            } else {
                push(&[(theme.accent(), line)], columns, indent + 2, 0, rows);
            }
        } else if marker.is_some() {
            fence = marker;
            let language = trimmed.trim_start_matches(['`', '~']).trim();
            if !language.is_empty() {
                push(&[(theme.dim(), language)], columns, indent + 2, 0, rows);
            }
        } else {
            prose(line, trimmed, columns, indent, theme, rows);
        }
    }
}

/// Wraps styled pieces of one logical line; rows after the first are indented by `hang` more.
pub fn push(
    pieces: &[(Style, &str)],
    columns: usize,
    indent: usize,
    hang: usize,
    rows: &mut Vec<Line<'static>>,
) {
    let whole: String = pieces.iter().map(|piece| piece.1).collect();
    // A hanging indent may not eat the line.
    let hang = if hang * 2 > columns { 0 } else { hang };
    let room = columns.saturating_sub(indent);
    for (at, row) in wrap_hanging(&whole, room, room.saturating_sub(hang)).into_iter().enumerate() {
        let left = indent + if at == 0 { 0 } else { hang };
        let mut spans = Vec::with_capacity(pieces.len() + 1);
        if left > 0 {
            spans.push(Span::raw(" ".repeat(left)));
        }
        let mut start = 0;
        for (style, piece) in pieces {
            let (from, to) = (row.start.max(start), row.end.min(start + piece.len()));
            if from < to {
                spans.push(Span::styled(whole[from..to].to_owned(), *style));
            }
            start += piece.len();
        }
        rows.push(Line::from(spans));
    }
}

fn prose(
    line: &str,
    trimmed: &str,
    columns: usize,
    indent: usize,
    theme: Theme,
    rows: &mut Vec<Line<'static>>,
) {
    let hashes = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) && trimmed[hashes..].starts_with(' ') {
        push(&[(theme.bold(), trimmed[hashes..].trim_start())], columns, indent, 0, rows);
    } else if trimmed.starts_with("> ") {
        push(&[(theme.dim(), line)], columns, indent, line.len() - trimmed.len() + 2, rows);
    } else {
        let hang = line.len() - trimmed.len() + bullet(trimmed);
        push(&inline(line, theme), columns, indent, hang, rows);
    }
}

/// Bytes of a list marker at the start: `- `, `* `, `12. `.
fn bullet(line: &str) -> usize {
    if line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ") {
        return 2;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let marked = line[digits..].starts_with(". ") || line[digits..].starts_with(") ");
    if (1..=3).contains(&digits) && marked { digits + 2 } else { 0 }
}

/// Splits at `**` and backticks; an unclosed mark stays as it is written.
fn inline(line: &str, theme: Theme) -> Vec<(Style, &str)> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['*', '`']) {
        let mark = if rest[at..].starts_with("**") {
            "**"
        } else if rest[at..].starts_with('`') {
            "`"
        } else {
            // A single star: text.
            let next = rest[at + 1..].find(['*', '`']).map_or(rest.len(), |found| at + 1 + found);
            pieces.push((theme.text(), &rest[..next]));
            rest = &rest[next..];
            continue;
        };
        let inner = &rest[at + mark.len()..];
        let Some(end) = inner.find(mark).filter(|end| *end > 0) else { break };
        let style = if mark == "`" { theme.accent() } else { theme.bold() };
        pieces.push((theme.text(), &rest[..at]));
        pieces.push((style, &inner[..end]));
        rest = &inner[end + mark.len()..];
    }
    pieces.push((theme.text(), rest));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, columns: usize, expected: &[&str]) {
        let mut rows = Vec::new();
        layout(text, columns, 0, Theme::default(), &mut rows);
        let shown: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn marks_become_styles() {
        check("# Title\ntext", 20, &["Title", "text"]);
        check("a **b** `c` d", 20, &["a b c d"]);
        check("2 * 3 ** 4 `open", 20, &["2 * 3 ** 4 `open"]);
        check("```rust\nlet a = 1;\n```\nend", 20, &["  rust", "  let a = 1;", "end"]);
        check("```\n# no heading\n", 20, &["  # no heading", "  "]);
        check("- one two three", 9, &["- one two ", "  three"]);
        check("10. one two", 8, &["10. one ", "    two"]);
    }
}
