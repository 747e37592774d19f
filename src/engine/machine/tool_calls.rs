//! The ordinary calls of a reply, one after the other: permission, approval, snapshot, run, answer.

use std::collections::BTreeSet;

use serde_json::Value;

use super::guidance_files::UNASKED;
use super::{Branch, CallId, Effect, Machine, Next, RunEvent, WaitState};
use synthdev_domain::agent::{AgentSpec, ToolLoop};
use synthdev_domain::approval::{ApprovalDecision, ToolPermission};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::message::ToolCall;
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::{ASK_PERSON, ToolInvocation, ToolOutcome, ToolRisk, ToolSpec};

impl Machine {
    /// Continues with the next waiting call, or with the turn when none is left.
    pub(super) fn next_tool(&mut self) -> Next {
        while let Some((agent, call)) = self.pending_tool_call(&self.core.branches.current) {
            let (agent_id, name, original) = (agent.id.clone(), call.name.clone(), call.original.clone());
            let network = agent.network;
            match check_tool_call(agent, &name, &call.arguments)
                .map(|(spec, arguments)| (spec.risk, arguments))
            {
                Err(reason) => self.refuse_tool_call(&agent_id, &name, &reason),
                Ok(_) if self.breakpoints.breaks_before_tool(&mut self.core, &name) => return Next::Wait,
                Ok((_, arguments)) if name == ASK_PERSON => {
                    return self.show_agent_question(&agent_id, &arguments);
                }
                Ok((risk, arguments)) => {
                    let (agent, tool) = (agent_id.clone(), name.clone());
                    let loopback_ports = self.loopback_ports(&self.core.branches.current);
                    let invocation =
                        ToolInvocation { agent, tool, arguments, network, loopback_ports, original };
                    let rule = self.approvals.permission_for(&name, risk);
                    match self.guarded_permission(rule, &invocation, risk) {
                        ToolPermission::Allow => return self.run_tool(invocation, risk),
                        ToolPermission::Ask => return self.ask_approval(invocation, risk),
                        ToolPermission::Deny if rule == ToolPermission::Allow => {
                            self.refuse_tool_call(&agent_id, &name, UNASKED);
                        }
                        ToolPermission::Deny => {
                            self.refuse_tool_call(&agent_id, &name, "denied by the approval policy")
                        }
                    }
                }
            }
        }
        self.after_tools()
    }

    /// Without a user, and if the workflow itself handles a refusal, the call is refused at once.
    pub(super) fn ask_approval(&mut self, invocation: ToolInvocation, risk: ToolRisk) -> Next {
        if !self.core.user_present && self.is_dealt_with("tool.denied") {
            return self.not_approved(&invocation);
        }
        let call = self.core.next_call();
        self.core.branches.current.phase = WaitState::Approval(call);
        self.core.branches.current.waiting_since = self.core.now;
        self.core.branches.current.was_shown = self.core.can_show_question();
        if self.core.branches.current.was_shown {
            let until = self.approval_deadline_from_now();
            let state = self.core.state_name();
            self.core.push_effect(Effect::AskApproval { call, state, invocation, risk, deadline: until });
        }
        Next::Wait
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
        self.stop_ttl();
        self.core.branches.current.waiting_since = self.core.now;
        self.approval_deadline_from_now();
    }

    /// When the approval that a branch waits for is denied by itself.
    pub(super) fn approval_deadline(&self, lane: &Branch) -> Option<Timestamp> {
        lane.frames.last()?.visit.pause_timer?;
        let ms = i64::try_from(self.approvals.deadline_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Some(Timestamp(lane.waiting_since.0.saturating_add(ms)))
    }

    /// The deadline has passed without an answer: the call is denied.
    pub(super) fn on_approval_timeout(&mut self, call: CallId) -> Next {
        if self.core.branches.current.was_shown {
            self.core.push_effect(Effect::Abort { call });
            self.core.branches.current.was_shown = false;
        }
        let reason = Some("nobody answered in time".to_owned());
        self.on_approved(call, ApprovalDecision::Deny { reason })
    }

    fn not_approved(&mut self, invocation: &ToolInvocation) -> Next {
        if self.core.is_action_state() {
            return Next::step_denied("nobody is there to approve it");
        }
        let ToolInvocation { agent, tool, .. } = invocation;
        let detail = format!("`{agent}` wants to use `{tool}` and nobody is there to approve it");
        Next::fail(
            RunError::new("tool.denied", "A tool needs approval", detail)
                .with_hint("approve tools with --yes, or allow this one in settings: \"approvals\""),
        )
    }

    /// The first unanswered call of a branch's reply, and the agent that made it.
    fn pending_tool_call<'a>(&'a self, lane: &'a Branch) -> Option<(&'a AgentSpec, &'a ToolCall)> {
        let frame = lane.frames.last()?;
        let turn = frame.agent_turn.as_ref()?;
        let open = turn.open_reply.as_ref()?;
        let call = &open.calls.get(*open.pending_calls.front()?)?.call;
        let agent = self.core.spec.program.workflows.get(frame.workflow.0)?.agent(turn.agent)?;
        Some((agent, call))
    }

