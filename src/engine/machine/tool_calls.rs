//! The ordinary tool calls of a reply, one after the other: permission, approval, snapshot, run, answer.
//!
//! A denied tool call is answered with the reason (the model reads "not executed: the user denied this call"), and the agent
//! continues: `refuse_tool_call`. The state fails with `tool.denied` instead if no user is there and the workflow handles
//! `tool.denied`, or if the decision is `ApprovalDecision::Stop`. A denied action of a state always fails its state:
//! `action_denied` in `action_states.rs`.

use super::guidance_files::UNASKED;
use super::machine_core::MachineCore;
use super::pending_invocation::check_tool_call;
use super::{Branch, CallId, Effect, Machine, NextHandler, RunEvent, WaitState};
use crate::agent_turn::ConcurrentCall;
use synthdev_domain::agent::ToolLoop;
use synthdev_domain::approval::{ApprovalDecision, ToolPermission};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::message::ToolCall;
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::{ASK_PERSON, ToolInvocation, ToolOutcome, ToolRisk};

impl MachineCore {
    /// The call in front is not executed: the event, and the answer that the model reads.
    pub(super) fn refuse_tool_call(&mut self, agent: &str, tool: &str, reason: &str) {
        self.emit_event(RunEvent::ToolRefused {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
            reason: reason.to_owned(),
        });
        self.answer_call(format!("not executed: {reason}"), false);
    }

    pub(super) fn emit_tool_started(&mut self, call: CallId, invocation: &ToolInvocation) {
        self.emit_event(RunEvent::ToolStarted {
            call,
            agent: invocation.agent.clone(),
            tool: invocation.tool.clone(),
            arguments: invocation.arguments.clone(),
        });
    }

    pub(super) fn emit_tool_finished(
        &mut self,
        call: CallId,
        invocation: ToolInvocation,
        outcome: &ToolOutcome,
    ) {
        self.emit_event(RunEvent::ToolFinished {
            call,
            agent: invocation.agent,
            tool: invocation.tool,
            ok: outcome.ok,
            summary: outcome.summary.clone(),
            content: outcome.content.clone(),
            duration_ms: outcome.duration_ms,
        });
    }
}

impl Machine {
    /// Continues with the next waiting call, or with the turn when none is left.
    pub(super) fn next_tool(&mut self) -> NextHandler {
        loop {
            if let Some(begun) = self.core.take_concurrent_call() {
                match self.continue_begun_call(begun) {
                    Some(next) => return next,
                    None => continue,
                }
            }
            let Some((agent, call)) = self.core.pending_tool_call(&self.core.branches.current) else {
                return self.after_tools();
            };
            let (agent_id, name) = (self.core.speaker_name(&agent.id), call.name.clone());
            let branch = &self.core.branches.current;
            let checked = check_tool_call(agent, &name, &call.arguments).map(|(spec, arguments)| {
                (spec.risk, self.core.agent_invocation(agent, call, arguments, branch))
            });
            match checked {
                Err(reason) => self.core.refuse_tool_call(&agent_id, &name, &reason),
                Ok(_) if self.breakpoints.stop_before_tool(&mut self.core, &name) => {
                    return NextHandler::Wait;
                }
                Ok((_, invocation)) if name == ASK_PERSON => {
                    return self.show_agent_question(&agent_id, &invocation.arguments);
                }
                Ok((risk, invocation)) => {
                    let rule = self.approvals.permission_for(&name, risk);
                    match self.guarded_permission(rule, &invocation, risk) {
                        ToolPermission::Allow => return self.run_tool(invocation, risk),
                        ToolPermission::Ask => return self.ask_approval(invocation, risk),
                        ToolPermission::Deny if rule == ToolPermission::Allow => {
                            self.core.refuse_tool_call(&agent_id, &name, UNASKED);
                        }
                        ToolPermission::Deny => {
                            self.core.refuse_tool_call(&agent_id, &name, "denied by the approval policy")
                        }
                    }
                }
            }
        }
    }

