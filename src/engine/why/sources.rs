//! The book of who supplied what, as the events of a run tell it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::answer::{By, Call, Source};
use super::reads::{Named, What};
use super::whereabouts::{around, body, find};
use crate::domain::workflow::{Program, Work};

#[derive(Default)]
pub(super) struct Book {
    /// The last step of each state.
    steps: BTreeMap<String, u32>,
    /// By body and key: the last write.
    writes: BTreeMap<(String, String), Write>,
    /// What each workflow in progress was given, by the prefix of its states.
    given: BTreeMap<String, Given>,
    /// What the agents said and decided, the last of each agent and body.
    spoken: Vec<Spoken>,
    /// The workflows' own tools, the last call of each.
    ran: BTreeMap<String, Value>,
    /// The last child workflow of each frame.
    children: BTreeMap<String, Source>,
    /// Calls of workflows that have not come back: the calling state and the child's name.
    calling: Vec<(String, String)>,
}

struct Write {
    value: Option<Value>,
    source: Source,
}

struct Given {
    inputs: Map<String, Value>,
    source: Source,
}

struct Spoken {
    state: String,
    source: Source,
}

impl Book {
    pub(super) fn entered(&mut self, state: &str, step: u32) {
        self.steps.insert(state.to_owned(), step);
    }

    pub(super) fn step(&self, state: &str) -> Option<u32> {
        self.steps.get(state).copied()
    }

    /// Something that happened in a state.
    pub(super) fn source(&self, by: By, state: &str) -> Source {
        Source { by, step: self.step(state), state: Some(state.to_owned()), agent: None, call: None }
    }

    pub(super) fn started(&mut self, inputs: &Map<String, Value>) {
        let source = Source { by: By::Input, step: None, state: None, agent: None, call: None };
        self.given.insert(String::new(), Given { inputs: inputs.clone(), source });
    }

    pub(super) fn called(&mut self, state: &str, workflow: &str, inputs: &Map<String, Value>) {
        let prefix = format!("{}{workflow}/", body(state));
        self.forget(&prefix);
        let source = self.source(By::Input, state);
        self.given.insert(prefix, Given { inputs: inputs.clone(), source });
        self.calling.push((state.to_owned(), workflow.to_owned()));
    }

    pub(super) fn returned(&mut self, program: &Program, workflow: &str) {
        let Some(at) = self.calling.iter().rposition(|(_, name)| name == workflow) else { return };
        let (state, _) = self.calling.remove(at);
        let prefix = find(program, &state).map(|found| found.prefix).unwrap_or_default();
        let source = self.source(By::Child, &state);
        self.children.insert(prefix, source);
    }

    /// Bodies begin anew.
    pub(super) fn forked(&mut self, state: &str) {
        self.forget(&format!("{state}."));
        self.forget(&format!("{state}["));
    }

    fn forget(&mut self, prefix: &str) {
        self.writes.retain(|(body, _), _| !body.starts_with(prefix));
        self.spoken.retain(|spoken| !spoken.state.starts_with(prefix));
    }

    /// Keys of `common_data` were set in a state. What a join sets came from inside a branch.
    pub(super) fn wrote(
        &mut self,
        state: &str,
        set: &Map<String, Value>,
        removed: &[String],
        source: &Source,
    ) {
        for (key, value) in set {
            let inside = format!("{state}.");
            let branch = self.writes.iter().rev().find(|((body, name), write)| {
                body.starts_with(&inside) && name == key && write.value.as_ref() == Some(value)
            });
            let source = branch.map_or_else(|| source.clone(), |(_, write)| write.source.clone());
            self.write(state, key, Some(value.clone()), source);
        }
        for key in removed {
            self.write(state, key, None, source.clone());
        }
    }

    fn write(&mut self, state: &str, key: &str, value: Option<Value>, source: Source) {
        self.writes.insert((body(state).to_owned(), key.to_owned()), Write { value, source });
    }

    pub(super) fn spoke(&mut self, state: &str, agent: &str, call: Option<Call>) {
        let by = if call.is_some() { By::Decision } else { By::Reply };
        let source = Source { agent: Some(agent.to_owned()), call, ..self.source(by, state) };
        self.spoken.retain(|old| {
            let same = old.state == state && old.source.agent == source.agent;
            // several decisions of one answer stand beside each other
            !same || (by == By::Decision && old.source.by == By::Decision && old.source.step == source.step)
        });
        self.spoken.push(Spoken { state: state.to_owned(), source });
    }

    pub(super) fn ran(&mut self, tool: &str, arguments: &Value) {
        self.ran.insert(tool.to_owned(), arguments.clone());
    }

