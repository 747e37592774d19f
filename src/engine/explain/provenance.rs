//! Records the source of every value, from the events of a run.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::explanation::{OriginToolCall, ValueOrigin, ValueOriginKind};
use super::reads::{ReadTarget, ResolvedRead};
use super::state_path::{body_of_path, enclosing_prefixes, find_state};
use synthdev_domain::workflow::{StateBody, WorkflowProgram};

#[derive(Default)]
pub(super) struct ProvenanceLog {
    /// The last step of each state.
    steps: BTreeMap<String, u32>,
    /// By body and key: the last write.
    data_writes: BTreeMap<(String, String), DataWrite>,
    /// What each workflow in progress was given, by the prefix of its states.
    workflow_inputs: BTreeMap<String, WorkflowInputs>,
    /// Replies and decisions of the agents, the last of each agent and body.
    utterances: Vec<AgentUtterance>,
    /// The workflows' own tools, the last call of each.
    last_tool_runs: BTreeMap<String, Value>,
    /// The last child workflow of each frame.
    children: BTreeMap<String, ValueOrigin>,
    /// Calls of workflows that have not come back: the calling state and the child's name.
    calling_workflows: Vec<(String, String)>,
}

struct DataWrite {
    value: Option<Value>,
    source: ValueOrigin,
}

struct WorkflowInputs {
    inputs: Map<String, Value>,
    source: ValueOrigin,
}

struct AgentUtterance {
    state: String,
    source: ValueOrigin,
}

impl ProvenanceLog {
    pub(super) fn record_state_entered(&mut self, state: &str, step: u32) {
        self.steps.insert(state.to_owned(), step);
    }

    pub(super) fn step_of_state(&self, state: &str) -> Option<u32> {
        self.steps.get(state).copied()
    }

    /// Something that happened in a state.
    pub(super) fn source(&self, by: ValueOriginKind, state: &str) -> ValueOrigin {
        ValueOrigin {
            by,
            step: self.step_of_state(state),
            state: Some(state.to_owned()),
            agent: None,
            call: None,
        }
    }

    pub(super) fn record_workflow_started(&mut self, inputs: &Map<String, Value>) {
        let source =
            ValueOrigin { by: ValueOriginKind::Input, step: None, state: None, agent: None, call: None };
        self.workflow_inputs.insert(String::new(), WorkflowInputs { inputs: inputs.clone(), source });
    }

    pub(super) fn record_workflow_called(
        &mut self,
        state: &str,
        workflow: &str,
        inputs: &Map<String, Value>,
    ) {
        let prefix = format!("{}{workflow}/", body_of_path(state));
        self.forget_prefix(&prefix);
        let source = self.source(ValueOriginKind::Input, state);
        self.workflow_inputs.insert(prefix, WorkflowInputs { inputs: inputs.clone(), source });
        self.calling_workflows.push((state.to_owned(), workflow.to_owned()));
    }

    pub(super) fn record_workflow_returned(&mut self, program: &WorkflowProgram, workflow: &str) {
        let Some(at) = self.calling_workflows.iter().rposition(|(_, name)| name == workflow) else { return };
        let (state, _) = self.calling_workflows.remove(at);
        let prefix = find_state(program, &state).map(|found| found.prefix).unwrap_or_default();
        let source = self.source(ValueOriginKind::Child, &state);
        self.children.insert(prefix, source);
    }

    /// Bodies begin anew.
    pub(super) fn record_branches_started(&mut self, state: &str) {
        self.forget_prefix(&format!("{state}."));
        self.forget_prefix(&format!("{state}["));
    }

    fn forget_prefix(&mut self, prefix: &str) {
        self.data_writes.retain(|(body, _), _| !body.starts_with(prefix));
        self.utterances.retain(|spoken| !spoken.state.starts_with(prefix));
    }

    /// Keys of `common_data` were set in a state. What a join sets came from inside a branch.
    pub(super) fn record_data_written(
        &mut self,
        state: &str,
        set: &Map<String, Value>,
        removed: &[String],
        source: &ValueOrigin,
    ) {
        for (key, value) in set {
            let inside = format!("{state}.");
            let branch = self.data_writes.iter().rev().find(|((body, name), write)| {
                body.starts_with(&inside) && name == key && write.value.as_ref() == Some(value)
            });
            let source = branch.map_or_else(|| source.clone(), |(_, write)| write.source.clone());
            self.record_key_written(state, key, Some(value.clone()), source);
        }
        for key in removed {
            self.record_key_written(state, key, None, source.clone());
        }
    }

    fn record_key_written(&mut self, state: &str, key: &str, value: Option<Value>, source: ValueOrigin) {
        self.data_writes
            .insert((body_of_path(state).to_owned(), key.to_owned()), DataWrite { value, source });
    }

    pub(super) fn record_agent_reply(&mut self, state: &str, agent: &str, call: Option<OriginToolCall>) {
        let by = if call.is_some() { ValueOriginKind::Decision } else { ValueOriginKind::Reply };
        let source = ValueOrigin { agent: Some(agent.to_owned()), call, ..self.source(by, state) };
        self.utterances.retain(|old| {
            let same = old.state == state && old.source.agent == source.agent;
            // several decisions of one answer are kept beside each other
            !same
                || (by == ValueOriginKind::Decision
                    && old.source.by == ValueOriginKind::Decision
                    && old.source.step == source.step)
        });
        self.utterances.push(AgentUtterance { state: state.to_owned(), source });
    }

    pub(super) fn record_tool_run(&mut self, tool: &str, arguments: &Value) {
        self.last_tool_runs.insert(tool.to_owned(), arguments.clone());
    }

