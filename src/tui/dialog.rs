//! Questions for the user: one key answers most, some want a text. They queue; the first is on screen.

mod pause_questions;
mod sandbox_questions;

use serde_json::{Value, json};

use crate::answer_fields::AnswerFields;
use crate::msg::UiCommand;
use crate::report::adapt_hint;
use crate::text::{format_duration, one_line};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::question_text::{
    QuestionLine, approval_lines, indented_as_quoted, program_lines, quoted_lines,
};
use synthdev_domain::terminal_safe::{escape_invisible_name, escape_name};
use synthdev_domain::tool::{ASKED_BY, ToolPreview, ToolRisk};
use synthdev_service::run_steering::UserQuestion;

#[derive(Clone, PartialEq, Debug)]
pub enum DialogKind {
    /// May this tool run?
    Approval { run: RunId, call: CallId },
    /// A limit was reached, there is no snapshot, or a state failed: continue? `suspends_run`: a no suspends the run.
    GoOn { run: RunId, call: CallId, keys: &'static str, suspends_run: bool },
    /// It is unknown whether a tool took effect: repeat it, report that it is done, or skip it.
    Look { run: RunId, call: CallId, selected: usize },
    /// A pause that wants yes or no.
    Decide { run: RunId, call: CallId, default: Option<bool> },
    /// A pause that wants one of several.
    Choose { run: RunId, call: CallId, choices: Vec<String>, selected: usize },
    /// A pause that wants something written; it is typed into the input box.
    Write { run: RunId, call: CallId, form: AnswerForm },
    /// May a command that failed for it have the network?
    Network { run: RunId, call: CallId },
    /// May this one command run although no sandbox works on this machine?
    Unsandboxed { run: RunId, call: CallId },
    /// May the project's own definitions be used?
    Trust,
    /// Do it?
    Confirm(UiCommand),
}

/// Answers to a question about a tool of which it is unknown whether it took effect.
pub const LOOKED: [&str; 3] = ["repeat", "done", "skip"];
/// The one of them that executes the tool.
pub const REPEAT: usize = 0;

/// What a written answer must be.
#[derive(Clone, PartialEq, Debug)]
pub struct AnswerForm {
    /// The result of a tool that is done; none is fine.
    pub accepts_nothing: bool,
    pub number: bool,
    /// Required keys of an object answer; empty: no object.
    pub outputs: Vec<String>,
    /// The same if each is typed separately.
    pub fields: Option<AnswerFields>,
    pub default: Option<Value>,
    /// The input box held the beginning of something else when the question came; `None`: no key was pressed since.
    pub draft: Option<bool>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QuestionDialog {
    pub kind: DialogKind,
    pub title: String,
    /// Lines by their author; nothing is hidden.
    pub body: Vec<QuestionLine>,
    /// The workflow itself asks, for one of its steps: "always" means that step.
    step: bool,
    /// The tool that waits for approval; empty: none does.
    pub tool: String,
    /// First body row on screen; bounded while drawing.
    pub scroll: usize,
    /// The reason for a refusal, while it is typed.
    pub reason: Option<String>,
    /// A key pressed for the input box must not answer a question that just appeared.
    pub is_armed: bool,
    /// The dialog was on screen: a key before that was meant for another one.
    pub was_shown: bool,
    /// The end of the text was on screen: a yes counts.
    pub read_to_end: bool,
    /// Rows of the text that were on screen at once, and whether there are more.
    page: usize,
    has_overflow: bool,
    /// Path name of the state that asks; empty: none does.
    pub state: String,
    /// When the question answers itself.
    pub deadline: Option<Timestamp>,
    /// Why the typed text is no answer.
    pub problem: Option<String>,
}

/// The call of a tool that a question is about.
#[derive(Clone, Copy)]
pub struct AskedToolCall<'a> {
    pub agent: &'a str,
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub preview: Option<&'a ToolPreview>,
}

impl QuestionDialog {
    /// What happens without an answer, and when: `denied in 42 s without an answer`.
    pub fn deadline_text(&self, now: Timestamp) -> Option<String> {
        let until = self.deadline?;
        let seconds = u64::try_from(until.0.saturating_sub(now.0)).unwrap_or(0) / 1_000;
        let left = format_duration(seconds * 1_000).replace(".0 s", " s");
        let is_permission = matches!(
            self.kind,
            DialogKind::Approval { .. } | DialogKind::Network { .. } | DialogKind::Unsandboxed { .. }
        );
        Some(if is_permission {
            format!("denied in {left} without an answer")
        } else {
            format!("answers itself in {left}")
        })
    }

