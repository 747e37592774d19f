//! Unified diffs: added and removed lines told apart by sign, number and background, the words of a known language
//! coloured as in a block of code.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::Line;

use super::highlight::{HighlightState, LanguageSyntax, find_file_language, highlight_line};
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

/// How lines of unified diffs begin that name the file below them.
const DIFF_FILE_MARKS: [&str; 2] = ["--- ", "+++ "];
/// The same in patches for models.
const PATCH_FILE_MARKS: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
/// Bytes of a line that is coloured, at most: longer ones are data.
const COLOURED_BYTES: usize = 4_096;

/// Lays out cleaned lines. What is no part of a diff is shown as it is.
pub fn layout_diff<'a>(
    lines: impl Iterator<Item = &'a str>,
    mut state: DiffLayoutState,
    page: TextLayoutOptions,
    rows: &mut Vec<Line<'static>>,
) {
    let lines: Vec<&str> = lines.collect();
    for (line, changed) in lines.iter().zip(changed_words(&lines)) {
        state.layout_line(line, &changed, page, rows);
    }
}

/// What earlier lines of a diff say about the next one: its numbers, its language, and what is open in both files.
#[derive(Clone, Copy, Default)]
pub struct DiffLayoutState {
    hunk_position: DiffHunkPosition,
    shift: Option<usize>,
    language: Option<&'static LanguageSyntax>,
    old_open: HighlightState,
    new_open: HighlightState,
    /// A patch for models: it says no lengths, so `--- ` can be a removed line.
    is_patch: bool,
}

impl DiffLayoutState {
    /// `path`: the file, where no line of the diff names it. `shift` is added to every number; the lines that say where a
    /// part begins are then left out, as they would be wrong.
    pub fn for_file(path: &str, shift: Option<usize>) -> Self {
        Self { shift, language: find_file_language(path), ..Self::default() }
    }

    /// Lays out the next line; `changed` are the parts of it that are emphasized.
    pub fn layout_line(
        &mut self,
        line: &str,
        changed: &[Range<usize>],
        page: TextLayoutOptions,
        rows: &mut Vec<Line<'static>>,
    ) {
        let theme = page.theme;
        if line.starts_with("@@") {
            // what is open there is not known
            (self.old_open, self.new_open) = Default::default();
        }
        if let Some(next) = parse_hunk_header(line, self.shift.unwrap_or(0)) {
            let first = self.hunk_position.new_line == 0;
            self.hunk_position = next;
            return match self.shift {
                None => push(&[(theme.accent_style(), line)], page.columns, page.indent, 0, rows),
                Some(_) if first => {}
                Some(_) => push(&[(theme.dim_style(), "⋯")], page.columns, page.indent, 0, rows),
            };
        }
        if let Some(name) = self.named_file(line) {
            (self.old_open, self.new_open) = Default::default();
            self.is_patch |= line.starts_with("*** ");
            if !name.starts_with("/dev/null") {
                self.language = find_file_language(name);
            }
            return push(&[(theme.bold_style(), line)], page.columns, page.indent, 0, rows);
        }
        let number = line_number(line, &mut self.hunk_position);
        let pieces = emphasized_pieces(self.line_pieces(line, number.is_some(), theme), changed, theme);
        let Some(number) = number else { return push(&pieces, page.columns, page.indent, 0, rows) };
        let (digits, columns) = (number.to_string(), 5);
        let left = format!(
            "{}{}{digits} ",
            blank_columns(page.indent),
            blank_columns(columns - digits.len().min(columns))
        );
        let style = if line.starts_with(['+', '-']) { diff_style(line, theme) } else { theme.dim_style() };
        let lead = LinePrefix { style, first_row: &left, other_rows: blank_columns(left.len() + 1) };
        push_wrapped(&pieces, lead, page.columns, rows);
    }

