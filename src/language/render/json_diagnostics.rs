//! Findings as data, for editors and build servers (`check --json`).

use std::collections::HashMap;

use serde::Serialize;

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;

use super::super::source::{LineStarts, SourceFile};

/// One finding. Lines and columns count from 1, columns in characters; the end is after the last character. Line 0: the
/// finding has no position in a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DiagnosticRecord {
    pub code: String,
    /// `error`, `warning`, `info`.
    pub severity: DiagnosticSeverity,
    pub message: String,
    pub hint: Option<String>,
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

/// `text_of` gives a file's text by its name; without it, a finding ends where it begins.
pub fn diagnostic_records(
    diagnostics: &[Diagnostic],
    text_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<DiagnosticRecord> {
    let mut texts: HashMap<&str, Option<(SourceFile, LineStarts)>> = HashMap::new();
    let read = |name: &str| {
        let file = SourceFile::new(ConfigLayer::default(), "", text_of(name)?);
        let lines = LineStarts::from_text(&file.text);
        Some((file, lines))
    };
    diagnostics
        .iter()
        .map(|finding| {
            let place = &finding.place;
            let name = place.file.as_str();
            let text = if place.line == 0 { &None } else { texts.entry(name).or_insert_with(|| read(name)) };
            let last = finding.span.end.max(finding.span.start);
            let end = text.as_ref().map(|(file, lines)| lines.location_at(file, last));
            let (end_line, end_column) = end.map_or((place.line, place.column), |end| (end.line, end.column));
            DiagnosticRecord {
                code: finding.code.clone(),
                severity: finding.severity,
                message: finding.message.clone(),
                hint: finding.hint.clone(),
                file: place.file.clone(),
                line: place.line,
                column: place.column,
                end_line,
                end_column,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileDiagnostics;
    use synthdev_domain::source_location::SourceLocation;

    #[test]
    fn a_finding_ends_behind_its_last_character() {
        let file = SourceFile::new(ConfigLayer::User, "x.json", "{\n  \"ä\": [1,\n 2]\n}");
        let mut findings = FileDiagnostics::new(&file);
        let key = file.text.find('"').unwrap();
        findings.add_error("E14", key..key + 4, "key", Some("hint".to_owned()));
        let list = file.text.find('[').unwrap();
        findings.add_warning("W01", list..file.text.find(']').unwrap() + 1, "list", None);
        let mut nowhere = findings.list[0].clone();
        nowhere.place = SourceLocation { file: "SYNTHDEV_X".to_owned(), line: 0, column: 0 };
        findings.list.push(nowhere);
        let text = |name: &str| (name == "x.json").then(|| file.text.to_string());
        let found = diagnostic_records(&findings.list, &text);
        let ends: Vec<_> =
            found.iter().map(|one| (one.line, one.column, one.end_line, one.end_column)).collect();
        assert_eq!(ends, [(2, 3, 2, 6), (2, 8, 3, 4), (0, 0, 0, 0)]);
        assert_eq!(diagnostic_records(&findings.list, &|_| None)[0].end_column, 3);
        let shown = serde_json::to_value(&found[0]).unwrap();
        assert_eq!((shown["severity"].as_str(), shown["hint"].as_str()), (Some("error"), Some("hint")));
    }
}
