//! A run that waits for somebody who is not there is parked: every lane stays where it is, so that going on repeats
//! nothing and loses nothing.
//!
//! Before that, whatever has begun comes to its end; after a failure, or when the person wants to leave, no further
//! model or tool is called.

use super::join::branch_failure;
use super::limits::limit_failure;
use super::on_failure::child_failure;
use super::on_steered::{stand_failure, stand_words};
use super::snapshot_progress::SnapshotProgress;
use super::spawn_branches::branch_name;
use super::{Branch, Effect, Input, Machine, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::delegation::DelegationRequest;
use synthdev_domain::ids::{CallId, StateIx, Timestamp};
use synthdev_domain::journal::{FREE, OpenPause, PauseReason, RunStatus};
use synthdev_domain::question_text::{approval_message, uncertain_message};
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::ASKED_BY;
use synthdev_domain::workflow::StateBody;

const BY_YOU: &str = "stopped by you";

impl Machine {
    /// Whether somebody waits for the answer to a call; what nobody waits for needs not be done.
    pub fn awaits(&self, call: CallId) -> bool {
        self.snapshot == SnapshotProgress::Pending(call) || self.every_lane().any(|lane| lane.awaits(call))
    }

    /// What the run waits for, in the order of its lanes.
    pub fn pauses(&self) -> Vec<OpenPause> {
        if let Some(target) = self.lane.jump.filter(|_| self.halted) {
            let message = format!("stands before step {}", self.entered + 1);
            return vec![open(CallId(0), self.name_of(target), PauseReason::User, message, self.now)];
        }
        let mut lanes: Vec<&Branch> = self.every_lane().collect();
        lanes.sort_by_key(|lane| lane.id);
        let mut pauses: Vec<OpenPause> = lanes.iter().filter_map(|lane| self.pause_of(lane)).collect();
        if let (true, true, Some(first)) = (self.parked, pauses.is_empty(), lanes.first()) {
            // what was asked has run out of time meanwhile: the run only waits to be taken up again
            pauses.push(self.pause_of_nobody(first));
        }
        pauses
    }

    /// Nobody is asked anything: it was stopped.
    fn pause_of_nobody(&self, lane: &Branch) -> OpenPause {
        let enters = lane.jump.filter(|_| lane.id == self.lane.id).map(|target| self.name_of(target));
        let state = enters.unwrap_or_else(|| self.name_in(lane, lane.frames.len().saturating_sub(1)));
        let message = if self.parking { "paused" } else { BY_YOU };
        let pause = open(CallId(0), state, PauseReason::User, message.to_owned(), self.now);
        // where a person was there, or wants it to stand, a person says how it goes on
        let free = self.parking && !self.present && !self.hold;
        OpenPause { kind: free.then(|| FREE.to_owned()), ..pause }
    }

    /// A person who is there is asked something: others see that, too.
    pub(super) fn has_open_question(&self) -> bool {
        self.present && self.every_lane().any(|lane| waits(&lane.phase))
    }

    /// What is asked of it now, for lists: others need not know all of it.
    pub(super) fn open_question_previews(&self) -> Vec<OpenPause> {
        /// Questions, and characters of each.
        const SHOWN: usize = 16;
        const KEPT: usize = 400;
        let mut open = self.pauses();
        if !self.parked {
            open.truncate(SHOWN);
            for pause in &mut open {
                if let Some((end, _)) = pause.message.char_indices().nth(KEPT) {
                    pause.message.truncate(end);
                    pause.message.push_str(" …");
                }
            }
        }
        open
    }

    /// What is recorded of a run that stands still takes only what sets it going again.
    pub(super) fn accepts_input(&self, input: &Input) -> bool {
        if matches!(input, Input::Stopped { .. }) {
            // what is paid is paid, also when nothing goes on
            return !self.halted;
        }
        let wakes = matches!(input, Input::Resumed(_) | Input::Cancelled { .. });
        if matches!(input, Input::Returned(_)) {
            return self.halted;
        }
        if self.parked || self.halted { wakes } else { self.lane.phase != WaitState::Over }
    }

    /// Nothing new may begin: the run is about to be parked.
    pub(super) fn holds(&self) -> bool {
        self.stopping || !self.present && self.failed_lane().is_some()
    }

    /// The person leaves a question open: a chat goes back to waiting, a workflow stands still.
    pub(super) fn suspend_for_user(&mut self) {
        if !self.is_chat() {
            self.stopping = true;
            // it is open under a name of its own: a second answer to the old one comes too late
            if let WaitState::Person(_, asked) = self.lane.phase {
                self.lane.phase = WaitState::Person(self.next_call(), asked);
            }
            return;
        }
        // A conversation outlives its answers: this one ends here, with what its tools have done.
        self.drop_visit();
        self.warn("limit", BY_YOU);
        self.ask_person(PendingQuestion::Message, UserQuestion::Message);
    }

    /// Somebody else wants to take it up.
    pub(super) fn suspend_for_handover(&mut self) {
        if self.is_chat() {
            return;
        }
        (self.stopping, self.parking) = (true, true);
    }

    /// An end is no new beginning.
    pub(super) fn parks_before(&mut self, target: StateIx) -> bool {
        let ends = || {
            self.workflow().is_some_and(|workflow| workflow.state(target).is_some_and(|state| state.terminal))
        };
        if !self.parking || ends() {
            return false;
        }
        // the visit before is over: its time must not run out meanwhile
        self.stop_visit_timers();
        self.lane.jump = Some(target);
        // what it waited for has been answered
        (self.lane.phase, self.lane.shown) = (WaitState::New, false);
        true
    }

    /// Lanes that were kept from entering a state do so now. `false`: it was not to be parked.
    pub(super) fn leave_park(&mut self) -> bool {
        let parking = std::mem::take(&mut self.parking);
        if parking {
            let mut held: Vec<u64> =
                self.every_lane().filter(|lane| lane.jump.is_some()).map(|lane| lane.id).collect();
            held.sort_unstable();
            self.ready.extend(held);
        }
        parking
    }

    pub(super) fn park(&mut self) {
        let alone = !self.present || self.stopping;
        let taken = !matches!(self.snapshot, SnapshotProgress::Pending(_));
        if !alone || self.parked || self.halted || !taken || !self.is_idle() {
            return;
        }
        let failed = self.failed_lane();
        let first = self.every_lane().filter(|lane| waits(&lane.phase)).min_by_key(|lane| lane.id);
        let error = failed.or(first).and_then(|lane| self.reason_of(lane));
        let by = if self.parking { "somebody has paused it" } else { BY_YOU };
        let error = error.unwrap_or_else(|| self.located(RunError::new("paused", "The run waits", by)));
        self.status = if failed.is_some() { RunStatus::Failed } else { RunStatus::Paused };
        (self.parked, self.error) = (true, Some(error));
        let progress = self.progress();
        self.emit(RunEvent::finished(progress));
        self.effect(Effect::Finish);
    }

    /// Every lane waits for a person, or for one that does.
    pub(super) fn is_idle(&self) -> bool {
        let withdraws = self.withdraws();
        let still = |lane: &Branch| match lane.phase {
            _ if self.parking && lane.jump.is_some() => true,
            WaitState::Person(_, asked) => asked != PendingQuestion::Message && !self.is_prompt(lane),
            WaitState::Approval(_) | WaitState::Fork | WaitState::Held | WaitState::ToolHeld => true,
            // what is left of its time runs when somebody takes it up
            WaitState::Timer(_) => self.parking,
            WaitState::Model(_) | WaitState::Tool(_) => withdraws && self.waits_for_sub_agent_result(lane),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::Ending
            | WaitState::Over => false,
        };
        self.every_lane().all(still) && (self.stopping || self.every_lane().any(|lane| waits(&lane.phase)))
    }

    pub(super) fn every_lane(&self) -> impl Iterator<Item = &Branch> {
        std::iter::once(&self.lane).chain(self.lanes.values())
    }

    pub(super) fn failed_lane(&self) -> Option<&Branch> {
        let failed = |lane: &&Branch| matches!(lane.phase, WaitState::Person(_, PendingQuestion::Failed));
        self.every_lane().filter(failed).min_by_key(|lane| lane.id)
    }

    pub(super) fn pause_of(&self, lane: &Branch) -> Option<OpenPause> {
        let state = self.name_in(lane, lane.frames.len().checked_sub(1)?);
        let (call, reason) = match lane.phase {
            WaitState::Approval(call) => (call, PauseReason::Approval),
            WaitState::Person(call, asked) => (call, reason(asked)?),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::Model(_)
            | WaitState::Tool(_)
            | WaitState::ToolHeld
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => return None,
        };
        let mut pause = open(call, state, reason, String::new(), lane.since);
        match (&lane.question, reason) {
            (_, PauseReason::Approval) => pause.message = self.approval_message(lane),
            (Some(UserQuestion::Uncertain { tool, arguments, reason, .. }), _) => {
                pause.message = uncertain_message(tool, arguments, reason);
            }
            (
                Some(UserQuestion::Pause {
                    kind, message, choices, schema, required_outputs, default, ..
                }),
                _,
            ) => {
                pause.kind = serde_json::to_value(kind).ok().and_then(|kind| Some(kind.as_str()?.to_owned()));
                pause.message.clone_from(message);
                pause.choices.clone_from(choices);
                pause.schema = schema.as_deref().cloned();
                pause.required_outputs.clone_from(required_outputs);
                pause.default = default.as_deref().cloned();
                pause.action = self.delegated(lane, message).map(Box::new);
            }
            (Some(UserQuestion::Break { state, point }), _) => {
                pause.state.clone_from(state);
                pause.message = stand_words(state, point.as_ref());
            }
            (Some(_) | None, _) => {
                if let WaitState::Person(_, PendingQuestion::Budget(_, kind)) = lane.phase {
                    pause.kind = Some(kind.name().to_owned());
                }
                pause.message = self.reason_of(lane).map(|failure| failure.detail).unwrap_or_default()
            }
        }
        Some(pause)
    }

    /// Why a lane waits, as an error of the run.
    pub(super) fn reason_of(&self, lane: &Branch) -> Option<RunError> {
        let top = lane.frames.len().checked_sub(1)?;
        let state = self.name_in(lane, top);
        let mut failure = match (&lane.phase, &lane.question) {
            (WaitState::Approval(_), _) => {
                RunError::new("tool.denied", "A tool needs approval", self.wanted(lane))
                    .hint("approve tools with --yes, or allow this one in settings: \"approvals\"")
            }
            (_, Some(UserQuestion::Failed { failure })) => {
                return Some(self.seen_outside(lane, RunError::clone(failure)));
            }
            (_, Some(UserQuestion::Limit { limit, text, .. })) => limit_failure(limit, text),
            (_, Some(UserQuestion::Break { state, point })) => stand_failure(state, point.as_ref()),
            (_, Some(UserQuestion::Pause { message, .. })) => {
                let detail = format!("state `{state}` waits for a person's answer: {message}");
                RunError::new("input_required", "An answer is needed", detail)
                    .hint("answer it with `synthdev resume`, or give the state a \"default\"")
            }
            (_, Some(UserQuestion::Uncertain { tool, arguments, reason, .. })) => {
                let detail = format!("`{tool}` {arguments} had begun when the run was cut off: {reason}");
                RunError::new("uncertain_effect", "It is not known whether a tool took effect", detail)
                    .hint("look, then say: repeat, done, or skip")
            }
            (_, Some(UserQuestion::NoSnapshot { .. } | UserQuestion::Message) | None) => return None,
        };
        failure.state = Some(state);
        failure.agent = self.speaker_in(lane);
        Some(failure)
    }

    /// What the `delegate` state asks for in which a lane is.
    fn delegated(&self, lane: &Branch, message: &str) -> Option<DelegationRequest> {
        let frame = lane.frames.last()?;
        let state = self.spec.program.workflows.get(frame.workflow.0)?.state(frame.state)?;
        let StateBody::Pause(pause) = &state.work else { return None };
        pause.request.as_ref().map(|request| request.build_request(message, pause.ttl_ms))
    }

    /// What is asked, for those who decide.
    fn approval_message(&self, lane: &Branch) -> String {
        let asked = self.invocation_of(lane);
        asked
            .map(|(asked, _)| approval_message(&asked.agent, &asked.tool, &asked.arguments))
            .unwrap_or_default()
    }

    /// `coder` wants to use `execute_terminal`, in the error of a run.
    fn wanted(&self, lane: &Branch) -> String {
        let Some((invocation, _)) = self.invocation_of(lane) else { return String::new() };
        let who = if invocation.agent == ASKED_BY {
            "the workflow".to_owned()
        } else {
            format!("`{}`", invocation.agent)
        };
        format!("{who} wants to use `{}` {}", invocation.tool, invocation.arguments)
    }

    fn speaker_in(&self, lane: &Branch) -> Option<String> {
        let frame = lane.frames.last()?;
        let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
        frame.turn.as_ref().and_then(|turn| workflow.agent(turn.agent)).map(|agent| agent.id.clone())
    }

    /// The path name of the state in which a frame of a lane is.
    pub(super) fn name_in(&self, lane: &Branch, at: usize) -> String {
        let frame = lane.frames.get(at);
        let named = frame.and_then(|frame| {
            let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
            workflow.state(frame.state).map(|state| frame.path_name(state))
        });
        named.unwrap_or_default()
    }

    /// A failure as the run as a whole would tell it: through every child workflow and branch around it.
    fn seen_outside(&self, lane: &Branch, mut failure: RunError) -> RunError {
        for at in (1..lane.frames.len()).rev() {
            let child =
                lane.frames.get(at).and_then(|frame| self.spec.program.workflows.get(frame.workflow.0));
            let child = child.map(|child| child.name.clone()).unwrap_or_default();
            failure = child_failure(failure, &child, self.name_in(lane, at - 1));
        }
        let forked = lane.parent.and_then(|(id, at)| Some((self.lane_of(id)?, at)));
        let Some((parent, at)) = forked else { return failure };
        let Some(top) = parent.frames.len().checked_sub(1) else { return failure };
        let work = parent.frames.get(top).and_then(|frame| {
            let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
            workflow.state(frame.state).map(|state| &state.work)
        });
        let Some(work) = work else { return failure };
        let owner = self.name_in(parent, top);
        let outer = branch_failure(Box::new(failure), work, &branch_name(work, at), &owner);
        self.seen_outside(parent, outer)
    }
}

fn waits(phase: &WaitState) -> bool {
    matches!(phase, WaitState::Person(..) | WaitState::Approval(_))
}

fn reason(asked: PendingQuestion) -> Option<PauseReason> {
    Some(match asked {
        PendingQuestion::Message => return None,
        PendingQuestion::Steps
        | PendingQuestion::Visits(_)
        | PendingQuestion::ToolRounds
        | PendingQuestion::ModelCalls => PauseReason::Limit,
        PendingQuestion::Budget(..) => PauseReason::Budget,
        PendingQuestion::NoSnapshot | PendingQuestion::Pause | PendingQuestion::Request => PauseReason::Input,
        PendingQuestion::Break(_) => PauseReason::User,
        PendingQuestion::Failed => PauseReason::Error,
        PendingQuestion::Uncertain => PauseReason::UncertainEffect,
    })
}

fn open(call: CallId, state: String, reason: PauseReason, message: String, since: Timestamp) -> OpenPause {
    OpenPause {
        call,
        state,
        reason,
        message,
        kind: None,
        choices: Vec::new(),
        required_outputs: Vec::new(),
        schema: None,
        default: None,
        action: None,
        since,
    }
}
