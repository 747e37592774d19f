//! Questions of pauses: the kind of the dialog follows from the answer that is wanted.

use serde_json::Value;

use super::{AnswerForm, DialogKind, QuestionDialog, answer_template};
use crate::answer_fields::AnswerFields;
use crate::text::one_line;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::question_text::quoted_lines;
use synthdev_domain::workflow::{PauseKind, plain_text};
use synthdev_service::run_steering::UserQuestion;

/// The answer that a state wants.
struct WantedAnswer<'a> {
    kind: PauseKind,
    choices: &'a [String],
    outputs: &'a [String],
    default: Option<&'a Value>,
    schema: Option<&'a Value>,
}

impl QuestionDialog {
    /// `None`: it is no question of a pause.
    pub(super) fn for_pause(run: RunId, call: CallId, question: &UserQuestion) -> Option<Self> {
        let UserQuestion::Pause {
            state,
            kind,
            message,
            choices,
            required_outputs,
            default,
            until,
            problem,
            schema,
        } = question
        else {
            return None;
        };
        let (default, schema) = (default.as_deref(), schema.as_deref());
        let wanted = WantedAnswer { kind: *kind, choices, outputs: required_outputs, default, schema };
        let usual = default_row(&wanted);
        let (kind, wanted) = answer_kind(run, call, wanted);
        let title = format!("{}: {}", one_line(state), wanted);
        let dialog = Self::from_lines(kind, title, quoted_lines(message.trim_end()));
        let mut dialog = Self { is_markdown: true, selected: usual, default_row: usual, ..dialog };
        state.clone_into(&mut dialog.state);
        (dialog.deadline, dialog.problem) = (*until, problem.as_deref().map(one_line));
        Some(dialog)
    }
}

/// The row of the answer that the workflow takes by default.
fn default_row(wanted: &WantedAnswer<'_>) -> Option<usize> {
    match wanted.kind {
        PauseKind::Approval | PauseKind::Boolean => {
            wanted.default.and_then(Value::as_bool).map(|yes| usize::from(!yes))
        }
        PauseKind::Choice => {
            let preset = wanted.default.and_then(Value::as_str);
            wanted.choices.iter().position(|choice| Some(choice.as_str()) == preset)
        }
        PauseKind::Text | PauseKind::Number | PauseKind::Outputs => None,
    }
}

/// What kind of answer a pause wants, and what to call it.
fn answer_kind(run: RunId, call: CallId, wanted: WantedAnswer<'_>) -> (DialogKind, String) {
    let WantedAnswer { kind, choices, outputs, default, schema } = wanted;
    let shown = default.map(|value| format!(" (default: {})", one_line(&plain_text(value))));
    let shown = shown.unwrap_or_default();
    let written = |number, outputs: &[String]| AnswerForm {
        accepts_nothing: false,
        number,
        outputs: outputs.to_vec(),
        fields: (outputs.len() > 1 || !outputs.is_empty() && schema.is_some())
            .then(|| AnswerFields::from_schema(outputs, schema)),
        default: default.cloned(),
        draft: None,
    };
    match kind {
        PauseKind::Approval | PauseKind::Boolean => {
            let wanted = if kind == PauseKind::Approval { "your approval" } else { "yes or no" };
            (
                DialogKind::Decide { run, call, default: default.and_then(Value::as_bool) },
                format!("{wanted}{shown}"),
            )
        }
        PauseKind::Choice => {
            (DialogKind::Choose { run, call, choices: choices.to_vec() }, format!("your choice{shown}"))
        }
        PauseKind::Text => {
            (DialogKind::Write { run, call, form: written(false, &[]) }, format!("your answer{shown}"))
        }
        PauseKind::Number => {
            (DialogKind::Write { run, call, form: written(true, &[]) }, format!("a number{shown}"))
        }
        PauseKind::Outputs => {
            let wanted = match outputs {
                [] => answer_template(outputs),
                names => names.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", "),
            };
            (DialogKind::Write { run, call, form: written(false, outputs) }, format!("{wanted}{shown}"))
        }
    }
}
