//! The tool call or action that a branch is at.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Branch;
use super::machine_core::MachineCore;
use crate::agent_turn::EditedCall;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::message::ToolCall;
use synthdev_domain::tool::{EXECUTE_SCRIPT, READ_FILES, ToolInvocation, ToolRisk, ToolSpec};
use synthdev_domain::workflow::StateBody;

impl MachineCore {
    /// The first unanswered call of a branch's reply, and the agent that made it.
    pub(super) fn pending_tool_call<'a>(
        &'a self,
        branch: &'a Branch,
    ) -> Option<(&'a AgentSpec, &'a ToolCall)> {
        let turn = branch.frames.last()?.agent_turn.as_ref()?;
        self.tool_call_at(branch, *turn.open_reply.as_ref()?.pending_calls.front()?)
    }

    /// A call of a branch's reply, by its position, and the agent that made it.
    pub(super) fn tool_call_at<'a>(
        &'a self,
        branch: &'a Branch,
        at: usize,
    ) -> Option<(&'a AgentSpec, &'a ToolCall)> {
        let frame = branch.frames.last()?;
        let turn = frame.agent_turn.as_ref()?;
        let call = &turn.open_reply.as_ref()?.calls.get(at)?.call;
        let agent = self.spec.program.workflows.get(frame.workflow.0)?.agent(turn.agent)?;
        Some((agent, call))
    }

    pub(super) fn current_invocation(&self) -> Option<(ToolInvocation, ToolRisk)> {
        self.pending_invocation(&self.branches.current)
    }

    /// The tool call that a branch is at.
    pub(super) fn pending_invocation(&self, branch: &Branch) -> Option<(ToolInvocation, ToolRisk)> {
        if let Some(step) = branch.frames.last().and_then(|frame| frame.visit.step.clone()) {
            return Some(step);
        }
        let turn = branch.frames.last()?.agent_turn.as_ref()?;
        self.invocation_at(branch, *turn.open_reply.as_ref()?.pending_calls.front()?)
    }

    /// A call of a branch's reply, by its position, if the agent has this tool.
    pub(super) fn invocation_at(&self, branch: &Branch, at: usize) -> Option<(ToolInvocation, ToolRisk)> {
        let (agent, call) = self.tool_call_at(branch, at)?;
        let (spec, arguments) = check_tool_call(agent, &call.name, &call.arguments).ok()?;
        let mut invocation = self.agent_invocation(agent, call, arguments, branch);
        let open = branch.frames.last()?.agent_turn.as_ref()?.open_reply.as_ref()?;
        if let Some(edited) = open.edited_call.as_ref().filter(|edited| edited.at == at) {
            // what the model sent is not executed
            (invocation.arguments, invocation.original) = (edited.arguments.clone(), None);
        }
        Some((invocation, spec.risk))
    }

    /// The call that the branch is at runs with these arguments.
    pub(super) fn edit_invocation(&mut self, arguments: Value) {
        let step = self.frame_mut().and_then(|frame| frame.visit.step.as_mut());
        if let Some((invocation, _)) = step {
            (invocation.arguments, invocation.original) = (arguments, None);
            return;
        }
        let Some(open) = self.open_reply_mut() else { return };
        if let Some(at) = open.pending_calls.front().copied() {
            open.edited_call = Some(EditedCall { at, arguments });
        }
    }

    /// A call of an agent whose name and arguments were checked.
    pub(super) fn agent_invocation(
        &self,
        agent: &AgentSpec,
        call: &ToolCall,
        arguments: Value,
        branch: &Branch,
    ) -> ToolInvocation {
        let may_read = || agent.tools.iter().any(|tool| tool.name == READ_FILES);
        let spawned = branch.spawned.as_ref().map(|spawned| spawned.name.clone());
        ToolInvocation {
            agent: spawned.unwrap_or_else(|| agent.id.clone()),
            tool: call.name.clone(),
            arguments,
            network: agent.network,
            loopback_ports: self.loopback_ports(branch),
            reads_files: call.name == EXECUTE_SCRIPT && may_read(),
            original: call.original.clone(),
            run: None,
        }
    }

    /// Ports of the workflow that a branch is in, independent of its caller.
    pub(super) fn loopback_ports(&self, branch: &Branch) -> BTreeSet<u16> {
        let workflow =
            branch.frames.last().and_then(|frame| self.spec.program.workflows.get(frame.workflow.0));
        workflow.map(|workflow| workflow.loopback_ports.clone()).unwrap_or_default()
    }

    /// Under which name "always" is remembered: a tool of agents, or this one step.
    pub(super) fn approval_name(&self, tool: &str) -> String {
        match self.current_state() {
            Some((workflow, state)) if matches!(state.work, StateBody::Action(_)) => {
                format!("step:{}/{}", workflow.name, state.name)
            }
            _ => tool.to_owned(),
        }
    }

    /// Writes the answer of the call in front and takes it off the queue.
    pub(super) fn answer_call(&mut self, answer: String, ok: bool) {
        let Some(open) = self.open_reply_mut() else { return };
        let Some(at) = open.pending_calls.pop_front() else { return };
        open.running_since = None;
        let edited = open.edited_call.take().filter(|edited| edited.at == at);
        if let Some(call) = open.calls.get_mut(at) {
            call.answer = match edited {
                Some(EditedCall { arguments, .. }) => {
                    format!(
                        "[the user changed this call before allowing it; it ran with {arguments}]\n{answer}"
                    )
                }
                None => answer,
            };
            call.ok = ok;
        }
    }
}

/// Only tools of the agent's own list run, and only with a JSON object as arguments.
pub(super) fn check_tool_call<'a>(
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
