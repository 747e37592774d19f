//! Calls of one reply that run side by side: the reading calls of a `multicall`, and agents that are started in the
//! foreground.
//!
//! The call in front decides what the branch waits for. The calls behind it that need no answer of the user may begin with
//! it; their results are kept until they are in front. Answers stay in the order of the calls, and a call that changes
//! something begins only when all calls before it are answered.

use super::machine_core::MachineCore;
use super::pending_invocation::check_tool_call;
use super::{CallId, Effect, Machine};
use crate::agent_turn::{ConcurrentCall, OpenReply};
use crate::branch::Branch;
use synthdev_domain::agent_team::{SPAWN_AGENT, SpawnArguments};
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::tool::{ASK_PERSON, ToolInvocation, ToolOutcome, ToolRisk};

impl OpenReply {
    /// The positions behind the call in front that are in the same `multicall`.
    fn rest_of_batch(&self) -> Vec<usize> {
        let front = self.pending_calls.front().copied();
        let batch = self
            .batches
            .iter()
            .find(|batch| front.is_some_and(|at| at > batch.at && at <= batch.at + batch.count));
        let Some(batch) = batch else { return Vec::new() };
        self.pending_calls.iter().skip(1).copied().take_while(|at| *at <= batch.at + batch.count).collect()
    }
}

impl Branch {
    /// Calls that run beside the one that the branch waits for.
    pub fn concurrent_calls(&self) -> impl Iterator<Item = CallId> {
        let turn = self.frames.last().and_then(|frame| frame.agent_turn.as_ref());
        let open = turn.and_then(|turn| turn.open_reply.as_ref());
        open.into_iter()
            .flat_map(|open| &open.concurrent_calls)
            .filter(|call| call.is_running())
            .map(|call| call.call)
    }
}

impl MachineCore {
    pub(super) fn open_reply_mut(&mut self) -> Option<&mut OpenReply> {
        self.frame_mut()?.agent_turn.as_mut()?.open_reply.as_mut()
    }

    /// The call in front, if it began beside an earlier one.
    pub(super) fn take_concurrent_call(&mut self) -> Option<ConcurrentCall> {
        let open = self.open_reply_mut()?;
        let front = *open.pending_calls.front()?;
        let nth = open.concurrent_calls.iter().position(|begun| begun.at == front)?;
        let begun = open.concurrent_calls.remove(nth);
        open.running_since = Some((begun.since, ToolRisk::Read));
        Some(begun)
    }

    /// Stops the calls that run beside the one that the current branch waits for.
    pub(super) fn stop_concurrent_calls(&mut self) {
        let calls: Vec<CallId> = self.branches.current.concurrent_calls().collect();
        for call in calls {
            self.push_effect(Effect::Abort { call });
        }
        if let Some(open) = self.open_reply_mut() {
            open.concurrent_calls.iter_mut().for_each(|begun| begun.is_stopped = true);
        }
    }

    /// The process died while the call ran: the user is asked about it when it is in front.
    pub(super) fn mark_uncertain(&mut self, call: CallId, reason: String) {
        let Some(open) = self.open_reply_mut() else { return };
        if let Some(begun) = open.concurrent_calls.iter_mut().find(|begun| begun.call == call) {
            begun.uncertain = Some(reason);
        }
    }

    /// Keeps the outcome of a call until the calls before it are answered.
    pub(super) fn record_concurrent_outcome(&mut self, call: CallId, outcome: ToolOutcome) {
        let runs = |begun: &&mut ConcurrentCall| begun.call == call && begun.is_running();
        let Some(open) = self.open_reply_mut() else { return };
        let Some(begun) = open.concurrent_calls.iter_mut().find(runs) else { return };
        begun.outcome = Some(outcome.clone());
        let at = begun.at;
        if let Some((invocation, _)) = self.invocation_at(&self.branches.current, at) {
            self.emit_tool_finished(call, invocation, &outcome);
        }
    }

    fn add_concurrent_call(&mut self, begun: ConcurrentCall) {
        if let Some(open) = self.open_reply_mut() {
            open.concurrent_calls.push(begun);
        }
    }

    /// The calls behind the one in front that may begin beside it, while none has.
    fn calls_behind(&mut self, of_batch: bool) -> Vec<usize> {
        if !self.spec.runs_calls_side_by_side() || self.has_pending_action() || self.starts_nothing_new() {
            return Vec::new();
        }
        let Some(open) = self.open_reply_mut().filter(|open| open.concurrent_calls.is_empty()) else {
            return Vec::new();
        };
        if of_batch { open.rest_of_batch() } else { open.pending_calls.iter().skip(1).copied().collect() }
    }
}

impl Machine {
    /// Begins the reading calls of the same `multicall`, up to the first that changes something or that the user must allow.
    pub(super) fn start_concurrent_reads(&mut self) {
        for at in self.core.calls_behind(true) {
            let Some((invocation, ToolRisk::Read)) = self.unasked_call_at(at) else { return };
            if self.answers_itself(&invocation.tool) {
                return;
            }
            let (call, since) = (self.core.next_call(), self.core.now);
            self.core.emit_tool_started(call, &invocation);
            self.core.push_effect(Effect::RunTool { call, invocation, risk: ToolRisk::Read });
            self.core.add_concurrent_call(ConcurrentCall::of_tool(at, call, since));
        }
    }

    /// Begins the agents that the next calls of the reply start in the foreground.
    pub(super) fn start_concurrent_agents(&mut self) {
        for at in self.core.calls_behind(false) {
            let Some((invocation, _)) = self.unasked_call_at(at).filter(|(it, _)| it.tool == SPAWN_AGENT)
            else {
                return;
            };
            let Ok(arguments) = serde_json::from_value::<SpawnArguments>(invocation.arguments.clone()) else {
                return;
            };
            let Some(rights) = self.spawn_rights().filter(|_| !arguments.background) else { return };
            let Ok(checked) = self.check_spawn(&rights, &arguments) else { return };
            let (call, since) = (self.core.next_call(), self.core.now);
            self.core.emit_tool_started(call, &invocation);
            let agent = self.begin_agent(call, &invocation.agent, checked, arguments);
            let Some(number) = agent else { return };
            self.core.add_concurrent_call(ConcurrentCall {
                agent: Some(number),
                ..ConcurrentCall::of_tool(at, call, since)
            });
        }
    }

    /// A call of the open reply that needs neither the user nor a stop before it.
    fn unasked_call_at(&self, at: usize) -> Option<(ToolInvocation, ToolRisk)> {
        let (agent, call) = self.core.tool_call_at(&self.core.branches.current, at)?;
        let (spec, arguments) = check_tool_call(agent, &call.name, &call.arguments).ok()?;
        let invocation = self.core.agent_invocation(agent, call, arguments, &self.core.branches.current);
        let rule = self.approvals.permission_for(&invocation.tool, spec.risk);
        let is_free = invocation.tool != ASK_PERSON
            && !self.breakpoints.stops_before_tools()
            && self.guarded_permission(rule, &invocation, spec.risk) == ToolPermission::Allow;
        is_free.then_some((invocation, spec.risk))
    }
}
