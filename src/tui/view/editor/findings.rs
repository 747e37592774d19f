//! What is wrong with the text: the list of all findings, and the one that the last line names.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{put_line, select_row};
use crate::editor::DefinitionEditor;
use crate::editor::action::EditorAction;
use crate::keymap::KeyAction;
use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns, one_line, wrap_line};
use crate::theme::ColorTheme;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::terminal_safe;

/// Columns before the text of a finding: its mark, its place, blanks.
const INDENT: usize = 9;
/// From fewer columns on a text is not wrapped beside its place.
const NARROW: usize = 30;

pub(super) fn severity_mark(theme: ColorTheme, severity: DiagnosticSeverity) -> (&'static str, Style) {
    match severity {
        DiagnosticSeverity::Error => ("✗", theme.bad_style()),
        DiagnosticSeverity::Warning => ("!", theme.warning_style()),
        DiagnosticSeverity::Info => ("i", theme.dim_style()),
    }
}

pub(super) fn finding_text(finding: &Diagnostic) -> String {
    let hint = finding.hint.as_ref().map(|hint| format!(" → {hint}")).unwrap_or_default();
    one_line(&terminal_safe::escape_controls(&format!("{}: {}{hint}", finding.code, finding.message)))
}

/// The last line's finding where it has to be cut, with the key that shows all of it.
pub(super) fn cut_note(
    model: &UiModel,
    editor: &DefinitionEditor,
    note: &str,
    columns: usize,
) -> Option<String> {
    let key = model.keymap.key(KeyAction::Editor(EditorAction::Findings))?;
    let hint = format!(" {key}: all of it");
    let room = columns.checked_sub(display_width(&hint)).filter(|room| *room >= NARROW)?;
    let is_cut = editor.list.is_none() && display_width(note) > columns;
    is_cut.then(|| format!("{}{hint}", fit_to_columns(note, room)))
}

/// Rows of all findings.
pub(super) fn row_count(editor: &DefinitionEditor, width: u16) -> usize {
    editor.findings.iter().map(|finding| wrap_finding(&finding_text(finding), width).len()).sum()
}

fn wrap_finding(text: &str, width: u16) -> Vec<Range<usize>> {
    wrap_line(text, usize::from(width).saturating_sub(INDENT))
}

pub(super) fn draw_findings(theme: ColorTheme, editor: &DefinitionEditor, area: Rect, frame: &mut Frame<'_>) {
    let Some(chosen) = editor.chosen_finding().filter(|_| area.height > 0) else { return };
    let title = format!("── findings: {} ", editor.findings.len());
    let rule = "─".repeat(usize::from(area.width).saturating_sub(display_width(&title)));
    put_line(frame, area.x, area.y, &Line::styled(title + &rule, theme.dim_style()), area.width);
    let fits = usize::from(area.height - 1);
    let (mut lines, mut shown) = (Vec::new(), 0..0);
    for (at, finding) in editor.findings.iter().enumerate() {
        let first = lines.len();
        let (sign, style) = severity_mark(theme, finding.severity);
        let text = finding_text(finding);
        let text_style = if at == chosen { theme.bold_style() } else { theme.text() };
        for (row, part) in wrap_finding(&text, area.width).into_iter().enumerate() {
            let place = format!(" {}:{}", finding.place.line, finding.place.column);
            let (sign, place) = if row == 0 { (sign, place) } else { (" ", String::new()) };
            let place = format!("{place:<width$}", width = INDENT - 1);
            let text = text[part].trim_end().to_owned();
            lines.push((
                at,
                Line::from(vec![Span::styled(sign, style), Span::raw(place), Span::styled(text, text_style)]),
            ));
        }
        if at == chosen {
            shown = first..lines.len();
        }
    }
    // all of the chosen one, its beginning first
    let first = shown.end.saturating_sub(fits).min(shown.start);
    for (y, (at, line)) in (area.y + 1..area.bottom()).zip(lines.iter().skip(first)) {
        put_line(frame, area.x, y, line, area.width);
        if *at == chosen {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
}
