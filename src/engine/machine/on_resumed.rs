//! `Input::Resumed`: a run that was parked, or whose process died, goes on.
//!
//! The driver does again what was asked for and never answered; here is what the run itself has to decide.

use serde_json::Value;

use super::{CallId, Effect, Input, Machine, PendingQuestion, RunEvent, WaitState, ask_user};
use crate::answer_validation::{self, UncertainCallResolution, parse_resolution};
use crate::effect::UserQuestion;
use crate::input::{ResumeInput, UserAnswer};
use crate::run_spec::RESTS_SINCE;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::tool::ToolOutcome;
use synthdev_domain::workflow::{StateBody, plain_text};

impl Machine {
    pub(super) fn on_resumed(&mut self, resumed: ResumeInput) {
        let given = given(&resumed);
        let ResumeInput { present, approvals, again, unclear, program, arrived, sub_agents, stops, .. } =
            resumed;
        if self.lane.phase == WaitState::Ending {
            // the work is done; only the last snapshot is made again
            let again = again.into_iter().map(|(call, _)| call).collect();
            return self.emit(RunEvent::Resumed { present, again, definition: None, notes: Vec::new() });
        }
        if self.halted {
            // the questions of other lanes are shown first, and must not make it forget which state comes next
            self.ready.push_front(self.lane.id);
            self.lane.passed = true;
        }
        // time that is up is nobody who takes it up: a person may look at what stands elsewhere
        let by_time = self.spec.machine_version >= RESTS_SINCE && only_time(&given);
        // nor does it set going what was paused
        let stays = by_time && self.parking;
        (self.parked, self.stopping, self.halted) = (false, stays, false);
        let left_park = !stays && self.leave_park();
        for lane in std::iter::once(&mut self.lane).chain(self.lanes.values_mut()) {
            lane.shown = false;
        }
        (self.status, self.error, self.present) = (RunStatus::Running, None, present);
        if let Some(approvals) = approvals {
            self.approvals = approvals;
        }
        let definition = program.as_ref().map(|program| program.hash.clone());
        // the driver has tried it on a copy before it wrote this down
        let notes = program.and_then(|program| self.upgrade(program).ok()).unwrap_or_default();
        let again = again.into_iter().map(|(call, _)| call).collect();
        self.emit(RunEvent::Resumed { present, again, definition, notes });
        if arrived {
            self.before = None;
        }
        if std::mem::take(&mut self.fresh) || arrived {
            self.snapshot_before();
        }
        self.serve(sub_agents, arrived);
        for (call, reason) in unclear {
            self.ask_uncertain(call, reason);
        }
        if !present && !by_time {
            // who takes it up without looking wants it to go on
            self.leave_all_breakpoints();
        }
        if let Some(stops) = stops {
            self.also_stop(stops);
        }
        self.ask_again(&given.iter().filter_map(Input::answered_call).collect::<Vec<_>>());
        for input in given {
            self.settle();
            if left_park && self.halted {
                // it stands before a step that one of the others has come to
                return;
            }
            if self.turn_to(&input) {
                self.dispatch(input);
            }
        }
        self.settle();
        self.wake_held();
    }