    fn new(kind: DialogKind, title: String, body: &str) -> Self {
        Self::from_lines(kind, title, program_lines(body))
    }

    fn from_lines(kind: DialogKind, title: String, body: Vec<QuestionLine>) -> Self {
        Self {
            kind,
            title,
            body,
            step: false,
            tool: String::new(),
            scroll: 0,
            reason: None,
            is_armed: false,
            was_shown: false,
            read_to_end: false,
            page: 0,
            has_overflow: false,
            state: String::new(),
            deadline: None,
            problem: None,
        }
    }

    pub fn for_approval(run: RunId, call: CallId, asked: AskedToolCall<'_>, risk: ToolRisk) -> Self {
        let AskedToolCall { agent, tool, arguments, preview } = asked;
        let verb = match risk {
            ToolRisk::Read => "read",
            ToolRisk::Write => "change files",
            ToolRisk::Execute => "execute",
        };
        let title =
            format!("Allow {} to {verb}: {}?", escape_invisible_name(agent), escape_invisible_name(tool));
        let body = approval_lines(tool, arguments, preview);
        let (step, tool) = (agent == ASKED_BY, tool.to_owned());
        Self { step, tool, ..Self::from_lines(DialogKind::Approval { run, call }, title, body) }
    }

    /// `None`: the question is not one for a dialog.
    /// `chat`: a conversation ends its answer where a workflow would be suspended.
    pub fn question(run: RunId, call: CallId, question: &UserQuestion, chat: bool) -> Option<Self> {
        let go_on = |keys, parks| DialogKind::GoOn { run: run.clone(), call, keys, suspends_run: parks };
        match question {
            UserQuestion::Message | UserQuestion::Break { .. } => None,
            UserQuestion::Limit { limit, value, text } => {
                let title = format!("Limit reached: {limit} ({value}). Continue?");
                let keys = if chat {
                    "y continue with more · n or Esc stop"
                } else {
                    "y continue with more · n or Esc leave it for later"
                };
                Some(Self::new(go_on(keys, !chat), title, text))
            }
            UserQuestion::Pause { .. } => Self::for_pause(run, call, question),
            UserQuestion::Failed { failure } => {
                let title = format!("{}. Try again?", one_line(&failure.title));
                let mut body = quoted_lines(failure.detail.trim_end());
                if let Some(state) = &failure.state {
                    let state = one_line(state);
                    body.extend(program_lines(&format!("\nin state {state} [{}]", failure.code)));
                }
                if let Some(hint) = &failure.hint {
                    body.extend(program_lines(&format!("→ {}", adapt_hint(hint))));
                }
                let kind = go_on("y try again · n or Esc leave it for later", true);
                let dialog = Self::from_lines(kind, title, body);
                Some(Self { state: failure.state.clone().unwrap_or_default(), ..dialog })
            }
            UserQuestion::Uncertain { state, tool, arguments, reason, .. } => {
                let mut body = program_lines(&format!("in state {}: {}", one_line(state), one_line(reason)));
                body.extend(approval_lines(tool, arguments, None));
                let title = format!(
                    "It is not known whether `{}` took effect. What now?",
                    escape_invisible_name(tool)
                );
                let kind = DialogKind::Look { run, call, selected: 0 };
                Some(Self { state: state.clone(), ..Self::from_lines(kind, title, body) })
            }
            UserQuestion::NoSnapshot { reason } => {
                let body = format!("{reason}\n\nWithout one, this run's changes cannot be undone from here.");
                let title = "No snapshot could be taken. Continue without one?".to_owned();
                Some(Self::new(go_on("y continue · n or Esc stop, the run fails", false), title, &body))
            }
        }
    }

    pub fn for_trust(files: &[String], changes: &str) -> Self {
        let body = format!(
            "This project brings its own definitions. They decide what agents are told and may do:\n\n{}\n\n{changes}",
            files.iter().map(|file| format!("  {}", escape_name(file))).collect::<Vec<_>>().join("\n"),
        );
        let title = "Trust this project's definitions?".to_owned();
        Self::from_lines(DialogKind::Trust, title, indented_as_quoted(&body))
    }

    pub fn for_confirmation(title: &str, body: &str, command: UiCommand) -> Self {
        Self::new(DialogKind::Confirm(command), title.to_owned(), body)
    }

    /// The same question with the branch that asks it, where several could.
    #[must_use]
    pub fn with_asking_state(mut self, state: &str, shown: bool) -> Self {
        state.clone_into(&mut self.state);
        if shown {
            self.body.insert(0, QuestionLine::Own(format!("in state {}", one_line(state))));
        }
        self
    }

