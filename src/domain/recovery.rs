//! What happens when a state fails: again, elsewhere, or on with another value.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::{ScriptIx, StateIx};
use super::run_error::error_pattern_matches;

/// In the order in which they are asked: `retry`, `catch`, `fallback`, `on_error`; then the workflow's `on_error`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecoveryPolicy {
    pub retry: Vec<RetryRule>,
    pub catch: Vec<CatchRule>,
    /// Becomes the result of the state, which then continues with its transitions.
    pub fallback: Option<Value>,
    /// `None`: as the workflow says.
    pub on_error: Option<OnError>,
}

/// One `retry` rule; the first whose `errors` match counts. Counters begin anew when the state is left.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RetryRule {
    /// Names or prefixes (`model.*`, `*`).
    pub errors: Vec<String>,
    /// All attempts of a visit, the first included.
    pub max_attempts: u32,
    pub backoff: RetryBackoff,
}

/// Time between attempts: `delay * factor^(n-1)`, at most `max_delay`; with `jitter` a random part of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RetryBackoff {
    pub delay_ms: u64,
    pub factor: f64,
    pub max_delay_ms: u64,
    pub jitter: bool,
}

impl Default for RetryBackoff {
    fn default() -> Self {
        Self { delay_ms: 1_000, factor: 2.0, max_delay_ms: 60_000, jitter: false }
    }
}

/// One `catch` rule, asked after the retries are used up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CatchRule {
    pub errors: Vec<String>,
    /// Key of `common_data` that receives `{name, title, detail, state, agent}`.
    pub key: Option<String>,
    pub before: Option<ScriptIx>,
    pub target: StateIx,
}

/// A policy for errors that nothing else takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Interactive runs ask, others fail.
    #[default]
    Fail,
    /// Report it and continue with the transitions, with no last answer.
    Continue,
    Go(StateIx),
}

impl RetryRule {
    pub fn matches_error(&self, error: &str) -> bool {
        self.errors.iter().any(|pattern| error_pattern_matches(pattern, error))
    }
}

impl CatchRule {
    pub fn matches_error(&self, error: &str) -> bool {
        self.errors.iter().any(|pattern| error_pattern_matches(pattern, error))
    }
}