    /// The call in front began beside an earlier one. `None`: it is answered, and the next one is in front.
    fn continue_begun_call(&mut self, begun: ConcurrentCall) -> Option<NextHandler> {
        if let Some(number) = begun.agent {
            return Some(self.await_agents(begun.call, vec![number]));
        }
        if let Some(reason) = begun.uncertain {
            return Some(self.ask_whether_done(begun.call, reason));
        }
        let Some(outcome) = begun.outcome else {
            self.core.branches.current.wait_state = WaitState::Tool(begun.call);
            return Some(NextHandler::Wait);
        };
        self.settle_tool(outcome)
    }

    /// The approval policy asks about this call. It is checked first: the user is not asked about one that its tool refuses.
    pub(super) fn ask_approval(&mut self, invocation: ToolInvocation, risk: ToolRisk) -> NextHandler {
        // the engine answers the team tools (`team_tools.rs`) itself: no adapter checks their arguments
        if !self.core.spec.checks_calls() || self.answers_itself(&invocation.tool) {
            return self.ask_user_approval(invocation, risk);
        }
        if self.core.spec.checks_where_asked() && self.core.can_show_question() {
            return self.ask_user_approval(invocation, risk);
        }
        let call = self.core.next_call();
        self.core.branches.current.wait_state = WaitState::ToolCheck(call);
        self.core.push_effect(Effect::CheckTool { call, invocation, risk });
        NextHandler::Wait
    }

    /// The refusal is the answer to the call, as if it had run and failed.
    pub(super) fn on_tool_checked(&mut self, call: CallId, refusal: Option<Box<ToolOutcome>>) -> NextHandler {
        let is_asked = self.core.branches.current.wait_state == WaitState::Approval(call);
        if !is_asked && self.core.branches.current.wait_state != WaitState::ToolCheck(call) {
            return NextHandler::Wait;
        }
        let Some((invocation, risk)) = self.core.current_invocation() else { return NextHandler::Wait };
        let Some(outcome) = refusal else {
            return if is_asked { NextHandler::Wait } else { self.ask_user_approval(invocation, risk) };
        };
        if is_asked {
            self.core.stop_ttl();
        }
        let ToolInvocation { agent, tool, .. } = invocation;
        self.core.emit_event(RunEvent::ToolRefused { agent, tool, reason: outcome.summary.clone() });
        self.settle_tool(*outcome).unwrap_or_else(|| self.next_tool())
    }

    /// Without a user, and if the workflow handles `tool.denied`, the state fails with it at once.
    pub(super) fn ask_user_approval(&mut self, invocation: ToolInvocation, risk: ToolRisk) -> NextHandler {
        if !self.core.user_present && self.is_dealt_with("tool.denied") {
            return self.not_approved(&invocation);
        }
        let call = self.core.next_call();
        self.core.branches.current.wait_state = WaitState::Approval(call);
        self.core.branches.current.waiting_since = self.core.now;
        self.core.branches.current.was_shown = self.core.can_show_question();
        if self.core.branches.current.was_shown {
            let until = self.approval_deadline_from_now();
            let (state, is_checked) = (self.core.state_name(), self.is_checked_where_asked(&invocation.tool));
            let asked = Effect::AskApproval { call, state, invocation, risk, deadline: until, is_checked };
            self.core.push_effect(asked);
        }
        NextHandler::Wait
    }

    /// Whether the effect that asks about a call of this tool checks it.
    pub(super) fn is_checked_where_asked(&self, tool: &str) -> bool {
        self.core.spec.checks_where_asked() && !self.answers_itself(tool)
    }

    /// Sets the deadline of an approval, if the policy has one.
    fn approval_deadline_from_now(&mut self) -> Option<Timestamp> {
        let ms = self.approvals.deadline_s.saturating_mul(1_000);
        if ms == 0 {
            return None;
        }
        let timer = self.core.set_timer(ms, true);
        self.core.frame_mut()?.visit.pause_timer = Some(timer);
        Some(self.core.time_after(ms))
    }