    /// Whether an answer fits an open question, before it is given.
    ///
    /// # Errors
    /// Everything that is wrong with it, for the person.
    pub fn would_take(&self, call: CallId, given: &UserAnswer) -> Result<(), String> {
        let Some(lane) = self.every_lane().find(|lane| lane.pending() == Some(call)) else {
            return Err("nobody waits for it".to_owned());
        };
        match lane.phase {
            WaitState::Person(_, PendingQuestion::Uncertain) => parse_resolution(given).map(|_| ()),
            WaitState::Person(_, PendingQuestion::Request) => {
                let question = lane.question.as_ref();
                question.map_or(Ok(()), |question| ask_user::fitting(question, given.clone()).map(|_| ()))
            }
            WaitState::Person(_, PendingQuestion::Pause) => {
                let pause = lane.frames.last().and_then(|frame| {
                    let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
                    match &workflow.state(frame.state)?.work {
                        StateBody::Pause(pause) => Some(pause),
                        StateBody::None
                        | StateBody::Agent { .. }
                        | StateBody::Child { .. }
                        | StateBody::Parallel(_)
                        | StateBody::ForEach(_)
                        | StateBody::Step(_)
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
            | WaitState::Approval(_)
            | WaitState::Tool(_)
            | WaitState::Person(..)
            | WaitState::ToolHeld
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => Ok(()),
        }
    }

    pub(super) fn skip_time(&mut self, before: Timestamp) {
        self.skip_budgets(self.now.0.saturating_sub(before.0).max(0));
    }

    /// What is still open is shown to whoever is here now.
    fn ask_again(&mut self, answered: &[CallId]) {
        if !self.present {
            return;
        }
        let mut lanes: Vec<(CallId, u64)> = self
            .every_lane()
            .filter(|lane| matches!(lane.phase, WaitState::Person(..) | WaitState::Approval(_)))
            .filter_map(|lane| Some((lane.pending().filter(|call| !answered.contains(call))?, lane.id)))
            .collect();
        lanes.sort_by_key(|(call, _)| *call);
        for (call, lane) in lanes {
            self.show_again(call, lane);
        }
    }

    fn show_again(&mut self, call: CallId, lane: u64) {
        if !self.switch(lane) {
            return;
        }
        self.lane.shown = true;
        if matches!(self.lane.phase, WaitState::Approval(_)) && self.offers() {
            self.renew_deadline();
        }
        let lane = &self.lane;
        let asked = lane.question.clone().filter(|_| matches!(lane.phase, WaitState::Person(..)));
        if let Some(question) = asked {
            self.emit(RunEvent::PersonAsked { call, question: question.clone() });
            return self.effect(Effect::AskPerson { call, question });
        }
        let Some(top) = lane.frames.len().checked_sub(1) else { return };
        let state = self.name_in(lane, top);
        if let Some((invocation, risk)) = self.invocation_of(lane) {
            let until = self.deadline_of(lane);
            self.effect(Effect::AskApproval { call, state, invocation, risk, until });
        }
    }

    fn ask_uncertain(&mut self, call: CallId, reason: String) {
        if !self.every_lane().any(|lane| lane.phase == WaitState::Tool(call))
            || !self.turn_to(&Input::Elapsed { call })
        {
            return;
        }
        let Some((invocation, _)) = self.current_invocation() else { return };
        let (tool, arguments) = (invocation.tool, invocation.arguments);
        let question =
            UserQuestion::Uncertain { began: call, state: self.state_name(), tool, arguments, reason };
        // told with the other open questions
        self.lane.question = Some(question);
        self.lane.since = self.now;
        self.lane.phase = WaitState::Person(self.next_call(), PendingQuestion::Uncertain);
    }

    /// Somebody has looked whether the tool took effect.
    pub(super) fn on_certain(&mut self, answer: UserAnswer) {
        let Some(UserQuestion::Uncertain { began, .. }) = self.lane.question else { return };
        let Some((invocation, risk)) = self.current_invocation() else { return };
        let outcome = match parse_resolution(&answer) {
            Ok(UncertainCallResolution::Repeat) => return self.run_tool(invocation, risk),
            Ok(UncertainCallResolution::Skip) if self.is_step() => return self.skip_step(),
            Ok(UncertainCallResolution::Skip) => ToolOutcome {
                content: "interrupted: it is not known whether this took effect, and it was not repeated"
                    .to_owned(),
                summary: "interrupted, not repeated".to_owned(),
                ..ToolOutcome::default()
            },
            Ok(UncertainCallResolution::Done(value)) => outcome(value),
            Err(problem) => {
                self.warn("answer", problem);
                let Some(question) = self.lane.question.take() else { return };
                return self.ask_person(PendingQuestion::Uncertain, question);
            }
        };
        self.finish_tool(began, outcome);
    }
}

/// Everything that counts at once, as if it had come by itself.
fn given(resumed: &ResumeInput) -> Vec<Input> {
    let ResumeInput { decisions, answers, elapsed, .. } = resumed;
    let decided = decisions.iter().cloned().map(|(call, decision)| Input::Approved { call, decision });
    let answered = answers.iter().cloned().map(|(call, answer)| Input::Answered { call, answer });
    let elapsed = elapsed.iter().map(|call| Input::Elapsed { call: *call });
    decided.chain(answered).chain(elapsed).collect()
}

fn only_time(given: &[Input]) -> bool {
    !given.is_empty() && given.iter().all(|input| matches!(input, Input::Elapsed { .. }))
}

/// The result that somebody says it had.
fn outcome(value: Value) -> ToolOutcome {
    let content = if value.is_null() { "done".to_owned() } else { plain_text(&value) };
    ToolOutcome {
        ok: true,
        content,
        summary: "done before the interruption".to_owned(),
        data: value.is_object().then_some(value),
        ..ToolOutcome::default()
    }
}
