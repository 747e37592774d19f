//! Unified diffs: added and removed lines coloured, with their numbers; long ones by their first lines.

use ratatui::style::Style;
use ratatui::text::Line;

use super::line_wrap::{LinePrefix, TextLayoutOptions, blank, push, put};
use crate::theme::ColorTheme;

/// Colours of a unified diff's line.
pub fn diff_style(line: &str, theme: ColorTheme) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => theme.good(),
        Some(b'-') => theme.bad(),
        Some(b'@') => theme.accent(),
        _ => theme.text(),
    }
}

/// No file has so many lines.
const LONGEST: usize = 1 << 30;

/// Where the next lines of a part stand in both files, and how many it still has.
#[derive(Clone, Copy, Default)]
struct DiffHunkPosition {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
}

/// Lays out cleaned lines. What is no part of a diff is shown as it is. `shift` is added to every number; the lines that
/// say where a part begins are then left out, as they would be wrong.
pub fn layout<'a>(
    lines: impl Iterator<Item = &'a str>,
    shift: Option<usize>,
    page: TextLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) {
    let mut numbers = LineNumbers { place: DiffHunkPosition::default(), shift };
    for line in lines {
        numbers.lay(line, page, rows);
    }
}

/// Where a diff that is laid out line by line stands.
#[derive(Clone, Copy, Default)]
pub struct LineNumbers {
    place: DiffHunkPosition,
    shift: Option<usize>,
}

impl LineNumbers {
    /// Lays out the next line.
    pub fn lay(&mut self, line: &str, page: TextLayoutOptions, rows: &mut Vec<Line<'static>>) {
        let theme = page.theme;
        if let Some(next) = part(line, self.shift.unwrap_or(0)) {
            let first = self.place.new == 0;
            self.place = next;
            return match self.shift {
                None => push(&[(theme.accent(), line)], page.columns, page.indent, 0, rows),
                Some(_) if first => {}
                Some(_) => push(&[(theme.dim(), "⋯")], page.columns, page.indent, 0, rows),
            };
        }
        let style = diff_style(line, theme);
        match number(line, &mut self.place) {
            Some(number) => {
                let (digits, columns) = (number.to_string(), 5);
                let left =
                    format!("{}{}{digits} ", blank(page.indent), blank(columns - digits.len().min(columns)));
                let lead = LinePrefix { style: theme.dim(), first: &left, rest: blank(left.len() + 1) };
                put(&[(style, line)], lead, page.columns, rows);
            }
            None if self.place.is_over() && (line.starts_with("+++ ") || line.starts_with("--- ")) => {
                push(&[(theme.bold(), line)], page.columns, page.indent, 0, rows);
            }
            None => push(&[(style, line)], page.columns, page.indent, 0, rows),
        }
    }
}

impl DiffHunkPosition {
    fn is_over(self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }
}

/// The number of a line inside of a part: that of the file which has it, of the new one if both do.
fn number(line: &str, place: &mut DiffHunkPosition) -> Option<usize> {
    let (old, new) = match line.as_bytes().first() {
        Some(b'+') => (0, 1),
        Some(b'-') => (1, 0),
        Some(b' ') | None => (1, 1),
        _ => return None,
    };
    if place.old_left < old || place.new_left < new {
        return None;
    }
    let number = if new == 1 { place.new } else { place.old };
    (place.old, place.new) = (place.old + old, place.new + new);
    (place.old_left, place.new_left) = (place.old_left - old, place.new_left - new);
    Some(number)
}

/// `@@ -12,3 +12,4 @@`
fn part(line: &str, shift: usize) -> Option<DiffHunkPosition> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| -> Option<(usize, usize)> {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number < LONGEST);
        Some((number(first)? + shift.min(LONGEST), number(count)?))
    };
    let ((old, old_left), (new, new_left)) = (pair(old)?, pair(new)?);
    Some(DiffHunkPosition { old, new, old_left, new_left })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shift: Option<usize>, expected: &[&str]) {
        let page =
            TextLayoutOptions { columns: 20, indent: 0, base: Style::new(), theme: ColorTheme::default() };
        let mut rows = Vec::new();
        layout(text.lines(), shift, page, &mut rows);
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