    pub(super) fn current_invocation(&self) -> Option<(ToolInvocation, ToolRisk)> {
        self.pending_invocation(&self.core.branches.current)
    }

    /// The tool call that a branch is at.
    pub(super) fn pending_invocation(&self, lane: &Branch) -> Option<(ToolInvocation, ToolRisk)> {
        if let Some(step) = lane.frames.last().and_then(|frame| frame.visit.step.clone()) {
            return Some(step);
        }
        let (agent, call) = self.pending_tool_call(lane)?;
        let (spec, arguments) = check_tool_call(agent, &call.name, &call.arguments).ok()?;
        let (network, original) = (agent.network, call.original.clone());
        let (agent, tool) = (agent.id.clone(), call.name.clone());
        let loopback_ports = self.loopback_ports(lane);
        Some((ToolInvocation { agent, tool, arguments, network, loopback_ports, original }, spec.risk))
    }

    /// Ports of the workflow that a branch is in, independent of its caller.
    pub(super) fn loopback_ports(&self, lane: &Branch) -> BTreeSet<u16> {
        let workflow =
            lane.frames.last().and_then(|frame| self.core.spec.program.workflows.get(frame.workflow.0));
        workflow.map(|workflow| workflow.loopback_ports.clone()).unwrap_or_default()
    }

    pub(super) fn refuse_tool_call(&mut self, agent: &str, tool: &str, reason: &str) {
        self.core.emit_event(RunEvent::ToolRefused {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
            reason: reason.to_owned(),
        });
        self.answer_call(format!("not executed: {reason}"), false);
    }

    /// Writes the answer of the call in front and takes it off the queue.
    fn answer_call(&mut self, answer: String, ok: bool) {
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else { return };
        let Some(open) = turn.open_reply.as_mut() else { return };
        let Some(at) = open.pending_calls.pop_front() else { return };
        open.running_since = None;
        if let Some(call) = open.calls.get_mut(at) {
            call.answer = answer;
            call.ok = ok;
        }
    }

    pub(super) fn run_tool(&mut self, invocation: ToolInvocation, risk: ToolRisk) -> Next {
        if self.core.starts_nothing_new() {
            self.core.branches.current.phase = WaitState::ToolHeld;
            return Next::Wait;
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
        if let Some(open) =
            self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()?.open_reply.as_mut())
        {
            open.running_since = Some((now, risk));
        }
        self.core.emit_event(RunEvent::ToolStarted {
            call,
            agent: invocation.agent.clone(),
            tool: invocation.tool.clone(),
            arguments: invocation.arguments.clone(),
        });
        self.core.branches.current.phase = WaitState::Tool(call);
        self.core.push_effect(Effect::RunTool { call, invocation, risk });
        Next::Wait
    }

    /// The snapshot that a tool waited for is done, or the user agreed to continue without it.
    pub(super) fn run_waiting_tool(&mut self) -> Next {
        let Some((invocation, risk)) = self.current_invocation() else { return Next::Wait };
        self.run_tool(invocation, risk)
    }

