//! `Input::Resumed`: a suspended run, or one whose process died, resumes.
//!
//! The driver repeats effects without an answer; this file has the decisions of the run itself.

use super::run_phase::RunPhase;
use super::{CallId, Effect, Input, Machine, PendingQuestion, RunEvent, WaitState, ask_user};
use crate::answer_validation::{self, parse_resolution};
use crate::input::{ResumeInput, UserAnswer};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::workflow::StateBody;

impl Machine {
    pub(super) fn on_resumed(&mut self, resumed: ResumeInput) {
        let given = answers_as_inputs(&resumed);
        let ResumeInput { present, approvals, again, unclear, program, arrived, sub_agents, stops, .. } =
            resumed;
        if self.core.branches.current.wait_state == WaitState::Ending {
            // the work is done; only the last snapshot is made again
            let again = again.into_iter().map(|(call, _)| call).collect();
            return self.core.emit_event(RunEvent::Resumed {
                present,
                again,
                definition: None,
                notes: Vec::new(),
            });
        }
        if self.core.phase.is_halted() {
            // the questions of other branches come first, and must not make this branch lose its next state
            self.core.branches.ready.push_front(self.core.branches.current.id);
            self.core.branches.current.breakpoint_passed = true;
        }
        // a time limit alone is no user: a user may be looking at a stopped branch
        let by_time = self.core.spec.suspends_timeouts() && only_time(&given);
        // nor does it resume a run that was paused
        let visits = by_time && self.core.is_handing_over();
        self.core.phase = RunPhase::Driven;
        let left_park = !visits && self.leave_suspension();
        for branch in self.core.branches.all_mut() {
            branch.was_shown = false;
        }
        (self.status, self.error, self.core.user_present) = (RunStatus::Running, None, present);
        if let Some(approvals) = approvals {
            self.approvals = approvals;
        }
        let definition = program.as_ref().map(|program| program.hash.clone());
        // the driver has tried it on a copy before it wrote this down
        let notes = program.and_then(|program| self.upgrade_program(program).ok()).unwrap_or_default();
        let again = again.into_iter().map(|(call, _)| call).collect();
        self.core.emit_event(RunEvent::Resumed { present, again, definition, notes });
        if arrived {
            self.snapshots.initial = None;
        }
        if std::mem::take(&mut self.snapshots.needed_before_step) || arrived {
            self.snapshot_before();
        }
        self.set_sub_agents(sub_agents, arrived);
        for (call, reason) in unclear {
            self.ask_about_interrupted_call(call, reason);
        }
        if !present && !by_time {
            // a resume without a user means to continue
            self.continue_all_breakpoints();
        }
        if let Some(stops) = stops {
            self.breakpoints.also_stop(&mut self.core, stops);
        }
        self.reissue_open_questions(&given.iter().filter_map(Input::answered_call).collect::<Vec<_>>());
        for input in given {
            self.run_ready_branches();
            if left_park && self.core.phase.is_halted() {
                // it is stopped before a step that one of the other branches has reached
                return;
            }
            if self.activate_branch_for(&input) {
                self.dispatch_input(input);
            }
        }
        self.run_ready_branches();
        let next = self.core.wake_held_tools();
        self.advance(next);
    }

    /// Checks an answer against an open question, before it is applied.
    ///
    /// # Errors
    /// Every mistake in the answer, as text for the user.
    pub fn validate_answer_to(&self, call: CallId, given: &UserAnswer) -> Result<(), String> {
        let Some(branch) = self.core.branches.all().find(|branch| branch.pending_call() == Some(call)) else {
            return Err("nothing waits for it any more".to_owned());
        };
        match branch.wait_state {
            WaitState::Person(_, PendingQuestion::Uncertain) => parse_resolution(given).map(|_| ()),
            WaitState::Person(_, PendingQuestion::Request) => {
                let question = branch.question.as_ref();
                question.map_or(Ok(()), |question| {
                    ask_user::validate_agent_answer(question, given.clone()).map(|_| ())
                })
            }
            WaitState::Person(_, PendingQuestion::Pause) => {
                let pause = branch.frames.last().and_then(|frame| {
                    let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
                    match &workflow.state(frame.state)?.work {
                        StateBody::Pause(pause) => Some(pause),
                        StateBody::None
                        | StateBody::Agent { .. }
                        | StateBody::Child { .. }
                        | StateBody::Parallel(_)
                        | StateBody::ForEach(_)
                        | StateBody::Action(_)
                        | StateBody::Wait(_)
                        | StateBody::Fail { .. } => None,
                    }
                });
                pause.map_or(Ok(()), |pause| {
                    answer_validation::validate_answer(pause, given.clone()).map(|_| ())
                })
            }
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::Model(_)
            | WaitState::ToolCheck(_)
            | WaitState::Approval(_)
            | WaitState::Tool(_)
            | WaitState::Person(..)
            | WaitState::ToolHeld
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Agents(_)
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => Ok(()),
        }
    }

