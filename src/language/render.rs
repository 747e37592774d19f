//! Diagnostics as a compiler prints them: message, place, the source line with a caret, what to do.
//!
//! Never reads a file: the caller hands over the text, already free of secrets (`secret::mask_*`).

mod json_diagnostics;

use std::collections::HashMap;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::terminal_safe;

pub use json_diagnostics::{DiagnosticRecord, diagnostic_records};

/// Columns after which a line is not shown: one that long is not meant to be read.
const FARTHEST: usize = 2_000;
/// Bytes of a line that are marked, and that follow the mark.
const MARKED: usize = 200;
const AFTER: usize = 200;
/// Bytes of a message: names in it may be as long as the file.
const LONGEST: usize = 2_000;

/// Whether the reader understands ANSI colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DiagnosticStyle {
    #[default]
    Plain,
    Ansi,
}

/// All findings in their order, a blank line between two. `text_of` gives a file's text by its name.
pub fn render_diagnostics(
    diagnostics: &[Diagnostic],
    text_of: &dyn Fn(&str) -> Option<String>,
    paint: DiagnosticStyle,
) -> String {
    let mut texts: HashMap<&str, Option<String>> = HashMap::new();
    let mut parts: Vec<String> = Vec::with_capacity(diagnostics.len());
    for finding in diagnostics {
        let file = finding.place.file.as_str();
        let text = texts.entry(file).or_insert_with(|| text_of(file));
        parts.push(render_one(finding, text.as_deref(), paint));
    }
    parts.join("\n\n")
}

/// One finding. Without its text, or for a finding outside any file, only the place is named.
pub fn render_one(diagnostic: &Diagnostic, text: Option<&str>, paint: DiagnosticStyle) -> String {
    let shown = printable_form(diagnostic);
    let diagnostic = &shown;
    let title = severity_level(diagnostic.severity)
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.as_str());
    let line = text
        .filter(|_| diagnostic.place.line > 0 && diagnostic.place.column <= FARTHEST)
        .map(|text| shown_line(text, &diagnostic.span));
    let mut group = match &line {
        Some((line, span)) => title.element(
            Snippet::source(line.as_str())
                .path(diagnostic.place.file.as_str())
                .line_start(diagnostic.place.line)
                .annotation(AnnotationKind::Primary.span(span.clone())),
        ),
        None => plain_group(title, diagnostic),
    };
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    let renderer = match paint {
        DiagnosticStyle::Plain => Renderer::plain(),
        DiagnosticStyle::Ansi => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// One line: `file:line:col: error[E02]: message (hint)`.
pub fn compact_line(diagnostic: &Diagnostic) -> String {
    diagnostic_line(diagnostic, severity_word(diagnostic.severity))
}

/// The same where something else says how bad it is: `file:line:col: [W07]: message (hint)`.
pub fn remark_line(diagnostic: &Diagnostic) -> String {
    diagnostic_line(diagnostic, "")
}

fn diagnostic_line(diagnostic: &Diagnostic, word: &str) -> String {
    let diagnostic = &printable_form(diagnostic);
    let place = &diagnostic.place;
    let at = if place.line == 0 { place.file.clone() } else { place.to_string() };
    let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{at}: {word}[{}]: {}{hint}", diagnostic.code, diagnostic.message)
}

/// `2 errors, 1 warning`; `no problems` if there is nothing. Notes count only when alone.
pub fn count_summary(diagnostics: &[Diagnostic]) -> String {
    let count = |severity| diagnostics.iter().filter(|finding| finding.severity == severity).count();
    let parts: Vec<String> = [
        (count(DiagnosticSeverity::Error), "error"),
        (count(DiagnosticSeverity::Warning), "warning"),
        (count(DiagnosticSeverity::Info), "note"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, word)| format!("{number} {word}{}", if number == 1 { "" } else { "s" }))
    .collect();
    if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") }
}

fn plain_group<'a>(title: annotate_snippets::Title<'a>, diagnostic: &'a Diagnostic) -> Group<'a> {
    let origin = Origin::path(diagnostic.place.file.as_str());
    if diagnostic.place.line == 0 {
        return title.element(origin);
    }
    title.element(origin.line(diagnostic.place.line).char_column(diagnostic.place.column))
}

fn severity_level(severity: DiagnosticSeverity) -> Level<'static> {
    match severity {
        DiagnosticSeverity::Info => Level::INFO,
        DiagnosticSeverity::Warning => Level::WARNING,
        DiagnosticSeverity::Error => Level::ERROR,
    }
}

fn severity_word(severity: DiagnosticSeverity) -> &'static str {
    match severity {
        DiagnosticSeverity::Info => "info",
        DiagnosticSeverity::Warning => "warning",
        DiagnosticSeverity::Error => "error",
    }
}

/// What is painted is not looked at again: foreign text is made printable before.
fn printable_form(diagnostic: &Diagnostic) -> Diagnostic {
    let mut shown = diagnostic.clone();
    shown.message = terminal_safe::escape_controls(cut_bytes(&diagnostic.message, LONGEST)).into_owned();
    shown.place.file = terminal_safe::escape_name(&diagnostic.place.file).into_owned();
    shown.hint = diagnostic.hint.as_ref().map(|hint| terminal_safe::escape_controls(hint).into_owned());
    shown
}

