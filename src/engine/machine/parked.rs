//! A run that waits for somebody who is not there is parked: every lane stays where it is, so that going on repeats
//! nothing and loses nothing (§1.7, A52, B10).
//!
//! Before that, whatever has begun comes to its end; after a failure, or when the person wants to leave, no further
//! model or tool is called.

use super::failed::child_failure;
use super::join::branch_failure;
use super::limits::limit_failure;
use super::snapshot_progress::Progress;
use super::split::branch_name;
use super::steered::{stand_failure, stand_words};
use super::{Asked, Effect, Input, Lane, Machine, Phase, RunEvent};
use crate::domain::delegation::Delegated;
use crate::domain::failure::Failure;
use crate::domain::ids::{CallId, StateIx, Timestamp};
use crate::domain::journal::{FREE, OpenPause, PauseReason, RunStatus};
use crate::domain::question_text::{approval_message, uncertain_message};
use crate::domain::tool::ASKED_BY;
use crate::domain::workflow::Work;
use crate::engine::effect::Question;

const BY_YOU: &str = "stopped by you";

impl Machine {
    /// Whether somebody waits for the answer to a call; what nobody waits for needs not be done.
    pub fn awaits(&self, call: CallId) -> bool {
        self.snapshot == Progress::Pending(call) || self.every_lane().any(|lane| lane.awaits(call))
    }

    /// What the run waits for, in the order of its lanes.
    pub fn pauses(&self) -> Vec<OpenPause> {
        if let Some(target) = self.lane.jump.filter(|_| self.halted) {
            let message = format!("stands before step {}", self.entered + 1);
            return vec![open(CallId(0), self.name_of(target), PauseReason::User, message, self.now)];
        }
        let mut lanes: Vec<&Lane> = self.every_lane().collect();
        lanes.sort_by_key(|lane| lane.id);
        let mut pauses: Vec<OpenPause> = lanes.iter().filter_map(|lane| self.pause_of(lane)).collect();
        if let (true, true, Some(first)) = (self.parked, pauses.is_empty(), lanes.first()) {
            // what was asked has run out of time meanwhile: the run only waits to be taken up again
            pauses.push(self.pause_of_nobody(first));
        }
        pauses
    }

    /// Nobody is asked anything: it was stopped.
    fn pause_of_nobody(&self, lane: &Lane) -> OpenPause {
        let enters = lane.jump.filter(|_| lane.id == self.lane.id).map(|target| self.name_of(target));
        let state = enters.unwrap_or_else(|| self.name_in(lane, lane.frames.len().saturating_sub(1)));
        let message = if self.parking { "paused" } else { BY_YOU };
        let pause = open(CallId(0), state, PauseReason::User, message.to_owned(), self.now);
        // where a person was there, or wants it to stand, a person says how it goes on
        let free = self.parking && !self.present && !self.hold;
        OpenPause { kind: free.then(|| FREE.to_owned()), ..pause }
    }

    /// A person who is there is asked something: others see that, too.
    pub(super) fn asks_here(&self) -> bool {
        self.present && self.every_lane().any(|lane| waits(&lane.phase))
    }