    pub(super) fn on_approved(&mut self, call: CallId, decision: ApprovalDecision) -> Next {
        if self.core.branches.current.phase != WaitState::Approval(call) {
            return Next::Wait;
        }
        let Some((invocation, risk)) = self.current_invocation() else { return Next::Wait };
        self.stop_ttl();
        let tool = invocation.tool.clone();
        self.core.emit_event(RunEvent::ApprovalAnswered {
            call,
            tool: tool.clone(),
            decision: decision.clone(),
        });
        match decision {
            ApprovalDecision::Allow => self.run_tool(invocation, risk),
            ApprovalDecision::AllowTool => {
                self.approvals.tools.insert(self.approval_name(&tool), ToolPermission::Allow);
                self.run_tool(invocation, risk)
            }
            ApprovalDecision::Deny { reason } => {
                let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                if self.core.is_action_state() {
                    return Next::step_denied(&format!("you denied it{why}"));
                }
                self.refuse_tool_call(&invocation.agent, &tool, &format!("the user denied this call{why}"));
                self.next_tool()
            }
            ApprovalDecision::Refuse { reason } if self.core.is_action_state() => {
                let (content, summary) = (reason.clone(), reason);
                Next::step_done(ToolOutcome { content, summary, ..ToolOutcome::default() })
            }
            ApprovalDecision::Refuse { reason } => {
                self.refuse_tool_call(&invocation.agent, &tool, &reason);
                self.next_tool()
            }
            ApprovalDecision::Stop => self.not_approved(&invocation),
        }
    }

    pub(super) fn on_tool_done(&mut self, call: CallId, outcome: ToolOutcome) -> Next {
        if self.core.branches.current.phase == WaitState::Tool(call) {
            self.finish_tool(call, outcome)
        } else {
            Next::Wait
        }
    }

    pub(super) fn finish_tool(&mut self, call: CallId, outcome: ToolOutcome) -> Next {
        let Some((invocation, _)) = self.current_invocation() else { return Next::Wait };
        self.core.emit_event(RunEvent::ToolFinished {
            call,
            agent: invocation.agent,
            tool: invocation.tool,
            ok: outcome.ok,
            summary: outcome.summary.clone(),
            content: outcome.content.clone(),
            duration_ms: outcome.duration_ms,
        });
        if outcome.lacks_sandbox && (self.core.is_action_state() || !self.core.user_present) {
            return self.not_sandboxed(outcome.summary);
        }
        if self.core.is_action_state() {
            return Next::step_done(outcome);
        }
        self.answer_call(outcome.content, outcome.ok);
        self.next_tool()
    }

    /// No sandbox works for a command: where no user can allow it, the run does not continue as if it had been tried.
    fn not_sandboxed(&mut self, why: String) -> Next {
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.step = None;
        }
        Next::fail(
            RunError::new("tool.denied", "A command needs a sandbox, and none works", why)
                .with_hint(synthdev_domain::sandbox::WITHOUT_LAYER),
        )
    }

    /// All calls are answered: the round is complete and the model continues, its decision counts, or the workflow
    /// continues.
    fn after_tools(&mut self) -> Next {
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return Next::Wait;
        };
        let Some(open) = turn.open_reply.take() else { return Next::Wait };
        turn.rounds += 1;
        let calls: Vec<ToolCall> = open.calls.iter().map(|answered| answered.call.clone()).collect();
        turn.add_reply(open.text.clone(), open.calls, open.opaque_blocks);
        let ix = turn.agent;
        let Some(workflow) = self.core.workflow() else { return Next::Wait };
        let Some(agent) = workflow.agent(ix) else { return Next::Wait };
        if !open.decision.is_empty() {
            return self.accept_decision(agent, &open.text, open.decision);
        }
        match agent.tool_loop {
            ToolLoop::Auto => Next::CallModel,
            ToolLoop::Step => Next::end_visit(open.text, calls, Vec::new()),
        }
    }
}

/// Only tools of the agent's own list run, and only with a JSON object as arguments.
fn check_tool_call<'a>(
    agent: &'a AgentSpec,
    name: &str,
    arguments: &str,
) -> Result<(&'a ToolSpec, Value), String> {
    let Some(spec) = agent.tools.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = agent.tools.iter().map(|tool| tool.name.as_str()).collect();
        let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!("there is no tool `{name}` for `{}`; available: {list}", agent.id));
    };
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => Ok((spec, value)),
        Ok(_) => Err("the arguments must be a JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}