    /// The file that a line between two parts names.
    fn named_file<'a>(&self, line: &'a str) -> Option<&'a str> {
        let after = |marks: &[&str]| marks.iter().find_map(|mark| line.strip_prefix(mark));
        let in_diff = || after(&DIFF_FILE_MARKS).filter(|_| !self.is_patch);
        after(&PATCH_FILE_MARKS).or_else(in_diff).filter(|_| self.hunk_position.is_complete())
    }

    /// A line in its colours: the sign, and the words of the language behind it.
    fn line_pieces<'a>(
        &mut self,
        line: &'a str,
        is_numbered: bool,
        theme: ColorTheme,
    ) -> Vec<StyledPiece<'a>> {
        let plain = diff_style(line, theme);
        if line.len() > COLOURED_BYTES {
            return vec![(plain, line)];
        }
        let sign = line.chars().next().filter(|sign| matches!(sign, '+' | '-' | ' '));
        let Some(sign) = sign.filter(|_| is_numbered || self.language.is_some()) else {
            return vec![(plain, line)];
        };
        let (mark, words) = line.split_at(1);
        let Some(language) = self.language else {
            if !theme.has_diff_backgrounds() {
                return vec![(plain, line)];
            }
            let words_style = theme.on_diff_background(theme.text(), sign);
            return vec![(theme.on_diff_background(theme.bold_style(), sign), mark), (words_style, words)];
        };
        let has_background = sign != ' ' && theme.has_diff_backgrounds();
        let mark_style = if has_background { theme.bold_style() } else { plain };
        let mut pieces = vec![(mark_style, mark)];
        let side = if sign == '-' { &mut self.old_open } else { &mut self.new_open };
        let before = *side;
        pieces.extend(highlight_line(words, language, side, theme.text(), theme));
        if sign == ' ' {
            // both files have it
            if self.old_open == before {
                self.old_open = self.new_open;
            } else {
                highlight_line(words, language, &mut self.old_open, theme.text(), theme);
            }
        }
        for piece in &mut pieces {
            piece.0 = theme.on_diff_background(piece.0, sign);
        }
        pieces
    }
}

