//! Questions for the user: a list of answers with letters, or a text. They queue; the first is on screen.

mod answer_draft;
mod answers;
mod named_choice;
mod pause_questions;
mod question_reading;
mod sandbox_questions;

use serde_json::{Value, json};

pub use self::answer_draft::{AnswerDraft, DraftPurpose, EditableCall, allowed_calls_text};
pub use self::answers::{AnswerChoice, AnswerMeaning};
pub use self::named_choice::NamedChoice;
pub use self::question_reading::{QuestionRows, RowExtent};
use crate::answer_fields::AnswerFields;
use crate::msg::UiCommand;
use crate::report::adapt_hint;
use crate::text::{format_whole_seconds, one_line};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::mcp_server::SERVER_SEPARATOR;
use synthdev_domain::question_text::{
    QuestionLine, approval_lines, indented_as_quoted, program_lines, quoted_lines,
};
use synthdev_domain::system_context::changes_guidance;
use synthdev_domain::terminal_safe::{escape_invisible_name, escape_name};
use synthdev_domain::tool::{ASKED_BY, ToolPreview, ToolRisk};
use synthdev_service::run_steering::UserQuestion;

#[derive(Clone, PartialEq, Debug)]
pub enum DialogKind {
    /// May this tool run?
    Approval { run: RunId, call: CallId },
    /// A limit was reached, there is no snapshot, or a state failed: continue? `suspends_run`: a no suspends the run.
    /// `yes` and `no`: the two answers in words.
    GoOn { run: RunId, call: CallId, yes: &'static str, no: &'static str, suspends_run: bool },
    /// It is unknown whether a tool took effect: repeat it, report that it is done, or skip it.
    Look { run: RunId, call: CallId },
    /// A pause that wants yes or no.
    Decide { run: RunId, call: CallId, default: Option<bool> },
    /// A pause that wants one of several.
    Choose { run: RunId, call: CallId, choices: Vec<String> },
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
    /// What others wrote in it is Markdown.
    is_markdown: bool,
    /// The workflow itself asks, for one of its steps: "session" means that step in its run.
    step: bool,
    /// A conversation asks: without an answer the agent's turn ends, and nothing stays open.
    in_chat: bool,
    /// The tool that waits for approval; empty: none does.
    pub tool: String,
    /// What that tool may do.
    pub risk: Option<ToolRisk>,
    /// It changes a file that steers agents: the user is asked each time, whatever the session allows.
    pub is_guidance_change: bool,
    /// The call that waits for approval, where it can be changed.
    pub edited_call: Option<EditableCall>,
    /// Which tool of which MCP server is called; `None`: it is a tool of another kind.
    server_line: Option<String>,
    /// The row of the list that Enter takes; `None`: none was chosen.
    pub selected: Option<usize>,
    /// The letter that chose the row, as often as it was typed: with another one behind it, it is the beginning of words.
    /// Empty: no letter chose it.
    pub picked: String,
    /// The row of the list that the workflow takes by default; `None`: it has none.
    pub default_row: Option<usize>,
    /// The text that is typed inside of the question.
    pub draft: Option<AnswerDraft>,
    /// First body row on screen; bounded while drawing.
    pub scroll: usize,
    /// Where there is room for one of both, the answers take the place of the text: a key has chosen one since the text moved.
    pub covers_text: bool,
    /// A key pressed for the input box must not answer a question that just appeared.
    pub is_armed: bool,
    /// When it came on screen, in front: a key before that was meant for something else.
    pub shown_at: Option<Timestamp>,
    /// When a key for the input box was pressed while the question was in front: the guard counts from there, too.
    pub typed_at: Option<Timestamp>,
    /// What came before the question took keys; the input box has it. Empty: nothing.
    pub early_text: String,
    /// The text in the input box was begun beside this question, when it took keys already.
    pub has_own_words: bool,
    /// A text that was sent here and may be an answer: it stays in the input box until it is sent once more.
    pub held_words: String,
    /// The end of the text was on screen: a yes counts.
    pub read_to_end: bool,
    /// All of the rule that an "always" writes was on screen: else it is not written.
    pub is_rule_shown: bool,
    extent: RowExtent,
    rows: QuestionRows,
    /// Path name of the state that asks; empty: none does.
    pub state: String,
    /// When the question answers itself.
    pub deadline: Option<Timestamp>,
    /// Why the typed text is no answer, or a key none.
    pub problem: Option<String>,
    /// Its place among all questions of the session, by their arrival.
    pub number: u64,
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
        let left = format_whole_seconds(u64::try_from(until.0.saturating_sub(now.0)).unwrap_or(0));
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
            is_markdown: false,
            step: false,
            in_chat: false,
            tool: String::new(),
            risk: None,
            is_guidance_change: false,
            edited_call: None,
            server_line: None,
            selected: None,
            picked: String::new(),
            default_row: None,
            draft: None,
            scroll: 0,
            covers_text: false,
            is_armed: false,
            shown_at: None,
            typed_at: None,
            early_text: String::new(),
            has_own_words: false,
            held_words: String::new(),
            read_to_end: false,
            is_rule_shown: false,
            extent: RowExtent::default(),
            rows: QuestionRows::default(),
            state: String::new(),
            deadline: None,
            problem: None,
            number: 0,
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
        let server_line = match preview {
            Some(ToolPreview::Text { text }) if tool.contains(SERVER_SEPARATOR) => {
                text.lines().next().map(str::to_owned)
            }
            _ => None,
        };
        let (step, tool) = (agent == ASKED_BY, tool.to_owned());
        let dialog = Self::from_lines(DialogKind::Approval { run, call }, title, body);
        Self {
            step,
            tool,
            risk: Some(risk),
            is_guidance_change: risk == ToolRisk::Write && changes_guidance(arguments),
            edited_call: EditableCall::new(arguments),
            server_line,
            ..dialog
        }
    }

    /// `None`: the question is not one for a dialog.
    /// `chat`: a conversation ends its answer where a workflow would be suspended.
    pub fn question(run: RunId, call: CallId, question: &UserQuestion, chat: bool) -> Option<Self> {
        let go_on =
            |yes, no, parks| DialogKind::GoOn { run: run.clone(), call, yes, no, suspends_run: parks };
        match question {
            UserQuestion::Message | UserQuestion::Break { .. } => None,
            UserQuestion::Limit { limit, value, text } => {
                let title = format!("Limit reached: {limit} ({value}). Continue?");
                let no = if chat { "stop" } else { "leave it for later" };
                Some(Self::new(go_on("continue with more", no, !chat), title, text))
            }
            UserQuestion::Pause { .. } => {
                Self::for_pause(run, call, question).map(|dialog| Self { in_chat: chat, ..dialog })
            }
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
                let kind = go_on("try again", "leave it for later", true);
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
                let dialog = Self::from_lines(DialogKind::Look { run, call }, title, body);
                Some(Self { state: state.clone(), ..dialog })
            }
            UserQuestion::NoSnapshot { reason } => {
                let body = format!("{reason}\n\nWithout one, this run's changes cannot be undone from here.");
                let title = "No snapshot could be taken. Continue without one?".to_owned();
                Some(Self::new(go_on("continue", "stop: the run fails", false), title, &body))
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
            self.insert_state_line();
        }
        self
    }

    fn state_line(&self) -> QuestionLine {
        QuestionLine::Own(format!("in state {}", one_line(&self.state)))
    }

    fn insert_state_line(&mut self) {
        // dangers come first
        let danger = |line: &QuestionLine| matches!(line, QuestionLine::Danger(_) | QuestionLine::Warning(_));
        let at = self.body.iter().take_while(|line| danger(line)).count();
        self.body.insert(at, self.state_line());
    }

    /// Esc leaves it open, for later.
    pub fn escape_leaves_open(&self) -> bool {
        let leaves_open = match &self.kind {
            DialogKind::GoOn { suspends_run, .. } => *suspends_run,
            DialogKind::Look { .. } => true,
            DialogKind::Decide { .. } | DialogKind::Choose { .. } | DialogKind::Write { .. } => !self.in_chat,
            _ => false,
        };
        leaves_open && self.draft.is_none()
    }

    /// What Esc does, for the status line.
    pub fn escape_hint(&self) -> &'static str {
        match &self.kind {
            _ if self.draft.is_some() => "Esc back",
            DialogKind::Approval { .. } => "Esc denies",
            DialogKind::GoOn { suspends_run: true, .. } => "Esc: later",
            DialogKind::GoOn { .. } => "Esc stops",
            DialogKind::Decide { .. } | DialogKind::Choose { .. } | DialogKind::Write { .. }
                if self.in_chat =>
            {
                "Esc ends this turn"
            }
            DialogKind::Decide { .. }
            | DialogKind::Choose { .. }
            | DialogKind::Look { .. }
            | DialogKind::Write { .. } => "Esc: later",
            DialogKind::Network { .. } => "Esc: without it",
            DialogKind::Unsandboxed { .. } => "Esc denies",
            DialogKind::Trust => "Esc leaves them out",
            DialogKind::Confirm(_) => "Esc: no",
        }
    }

    /// The values to write, a line each.
    pub fn fields(&self) -> Option<&AnswerFields> {
        match &self.kind {
            DialogKind::Write { form, .. } => form.fields.as_ref(),
            _ => None,
        }
    }

    /// The user reports that the tool is done, with a key at `now`: asks for its result. It is a new question, which
    /// that key does not answer.
    #[must_use]
    pub fn into_result_question(self, now: Option<Timestamp>) -> Self {
        let Some((run, call)) = self.asking_call().map(|(run, call)| (run.clone(), call)) else {
            return self;
        };
        let (outputs, fields) = (Vec::new(), None);
        let form =
            AnswerForm { accepts_nothing: true, number: false, outputs, fields, default: None, draft: None };
        let kind = DialogKind::Write { run, call, form };
        let (selected, picked) = (None, String::new());
        Self {
            kind,
            selected,
            picked,
            shown_at: None,
            typed_at: now,
            title: "It is done. With which result (may be empty)?".to_owned(),
            ..self
        }
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

    /// Only an answer of the list is an answer, and a text beside it is not sent.
    pub fn refuses_words(&self) -> bool {
        matches!(
            self.kind,
            DialogKind::GoOn { .. }
                | DialogKind::Decide { .. }
                | DialogKind::Choose { .. }
                | DialogKind::Look { .. }
        )
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