/// As `line_at_span`, printable; the span moves with what became longer before it.
fn shown_line(text: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let (line, span) = line_at_span(text, span);
    let mut shown = terminal_safe::escape_controls(&line[..span.start]).into_owned();
    let from = shown.len();
    shown.push_str(&terminal_safe::escape_controls(&line[span.clone()]));
    let to = shown.len();
    shown.push_str(&terminal_safe::escape_controls(&line[span.end..]));
    (shown, from..to)
}

/// The line in which the span begins, and the span inside it, cut at the line's end:
/// a finding about a whole object should not print the object.
fn line_at_span<'t>(text: &'t str, span: &Range<usize>) -> (&'t str, Range<usize>) {
    let start = char_boundary(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line = text[line_start..line_end].trim_end_matches('\r');
    let end = char_boundary(text, span.end.max(span.start).min(start.saturating_add(MARKED)))
        .clamp(start, line_start + line.len().max(start - line_start));
    let from = (start - line_start).min(line.len());
    let line = cut_bytes(line, (end - line_start).saturating_add(AFTER));
    let from = from.min(line.len());
    (line, from..(end - line_start).clamp(from, line.len()))
}

/// At most so many bytes.
fn cut_bytes(text: &str, most: usize) -> &str {
    &text[..char_boundary(text, most)]
}

fn char_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileDiagnostics, SourceFile};
    use synthdev_domain::source_location::{ConfigLayer, SourceLocation};

    fn finding(text: &str, needle: &str, hint: Option<&str>) -> (SourceFile, Diagnostic) {
        let file = SourceFile::new(ConfigLayer::User, "a/settings.json", text);
        let mut findings = FileDiagnostics::new(&file);
        let at = text.find(needle).unwrap();
        findings.add_error("C04", at..at + needle.len(), "unknown key `modle`", hint.map(str::to_owned));
        let one = findings.list.remove(0);
        (file, one)
    }

    #[test]
    fn a_finding_shows_line_caret_and_hint() {
        let (file, one) = finding("{\n  \"modle\": \"x\"\n}\n", "\"modle\"", Some("did you mean `model`?"));
        let expected = "\
error[C04]: unknown key `modle`
 --> a/settings.json:2:3
  |
2 |   \"modle\": \"x\"
  |   ^^^^^^^
  |
  = help: did you mean `model`?";
        assert_eq!(render_one(&one, Some(&file.text), DiagnosticStyle::Plain), expected);
        assert_eq!(
            compact_line(&one),
            "a/settings.json:2:3: error[C04]: unknown key `modle` (did you mean `model`?)"
        );
        let ansi = render_one(&one, Some(&file.text), DiagnosticStyle::Ansi);
        assert!(ansi.contains("\u{1b}[") && ansi.contains("modle"), "{ansi}");
    }

    #[test]
    fn odd_spans_and_missing_texts_never_panic() {
        let (file, mut one) = finding("ä\"modle\"\r\nb", "\"modle\"", None);
        for span in [0..0, 1..1, 0..999, 999..1000, Range { start: 3, end: 2 }, 11..12] {
            one.span = span;
            assert!(render_one(&one, Some(&file.text), DiagnosticStyle::Plain).contains("C04"));
        }
        let gone = render_one(&one, None, DiagnosticStyle::Plain);
        assert_eq!(gone, "error[C04]: unknown key `modle`\n--> a/settings.json:1:2");
        one.place = SourceLocation { file: "SYNTHDEV_X".into(), line: 0, column: 0 };
        assert_eq!(compact_line(&one), "SYNTHDEV_X: error[C04]: unknown key `modle`");
        assert!(render_one(&one, None, DiagnosticStyle::Plain).ends_with("--> SYNTHDEV_X"));
        assert_eq!(count_summary(&[one]), "1 error");
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_and_the_caret_stays() {
        let (file, mut one) = finding(
            "{ \"\u{1b}[2K\": 1, \"modle\": \"\u{202e}\u{9b}\" }",
            "\"modle\"",
            Some("\u{1b}]0;x\u{7}"),
        );
        one.message = "m\u{1b}[31m".into();
        one.place.file = "a\u{1b}\n.json".into();
        let text = render_one(&one, Some(&file.text), DiagnosticStyle::Plain);
        let both = format!("{text}{}{}", compact_line(&one), render_one(&one, None, DiagnosticStyle::Plain));
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!both.contains(bad), "{both:?}");
        let lines: Vec<&str> = text.lines().collect();
        let column = |line: &str, needle: &str| line[..line.find(needle).unwrap()].chars().count();
        assert_eq!(column(lines[3], "\"modle\""), column(lines[4], "^"), "{text}");
        let ansi = render_one(&one, Some(&file.text), DiagnosticStyle::Ansi);
        assert!(
            !ansi.contains("\u{1b}[2K") && !ansi.contains("\u{1b}]") && !ansi.contains('\u{9b}'),
            "{ansi:?}"
        );
    }

    #[test]
    fn several_keep_their_order() {
        let (file, one) = finding("{\"modle\": 1}", "\"modle\"", None);
        let mut two = one.clone();
        two.message = "second".into();
        let text = render_diagnostics(&[one, two], &|_| Some(file.text.to_string()), DiagnosticStyle::Plain);
        assert!(text.find("modle").unwrap() < text.find("second").unwrap(), "{text}");
    }
}
