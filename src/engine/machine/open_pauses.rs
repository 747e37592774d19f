//! What the run waits for: its open questions and approvals, why each branch waits, and the summary for lists.

use super::join::branch_failure;
use super::limits::limit_failure;
use super::on_failure::child_failure;
use super::on_steered::{breakpoint_failure, breakpoint_text};
use super::spawn_branches::branch_name;
use super::{Branch, Machine, PendingQuestion, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::delegation::DelegationRequest;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::journal::{FREE, NEXT_MESSAGE, OpenPause, PauseReason, RunProgress};
use synthdev_domain::question_text::{approval_message, uncertain_message};
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::ASKED_BY;
use synthdev_domain::workflow::{PauseKind, PauseSpec, StateBody};

pub(super) const BY_YOU: &str = "stopped by you";
const ANSWER_HINT: &str = "answer it with `synthdev resume`, or give the state a \"default\"";
const CLIENT_ANSWER_HINT: &str = "an MCP client answers it with `resume_workflow`, you with `synthdev resume`; or give \
    the state a \"default\"";

impl Machine {
    /// The summary of the run that is stored and shown in lists.
    pub fn progress(&self) -> RunProgress {
        RunProgress {
            status: self.status,
            path: self.path.clone(),
            usage: self.ledger.usage(),
            cost_usd: self.ledger.cost_usd(),
            snapshot: self.snapshots.initial.clone(),
            output: self.result.clone(),
            error: self.error.clone(),
            updated: self.core.now,
            pauses: if self.core.phase.is_suspended() || self.has_open_question() {
                self.open_question_previews()
            } else {
                Vec::new()
            },
            title: self.conversation_title.clone(),
        }
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
        let mut branches: Vec<&Branch> = self.core.branches.all().collect();
        branches.sort_by_key(|branch| branch.id);
        let mut pauses: Vec<OpenPause> =
            branches.iter().filter_map(|branch| self.open_pause_for(branch)).collect();
        if let (true, true, Some(first)) =
            (self.core.phase.is_suspended(), pauses.is_empty(), branches.first())
        {
            // the questions have timed out meanwhile: the run only waits to be resumed
            pauses.push(self.plain_pause(first));
        }
        pauses
    }

    /// A pause without a question: the run was stopped.
    fn plain_pause(&self, branch: &Branch) -> OpenPause {
        let enters = branch
            .next_state
            .filter(|_| branch.id == self.core.branches.current.id)
            .map(|target| self.core.state_path(target));
        let state =
            enters.unwrap_or_else(|| self.core.state_path_in(branch, branch.frames.len().saturating_sub(1)));
        let message = match self.core.is_handing_over() {
            true => "paused",
            false if self.core.is_chat() => NEXT_MESSAGE,
            false => BY_YOU,
        };
        let pause = open_pause(CallId(0), state, PauseReason::User, message.to_owned(), self.core.now);
        // if a user was present, or stops the run step by step, the user decides how it continues
        let free = self.core.is_handing_over()
            && !self.core.user_present
            && !self.breakpoints.stops_before_next_state;
        OpenPause { kind: free.then(|| FREE.to_owned()), ..pause }
    }

    /// A user who is present has an open question: lists show that, too.
    pub(super) fn has_open_question(&self) -> bool {
        self.core.user_present && self.core.branches.all().any(|branch| is_waiting(&branch.wait_state))
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

    pub(super) fn open_pause_for(&self, branch: &Branch) -> Option<OpenPause> {
        let state = self.core.state_path_in(branch, branch.frames.len().checked_sub(1)?);
        let (call, reason) = match branch.wait_state {
            WaitState::Approval(call) => (call, PauseReason::Approval),
            WaitState::Person(call, asked) => (call, pause_reason(asked)?),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::Model(_)
            | WaitState::ToolCheck(_)
            | WaitState::Tool(_)
            | WaitState::ToolHeld
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Agents(_)
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => return None,
        };
        let mut pause = open_pause(call, state, reason, String::new(), branch.waiting_since);
        match (&branch.question, reason) {
            (_, PauseReason::Approval) => pause.message = self.approval_message(branch),
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
                pause.action = self.delegation_request(branch, message).map(Box::new);
            }
            (Some(UserQuestion::Break { state, point }), _) => {
                pause.state.clone_from(state);
                pause.message = breakpoint_text(state, point.as_ref());
            }
            (Some(_) | None, _) => {
                if let WaitState::Person(_, PendingQuestion::Budget(_, kind)) = branch.wait_state {
                    pause.kind = Some(kind.name().to_owned());
                }
                pause.message = self.wait_reason(branch).map(|failure| failure.detail).unwrap_or_default()
            }
        }
        Some(pause)
    }

    /// Why a branch waits, as an error of the run.
    pub(super) fn wait_reason(&self, branch: &Branch) -> Option<RunError> {
        let top = branch.frames.len().checked_sub(1)?;
        let state = self.core.state_path_in(branch, top);
        let mut failure = match (&branch.wait_state, &branch.question) {
            (WaitState::Approval(_), _) => {
                RunError::new("tool.denied", "A tool needs approval", self.wanted_tool_text(branch))
                    .with_hint("approve tools with --yes, or allow this one in settings: \"approvals\"")
            }
            (_, Some(UserQuestion::Failed { failure })) => {
                return Some(self.seen_outside(branch, RunError::clone(failure)));
            }
            (_, Some(UserQuestion::Limit { limit, text, .. })) => limit_failure(limit, text),
            (_, Some(UserQuestion::Break { state, point })) => breakpoint_failure(state, point.as_ref()),
            (_, Some(UserQuestion::Pause { message, .. })) => self.unanswered_error(branch, &state, message),
            (_, Some(UserQuestion::Uncertain { tool, arguments, reason, .. })) => {
                let detail = format!("`{tool}` {arguments} had begun when the run was cut off: {reason}");
                RunError::new("uncertain_effect", "It is not known whether a tool took effect", detail)
                    .with_hint("look, then say: repeat, done, or skip")
            }
            (_, Some(UserQuestion::NoSnapshot { .. } | UserQuestion::Message) | None) => return None,
        };
        failure.state = Some(state);
        failure.agent = self.agent_name_in(branch);
        Some(self.core.with_definition(failure, branch.frames.last()))
    }

    /// Why the run waits in a state that asks: the client for what is delegated to it, the user for decisions. Either of
    /// them answers the rest.
    fn unanswered_error(&self, branch: &Branch, state: &str, message: &str) -> RunError {
        let pause = self.pause_of(branch);
        let asks_client = pause.is_some_and(|pause| pause.request.is_some());
        let asks_user = pause.is_some_and(|pause| pause.kind == PauseKind::Approval);
        let (answer, hint) = match (asks_client, asks_user) {
            _ if !self.core.spec.names_asked() => ("a person's answer", ANSWER_HINT),
            (true, _) => ("the client's answer", CLIENT_ANSWER_HINT),
            (false, true) => ("the user's answer", ANSWER_HINT),
            (false, false) => ("an answer", ANSWER_HINT),
        };
        let detail = format!("state `{state}` waits for {answer}: {message}");
        RunError::new("input_required", "An answer is needed", detail).with_hint(hint)
    }

    /// The pause state that a branch is in.
    fn pause_of(&self, branch: &Branch) -> Option<&PauseSpec> {
        let frame = branch.frames.last()?;
        let state = self.core.spec.program.workflows.get(frame.workflow.0)?.state(frame.state)?;
        if let StateBody::Pause(pause) = &state.work { Some(pause) } else { None }
    }

    /// The request of the `delegate` state that a branch is in.
    fn delegation_request(&self, branch: &Branch, message: &str) -> Option<DelegationRequest> {
        let pause = self.pause_of(branch)?;
        pause.request.as_ref().map(|request| request.build_request(message, pause.ttl_ms))
    }

    /// The question, for the user who decides.
    fn approval_message(&self, branch: &Branch) -> String {
        let asked = self.core.pending_invocation(branch);
        asked
            .map(|(asked, _)| approval_message(&asked.agent, &asked.tool, &asked.arguments))
            .unwrap_or_default()
    }

    /// `coder` wants to use `execute_terminal`, in the error of a run.
    fn wanted_tool_text(&self, branch: &Branch) -> String {
        let Some((invocation, _)) = self.core.pending_invocation(branch) else { return String::new() };
        let who = if invocation.agent == ASKED_BY {
            "the workflow".to_owned()
        } else {
            format!("`{}`", invocation.agent)
        };
        format!("{who} wants to use `{}` {}", invocation.tool, invocation.arguments)
    }

    fn agent_name_in(&self, branch: &Branch) -> Option<String> {
        let frame = branch.frames.last()?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        let agent = frame.agent_turn.as_ref().and_then(|turn| workflow.agent(turn.agent))?;
        let spawned = branch.spawned.as_ref().map(|spawned| spawned.name.clone());
        Some(spawned.unwrap_or_else(|| agent.id.clone()))
    }

    /// A failure with the path that the whole run shows: through every child workflow and branch around it.
    fn seen_outside(&self, branch: &Branch, mut failure: RunError) -> RunError {
        for at in (1..branch.frames.len()).rev() {
            let child = branch
                .frames
                .get(at)
                .and_then(|frame| self.core.spec.program.workflows.get(frame.workflow.0));
            let child = child.map(|child| child.name.clone()).unwrap_or_default();
            failure = child_failure(failure, &child, self.core.state_path_in(branch, at - 1));
            failure = self.core.with_definition(failure, branch.frames.get(at - 1));
        }
        if branch.spawned.is_some() {
            return failure;
        }
        let forked = branch.parent.and_then(|(id, at)| Some((self.core.branches.by_id(id)?, at)));
        let Some((parent, at)) = forked else { return failure };
        let Some(top) = parent.frames.len().checked_sub(1) else { return failure };
        let work = parent.frames.get(top).and_then(|frame| {
            let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
            workflow.state(frame.state).map(|state| &state.work)
        });
        let Some(work) = work else { return failure };
        let owner = self.core.state_path_in(parent, top);
        let outer = branch_failure(Box::new(failure), work, &branch_name(work, at), &owner);
        let outer = self.core.with_definition(outer, parent.frames.last());
        self.seen_outside(parent, outer)
    }
}

pub(super) fn is_waiting(wait_state: &WaitState) -> bool {
    matches!(wait_state, WaitState::Person(..) | WaitState::Approval(_))
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