    /// A user who is present now has all of the time to answer; time without a user does not count.
    pub(super) fn renew_deadline(&mut self) {
        self.core.stop_ttl();
        self.core.branches.current.waiting_since = self.core.now;
        self.approval_deadline_from_now();
    }

    /// When the approval that a branch waits for is denied by itself.
    pub(super) fn approval_deadline(&self, branch: &Branch) -> Option<Timestamp> {
        branch.frames.last()?.visit.pause_timer?;
        let ms = i64::try_from(self.approvals.deadline_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Some(Timestamp(branch.waiting_since.0.saturating_add(ms)))
    }

    /// The deadline has passed without an answer: the call is denied.
    pub(super) fn on_approval_timeout(&mut self, call: CallId) -> NextHandler {
        if self.core.branches.current.was_shown {
            self.core.push_effect(Effect::Abort { call });
            self.core.branches.current.was_shown = false;
        }
        let reason = Some("nobody answered in time".to_owned());
        self.on_approval_answered(call, ApprovalDecision::Deny { reason })
    }

    fn not_approved(&mut self, invocation: &ToolInvocation) -> NextHandler {
        if self.core.has_pending_action() {
            return NextHandler::action_denied("nobody is there to approve it");
        }
        let ToolInvocation { agent, tool, .. } = invocation;
        let detail = format!("`{agent}` wants to use `{tool}` and nobody is there to approve it");
        NextHandler::fail(
            RunError::new("tool.denied", "A tool needs approval", detail)
                .with_hint("approve tools with --yes, or allow this one in settings: \"approvals\""),
        )
    }

    pub(super) fn run_tool(&mut self, invocation: ToolInvocation, risk: ToolRisk) -> NextHandler {
        if self.core.starts_nothing_new() {
            self.core.branches.current.wait_state = WaitState::ToolHeld;
            return NextHandler::Wait;
        }
        if self.answers_itself(&invocation.tool) {
            return self.run_team_tool(invocation);
        }
        if risk != ToolRisk::Read {
            if let Err(next) = self.await_snapshot() {
                return next;
            }
            if let Some(frame) = self.core.frame_mut() {
                frame.files_touched = true;
            }
        }
        let (call, now) = (self.core.next_call(), self.core.now);
        if let Some(open) = self.core.open_reply_mut() {
            open.running_since = Some((now, risk));
        }
        self.core.emit_tool_started(call, &invocation);
        self.core.branches.current.wait_state = WaitState::Tool(call);
        self.core.push_effect(Effect::RunTool { call, invocation, risk });
        if risk == ToolRisk::Read {
            self.start_concurrent_reads();
        }
        NextHandler::Wait
    }

    /// The snapshot that a tool waited for is done, or the user agreed to continue without it.
    pub(super) fn run_waiting_tool(&mut self) -> NextHandler {
        let Some((invocation, risk)) = self.core.current_invocation() else { return NextHandler::Wait };
        self.run_tool(invocation, risk)
    }

    pub(super) fn on_approval_answered(&mut self, call: CallId, decision: ApprovalDecision) -> NextHandler {
        if self.core.branches.current.wait_state != WaitState::Approval(call) {
            return NextHandler::Wait;
        }
        let Some((invocation, risk)) = self.core.current_invocation() else { return NextHandler::Wait };
        self.core.stop_ttl();
        let tool = invocation.tool.clone();
        self.core.emit_event(RunEvent::ApprovalAnswered {
            call,
            tool: tool.clone(),
            decision: decision.clone(),
            arguments: invocation.arguments.clone(),
        });
        match decision {
            ApprovalDecision::Allow => self.run_tool(invocation, risk),
            ApprovalDecision::AllowTool => {
                self.approvals.tools.insert(self.core.approval_name(&tool), ToolPermission::Allow);
                self.run_tool(invocation, risk)
            }
            ApprovalDecision::AllowEdited { arguments } if arguments.is_object() => {
                self.core.edit_invocation(arguments);
                self.run_waiting_tool()
            }
            ApprovalDecision::AllowEdited { .. } => {
                let reason = Some("the arguments must be a JSON object".to_owned());
                self.deny_call(&invocation, reason)
            }
            ApprovalDecision::Deny { reason } => self.deny_call(&invocation, reason),
            ApprovalDecision::Refuse { reason } if self.core.has_pending_action() => {
                let (content, summary) = (reason.clone(), reason);
                NextHandler::action_done(ToolOutcome { content, summary, ..ToolOutcome::default() })
            }
            ApprovalDecision::Refuse { reason } => {
                self.core.refuse_tool_call(&invocation.agent, &tool, &reason);
                self.next_tool()
            }
            ApprovalDecision::Stop => self.not_approved(&invocation),
        }
    }

    /// The user denied the call: the model reads it, or the state fails.
    fn deny_call(&mut self, invocation: &ToolInvocation, reason: Option<String>) -> NextHandler {
        let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        if self.core.has_pending_action() {
            return NextHandler::action_denied(&format!("you denied it{why}"));
        }
        let told = format!("the user denied this call{why}");
        self.core.refuse_tool_call(&invocation.agent, &invocation.tool, &told);
        self.next_tool()
    }

    pub(super) fn on_tool_done(&mut self, call: CallId, outcome: ToolOutcome) -> NextHandler {
        if self.core.branches.current.wait_state == WaitState::Tool(call) {
            self.finish_tool(call, outcome)
        } else {
            self.core.record_concurrent_outcome(call, outcome);
            NextHandler::Wait
        }
    }

    pub(super) fn finish_tool(&mut self, call: CallId, outcome: ToolOutcome) -> NextHandler {
        let Some((invocation, _)) = self.core.current_invocation() else { return NextHandler::Wait };
        self.core.emit_tool_finished(call, invocation, &outcome);
        self.settle_tool(outcome).unwrap_or_else(|| self.next_tool())
    }

    /// What follows from the outcome of the call in front. `None`: the call is answered, the next one is in front.
    pub(super) fn settle_tool(&mut self, outcome: ToolOutcome) -> Option<NextHandler> {
        if outcome.lacks_sandbox && (self.core.has_pending_action() || !self.core.user_present) {
            return Some(self.not_sandboxed(outcome.summary));
        }
        if self.core.has_pending_action() {
            return Some(NextHandler::action_done(outcome));
        }
        self.core.answer_call(outcome.content, outcome.ok);
        None
    }

    /// No sandbox works for a command: where no user can allow it, the run does not continue as if it had been tried.
    fn not_sandboxed(&mut self, why: String) -> NextHandler {
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.step = None;
        }
        NextHandler::fail(
            RunError::new("tool.denied", "A command needs a sandbox, and none works", why)
                .with_hint(synthdev_domain::sandbox::WITHOUT_LAYER),
        )
    }

    /// All calls are answered: the round is complete and the model continues, its decision counts, or the workflow
    /// continues.
    fn after_tools(&mut self) -> NextHandler {
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return NextHandler::Wait;
        };
        let Some(mut open) = turn.open_reply.take() else { return NextHandler::Wait };
        open.fold_batches();
        turn.rounds += 1;
        let calls: Vec<ToolCall> = open.calls.iter().map(|answered| answered.call.clone()).collect();
        turn.add_reply(open.text.clone(), open.calls, open.opaque_blocks);
        let ix = turn.agent;
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let Some(agent) = workflow.agent(ix) else { return NextHandler::Wait };
        if self.has_returned_results() {
            return NextHandler::end_turn(open.text, calls, Vec::new());
        }
        if !open.decision.is_empty() {
            return self.accept_decision(agent, &open.text, open.decision);
        }
        match agent.tool_loop {
            ToolLoop::Auto => NextHandler::CallModel,
            ToolLoop::Step => NextHandler::end_turn(open.text, calls, Vec::new()),
        }
    }
}