    /// The source of a state's result.
    pub(super) fn result_origin(&self, program: &WorkflowProgram, state: &str) -> ValueOrigin {
        let plain = |by| self.source(by, state);
        let Some(found) = find_state(program, state) else { return plain(ValueOriginKind::Workflow) };
        match &found.state.work {
            StateBody::Agent { .. } => {
                let own = self.utterances.iter().rev().find(|spoken| spoken.state == state);
                own.map_or_else(|| plain(ValueOriginKind::Reply), |spoken| spoken.source.clone())
            }
            StateBody::Action(step) => {
                let arguments = self.last_tool_runs.get(&step.tool).cloned().unwrap_or_default();
                ValueOrigin {
                    call: Some(OriginToolCall { tool: step.tool.clone(), arguments }),
                    ..plain(ValueOriginKind::Tool)
                }
            }
            StateBody::Child { .. } => plain(ValueOriginKind::Child),
            StateBody::Parallel(_) | StateBody::ForEach(_) => plain(ValueOriginKind::Branches),
            StateBody::Pause(_) => plain(ValueOriginKind::Person),
            StateBody::None | StateBody::Wait(_) | StateBody::Fail { .. } => plain(ValueOriginKind::Workflow),
        }
    }

    /// The source of a value that a state reads.
    pub(super) fn read_origin(
        &self,
        program: &WorkflowProgram,
        state: &str,
        named: &ResolvedRead,
    ) -> Option<ValueOrigin> {
        match &named.read_target {
            ReadTarget::Data(Some(key)) => self.data_origin(program, state, key),
            ReadTarget::Data(None) => None,
            ReadTarget::Inputs => self.inputs_origin(program, state),
            ReadTarget::Loop => self.item_origin(state),
            ReadTarget::Result => Some(self.result_origin(program, state)),
            ReadTarget::Last => self.last_reply_origin(program, state, |_| true),
            ReadTarget::Decision(tool) => {
                let made = |source: &ValueOrigin| source.call.as_ref().is_some_and(|call| call.tool == *tool);
                // not called: the agent that answered instead is the reason
                let made = self.last_reply_origin(program, state, made).filter(|_| named.value.is_some());
                made.or_else(|| self.last_reply_origin(program, state, |_| true))
            }
            ReadTarget::Child => {
                let prefix = find_state(program, state).map(|found| found.prefix).unwrap_or_default();
                self.children.get(&prefix).cloned()
            }
            ReadTarget::Agent(id) => {
                self.last_reply_origin(program, state, |source| source.agent.as_ref() == Some(id))
            }
        }
    }

    fn data_origin(&self, program: &WorkflowProgram, state: &str, key: &str) -> Option<ValueOrigin> {
        let found = find_state(program, state)?;
        for body in enclosing_prefixes(state, &found.prefix) {
            if let Some(write) = self.data_writes.get(&(body.to_owned(), key.to_owned())) {
                return Some(write.source.clone());
            }
            if let Some(owner) = item_owner(body)
                && let Some(StateBody::ForEach(spec)) =
                    find_state(program, owner).map(|owner| &owner.state.work)
                && (["total", "is_first", "is_last"].contains(&key) || spec.each == key || spec.at == key)
            {
                return Some(self.source(ValueOriginKind::Item, owner));
            }
        }
        let given = self.workflow_inputs.get(&found.prefix).filter(|given| given.inputs.contains_key(key));
        let variable = || ValueOrigin {
            by: ValueOriginKind::Variables,
            step: None,
            state: None,
            agent: None,
            call: None,
        };
        let declared = found.workflow.variables.contains_key(key);
        given.map(|given| given.source.clone()).or_else(|| declared.then(variable))
    }

    fn inputs_origin(&self, program: &WorkflowProgram, state: &str) -> Option<ValueOrigin> {
        let prefix = find_state(program, state).map(|found| found.prefix)?;
        self.workflow_inputs.get(&prefix).map(|given| given.source.clone())
    }

    fn item_origin(&self, state: &str) -> Option<ValueOrigin> {
        let mut inside = body_of_path(state);
        while !inside.is_empty() {
            if let Some(owner) = item_owner(inside) {
                return Some(self.source(ValueOriginKind::Item, owner));
            }
            inside = body_of_path(&inside[..inside.len() - 1]);
        }
        None
    }

    /// The last reply of an agent in the same workflow that a state can see.
    fn last_reply_origin(
        &self,
        program: &WorkflowProgram,
        state: &str,
        wanted: impl Fn(&ValueOrigin) -> bool,
    ) -> Option<ValueOrigin> {
        let prefix = find_state(program, state)?.prefix;
        let bodies = enclosing_prefixes(state, &prefix);
        let seen = |spoken: &&AgentUtterance| {
            let own = find_state(program, &spoken.state).is_some_and(|found| found.prefix == prefix);
            // a branch that has been joined is part of what is around it
            let inside = spoken.state.starts_with(bodies.first().copied().unwrap_or_default());
            own && (inside || bodies.contains(&body_of_path(&spoken.state))) && wanted(&spoken.source)
        };
        self.utterances.iter().rev().find(seen).map(|spoken| spoken.source.clone())
    }
}

/// The state whose item a body is: `each` of `each[3]/`.
fn item_owner(body: &str) -> Option<&str> {
    let (owner, at) = body.strip_suffix("]/")?.rsplit_once('[')?;
    at.bytes().all(|byte| byte.is_ascii_digit()).then_some(owner)
}
