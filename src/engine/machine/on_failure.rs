//! A state failed: finds the state that handles it, from the innermost workflow outwards.
//!
//! `error_recovery` decides how a single state handles an error; this file decides which state does, and what happens
//! to an unhandled error.

use super::{Machine, NextHandler, PendingQuestion, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::StateBody;

/// What a child's error is called where the child was started.
pub(super) const CHILD_FAILED: &str = "sub_workflow_failed";

impl Machine {
    /// The current state fails. A chat shows the error and waits for the next message.
    pub(super) fn fail_state(&mut self, failure: RunError) -> NextHandler {
        let failure = self.core.with_location(failure);
        self.drop_visit();
        if self.core.is_chat() && self.core.branches.current.spawned.is_none() {
            self.core.emit_warning(&failure.code.clone(), error_text(&failure));
            return self.core.ask_user(PendingQuestion::Message, UserQuestion::Message);
        }
        self.handle_error(failure)
    }

    /// The workflow as a whole ran out of time: no rule of a single state counts any more, `on_error` once.
    pub(super) fn fail_workflow(&mut self, failure: RunError) -> NextHandler {
        let failure = self.core.with_location(failure);
        self.drop_visit();
        match self.workflow_error_target() {
            Some(target) => self.follow_error_target(failure, target),
            None => self.on_unhandled_error(failure),
        }
    }

    /// The innermost state that deals with an error does so.
    fn handle_error(&mut self, failure: RunError) -> NextHandler {
        let top = self.core.branches.current.frames.len().saturating_sub(1);
        match self.error_remedy(top, &failure.code) {
            Some(remedy) => self.apply_remedy(remedy, failure),
            None => self.on_unhandled_error(failure),
        }
    }

    /// The current state does not handle the error. The user is asked where it happened, so that the work of a child is
    /// not lost, unless an outer state handles it, or the workflow itself fails on purpose.
    fn on_unhandled_error(&mut self, failure: RunError) -> NextHandler {
        let top = self.core.branches.current.frames.len().saturating_sub(1);
        let declared =
            self.core.current_state().is_some_and(|(_, state)| matches!(state.work, StateBody::Fail { .. }));
        if !declared && !self.is_dealt_with_outside(top) {
            return self.ask_about_failure(failure);
        }
        if top == 0 {
            return self.end_failed(failure);
        }
        let failure = self.abandon_child_workflow(failure);
        self.handle_error(failure)
    }

    /// Without a user the run is suspended as failed, and can be retried later.
    fn ask_about_failure(&mut self, failure: RunError) -> NextHandler {
        self.core.stop_visit_timers();
        let question = UserQuestion::Failed { failure: Box::new(failure) };
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.question = Some(question.clone());
        }
        self.core.ask_user(PendingQuestion::Failed, question)
    }

    /// The user retries the state: with new retries and a new time limit.
    pub(super) fn retry_failed_state(&mut self) -> NextHandler {
        let speaks =
            self.core.current_state().is_some_and(|(_, state)| matches!(state.work, StateBody::Agent { .. }));
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        let visit = &mut frame.visit;
        // the same answer would lead nowhere again; anything else that is done must not be done twice
        let unmatched = matches!(&visit.question, Some(UserQuestion::Failed { failure }) if failure.code == "no_transition");
        visit.work_done &= !(speaks && unmatched);
        visit.attempts.clear();
        (visit.error_caught, visit.fallback_used, visit.continued, visit.question) =
            (false, false, false, None);
        self.core.arm_workflow_timer();
        self.retry_state_work()
    }

    /// Ends a child workflow; returns its error as its parent's state sees it.
    fn abandon_child_workflow(&mut self, failure: RunError) -> RunError {
        let child = self.core.workflow().map(|workflow| workflow.name.clone()).unwrap_or_default();
        self.core.stop_timers();
        let touched = self.pop_frame();
        self.core.record_files_touched(touched);
        let failure = child_failure(failure, &child, self.core.state_name());
        self.core.with_definition(failure, self.core.frame())
    }

    /// No state of this branch handles the error.
    pub(super) fn end_failed(&mut self, failure: RunError) -> NextHandler {
        if self.core.branches.current.parent.is_some() {
            self.core.stop_timers();
            self.core.branches.current.result = Some(Err(Box::new(failure)));
            return NextHandler::Wait;
        }
        self.end_run(failure)
    }

    /// Ends the run at once: nothing may deal with this error.
    pub(super) fn abort_run(&mut self, failure: RunError) -> NextHandler {
        if self.core.is_chat() {
            return self.fail_state(failure);
        }
        let failure = self.core.with_location(failure);
        self.drop_visit();
        self.core.branches.current.wait_state = WaitState::New;
        self.stop_all();
        self.end_run(failure)
    }
}

/// The error of a child workflow as the state sees it that started it.
pub(super) fn child_failure(failure: RunError, child: &str, state: String) -> RunError {
    let mut outer = RunError::new(
        CHILD_FAILED,
        format!("The child workflow `{child}` failed"),
        format!("{}: {}", failure.title, failure.detail),
    );
    outer.hint.clone_from(&failure.hint);
    outer.place.clone_from(&failure.place);
    outer.state = Some(state);
    outer.agent.clone_from(&failure.agent);
    outer.cause = Some(Box::new(failure));
    outer
}

fn error_text(failure: &RunError) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!(" — {hint}")).unwrap_or_default();
    format!("{}: {}{hint}", failure.title, failure.detail)
}
