//! Tools that had begun when the process died: the user checks whether they took effect.

use serde_json::Value;

use super::{CallId, Machine, NextHandler, PendingQuestion};
use crate::answer_validation::{UncertainCallResolution, parse_resolution};
use crate::effect::UserQuestion;
use crate::input::UserAnswer;
use synthdev_domain::tool::ToolOutcome;
use synthdev_domain::workflow::plain_text;

impl Machine {
    /// Asks whether the call in front took effect before the process died.
    pub(super) fn ask_whether_done(&mut self, began: CallId, reason: String) -> NextHandler {
        match self.uncertain_question(began, reason) {
            Some(question) => self.core.ask_user(PendingQuestion::Uncertain, question),
            None => NextHandler::Wait,
        }
    }

    pub(super) fn uncertain_question(&self, began: CallId, reason: String) -> Option<UserQuestion> {
        let (invocation, _) = self.core.current_invocation()?;
        let (tool, arguments) = (invocation.tool, invocation.arguments);
        Some(UserQuestion::Uncertain { began, state: self.core.state_name(), tool, arguments, reason })
    }

    /// The user has checked whether the tool took effect.
    pub(super) fn on_certain(&mut self, answer: UserAnswer) -> NextHandler {
        let Some(UserQuestion::Uncertain { began, .. }) = self.core.branches.current.question else {
            return NextHandler::Wait;
        };
        let Some((invocation, risk)) = self.core.current_invocation() else { return NextHandler::Wait };
        let outcome = match parse_resolution(&answer) {
            Ok(UncertainCallResolution::Repeat) => return NextHandler::run_tool(invocation, risk),
            Ok(UncertainCallResolution::Skip) if self.core.has_pending_action() => return self.skip_action(),
            Ok(UncertainCallResolution::Skip) => ToolOutcome {
                content: "interrupted: it is not known whether this took effect, and it was not repeated"
                    .to_owned(),
                summary: "interrupted, not repeated".to_owned(),
                ..ToolOutcome::default()
            },
            Ok(UncertainCallResolution::Done(value)) => claimed_outcome(value),
            Err(problem) => {
                self.core.emit_warning("answer", problem);
                let Some(question) = self.core.branches.current.question.take() else {
                    return NextHandler::Wait;
                };
                return self.core.ask_user(PendingQuestion::Uncertain, question);
            }
        };
        NextHandler::finish_tool(began, outcome)
    }
}

/// The result that the user reports.
fn claimed_outcome(value: Value) -> ToolOutcome {
    let content = if value.is_null() { "done".to_owned() } else { plain_text(&value) };
    ToolOutcome {
        ok: true,
        content,
        summary: "done before the interruption".to_owned(),
        data: value.is_object().then_some(value),
        ..ToolOutcome::default()
    }
}
