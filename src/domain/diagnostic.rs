//! A finding in a user's file: what, where, and what to do about it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::source_location::SourceLocation;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticSeverity {
    Info,
    Warning,
    Error,
}

/// One finding. `code` is stable (E01…, W01…, I01… of the workflow rules; C01… for settings and roles).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: String,
    pub severity: DiagnosticSeverity,
    pub message: String,
    pub place: SourceLocation,
    /// Byte range in the file's text, for the caret.
    pub span: Range<usize>,
    /// What to do next, a sentence; "did you mean `x`?" included.
    pub hint: Option<String>,
}
