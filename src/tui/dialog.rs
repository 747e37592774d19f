//! Questions that a person answers with one key. They queue; the first is on screen.

use serde_json::Value;

use crate::domain::ids::{CallId, RunId};
use crate::domain::tool::{ToolPreview, ToolRisk};
use crate::engine::effect::Question;
use crate::tui::msg::Cmd;
use crate::tui::text::reveal;

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// May this tool run (REPL-20)?
    Approval { run: RunId, call: CallId },
    /// A limit was reached, or there is no snapshot: go on?
    GoOn { run: RunId, call: CallId },
    /// May the project's own definitions be used?
    Trust,
    /// Do it?
    Confirm(Cmd),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Dialog {
    pub kind: Kind,
    pub title: String,
    /// Nothing hidden: control characters are visible.
    pub body: Vec<String>,
    /// Lines are a unified diff.
    pub diff: bool,
    /// First body row on screen; bounded while drawing.
    pub scroll: usize,
    /// The reason for a refusal, while it is typed.
    pub reason: Option<String>,
    /// A key pressed for the input box must not answer a question that just appeared.
    pub armed: bool,
}

impl Dialog {
    fn new(kind: Kind, title: String, body: &str) -> Self {
        let body = reveal(body.trim_end()).split('\n').map(str::to_owned).collect();
        Self { kind, title, body, diff: false, scroll: 0, reason: None, armed: false }
    }

    pub fn approval(
        run: RunId,
        call: CallId,
        asked: (&str, &str, ToolRisk),
        arguments: &Value,
        preview: Option<&ToolPreview>,
    ) -> Self {
        let (agent, tool, risk) = asked;
        let verb = match risk {
            ToolRisk::Read => "read",
            ToolRisk::Write => "change files",
            ToolRisk::Execute => "execute",
        };
        let title = format!("Allow {} to {verb}: {}?", reveal(agent), reveal(tool));
        let (body, diff) = match preview {
            Some(ToolPreview::Diff { path, diff }) => (format!("{path}\n{diff}"), true),
            Some(ToolPreview::Command { command, cwd, warning }) => {
                let warning = warning.as_ref().map(|text| format!("\n\n! {text}")).unwrap_or_default();
                (format!("$ {command}\n\nin {cwd}{warning}"), false)
            }
            Some(ToolPreview::Text { text }) => (text.clone(), false),
            None => (arguments_text(arguments), false),
        };
        Self { diff, ..Self::new(Kind::Approval { run, call }, title, &body) }
    }

    /// `None`: the question is not one for a dialog.
    pub fn question(run: RunId, call: CallId, question: &Question) -> Option<Self> {
        let kind = Kind::GoOn { run, call };
        match question {
            Question::Message => None,
            Question::Limit { limit, value, text } => {
                let title = format!("Limit reached: {limit} ({value}). Go on?");
                Some(Self::new(kind, title, text))
            }
            Question::Pause { message, .. } => {
                Some(Self::new(kind, "The workflow waits for you".to_owned(), message))
            }
            Question::Failed { failure } => {
                let title = format!("{}. Try again?", failure.title);
                Some(Self::new(kind, title, &failure.detail))
            }
            Question::NoSnapshot { reason } => {
                let body = format!("{reason}\n\nWithout one, this run's changes cannot be undone from here.");
                Some(Self::new(kind, "No snapshot could be taken. Go on without?".to_owned(), &body))
            }
        }
    }

    pub fn trust(files: &[String], changes: &str) -> Self {
        let body = format!(
            "This project brings its own definitions. They decide what agents are told and may do:\n\n{}\n\n{changes}",
            files.iter().map(|file| format!("  {file}")).collect::<Vec<_>>().join("\n"),
        );
        Self::new(Kind::Trust, "Trust this project's definitions?".to_owned(), &body)
    }

    pub fn confirm(title: &str, body: &str, command: Cmd) -> Self {
        Self::new(Kind::Confirm(command), title.to_owned(), body)
    }

    /// The keys, for the last line.
    pub fn keys(&self) -> &'static str {
        match (&self.kind, &self.reason) {
            (_, Some(_)) => "Enter deny with this reason · Esc back",
            (Kind::Approval { .. }, None) => {
                "y allow · a allow this tool for the run · n deny · r deny, with reason"
            }
            (Kind::GoOn { .. }, None) => "y continue · n stop",
            (Kind::Trust, None) => "y trust · n leave them out",
            (Kind::Confirm(_), None) => "y do it · n leave it",
        }
    }

    pub fn run(&self) -> Option<&RunId> {
        match &self.kind {
            Kind::Approval { run, .. } | Kind::GoOn { run, .. } => Some(run),
            Kind::Trust | Kind::Confirm(_) => None,
        }
    }

    pub fn answers(&self, run: &RunId, call: CallId) -> bool {
        matches!(&self.kind, Kind::Approval { run: r, call: c } | Kind::GoOn { run: r, call: c }
            if r == run && *c == call)
    }
}

/// Arguments one per line; long texts whole.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) if text.contains('\n') => format!("{key}:\n{text}"),
                Value::String(text) => format!("{key}: {text}"),
                other => format!("{key}: {other}"),
            })
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_string(),
    }
}