    /// What is asked of it now, for lists: others need not know all of it.
    pub(super) fn open_here(&self) -> Vec<OpenPause> {
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
    pub(super) fn takes(&self, input: &Input) -> bool {
        if matches!(input, Input::Stopped { .. }) {
            // what is paid is paid, also when nothing goes on
            return !self.halted;
        }
        let wakes = matches!(input, Input::Resumed(_) | Input::Cancelled { .. });
        if matches!(input, Input::Returned(_)) {
            return self.halted;
        }
        if self.parked || self.halted { wakes } else { self.lane.phase != Phase::Over }
    }

    /// Nothing new may begin: the run is about to be parked.
    pub(super) fn holds(&self) -> bool {
        self.stopping || !self.present && self.failed_lane().is_some()
    }

    /// The person leaves a question open: a chat goes back to waiting, a workflow stands still.
    pub(super) fn leave_for_now(&mut self) {
        if !self.is_chat() {
            self.stopping = true;
            // it is open under a name of its own: a second answer to the old one comes too late
            if let Phase::Person(_, asked) = self.lane.phase {
                self.lane.phase = Phase::Person(self.next_call(), asked);
            }
            return;
        }
        // A conversation outlives its answers: this one ends here, with what its tools have done.
        self.drop_visit();
        self.warn("limit", BY_YOU);
        self.ask_person(Asked::Message, Question::Message);
    }

    /// Somebody else wants to take it up.
    pub(super) fn let_others_have_it(&mut self) {
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
        (self.lane.phase, self.lane.shown) = (Phase::New, false);
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
        let taken = !matches!(self.snapshot, Progress::Pending(_));
        if !alone || self.parked || self.halted || !taken || !self.is_still() {
            return;
        }
        let failed = self.failed_lane();
        let first = self.every_lane().filter(|lane| waits(&lane.phase)).min_by_key(|lane| lane.id);
        let error = failed.or(first).and_then(|lane| self.reason_of(lane));
        let by = if self.parking { "somebody has paused it" } else { BY_YOU };
        let error = error.unwrap_or_else(|| self.located(Failure::new("paused", "The run waits", by)));
        self.status = if failed.is_some() { RunStatus::Failed } else { RunStatus::Paused };
        (self.parked, self.error) = (true, Some(error));
        let progress = self.progress();
        self.emit(RunEvent::finished(progress));
        self.effect(Effect::Finish);
    }

    /// Every lane waits for a person, or for one that does.
    pub(super) fn is_still(&self) -> bool {
        let withdraws = self.withdraws();
        let still = |lane: &Lane| match lane.phase {
            _ if self.parking && lane.jump.is_some() => true,
            Phase::Person(_, asked) => asked != Asked::Message && !self.is_prompt(lane),
            Phase::Approval(_) | Phase::Fork | Phase::Held | Phase::ToolHeld => true,
            // what is left of its time runs when somebody takes it up
            Phase::Timer(_) => self.parking,
            Phase::Model(_) | Phase::Tool(_) => withdraws && self.is_theirs(lane),
            Phase::New
            | Phase::Script(_)
            | Phase::Values(_)
            | Phase::Choice(_)
            | Phase::Ending
            | Phase::Over => false,
        };
        self.every_lane().all(still) && (self.stopping || self.every_lane().any(|lane| waits(&lane.phase)))
    }

    pub(super) fn every_lane(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.lane).chain(self.lanes.values())
    }

    pub(super) fn failed_lane(&self) -> Option<&Lane> {
        let failed = |lane: &&Lane| matches!(lane.phase, Phase::Person(_, Asked::Failed));
        self.every_lane().filter(failed).min_by_key(|lane| lane.id)
    }

    pub(super) fn pause_of(&self, lane: &Lane) -> Option<OpenPause> {
        let state = self.name_in(lane, lane.frames.len().checked_sub(1)?);
        let (call, reason) = match lane.phase {
            Phase::Approval(call) => (call, PauseReason::Approval),
            Phase::Person(call, asked) => (call, reason(asked)?),
            Phase::New
            | Phase::Script(_)
            | Phase::Values(_)
            | Phase::Choice(_)
            | Phase::Model(_)
            | Phase::Tool(_)
            | Phase::ToolHeld
            | Phase::Held
            | Phase::Fork
            | Phase::Timer(_)
            | Phase::Ending
            | Phase::Over => return None,
        };
        let mut pause = open(call, state, reason, String::new(), lane.since);
        match (&lane.question, reason) {
            (_, PauseReason::Approval) => pause.message = self.approval_message(lane),
            (Some(Question::Uncertain { tool, arguments, reason, .. }), _) => {
                pause.message = uncertain_message(tool, arguments, reason);
            }
            (Some(Question::Pause { kind, message, choices, schema, required_outputs, default, .. }), _) => {
                pause.kind = serde_json::to_value(kind).ok().and_then(|kind| Some(kind.as_str()?.to_owned()));
                pause.message.clone_from(message);
                pause.choices.clone_from(choices);
                pause.schema = schema.as_deref().cloned();
                pause.required_outputs.clone_from(required_outputs);
                pause.default = default.as_deref().cloned();
                pause.action = self.delegated(lane, message).map(Box::new);
            }
            (Some(Question::Break { state, point }), _) => {
                pause.state.clone_from(state);
                pause.message = stand_words(state, point.as_ref());
            }
            (Some(_) | None, _) => {
                if let Phase::Person(_, Asked::Budget(_, kind)) = lane.phase {
                    pause.kind = Some(kind.name().to_owned());
                }
                pause.message = self.reason_of(lane).map(|failure| failure.detail).unwrap_or_default()
            }
        }
        Some(pause)
    }

