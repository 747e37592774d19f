//! `request_users_input`: an agent asks the user, and the answer is the tool's result.

use serde_json::Value;

use super::{CallId, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::answer_validation;
use crate::effect::UserQuestion;
use crate::input::UserAnswer;
use synthdev_domain::tool::{ASK_PERSON, ToolInvocation, ToolOutcome};
use synthdev_domain::workflow::{PauseKind, PauseSpec, plain_text};

impl Machine {
    /// Shows the question of the call in front and waits.
    pub(super) fn show_agent_question(&mut self, agent: &str, arguments: &Value) -> NextHandler {
        let message = arguments["question"].as_str().map(str::trim).filter(|text| !text.is_empty());
        let Some(message) = message.map(|text| format!("{agent} asks: {text}")) else {
            self.core.refuse_tool_call(agent, ASK_PERSON, "`question` is missing: say what you want to know");
            return NextHandler::ContinueRound;
        };
        let choices: Vec<String> =
            arguments["choices"].as_array().into_iter().flatten().map(plain_text).collect();
        let kind = if choices.is_empty() { PauseKind::Text } else { PauseKind::Choice };
        let question = UserQuestion::Pause {
            state: self.core.state_name(),
            kind,
            message,
            choices,
            schema: None,
            required_outputs: Vec::new(),
            default: None,
            until: None,
            problem: None,
        };
        self.core.ask_user(PendingQuestion::Request, question)
    }

    pub(super) fn on_request_answered(&mut self, call: CallId, given: UserAnswer) -> NextHandler {
        match self
            .core
            .branches
            .current
            .question
            .as_ref()
            .map(|question| validate_agent_answer(question, given))
        {
            Some(Ok(value)) => {
                let content = plain_text(&value);
                let summary = content.lines().next().unwrap_or_default().to_owned();
                self.core.branches.current.wait_state = WaitState::New;
                if let Some((ToolInvocation { agent, tool, arguments, .. }, _)) =
                    self.core.current_invocation()
                {
                    self.core.emit_event(RunEvent::ToolStarted { call, agent, tool, arguments });
                }
                NextHandler::finish_tool(
                    call,
                    ToolOutcome { ok: true, content, summary, ..ToolOutcome::default() },
                )
            }
            Some(Err(why)) => {
                let Some(mut question) = self.core.branches.current.question.take() else {
                    return NextHandler::Wait;
                };
                if let UserQuestion::Pause { problem, .. } = &mut question {
                    *problem = Some(why);
                }
                self.core.ask_user(PendingQuestion::Request, question)
            }
            None => NextHandler::Wait,
        }
    }
}

/// # Errors
/// Why it is no answer to an agent's question.
pub(super) fn validate_agent_answer(question: &UserQuestion, given: UserAnswer) -> Result<Value, String> {
    let UserQuestion::Pause { kind, choices, .. } = question else {
        return Err("nothing waits for it any more".to_owned());
    };
    let pause = PauseSpec { choices: choices.clone(), ..PauseSpec::new(*kind) };
    answer_validation::validate_answer(&pause, given)
}
