//! Why a run stopped: the one error shape that the screen, the journal and `--json` share.

use serde::{Deserialize, Serialize};

use super::source_location::SourceLocation;

/// A run's error. `code` is one of the error names of `docs/exit-codes-and-limits.md`
/// (`model.rate_limit`, `tool.denied`, `no_transition`, `limit` …), so that `catch` can match it by prefix.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RunError {
    pub code: String,
    pub title: String,
    pub detail: String,
    /// The workflow that `state` is a state of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    pub state: Option<String>,
    pub agent: Option<String>,
    pub hint: Option<String>,
    /// Of the script that failed, else of the state in its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
    /// For `sub_workflow_failed`: what failed inside the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<RunError>>,
}

/// Every error name that the program itself raises, in the order of the workflow rules. `fail` states may
/// add names of their own.
pub const ERROR_NAMES: [&str; 28] = [
    "model.rate_limit",
    "model.timeout",
    "model.auth",
    "model.refusal",
    "model.overloaded",
    "model.transport",
    "model.protocol",
    "model.empty",
    "model.repetition",
    "model.drift",
    "context_overflow",
    "tool.failed",
    "tool.denied",
    "tool.timeout",
    "parsing_tool_missing",
    "parsing_tool_invalid",
    "expression",
    "script",
    "input_undefined",
    "no_transition",
    "sub_workflow_failed",
    "merge_conflict",
    "delegate_error",
    "token_expired",
    "timeout",
    "validation",
    "budget_exceeded",
    "limit",
];

/// Code of a run that another process has taken over: this process cannot resume it.
pub const TAKEN_OVER: &str = "taken_over";

/// Whether a pattern of `retry` or `catch` covers an error name: `*` is all, `model.*` and `model` are everything
/// that begins with `model.`.
pub fn error_pattern_matches(pattern: &str, name: &str) -> bool {
    let prefix = pattern.strip_suffix(".*").or_else(|| pattern.strip_suffix('*')).unwrap_or(pattern);
    pattern == "*"
        || name == prefix
        || name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.') || pattern.ends_with('*'))
}

impl RunError {
    pub fn new(code: &str, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { code: code.to_owned(), title: title.into(), detail: detail.into(), ..Self::default() }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The innermost cause: what really went wrong.
    pub fn root_cause(&self) -> &Self {
        self.cause.as_deref().map_or(self, Self::root_cause)
    }

    #[must_use]
    pub fn with_location(mut self, place: SourceLocation) -> Self {
        self.place = Some(place);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_words_or_beginnings() {
        let rows = [
            ("*", "limit", true),
            ("model.*", "model.auth", true),
            ("model", "model.auth", true),
            ("model.auth", "model.auth", true),
            ("model.a", "model.auth", false),
            ("mod", "model.auth", false),
            ("tool.*", "model.auth", false),
            ("pars*", "parsing_tool_missing", true),
            ("limit", "limit", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(error_pattern_matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