    /// Who supplied the result of a state's work.
    pub(super) fn work(&self, program: &Program, state: &str) -> Source {
        let plain = |by| self.source(by, state);
        let Some(found) = find(program, state) else { return plain(By::Workflow) };
        match &found.state.work {
            Work::Agent { .. } => {
                let own = self.spoken.iter().rev().find(|spoken| spoken.state == state);
                own.map_or_else(|| plain(By::Reply), |spoken| spoken.source.clone())
            }
            Work::Step(step) => {
                let arguments = self.ran.get(&step.tool).cloned().unwrap_or_default();
                Source { call: Some(Call { tool: step.tool.clone(), arguments }), ..plain(By::Tool) }
            }
            Work::Child { .. } => plain(By::Child),
            Work::Parallel(_) | Work::ForEach(_) => plain(By::Branches),
            Work::Pause(_) => plain(By::Person),
            Work::None | Work::Wait(_) | Work::Fail { .. } => plain(By::Workflow),
        }
    }

    /// Who supplied what is read in a state.
    pub(super) fn of(&self, program: &Program, state: &str, named: &Named) -> Option<Source> {
        match &named.what {
            What::Data(Some(key)) => self.of_data(program, state, key),
            What::Data(None) => None,
            What::Inputs => self.of_inputs(program, state),
            What::Loop => self.of_item(state),
            What::Result => Some(self.work(program, state)),
            What::Last => self.last(program, state, |_| true),
            What::Decision(tool) => {
                let made = |source: &Source| source.call.as_ref().is_some_and(|call| call.tool == *tool);
                // not called: who spoke instead says why
                let made = self.last(program, state, made).filter(|_| named.value.is_some());
                made.or_else(|| self.last(program, state, |_| true))
            }
            What::Child => {
                let prefix = find(program, state).map(|found| found.prefix).unwrap_or_default();
                self.children.get(&prefix).cloned()
            }
            What::Agent(id) => self.last(program, state, |source| source.agent.as_ref() == Some(id)),
        }
    }

    fn of_data(&self, program: &Program, state: &str, key: &str) -> Option<Source> {
        let found = find(program, state)?;
        for body in around(state, &found.prefix) {
            if let Some(write) = self.writes.get(&(body.to_owned(), key.to_owned())) {
                return Some(write.source.clone());
            }
            if let Some(owner) = item_owner(body)
                && let Some(Work::ForEach(spec)) = find(program, owner).map(|owner| &owner.state.work)
                && (["total", "is_first", "is_last"].contains(&key) || spec.each == key || spec.at == key)
            {
                return Some(self.source(By::Item, owner));
            }
        }
        let given = self.given.get(&found.prefix).filter(|given| given.inputs.contains_key(key));
        let variable = || Source { by: By::Variables, step: None, state: None, agent: None, call: None };
        let declared = found.workflow.variables.contains_key(key);
        given.map(|given| given.source.clone()).or_else(|| declared.then(variable))
    }

    fn of_inputs(&self, program: &Program, state: &str) -> Option<Source> {
        let prefix = find(program, state).map(|found| found.prefix)?;
        self.given.get(&prefix).map(|given| given.source.clone())
    }

    fn of_item(&self, state: &str) -> Option<Source> {
        let mut inside = body(state);
        while !inside.is_empty() {
            if let Some(owner) = item_owner(inside) {
                return Some(self.source(By::Item, owner));
            }
            inside = body(&inside[..inside.len() - 1]);
        }
        None
    }

    /// The last that an agent said in the same workflow, where it can be seen from a state.
    fn last(&self, program: &Program, state: &str, wanted: impl Fn(&Source) -> bool) -> Option<Source> {
        let prefix = find(program, state)?.prefix;
        let bodies = around(state, &prefix);
        let seen = |spoken: &&Spoken| {
            let own = find(program, &spoken.state).is_some_and(|found| found.prefix == prefix);
            // a branch that has been joined is part of what is around it
            let inside = spoken.state.starts_with(bodies.first().copied().unwrap_or_default());
            own && (inside || bodies.contains(&body(&spoken.state))) && wanted(&spoken.source)
        };
        self.spoken.iter().rev().find(seen).map(|spoken| spoken.source.clone())
    }
}

/// The state whose item a body is: `each` of `each[3]/`.
fn item_owner(body: &str) -> Option<&str> {
    let (owner, at) = body.strip_suffix("]/")?.rsplit_once('[')?;
    at.bytes().all(|byte| byte.is_ascii_digit()).then_some(owner)
}
