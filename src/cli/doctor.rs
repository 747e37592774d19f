//! `doctor` as text and as data: a line a finding, with the fix where there is one.

use serde::Serialize;

use super::history::columns::count_text;
use super::output::terminal_safe;
use synthdev_domain::question_text::wrap_rows;

/// Columns. In a narrower terminal, lines are broken as for this one.
const NARROWEST: usize = 30;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoctorStatus {
    Ok,
    /// Works, with something to know.
    Warning,
    /// Something will not work.
    Problem,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DoctorFinding {
    /// terminal, git, store, sandbox, models or configuration.
    pub area: &'static str,
    pub state: DoctorStatus,
    pub text: String,
    /// What to do, where something is to be done.
    pub fix: Option<String>,
}

impl DoctorFinding {
    pub fn ok_finding(area: &'static str, text: impl Into<String>) -> Self {
        Self { area, state: DoctorStatus::Ok, text: text.into(), fix: None }
    }

    pub fn warning_finding(area: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { area, state: DoctorStatus::Warning, text: text.into(), fix: Some(fix.into()) }
    }

    pub fn problem(area: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { area, state: DoctorStatus::Problem, text: text.into(), fix: Some(fix.into()) }
    }
}

#[derive(Serialize)]
pub struct DoctorReport {
    pub version: &'static str,
    /// The worst of all lines.
    pub state: DoctorStatus,
    pub lines: Vec<DoctorFinding>,
}

pub fn build_report(lines: Vec<DoctorFinding>) -> DoctorReport {
    let state = lines.iter().map(|line| line.state).max().unwrap_or(DoctorStatus::Ok);
    DoctorReport { version: env!("CARGO_PKG_VERSION"), state, lines }
}

/// `columns`: of the terminal; without it no line is broken.
pub fn report_text(report: &DoctorReport, columns: Option<usize>) -> String {
    let mut text = format!("synthdev {}\n", report.version);
    let mut area = "";
    for line in &report.lines {
        if line.area != area {
            area = line.area;
            text.push_str(&format!("\n{area}\n"));
        }
        let mark = match line.state {
            DoctorStatus::Ok => "✓",
            DoctorStatus::Warning => "!",
            DoctorStatus::Problem => "✗",
        };
        text.push_str(&hanging_rows(&format!("  {mark} "), &line.text, columns));
        if let Some(fix) = &line.fix {
            text.push_str(&hanging_rows("    → ", fix, columns));
        }
    }
    let count = |state| report.lines.iter().filter(|line| line.state == state).count();
    let (problems, warnings) = (count(DoctorStatus::Problem), count(DoctorStatus::Warning));
    text.push_str(&match (problems, warnings) {
        (0, 0) => "\nEverything is in order.\n".to_owned(),
        _ => format!("\n{}, {}.\n", count_text(problems, "problem"), count_text(warnings, "warning")),
    });
    text
}

/// A text behind a mark; its further rows begin where the first one does.
fn hanging_rows(mark: &str, text: &str, columns: Option<usize>) -> String {
    let indent = mark.chars().count();
    let text = terminal_safe(text);
    let room = columns.map_or(usize::MAX, |columns| columns.max(NARROWEST) - indent);
    // a finding about a file may have several lines
    let rows: Vec<&str> = text.lines().flat_map(|line| wrap_rows(line, room)).collect();
    format!("{mark}{}\n", rows.join(&format!("\n{}", " ".repeat(indent))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words_behind_their_marks() {
        let text = "no model is set for the level base";
        let report = |fix: &str| build_report(vec![DoctorFinding::problem("models", text, fix)]);
        let rows = |fix: &str, columns| {
            report_text(&report(fix), columns).lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
        };
        let end = ["", "1 problem, 0 warnings."];
        let whole = ["models", "  ✗ no model is set for the level base", "    → set one up"];
        assert_eq!(rows("set one up", None), [&whole[..], &end].concat());
        assert_eq!(rows("set one up", Some(80)), [&whole[..], &end].concat());
        let broken = [
            "models",
            "  ✗ no model is set for the",
            "    level base",
            "    → `synthdev configure`",
            "      sets one up",
        ];
        // 30 columns at least
        for columns in [8, 30] {
            assert_eq!(rows("`synthdev configure` sets one up", Some(columns)), [&broken[..], &end].concat());
        }
    }
}
