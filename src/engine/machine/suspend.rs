//! A run that waits for an absent user is suspended: every branch stays where it is, so that resuming repeats nothing
//! and loses nothing.
//!
//! Before that, effects in progress complete; after a failure, or when the user pauses the run, no further model or
//! tool is called.

use super::join::branch_failure;
use super::limits::limit_failure;
use super::on_failure::child_failure;
use super::on_steered::{breakpoint_failure, breakpoint_text};
use super::run_phase::{RunPhase, StopRequest};
use super::spawn_branches::branch_name;
use super::{Branch, Effect, Input, Machine, Next, PendingQuestion, RunEvent, WaitState};
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
    /// Whether a branch or the run waits for the answer to a call; the driver need not perform any other.
    pub fn awaits_call(&self, call: CallId) -> bool {
        self.snapshots.is_pending_call(call) || self.core.branches.all().any(|lane| lane.awaits_call(call))
    }

    /// What the run waits for, in the order of its branches.
    pub fn open_pauses(&self) -> Vec<OpenPause> {
        if let Some(target) = self.core.branches.current.next_state.filter(|_| self.core.phase.is_halted()) {
            let message = format!("stands before step {}", self.step_count + 1);
            return vec![open_pause(
                CallId(0),
                self.core.state_path(target),
                PauseReason::User,
                message,
                self.core.now,
            )];
        }
        let mut lanes: Vec<&Branch> = self.core.branches.all().collect();
        lanes.sort_by_key(|lane| lane.id);
        let mut pauses: Vec<OpenPause> = lanes.iter().filter_map(|lane| self.open_pause_for(lane)).collect();
        if let (true, true, Some(first)) = (self.core.phase.is_suspended(), pauses.is_empty(), lanes.first())
        {
            // the questions have timed out meanwhile: the run only waits to be resumed
            pauses.push(self.plain_pause(first));
        }
        pauses
    }

    /// A pause without a question: the run was stopped.
    fn plain_pause(&self, lane: &Branch) -> OpenPause {
        let enters = lane
            .next_state
            .filter(|_| lane.id == self.core.branches.current.id)
            .map(|target| self.core.state_path(target));
        let state =
            enters.unwrap_or_else(|| self.core.state_path_in(lane, lane.frames.len().saturating_sub(1)));
        let message = if self.core.is_handing_over() { "paused" } else { BY_YOU };
        let pause = open_pause(CallId(0), state, PauseReason::User, message.to_owned(), self.core.now);
        // if a user was present, or stops the run step by step, the user decides how it continues
        let free = self.core.is_handing_over() && !self.core.user_present && !self.breakpoints.step_mode;
        OpenPause { kind: free.then(|| FREE.to_owned()), ..pause }
    }

    /// A user who is present has an open question: lists show that, too.
    pub(super) fn has_open_question(&self) -> bool {
        self.core.user_present && self.core.branches.all().any(|lane| is_waiting(&lane.phase))
    }

    /// The open questions, for lists; these need not show all of a question.
    pub(super) fn open_question_previews(&self) -> Vec<OpenPause> {
        /// Questions, and characters of each.
        const SHOWN: usize = 16;
        const KEPT: usize = 400;
        let mut open = self.open_pauses();
        if !self.core.phase.is_suspended() {
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

    /// A stopped run accepts only inputs that resume it.
    pub(super) fn accepts_input(&self, input: &Input) -> bool {
        if matches!(input, Input::Stopped { .. }) {
            // cost counts even if the run does not continue
            return !self.core.phase.is_halted();
        }
        let wakes = matches!(input, Input::Resumed(_) | Input::Cancelled { .. });
        if matches!(input, Input::Returned(_)) {
            return self.core.phase.is_halted();
        }
        if self.core.phase.is_suspended() || self.core.phase.is_halted() {
            wakes
        } else {
            self.core.branches.current.phase != WaitState::Over
        }
    }

    /// The user leaves a question open: a chat waits again, a workflow is suspended.
    pub(super) fn suspend_for_user(&mut self) -> Next {
        if !self.core.is_chat() {
            if !self.core.is_stopping() {
                self.core.stop_request = StopRequest::Pause;
            }
            // it is open under a name of its own: a second answer to the old one comes too late
            if let WaitState::Person(_, asked) = self.core.branches.current.phase {
                self.core.branches.current.phase = WaitState::Person(self.core.next_call(), asked);
            }
            return Next::Wait;
        }
        // A conversation outlives its answers: this answer ends, with the results of its tools.
        self.drop_visit();
        self.core.emit_warning("limit", BY_YOU);
        self.core.ask_user(PendingQuestion::Message, UserQuestion::Message)
    }

    /// Another process wants to resume the run.
    pub(super) fn suspend_for_handover(&mut self) {
        if self.core.is_chat() {
            return;
        }
        self.core.stop_request = StopRequest::Handover;
    }

    /// An end is no new beginning.
    pub(super) fn suspends_before(&mut self, target: StateIx) -> bool {
        let ends = || {
            self.core
                .workflow()
                .is_some_and(|workflow| workflow.state(target).is_some_and(|state| state.terminal))
        };
        if !self.core.is_handing_over() || ends() {
            return false;
        }
        // the visit before is over: its time must not run out meanwhile
        self.core.stop_visit_timers();
        self.core.branches.current.next_state = Some(target);
        // what it waited for has been answered
        (self.core.branches.current.phase, self.core.branches.current.was_shown) = (WaitState::New, false);
        true
    }

    /// Branches that were kept from entering a state enter it now. `false`: the run was not being suspended.
    pub(super) fn leave_suspension(&mut self) -> bool {
        let parking = self.core.is_handing_over();
        self.core.stop_request = StopRequest::None;
        if parking {
            let mut held: Vec<u64> = self
                .core
                .branches
                .all()
                .filter(|lane| lane.next_state.is_some())
                .map(|lane| lane.id)
                .collect();
            held.sort_unstable();
            self.core.branches.ready.extend(held);
        }
        parking
    }

    pub(super) fn suspend_if_idle(&mut self) {
        let alone = !self.core.user_present || self.core.is_stopping();
        let taken = !self.snapshots.is_pending();
        if !alone
            || self.core.phase.is_suspended()
            || self.core.phase.is_halted()
            || !taken
            || !self.is_idle()
        {
            return;
        }
        let failed = self.core.branches.first_failed();
        let first =
            self.core.branches.all().filter(|lane| is_waiting(&lane.phase)).min_by_key(|lane| lane.id);
        let error = failed.or(first).and_then(|lane| self.wait_reason(lane));
        let by = if self.core.is_handing_over() { "somebody has paused it" } else { BY_YOU };
        let error =
            error.unwrap_or_else(|| self.core.with_location(RunError::new("paused", "The run waits", by)));
        self.status = if failed.is_some() { RunStatus::Failed } else { RunStatus::Paused };
        (self.core.phase, self.error) = (RunPhase::Suspended, Some(error));
        let progress = self.progress();
        self.core.emit_event(RunEvent::run_finished(progress));
        self.core.push_effect(Effect::Finish);
    }

    /// Every branch waits for the user, or for a branch that does.
    pub(super) fn is_idle(&self) -> bool {
        let withdraws = self.withdraws_delegation();
        let still = |lane: &Branch| match lane.phase {
            _ if self.core.is_handing_over() && lane.next_state.is_some() => true,
            WaitState::Person(_, asked) => asked != PendingQuestion::Message && !self.is_prompt(lane),
            WaitState::Approval(_) | WaitState::Fork | WaitState::Held | WaitState::ToolHeld => true,
            // the rest of its time runs after the run is resumed
            WaitState::Timer(_) => self.core.is_handing_over(),
            WaitState::Model(_) | WaitState::Tool(_) => withdraws && self.waits_for_sub_agent_result(lane),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::Ending
            | WaitState::Over => false,
        };
        self.core.branches.all().all(still)
            && (self.core.is_stopping() || self.core.branches.all().any(|lane| is_waiting(&lane.phase)))
    }

    pub(super) fn open_pause_for(&self, lane: &Branch) -> Option<OpenPause> {
        let state = self.core.state_path_in(lane, lane.frames.len().checked_sub(1)?);
        let (call, reason) = match lane.phase {
            WaitState::Approval(call) => (call, PauseReason::Approval),
            WaitState::Person(call, asked) => (call, pause_reason(asked)?),
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
        let mut pause = open_pause(call, state, reason, String::new(), lane.waiting_since);
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
                pause.action = self.delegation_request(lane, message).map(Box::new);
            }
            (Some(UserQuestion::Break { state, point }), _) => {
                pause.state.clone_from(state);
                pause.message = breakpoint_text(state, point.as_ref());
            }
            (Some(_) | None, _) => {
                if let WaitState::Person(_, PendingQuestion::Budget(_, kind)) = lane.phase {
                    pause.kind = Some(kind.name().to_owned());
                }
                pause.message = self.wait_reason(lane).map(|failure| failure.detail).unwrap_or_default()
            }
        }
        Some(pause)
    }

    /// Why a branch waits, as an error of the run.
    pub(super) fn wait_reason(&self, lane: &Branch) -> Option<RunError> {
        let top = lane.frames.len().checked_sub(1)?;
        let state = self.core.state_path_in(lane, top);
        let mut failure = match (&lane.phase, &lane.question) {
            (WaitState::Approval(_), _) => {
                RunError::new("tool.denied", "A tool needs approval", self.wanted_tool_text(lane))
                    .with_hint("approve tools with --yes, or allow this one in settings: \"approvals\"")
            }
            (_, Some(UserQuestion::Failed { failure })) => {
                return Some(self.seen_outside(lane, RunError::clone(failure)));
            }
            (_, Some(UserQuestion::Limit { limit, text, .. })) => limit_failure(limit, text),
            (_, Some(UserQuestion::Break { state, point })) => breakpoint_failure(state, point.as_ref()),
            (_, Some(UserQuestion::Pause { message, .. })) => {
                let detail = format!("state `{state}` waits for a person's answer: {message}");
                RunError::new("input_required", "An answer is needed", detail)
                    .with_hint("answer it with `synthdev resume`, or give the state a \"default\"")
            }
            (_, Some(UserQuestion::Uncertain { tool, arguments, reason, .. })) => {
                let detail = format!("`{tool}` {arguments} had begun when the run was cut off: {reason}");
                RunError::new("uncertain_effect", "It is not known whether a tool took effect", detail)
                    .with_hint("look, then say: repeat, done, or skip")
            }
            (_, Some(UserQuestion::NoSnapshot { .. } | UserQuestion::Message) | None) => return None,
        };
        failure.state = Some(state);
        failure.agent = self.agent_name_in(lane);
        Some(failure)
    }

    /// The request of the `delegate` state that a branch is in.
    fn delegation_request(&self, lane: &Branch, message: &str) -> Option<DelegationRequest> {
        let frame = lane.frames.last()?;
        let state = self.core.spec.program.workflows.get(frame.workflow.0)?.state(frame.state)?;
        let StateBody::Pause(pause) = &state.work else { return None };
        pause.request.as_ref().map(|request| request.build_request(message, pause.ttl_ms))
    }

    /// The question, for the user who decides.
    fn approval_message(&self, lane: &Branch) -> String {
        let asked = self.pending_invocation(lane);
        asked
            .map(|(asked, _)| approval_message(&asked.agent, &asked.tool, &asked.arguments))
            .unwrap_or_default()
    }

    /// `coder` wants to use `execute_terminal`, in the error of a run.
    fn wanted_tool_text(&self, lane: &Branch) -> String {
        let Some((invocation, _)) = self.pending_invocation(lane) else { return String::new() };
        let who = if invocation.agent == ASKED_BY {
            "the workflow".to_owned()
        } else {
            format!("`{}`", invocation.agent)
        };
        format!("{who} wants to use `{}` {}", invocation.tool, invocation.arguments)
    }

    fn agent_name_in(&self, lane: &Branch) -> Option<String> {
        let frame = lane.frames.last()?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        frame.agent_turn.as_ref().and_then(|turn| workflow.agent(turn.agent)).map(|agent| agent.id.clone())
    }

    /// A failure with the path that the whole run shows: through every child workflow and branch around it.
    fn seen_outside(&self, lane: &Branch, mut failure: RunError) -> RunError {
        for at in (1..lane.frames.len()).rev() {
            let child =
                lane.frames.get(at).and_then(|frame| self.core.spec.program.workflows.get(frame.workflow.0));
            let child = child.map(|child| child.name.clone()).unwrap_or_default();
            failure = child_failure(failure, &child, self.core.state_path_in(lane, at - 1));
        }
        let forked = lane.parent.and_then(|(id, at)| Some((self.core.branches.by_id(id)?, at)));
        let Some((parent, at)) = forked else { return failure };
        let Some(top) = parent.frames.len().checked_sub(1) else { return failure };
        let work = parent.frames.get(top).and_then(|frame| {
            let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
            workflow.state(frame.state).map(|state| &state.work)
        });
        let Some(work) = work else { return failure };
        let owner = self.core.state_path_in(parent, top);
        let outer = branch_failure(Box::new(failure), work, &branch_name(work, at), &owner);
        self.seen_outside(parent, outer)
    }
}

fn is_waiting(phase: &WaitState) -> bool {
    matches!(phase, WaitState::Person(..) | WaitState::Approval(_))
}

fn pause_reason(asked: PendingQuestion) -> Option<PauseReason> {
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

fn open_pause(
    call: CallId,
    state: String,
    reason: PauseReason,
    message: String,
    since: Timestamp,
) -> OpenPause {
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
