//! The findings that a user is told when a run starts, before anything is paid for: text that goes to a model as it
//! stands, and work that is held back.

use super::super::render::remark_line;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};

const AT_START: [&str; 2] = ["W07", "W12"];
/// Of more of them only the number is told.
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
