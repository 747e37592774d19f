//! From a checked program to its graph: which ways there are, and what can be reached by them.

use std::collections::HashSet;

use super::bodies::{GraphBodies, GraphBody, group_bodies};
use super::labels;
use super::model::{EdgeKind, GraphEdge, GraphHandler, GraphNode, NodeKind, WorkflowGraph};
use super::state_details::state_details;
use synthdev_domain::ids::{StateIx, WorkflowIx};
use synthdev_domain::workflow::{
    NoMatch, OnError, StateBody, StateSpec, ValueSource, Workflow, WorkflowProgram,
};

impl WorkflowGraph {
    /// The graph of one workflow of a program; `None` if there is no such workflow.
    pub fn from_program(program: &WorkflowProgram, at: WorkflowIx) -> Option<Self> {
        let workflow = program.workflows.get(at.0)?;
        let GraphBodies { list, body_of_state: of_state } = group_bodies(workflow);
        let nodes: Vec<GraphNode> = workflow
            .states
            .iter()
            .zip(&of_state)
            .map(|(state, group)| build_node(program, workflow, state, group.map(|at| (at, &list[at]))))
            .collect();
        let edges =
            workflow.states.iter().enumerate().flat_map(|(from, state)| build_edges(workflow, from, state));
        let mut graph = Self {
            workflow: workflow.name.clone(),
            description: workflow.description.clone(),
            start: workflow.start.0,
            edges: edges.filter(|edge| edge.to < nodes.len()).collect(),
            groups: list.into_iter().map(|body| body.group).collect(),
            handlers: build_handlers(workflow),
            nodes,
        };
        graph.mark_reachable(workflow);
        Some(graph)
    }

    /// The graphs of a program with their indices: workflow `at` first, then with `children` every other one that it
    /// reaches.
    pub fn with_children(program: &WorkflowProgram, at: usize, children: bool) -> Vec<(usize, Self)> {
        let (mut wanted, mut known) = (vec![at], HashSet::from([at]));
        let mut found: Vec<(usize, Self)> = Vec::new();
        while let Some(next) = wanted.get(found.len()).copied() {
            let Some(graph) = Self::from_program(program, WorkflowIx(next)) else { break };
            for called in graph.nodes.iter().filter_map(|node| node.calls).filter(|_| children) {
                if known.insert(called) {
                    wanted.push(called);
                }
            }
            found.push((next, graph));
        }
        found
    }

    /// Follows every way from the start; an end of which the file says nothing and that nothing leads to is hidden.
    fn mark_reachable(&mut self, workflow: &Workflow) {
        let mut open: Vec<usize> = vec![self.start];
        open.extend(self.handlers.iter().map(|handler| handler.to));
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes.get_mut(at) else { continue };
            if !std::mem::replace(&mut node.reachable, true) {
                open.extend(self.outgoing_edges(at).map(|edge| edge.to));
                open.extend(self.bodies(at).map(|(_, group)| group.start));
            }
        }
        for (node, state) in self.nodes.iter_mut().zip(&workflow.states) {
            node.hidden = !node.reachable
                && state.terminal
                && node.label == "stop"
                && state.output == ValueSource::Absent;
        }
    }
}

fn build_node(
    program: &WorkflowProgram,
    workflow: &Workflow,
    state: &StateSpec,
    group: Option<(usize, &GraphBody)>,
) -> GraphNode {
    let label = group.and_then(|(_, body)| state.name.strip_prefix(&body.prefix)).unwrap_or(&state.name);
    let calls = match &state.work {
        StateBody::Child { workflow, .. } => Some(workflow.0),
        _ => None,
    };
    GraphNode {
        name: state.name.clone(),
        label: label.to_owned(),
        kind: node_kind(state),
        about: labels::state_description(program, workflow, state),
        group: group.map(|(at, _)| at),
        calls,
        reachable: false,
        hidden: false,
        tally: None,
        details: state_details(program, workflow, state),
    }
}

fn node_kind(state: &StateSpec) -> NodeKind {
    match &state.work {
        _ if state.terminal => NodeKind::End,
        StateBody::None if state.script.is_some() => NodeKind::Script,
        StateBody::None => NodeKind::Route,
        StateBody::Agent { .. } => NodeKind::Agent,
        StateBody::Child { .. } => NodeKind::Child,
        StateBody::Parallel(_) => NodeKind::Parallel,
        StateBody::ForEach(_) => NodeKind::ForEach,
        StateBody::Action(_) => NodeKind::Step,
        StateBody::Pause(_) => NodeKind::Pause,
        StateBody::Wait(_) => NodeKind::Wait,
        StateBody::Fail { .. } => NodeKind::Fail,
    }
}

fn build_edges(workflow: &Workflow, from: usize, state: &StateSpec) -> Vec<GraphEdge> {
    let edge = |to: StateIx, kind, order: usize, label: String| GraphEdge {
        from,
        to: to.0,
        kind,
        order,
        label,
        tally: None,
    };
    // a state that fails or ends is never left by a transition
    let leaves = !state.terminal && !matches!(state.work, StateBody::Fail { .. });
    let several = state.transitions.len() > 1;
    let mut all: Vec<GraphEdge> = state
        .transitions
        .iter()
        .enumerate()
        .filter(|_| leaves)
        .map(|(at, one)| {
            let label = labels::condition_label(workflow, one.condition, several);
            edge(one.target, EdgeKind::Transition, at + 1, label)
        })
        .collect();
    for (at, catch) in state.recovery.catch.iter().enumerate() {
        all.push(edge(catch.target, EdgeKind::Catch, at + 1, labels::error_patterns_label(&catch.errors)));
    }
    if let Some(OnError::Go(target)) = state.recovery.on_error {
        all.push(edge(target, EdgeKind::OnError, 1, "any other error".to_owned()));
    }
    if let Some(target) = state.on_limit {
        all.push(edge(target, EdgeKind::OnLimit, 1, "limit or budget reached".to_owned()));
    }
    if let StateBody::Pause(pause) = &state.work
        && let Some(target) = pause.on_timeout
    {
        all.push(edge(target, EdgeKind::OnTimeout, 1, "no answer in time".to_owned()));
    }
    all
}

fn build_handlers(workflow: &Workflow) -> Vec<GraphHandler> {
    let mut all = Vec::new();
    let mut add = |label: &str, to: StateIx| all.push(GraphHandler { label: label.to_owned(), to: to.0 });
    if let OnError::Go(target) = workflow.on_error {
        add("an error that nothing catches", target);
    }
    if let Some(target) = workflow.on_limit {
        add("limit or budget reached", target);
    }
    if let NoMatch::Go(target) = workflow.no_match {
        add("no condition holds", target);
    }
    if let Some(target) = workflow.resume {
        add("the user sends a message", target);
    }
    all
}
