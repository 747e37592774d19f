//! Why a run stopped: the one error shape that the screen, the journal and `--json` share (ERR-1).

use serde::{Deserialize, Serialize};

use super::place::Place;

/// A run's error. `code` is one of the names of the workflow rules §1.7
/// (`model.rate_limit`, `tool.denied`, `no_transition`, `limit` …), so that `catch` can match it by prefix.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub title: String,
    pub detail: String,
    pub state: Option<String>,
    pub agent: Option<String>,
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// For `sub_workflow_failed`: what failed inside the child (A49).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Failure>>,
}

impl Failure {
    pub fn new(code: &str, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { code: code.to_owned(), title: title.into(), detail: detail.into(), ..Self::default() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The innermost cause: what really went wrong.
    pub fn root(&self) -> &Self {
        self.cause.as_deref().map_or(self, Self::root)
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }
}
