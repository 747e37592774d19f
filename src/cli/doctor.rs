//! `doctor` as text and as data: a line a finding, with the fix where there is one.

use serde::Serialize;

use super::history::columns::count_text;
use super::output::terminal_safe;

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

pub fn report_text(report: &DoctorReport) -> String {
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
        // a finding about a file may have several lines
        let told = terminal_safe(&line.text).replace('\n', "\n    ");
        text.push_str(&format!("  {mark} {told}\n"));
        if let Some(fix) = &line.fix {
            text.push_str(&format!("    → {}\n", terminal_safe(fix)));
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