    /// A frame has room for so many of its rows.
    pub fn record_visible_rows(&mut self, rows: usize, page: usize) {
        let last = rows.saturating_sub(page);
        self.scroll = self.scroll.min(last);
        (self.was_shown, self.page, self.has_overflow) = (true, page, last > 0);
        self.read_to_end |= page > 0 && self.scroll == last;
    }

    /// Part of the text is above or below the screen.
    pub fn has_overflow(&self) -> bool {
        self.has_overflow
    }

    /// Scrolls by the visible rows; one row stays.
    pub fn turn_page(&mut self, down: bool) {
        let step = self.page.saturating_sub(1).max(1);
        self.scroll = if down { self.scroll.saturating_add(step) } else { self.scroll.saturating_sub(step) };
    }

    /// A yes before the end of the text was on screen does not count: more of it is shown instead. Whether it was so.
    pub fn scroll_before_yes(&mut self) -> bool {
        if self.read_to_end {
            return false;
        }
        self.turn_page(true);
        let what = if self.choices().is_some() { "a choice" } else { "a yes" };
        self.problem = Some(format!("{what} counts at the end of the text: Space or PgDn shows more"));
        true
    }

    /// The keys, for the last line.
    pub fn keys(&self) -> &'static str {
        match (&self.kind, &self.reason) {
            (_, Some(_)) => "Enter deny with this reason · Esc back",
            (DialogKind::Approval { .. }, None) if self.step => {
                "y allow · a allow this step for the run · n, Esc deny · r deny, with reason"
            }
            (DialogKind::Approval { .. }, None) => {
                "y once · a this run · 3 session · 4 always · n, Esc deny · r with reason"
            }
            (DialogKind::GoOn { keys, .. }, None) => keys,
            (DialogKind::Decide { default: None, .. }, None) => "y yes · n no · Esc leaves it for later",
            (DialogKind::Decide { default: Some(true), .. }, None) => {
                "y or Enter yes · n no · Esc leaves it for later"
            }
            (DialogKind::Decide { default: Some(false), .. }, None) => {
                "y yes · n or Enter no · Esc leaves it for later"
            }
            (DialogKind::Choose { .. }, None) => "a number, or ↑↓ and Enter · Esc leaves it for later",
            (DialogKind::Write { form: AnswerForm { draft: Some(true), .. }, .. }, None) => {
                "Enter puts what you were writing into the history · then answer"
            }
            (DialogKind::Write { form: AnswerForm { accepts_nothing: true, .. }, .. }, None) => {
                "write below · Enter answers, also without one · Esc leaves it for later"
            }
            (DialogKind::Write { form: AnswerForm { fields: Some(fields), .. }, .. }, None)
                if fields.is_started() =>
            {
                "write below · Enter the next one · Enter alone goes back · Esc leaves it for later"
            }
            (DialogKind::Write { form: AnswerForm { default: Some(_), .. }, .. }, None) => {
                "write below · Enter answers, empty takes the default · Esc leaves it for later"
            }
            (DialogKind::Write { .. }, None) => "write below · Enter answers · Esc leaves it for later",
            (DialogKind::Look { .. }, None) => "a number, or ↑↓ and Enter · Esc leaves it for later",
            (DialogKind::Unsandboxed { .. }, None) => "y this call, without a sandbox · n, Esc deny",
            (DialogKind::Network { .. }, None) => "y this call · a this run · 4 always · n, Esc no",
            (DialogKind::Trust, None) => "y trust · n, Esc leave them out",
            (DialogKind::Confirm(_), None) => "y confirm · n, Esc cancel",
        }
    }