    pub(super) fn skip_time(&mut self, before: Timestamp) {
        let gap = self.core.now.0.saturating_sub(before.0).max(0);
        self.budgets.skip_budgets(&mut self.core, &mut self.checkpoints, gap);
    }

    /// Shows the open questions to the user who is present now.
    fn reissue_open_questions(&mut self, answered: &[CallId]) {
        if !self.core.user_present {
            return;
        }
        let mut branches: Vec<(CallId, u64)> = self
            .core
            .branches
            .all()
            .filter(|branch| matches!(branch.wait_state, WaitState::Person(..) | WaitState::Approval(_)))
            .filter_map(|branch| {
                Some((branch.pending_call().filter(|call| !answered.contains(call))?, branch.id))
            })
            .collect();
        branches.sort_by_key(|(call, _)| *call);
        for (call, branch) in branches {
            self.reissue_question(call, branch);
        }
    }

    fn reissue_question(&mut self, call: CallId, branch: u64) {
        if !self.core.branches.switch_to(branch) {
            return;
        }
        self.core.branches.current.was_shown = true;
        if matches!(self.core.branches.current.wait_state, WaitState::Approval(_))
            && self.core.spec.offers_messages_once()
        {
            self.renew_deadline();
        }
        let branch = &self.core.branches.current;
        let asked = branch.question.clone().filter(|_| matches!(branch.wait_state, WaitState::Person(..)));
        if let Some(question) = asked {
            self.core.emit_event(RunEvent::PersonAsked { call, question: question.clone() });
            return self.core.push_effect(Effect::AskPerson { call, question });
        }
        let Some(top) = branch.frames.len().checked_sub(1) else { return };
        let state = self.core.state_path_in(branch, top);
        if let Some((invocation, risk)) = self.core.pending_invocation(branch) {
            let (until, is_checked) =
                (self.approval_deadline(branch), self.is_checked_where_asked(&invocation.tool));
            let asked = Effect::AskApproval { call, state, invocation, risk, deadline: until, is_checked };
            self.core.push_effect(asked);
        }
    }

    fn ask_about_interrupted_call(&mut self, call: CallId, reason: String) {
        if !self.activate_branch_for(&Input::Elapsed { call }) {
            return;
        }
        if self.core.branches.current.wait_state != WaitState::Tool(call) {
            return self.core.mark_uncertain(call, reason);
        }
        let Some(question) = self.uncertain_question(call, reason) else { return };
        // shown with the other open questions
        self.core.branches.current.question = Some(question);
        self.core.branches.current.waiting_since = self.core.now;
        self.core.branches.current.wait_state =
            WaitState::Person(self.core.next_call(), PendingQuestion::Uncertain);
    }
}

/// Everything that counts at once, as if it had come by itself.
fn answers_as_inputs(resumed: &ResumeInput) -> Vec<Input> {
    let ResumeInput { decisions, answers, elapsed, .. } = resumed;
    let decided = decisions.iter().cloned().map(|(call, decision)| Input::Approved { call, decision });
    let answered = answers.iter().cloned().map(|(call, answer)| Input::Answered { call, answer });
    let elapsed = elapsed.iter().map(|call| Input::Elapsed { call: *call });
    decided.chain(answered).chain(elapsed).collect()
}

fn only_time(given: &[Input]) -> bool {
    !given.is_empty() && given.iter().all(|input| matches!(input, Input::Elapsed { .. }))
}
