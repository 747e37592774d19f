//! Unified diffs: added and removed lines coloured, with their numbers; long ones by their first lines.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::Line;

use super::line_wrap::{LinePrefix, StyledPiece, TextLayoutOptions, blank_columns, push, push_wrapped};
use crate::theme::ColorTheme;

mod word_changes;

pub use self::word_changes::changed_words;

/// Colours of a unified diff's line.
pub fn diff_style(line: &str, theme: ColorTheme) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => theme.good_style(),
        Some(b'-') => theme.bad_style(),
        Some(b'@') => theme.accent_style(),
        _ => theme.text(),
    }
}

/// No file has so many lines.
const LONGEST: usize = 1 << 30;

/// Line numbers of the next lines of a hunk in both files, and how many lines the hunk still has.
#[derive(Clone, Copy, Default)]
struct DiffHunkPosition {
    old_line: usize,
    new_line: usize,
    old_remaining: usize,
    new_remaining: usize,
}

/// Lays out cleaned lines. What is no part of a diff is shown as it is. `shift` is added to every number; the lines that
/// say where a part begins are then left out, as they would be wrong.
pub fn layout_diff<'a>(
    lines: impl Iterator<Item = &'a str>,
    shift: Option<usize>,
    page: TextLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) {
    let mut numbers = LineNumbers { hunk_position: DiffHunkPosition::default(), shift };
    let lines: Vec<&str> = lines.collect();
    for (line, changed) in lines.iter().zip(changed_words(&lines)) {
        numbers.layout_line(line, &changed, page, rows);
    }
}

/// Current line numbers of a diff that is laid out line by line.
#[derive(Clone, Copy, Default)]
pub struct LineNumbers {
    hunk_position: DiffHunkPosition,
    shift: Option<usize>,
}

impl LineNumbers {
    /// Lays out the next line; `changed` are the parts of it that are emphasized.
    pub fn layout_line(
        &mut self,
        line: &str,
        changed: &[Range<usize>],
        page: TextLayoutOptions,
        rows: &mut Vec<Line<'static>>,
    ) {
        let theme = page.theme;
        if let Some(next) = parse_hunk_header(line, self.shift.unwrap_or(0)) {
            let first = self.hunk_position.new_line == 0;
            self.hunk_position = next;
            return match self.shift {
                None => push(&[(theme.accent_style(), line)], page.columns, page.indent, 0, rows),
                Some(_) if first => {}
                Some(_) => push(&[(theme.dim_style(), "⋯")], page.columns, page.indent, 0, rows),
            };
        }
        let style = diff_style(line, theme);
        let pieces = emphasized_pieces(line, changed, style, theme);
        match line_number(line, &mut self.hunk_position) {
            Some(number) => {
                let (digits, columns) = (number.to_string(), 5);
                let left = format!(
                    "{}{}{digits} ",
                    blank_columns(page.indent),
                    blank_columns(columns - digits.len().min(columns))
                );
                let lead = LinePrefix {
                    style: theme.dim_style(),
                    first_row: &left,
                    other_rows: blank_columns(left.len() + 1),
                };
                push_wrapped(&pieces, lead, page.columns, rows);
            }
            None if self.hunk_position.is_complete()
                && (line.starts_with("+++ ") || line.starts_with("--- ")) =>
            {
                push(&[(theme.bold_style(), line)], page.columns, page.indent, 0, rows);
            }
            None => push(&pieces, page.columns, page.indent, 0, rows),
        }
    }
}

/// A line in pieces: the changed parts look different, also without colours.
fn emphasized_pieces<'a>(
    line: &'a str,
    changed: &[Range<usize>],
    style: Style,
    theme: ColorTheme,
) -> Vec<StyledPiece<'a>> {
    let mut pieces = Vec::with_capacity(changed.len() * 2 + 1);
    let mut from = 0;
    for part in changed {
        pieces.push((style, &line[from..part.start]));
        pieces.push((theme.changed_style(style), &line[part.clone()]));
        from = part.end;
    }
    pieces.push((style, &line[from..]));
    pieces
}

impl DiffHunkPosition {
    fn is_complete(self) -> bool {
        self.old_remaining == 0 && self.new_remaining == 0
    }
}

/// The number of a line inside of a part: that of the file which has it, of the new one if both do.
fn line_number(line: &str, place: &mut DiffHunkPosition) -> Option<usize> {
    let (old, new) = match line.as_bytes().first() {
        Some(b'+') => (0, 1),
        Some(b'-') => (1, 0),
        Some(b' ') | None => (1, 1),
        _ => return None,
    };
    if place.old_remaining < old || place.new_remaining < new {
        return None;
    }
    let number = if new == 1 { place.new_line } else { place.old_line };
    (place.old_line, place.new_line) = (place.old_line + old, place.new_line + new);
    (place.old_remaining, place.new_remaining) = (place.old_remaining - old, place.new_remaining - new);
    Some(number)
}

/// `@@ -12,3 +12,4 @@`
fn parse_hunk_header(line: &str, shift: usize) -> Option<DiffHunkPosition> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| -> Option<(usize, usize)> {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number < LONGEST);
        Some((number(first)? + shift.min(LONGEST), number(count)?))
    };
    let ((old, old_left), (new, new_left)) = (pair(old)?, pair(new)?);
    Some(DiffHunkPosition { old_line: old, new_line: new, old_remaining: old_left, new_remaining: new_left })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shift: Option<usize>, expected: &[&str]) {
        let page =
            TextLayoutOptions { columns: 20, indent: 0, base: Style::new(), theme: ColorTheme::default() };
        let mut rows = Vec::new();
        layout_diff(text.lines(), shift, page, &mut rows);
        let shown: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn lines_have_the_numbers_of_their_file() {
        let diff = "--- a/x\n+++ b/x\n@@ -9,3 +9,4 @@\n a\n-b\n+c\n+--- d\n e\nno diff";
        check(
            diff,
            None,
            &[
                "--- a/x",
                "+++ b/x",
                "@@ -9,3 +9,4 @@",
                "    9  a",
                "   10 -b",
                "   10 +c",
                "   11 +--- d",
                "   12  e",
                "no diff",
            ],
        );
        let parts = "@@ -1 +1 @@\n-a\n+b\n@@ -9 +9,2 @@\n x\n+y and more than fits";
        check(
            parts,
            Some(40),
            &["   41 -a", "   41 +b", "⋯", "   49  x", "   50 +y and more ", "       than fits"],
        );
        // numbers that are no numbers, and parts that are shorter than they say
        check(
            "@@ -x +1 @@\n+a\n@@ -1,9 +1,9 @@\n b",
            None,
            &["@@ -x +1 @@", "+a", "@@ -1,9 +1,9 @@", "    1  b"],
        );
        check("@@ -1 +99999999999999 @@\n+a", None, &["@@ -1 ", "+99999999999999 @@", "+a"]);
    }
}
