//! `pause` states: a question whose answer is the state's result, and queued messages of the user.

use serde_json::{Map, Value};

use super::delegated_tasks::for_sub_agents;
use super::{BranchContinuation, Effect, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::answer_validation;
use crate::effect::UserQuestion;
use crate::input::UserAnswer;
use crate::run_spec::KEEPS_SINCE;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{PauseKind, PauseSpec, StateBody, plain_text};

impl Machine {
    pub(super) fn begin_pause(&mut self, pause: &PauseSpec, message: Option<Value>) -> NextHandler {
        let state = self.core.state_name();
        let message = message.filter(|message| !message.is_null()).map(|message| plain_text(&message));
        let message = message.unwrap_or_else(|| format!("state `{state}` waits for you"));
        let can_be_answered = self.core.user_present
            || self.is_task_branch(&self.core.branches.current) && for_sub_agents(pause);
        let waits = pause.request.as_ref().is_some_and(|request| request.waits);
        if !can_be_answered
            && !waits
            && let Some(next) = self.continue_without_answer(pause)
        {
            return next;
        }
        self.core.stop_ttl();
        let until = pause.ttl_ms.filter(|_| can_be_answered).map(|ttl| {
            let call = self.core.set_timer(ttl, true);
            if let Some(frame) = self.core.frame_mut() {
                frame.visit.pause_timer = Some(call);
            }
            self.core.time_after(ttl)
        });
        let question = UserQuestion::Pause {
            message,
            state,
            kind: pause.kind,
            choices: pause.choices.clone(),
            schema: pause.schema.clone().map(Box::new),
            required_outputs: pause.required_outputs.clone(),
            default: pause.default.clone().map(Box::new),
            until,
            problem: None,
        };
        let said = if pause.kind == PauseKind::Text { self.take_said() } else { None };
        let asked = self.ask_pause_question(question);
        let (Some(text), WaitState::Person(call, _)) = (said, self.core.branches.current.wait_state.clone())
        else {
            return asked;
        };
        if self.core.branches.current.was_shown {
            self.core.push_effect(Effect::Abort { call });
        }
        NextHandler::Answer(call, UserAnswer::Text { text })
    }

    pub(super) fn ask_pause_question(&mut self, question: UserQuestion) -> NextHandler {
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.question = Some(question.clone());
        }
        self.core.ask_user(PendingQuestion::Pause, question)
    }

    /// A queued message, if the workflow has no state `resume` for it.
    fn take_said(&mut self) -> Option<String> {
        let resumes = self.core.spec.program.workflows.first().is_some_and(|root| root.resume.is_some());
        if resumes { None } else { self.messages.take_available(&self.core) }
    }

    /// Without a user: the default counts at once, `on_timeout` when its time has come. `None`: the run waits.
    fn continue_without_answer(&mut self, pause: &PauseSpec) -> Option<NextHandler> {
        if let Some(value) = &pause.default {
            self.store_pause_default(pause, value);
            return Some(NextHandler::WorkDone(true, value.clone()));
        }
        let ttl = pause.ttl_ms.filter(|_| pause.on_timeout.is_some())?;
        let until = self.core.time_after(ttl);
        self.core.emit_event(RunEvent::Waiting { state: self.core.state_name(), until });
        let call = self.core.set_timer(ttl, true);
        self.core.branches.current.continuation = BranchContinuation::Unanswered;
        self.core.branches.current.wait_state = WaitState::Timer(call);
        Some(NextHandler::Wait)
    }

    pub(super) fn on_pause_answered(&mut self, given: UserAnswer) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let StateBody::Pause(pause) = &state.work else { return NextHandler::Wait };
        if let UserAnswer::Unfit { detail } = given {
            self.core.stop_ttl();
            self.core.branches.current.wait_state = WaitState::New;
            let error = RunError::new("validation", "No answer fits what the state asks for", detail);
            let hint = "say in the message of the state what the answer must be, or change its \"schema\" or \
                        \"required_outputs\"; \"retry\": [{\"errors\": [\"validation\"]}] asks again";
            return NextHandler::fail(self.core.spec.with_later_hint(error, hint));
        }
        match answer_validation::validate_answer(pause, given) {
            Ok(value) => {
                self.core.stop_ttl();
                if pause.kind == PauseKind::Outputs && state.store.is_none() {
                    self.store_pause_outputs(&value);
                }
                NextHandler::WorkDone(true, value)
            }
            Err(why) => {
                let asked = self.core.frame_mut().and_then(|frame| frame.visit.question.take());
                let Some(mut question) = asked else { return NextHandler::Wait };
                if let UserQuestion::Pause { problem, .. } = &mut question {
                    *problem = Some(why);
                }
                self.ask_pause_question(question)
            }
        }
    }

    /// Stores a default as an answer.
    fn store_pause_default(&mut self, pause: &PauseSpec, value: &Value) {
        let stored = self.core.current_state().is_some_and(|(_, state)| state.store.is_some());
        let kept = pause.kind == PauseKind::Outputs && !stored;
        if kept && self.core.spec.machine_version >= KEEPS_SINCE {
            self.store_pause_outputs(value);
        }
    }

    /// Without an `output`, each value is stored under its own name.
    fn store_pause_outputs(&mut self, value: &Value) {
        let Some(set) = value.as_object().cloned().filter(|set: &Map<String, Value>| !set.is_empty()) else {
            return;
        };
        let state = self.core.state_name();
        if let Some(frame) = self.core.frame_mut() {
            frame.set_data(&set, &[]);
            self.core.emit_event(RunEvent::DataChanged { state, set, removed: Vec::new() });
        }
    }

    /// The time for an answer is up: the default, another state, or an error.
    pub(super) fn on_pause_deadline(&mut self) -> NextHandler {
        if let WaitState::Approval(call) = self.core.branches.current.wait_state {
            return self.on_approval_timeout(call);
        }
        if !matches!(self.core.branches.current.wait_state, WaitState::Person(_, PendingQuestion::Pause)) {
            return NextHandler::Wait;
        }
        self.withdraw_wait(
            &self.core.branches.current.wait_state.clone(),
            self.core.branches.current.was_shown,
        );
        self.core.branches.current.wait_state = WaitState::New;
        self.continue_after_timeout()
    }

    pub(super) fn continue_after_timeout(&mut self) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let StateBody::Pause(pause) = &state.work else { return NextHandler::Wait };
        let detail = format!("nobody answered state `{}` in time", self.core.state_name());
        if let Some(value) = &pause.default {
            self.core.emit_warning("pause_timeout", format!("{detail}: its default counts"));
            self.store_pause_default(pause, value);
            return NextHandler::WorkDone(true, value.clone());
        }
        let failure = RunError::new("timeout", "Nobody answered in time", detail)
            .with_hint("give the pause a \"default\" or \"on_timeout\", or more time: \"ttl\"");
        match pause.on_timeout {
            Some(target) => {
                let failure = self.core.with_location(failure);
                let name = self.core.state_path(target);
                self.core.emit_caught(failure, "on_timeout", Some(name));
                NextHandler::follow(state.transitions.len(), target, Vec::new())
            }
            None => NextHandler::fail(failure),
        }
    }

    /// At a transition of the whole workflow: a queued message goes to the state `resume`.
    pub(super) fn take_resume(&mut self) -> Option<synthdev_domain::ids::StateIx> {
        if self.core.branches.current.parent.is_some() || self.core.branches.current.frames.len() != 1 {
            return None;
        }
        let target = self.core.workflow()?.resume?;
        let text = self.messages.take_available(&self.core)?;
        let state = self.core.state_name();
        let set = Map::from_iter([("resume_input".to_owned(), Value::String(text))]);
        self.core.frame_mut()?.set_data(&set, &[]);
        self.core.emit_event(RunEvent::DataChanged { state, set, removed: Vec::new() });
        Some(target)
    }
}
