//! Findings that a run shows the user at its start, before it costs anything: text that goes to a model unchanged, and
//! work that is held back.

use super::super::render::remark_line;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};

const AT_START: [&str; 2] = ["W07", "W12"];
/// Beyond this many, only the number of the others is shown.
const MOST: usize = 5;

pub(super) fn start_warnings(found: &[Diagnostic]) -> Vec<String> {
    let counts = |one: &&Diagnostic| {
        one.severity == DiagnosticSeverity::Warning && AT_START.contains(&one.code.as_str())
    };
    let mut lines: Vec<String> = found.iter().filter(counts).map(remark_line).collect();
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if more > 0 {
        lines.push(format!("{more} more of these: `synthdev check` shows all"));
    }
    lines
}