    /// What Esc does, for the status line.
    pub fn escape_hint(&self) -> &'static str {
        match &self.kind {
            _ if self.reason.is_some() => "Esc back",
            DialogKind::Approval { .. } => "Esc denies",
            DialogKind::GoOn { suspends_run: true, .. } => "Esc: later",
            DialogKind::GoOn { .. } => "Esc stops",
            DialogKind::Decide { .. }
            | DialogKind::Choose { .. }
            | DialogKind::Look { .. }
            | DialogKind::Write { .. } => "Esc: later",
            DialogKind::Network { .. } => "Esc: without it",
            DialogKind::Unsandboxed { .. } => "Esc denies",
            DialogKind::Trust => "Esc leaves them out",
            DialogKind::Confirm(_) => "Esc leaves it",
        }
    }

    /// The lines to choose from, and the chosen one.
    pub fn choices(&self) -> Option<(Vec<&str>, usize)> {
        match &self.kind {
            DialogKind::Choose { choices, selected, .. } => {
                Some((choices.iter().map(String::as_str).collect(), *selected))
            }
            DialogKind::Look { selected, .. } => Some((LOOKED.to_vec(), *selected)),
            _ => None,
        }
    }

    /// The values to write, a line each.
    pub fn fields(&self) -> Option<&AnswerFields> {
        match &self.kind {
            DialogKind::Write { form, .. } => form.fields.as_ref(),
            _ => None,
        }
    }

    /// The user reports that the tool is done: asks for its result.
    #[must_use]
    pub fn into_result_question(self) -> Self {
        let Some((run, call)) = self.asking_call().map(|(run, call)| (run.clone(), call)) else {
            return self;
        };
        let (outputs, fields) = (Vec::new(), None);
        let form =
            AnswerForm { accepts_nothing: true, number: false, outputs, fields, default: None, draft: None };
        let kind = DialogKind::Write { run, call, form };
        Self { kind, title: "It is done. With which result (may be empty)?".to_owned(), ..self }
    }

    pub fn is_approval(&self) -> bool {
        matches!(self.kind, DialogKind::Approval { .. })
    }

    /// The workflow itself asks, for one of its steps.
    pub fn is_step(&self) -> bool {
        self.step
    }

    /// Which tool call would be allowed.
    pub fn call_to_approve(&self) -> Option<(&RunId, CallId)> {
        self.asking_call().filter(|_| self.is_approval())
    }

    fn asking_call(&self) -> Option<(&RunId, CallId)> {
        match &self.kind {
            DialogKind::Approval { run, call }
            | DialogKind::Network { run, call }
            | DialogKind::Unsandboxed { run, call }
            | DialogKind::GoOn { run, call, .. }
            | DialogKind::Decide { run, call, .. }
            | DialogKind::Choose { run, call, .. }
            | DialogKind::Look { run, call, .. }
            | DialogKind::Write { run, call, .. } => Some((run, *call)),
            DialogKind::Trust | DialogKind::Confirm(_) => None,
        }
    }

    pub fn run_id(&self) -> Option<&RunId> {
        self.asking_call().map(|(run, _)| run)
    }

    /// The call that waits for the answer.
    pub fn call_id(&self) -> Option<CallId> {
        self.asking_call().map(|(_, call)| call)
    }

    pub fn matches_call(&self, run: &RunId, call: CallId) -> bool {
        self.asking_call() == Some((run, call))
    }

    /// The answer is typed into the input box.
    pub fn is_written(&self) -> bool {
        matches!(self.kind, DialogKind::Write { .. })
    }
}

impl AnswerForm {
    /// Takes the typed text; returns the whole answer once it is complete.
    /// # Errors
    /// Why it is invalid, in one line.
    pub fn accept_text(&mut self, text: &str) -> Result<Option<Value>, String> {
        let usual = text.trim().is_empty() && self.default.is_some();
        match &mut self.fields {
            Some(fields) if !usual || fields.is_started() => fields.accept_text(text),
            Some(_) | None => self.parse_value(text).map(Some),
        }
    }

    /// Parses the typed text as a value.
    /// # Errors
    /// Why it is invalid, in one line.
    fn parse_value(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        if self.accepts_nothing {
            return Ok(match text {
                "" => json!("done"),
                text => {
                    json!({"decision": "done", "result": serde_json::from_str(text).unwrap_or_else(|_| json!(text))})
                }
            });
        }
        if text.is_empty() {
            return self.default.clone().ok_or_else(|| "write something: there is no default".to_owned());
        }
        if self.number {
            let number = serde_json::from_str::<serde_json::Number>(text);
            return number
                .map(Value::Number)
                .map_err(|_| format!("`{text}` is not a number such as 3 or 2.5"));
        }
        match self.outputs.as_slice() {
            [] => Ok(Value::from(text)),
            [one] if !text.starts_with('{') => Ok(json!({one: text})),
            names => match serde_json::from_str(text) {
                Ok(Value::Object(map)) => Ok(Value::Object(map)),
                // the expected form comes first, because the line may be cut
                Ok(_) => Err(format!("expected {}, not another kind of JSON", answer_template(names))),
                Err(error) => Err(format!("expected {}; this is not JSON: {error}", answer_template(names))),
            },
        }
    }
}

/// `{"a": …, "b": …}`
fn answer_template(names: &[String]) -> String {
    let fields: Vec<String> =
        names.iter().map(|name| format!("{}: …", Value::from(one_line(name)))).collect();
    format!("{{{}}}", fields.join(", "))
}