/// The same with the changed parts in another look, also without colours.
fn emphasized_pieces<'a>(
    pieces: Vec<StyledPiece<'a>>,
    changed: &[Range<usize>],
    theme: ColorTheme,
) -> Vec<StyledPiece<'a>> {
    if changed.is_empty() {
        return pieces;
    }
    let mut out = Vec::with_capacity(pieces.len() + changed.len() * 2);
    let (mut start, mut parts) = (0, changed.iter().peekable());
    for (style, text) in pieces {
        let end = start + text.len();
        let mut at = start;
        while let Some(part) = parts.peek().filter(|part| part.start < end) {
            let (from, to) = (part.start.max(at), part.end.min(end));
            out.push((style, &text[at - start..from - start]));
            out.push((theme.changed_style(style), &text[from - start..to - start]));
            at = to;
            if part.end > end {
                break;
            }
            parts.next();
        }
        out.push((style, &text[at - start..]));
        start = end;
    }
    out.retain(|(_, text)| !text.is_empty());
    out
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
    use ratatui::style::Modifier;
    use ratatui::text::Span;

    use super::*;
    use crate::theme::TerminalEnvironment;

    fn check(text: &str, shift: Option<usize>, expected: &[&str]) {
        let page =
            TextLayoutOptions { columns: 20, indent: 0, base: Style::new(), theme: ColorTheme::default() };
        let mut rows = Vec::new();
        layout_diff(text.lines(), DiffLayoutState::for_file("", shift), page, &mut rows);
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

    /// The parts behind each line's number that look different from their neighbours, the emphasized ones in brackets.
    fn check_words(theme: ColorTheme, path: &str, text: &str, expected: &[&str]) {
        let page = TextLayoutOptions { columns: 60, indent: 0, base: Style::new(), theme };
        let mut rows = Vec::new();
        layout_diff(text.lines(), DiffLayoutState::for_file(path, None), page, &mut rows);
        let part = |span: &Span<'_>, from: usize| match span.style.add_modifier.contains(Modifier::REVERSED) {
            true => format!("[{}]", &span.content[from..]),
            false => span.content[from..].to_string(),
        };
        // behind the number, which may look like the sign
        let shown: Vec<String> = rows
            .iter()
            .filter(|row| row.to_string().starts_with("    "))
            .map(|row| {
                let parts = row.spans.iter().enumerate();
                let parts = parts.map(|(at, span)| part(span, if at == 0 { 6 } else { 0 }));
                parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("|")
            })
            .collect();
        assert_eq!(shown, expected, "{path} {}: {text}", theme.name());
        let has_background = |sign: &str| {
            let spans =
                rows.iter().filter(|row| row.to_string()[6..].starts_with(sign)).flat_map(|row| &row.spans);
            spans.filter(|span| span.style.bg.is_some()).count() > 0
        };
        let backgrounds = ["+", "-", " "].map(has_background);
        assert_eq!(
            backgrounds,
            [theme.has_diff_backgrounds(), theme.has_diff_backgrounds(), false],
            "{}",
            theme.name()
        );
    }

    #[test]
    fn the_words_of_a_changed_line_have_the_colours_of_its_language() {
        let terminal = TerminalEnvironment { term: Some("xterm-256color".to_owned()), ..Default::default() };
        let code =
            "@@ -1,5 +1,5 @@\n fn a() { // x\n-    old(\"1\");\n+    old(2);\n /* é\n-b\n+c */ let\n fn";
        let named = format!("--- a/x.rs\n+++ b/x.rs\n{code}");
        let made = format!("--- /dev/null\n+++ b/x.rs\n{code}");
        let gone = format!("--- a/x.rs\n+++ /dev/null\n{code}");
        let colored = [
            " |fn| a() { |// x",
            "-|    old(|[\"1\"]|);",
            "+|    old(|[2]|);",
            " |/* é",
            // what is open in one file is not in the other
            "-|b",
            "+|c */| |let",
            " |fn",
        ];
        for theme in ["dark", "light", "dark16", "light16", "high-contrast"] {
            let theme = ColorTheme::find_theme(theme, &terminal).unwrap();
            check_words(theme, "src/x.rs", code, &colored);
            for text in [&named, &made, &gone] {
                check_words(theme, "", text, &colored);
            }
        }
        let plain =
            [" fn a() { // x", "-    old(|[\"1\"]|);", "+    old(|[2]|);", " /* é", "-b", "+c */ let", " fn"];
        check_words(ColorTheme::find_theme("dark16", &terminal).unwrap(), "x.txt", code, &plain);
    }

    /// The rows of a diff with the parts of each that differ in colour.
    fn coloured_rows(text: &str) -> Vec<String> {
        let page =
            TextLayoutOptions { columns: 60, indent: 0, base: Style::new(), theme: ColorTheme::default() };
        let mut rows = Vec::new();
        layout_diff(text.lines(), DiffLayoutState::for_file("", None), page, &mut rows);
        let parts =
            |row: &Line<'_>| row.spans.iter().map(|span| span.content.to_string()).collect::<Vec<_>>();
        rows.iter().map(|row| parts(row).join("|")).collect()
    }

    #[test]
    fn each_file_of_a_patch_begins_anew() {
        let check = |text: &str, expected: &[&str]| assert_eq!(coloured_rows(text), expected, "{text}");
        // a removed comment is no name of a file, and what is open in one file is not in the next
        let patch = "*** Update File: x.sql\n--- old\n+select 1 /* x\n*** Add File: x.rs\n+fn a";
        check(
            patch,
            &["*** Update File: x.sql", "-|-- old", "+select| |1| |/* x", "*** Add File: x.rs", "+fn| a"],
        );
        // a time behind the name, as it is shown
        let timed = "--- a/x.rs  2024-01-01\n+++ /dev/null  1970-01-01\n@@ -1 +0,0 @@\n-fn a";
        assert_eq!(coloured_rows(timed)[3], "    1 |-fn| a");
    }

    #[test]
    fn long_lines_have_one_colour() {
        let line = format!("*** Add File: x.rs\n+fn {}", "\\\"".repeat(COLOURED_BYTES));
        assert!(coloured_rows(&line)[1..].iter().all(|row| !row.contains('|')), "it is plain");
    }
}