    /// Why a lane waits, as an error of the run.
    pub(super) fn reason_of(&self, lane: &Lane) -> Option<Failure> {
        let top = lane.frames.len().checked_sub(1)?;
        let state = self.name_in(lane, top);
        let mut failure = match (&lane.phase, &lane.question) {
            (Phase::Approval(_), _) => {
                Failure::new("tool.denied", "A tool needs approval", self.wanted(lane))
                    .hint("approve tools with --yes, or allow this one in settings: \"approvals\"")
            }
            (_, Some(Question::Failed { failure })) => {
                return Some(self.seen_outside(lane, Failure::clone(failure)));
            }
            (_, Some(Question::Limit { limit, text, .. })) => limit_failure(limit, text),
            (_, Some(Question::Break { state, point })) => stand_failure(state, point.as_ref()),
            (_, Some(Question::Pause { message, .. })) => {
                let detail = format!("state `{state}` waits for a person's answer: {message}");
                Failure::new("input_required", "An answer is needed", detail)
                    .hint("answer it with `synthdev resume`, or give the state a \"default\"")
            }
            (_, Some(Question::Uncertain { tool, arguments, reason, .. })) => {
                let detail = format!("`{tool}` {arguments} had begun when the run was cut off: {reason}");
                Failure::new("uncertain_effect", "It is not known whether a tool took effect", detail)
                    .hint("look, then say: repeat, done, or skip")
            }
            (_, Some(Question::NoSnapshot { .. } | Question::Message) | None) => return None,
        };
        failure.state = Some(state);
        failure.agent = self.speaker_in(lane);
        Some(failure)
    }

    /// What the `delegate` state asks for in which a lane is.
    fn delegated(&self, lane: &Lane, message: &str) -> Option<Delegated> {
        let frame = lane.frames.last()?;
        let state = self.spec.program.workflows.get(frame.workflow.0)?.state(frame.state)?;
        let Work::Pause(pause) = &state.work else { return None };
        pause.request.as_ref().map(|request| request.asked(message, pause.ttl_ms))
    }

    /// What is asked, for those who decide.
    fn approval_message(&self, lane: &Lane) -> String {
        let asked = self.invocation_of(lane);
        asked
            .map(|(asked, _)| approval_message(&asked.agent, &asked.tool, &asked.arguments))
            .unwrap_or_default()
    }

    /// `coder` wants to use `execute_terminal`, in the error of a run.
    fn wanted(&self, lane: &Lane) -> String {
        let Some((invocation, _)) = self.invocation_of(lane) else { return String::new() };
        let who = if invocation.agent == ASKED_BY {
            "the workflow".to_owned()
        } else {
            format!("`{}`", invocation.agent)
        };
        format!("{who} wants to use `{}` {}", invocation.tool, invocation.arguments)
    }

    fn speaker_in(&self, lane: &Lane) -> Option<String> {
        let frame = lane.frames.last()?;
        let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
        frame.turn.as_ref().and_then(|turn| workflow.agent(turn.agent)).map(|agent| agent.id.clone())
    }

    /// The path name of the state in which a frame of a lane is.
    pub(super) fn name_in(&self, lane: &Lane, at: usize) -> String {
        let frame = lane.frames.get(at);
        let named = frame.and_then(|frame| {
            let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
            workflow.state(frame.state).map(|state| frame.path_name(state))
        });
        named.unwrap_or_default()
    }

    /// A failure as the run as a whole would tell it: through every child workflow and branch around it.
    fn seen_outside(&self, lane: &Lane, mut failure: Failure) -> Failure {
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

fn waits(phase: &Phase) -> bool {
    matches!(phase, Phase::Person(..) | Phase::Approval(_))
}

fn reason(asked: Asked) -> Option<PauseReason> {
    Some(match asked {
        Asked::Message => return None,
        Asked::Steps | Asked::Visits(_) | Asked::ToolRounds | Asked::ModelCalls => PauseReason::Limit,
        Asked::Budget(..) => PauseReason::Budget,
        Asked::NoSnapshot | Asked::Pause | Asked::Request => PauseReason::Input,
        Asked::Break(_) => PauseReason::User,
        Asked::Failed => PauseReason::Error,
        Asked::Uncertain => PauseReason::UncertainEffect,
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
