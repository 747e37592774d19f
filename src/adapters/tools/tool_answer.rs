//! The one shape of every tool's answer: a JSON line about the call, then plain text.
//! Refuses to grow beyond the cap, and to carry NUL characters, which no model and no terminal can use.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::sandbox::SandboxDenials;
use synthdev_domain::tool::ToolOutcome;

use super::truncated_output::{shorten_line, shorten_text};

/// The fact that names a retained output, for `read_output`.
const OUTPUT_ID: &str = "output_id";

/// What a tool has to say, before it is put into words for the model.
pub(super) struct ToolAnswer {
    error: Option<String>,
    facts: Map<String, Value>,
    body: String,
    summary: String,
    changed_paths: Vec<String>,
    data: Option<Value>,
    network_denied: bool,
}

/// A text of which the model is shown only the beginning, so many bytes, and the end.
pub(super) struct LongAnswerText<'a> {
    pub(super) text: &'a str,
    pub(super) beginning: u64,
}

/// Bytes of an error: it stands in the line about the call.
fn error_cap(cap: usize) -> usize {
    cap / 4
}

impl ToolAnswer {
    pub(super) fn success(summary: impl Into<String>) -> Self {
        Self {
            error: None,
            facts: Map::new(),
            body: String::new(),
            summary: summary.into(),
            changed_paths: Vec::new(),
            data: None,
            network_denied: false,
        }
    }

    pub(super) fn failure(problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self { error: Some(problem.clone()), ..Self::success(problem) }
    }

    /// A failure that still has something to show, such as a command's output.
    #[must_use]
    pub(super) fn with_error(mut self, problem: impl Into<String>) -> Self {
        self.error = Some(problem.into());
        self
    }

    /// Something the JSON line says; callers keep it short, because that line is never cut.
    #[must_use]
    pub(super) fn with_fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub(super) fn body(mut self, text: impl Into<String>) -> Self {
        self.body = text.into();
        self
    }

    #[must_use]
    pub(super) fn with_changed_paths(mut self, paths: Vec<String>) -> Self {
        self.changed_paths = paths;
        self
    }

    /// What the sandbox denied a command.
    #[must_use]
    pub(super) fn with_denials(mut self, denials: &SandboxDenials) -> Self {
        self.network_denied = denials.network;
        if let Some(first) = denials.lines.first() {
            let what = first.split(" (policy ").next().unwrap_or(first);
            self.summary.push_str(" · ");
            self.summary.push_str(what);
        }
        self
    }

    /// What a workflow's conditions read of a step's outcome.
    #[must_use]
    pub(super) fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// All of a long output is retained under this name.
    #[must_use]
    pub(super) fn with_output_id(self, id: String) -> Self {
        let notice = format!("read_output with the id {id} shows all of it");
        self.with_fact(OUTPUT_ID, id).with_fact("output_notice", notice)
    }

    /// The text that will be cut to so many bytes, or the error to its part of them, unless all of it is retained already.
    pub(super) fn long_text(&self, cap: usize) -> Option<LongAnswerText<'_>> {
        if self.facts.contains_key(OUTPUT_ID) {
            return None;
        }
        let cut = |text, cap: usize| LongAnswerText { text, beginning: cap as u64 / 2 };
        if self.body.len() > cap {
            return Some(cut(&self.body, cap));
        }
        let error = self.error.as_deref().filter(|error| error.len() > error_cap(cap))?;
        Some(cut(error, error_cap(cap)))
    }

    pub(super) fn into_outcome(self, tool: &str, took: Duration, cap: usize) -> ToolOutcome {
        let ok = self.error.is_none();
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut head = Map::new();
        head.insert("success".to_owned(), ok.into());
        head.insert("tool".to_owned(), tool.into());
        head.insert("time_ms".to_owned(), duration_ms.into());
        if let Some(error) = self.error {
            head.insert("error".to_owned(), shorten_text(&error, error_cap(cap)).into());
        }
        head.extend(self.facts);
        let mut content = Value::Object(head).to_string();
        if !self.body.is_empty() {
            content.push('\n');
            content.push_str(&shorten_text(&self.body, cap));
        }
        content.retain(|c| c != '\0');
        let summary = shorten_line(&self.summary, 200);
        ToolOutcome {
            ok,
            content,
            summary,
            duration_ms,
            changed: self.changed_paths,
            data: self.data,
            network_denied: self.network_denied,
            lacks_sandbox: false,
        }
    }
}
