//! What a drawing is made of: states, ways between them, bodies of branches and loops.

use serde::Serialize;

use super::groups::{Groups, groups};
use super::tally::Tally;
use super::words;
use crate::domain::ids::{StateIx, WorkflowIx};
use crate::domain::workflow::{Input, NoMatch, OnError, Program, State, Work, Workflow};

/// One workflow. Nodes stand in the order of its states, so a node's index is the state's.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Graph {
    pub workflow: String,
    pub description: String,
    pub start: usize,
    pub nodes: Vec<Node>,
    /// Sorted by state, then by the order in which they are tried.
    pub edges: Vec<Edge>,
    /// Bodies of branches and loops.
    pub groups: Vec<Group>,
    /// Ways that lead out of every state.
    pub handlers: Vec<Handler>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Node {
    /// As events call it: `owner.branch/state` inside of a body.
    pub name: String,
    /// The last part of the name.
    pub label: String,
    pub kind: NodeKind,
    /// What it does, in a few words: `agent coder`.
    pub about: String,
    /// Index of the body that it belongs to.
    pub group: Option<usize>,
    /// The workflow that it calls, by its index in the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<usize>,
    /// No way leads there: drawn last, or not at all if nobody wrote it.
    pub reachable: bool,
    /// Not in the file: the implicit `stop` (A53) that nothing leads to.
    #[serde(skip)]
    pub hidden: bool,
    /// Only with a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<Tally>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Agent,
    Script,
    /// Neither script nor work: it only decides where to go (A15).
    Route,
    Child,
    Parallel,
    #[serde(rename = "foreach")]
    ForEach,
    Step,
    Pause,
    Wait,
    Fail,
    End,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
    /// Position in the file among the ways of its kind, from 1.
    pub order: usize,
    /// The condition in short, or the errors that lead here; empty for the only way out.
    pub label: String,
    /// Only with a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<Tally>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    Transition,
    Catch,
    OnError,
    OnLimit,
    OnTimeout,
}

impl EdgeKind {
    /// Whether it is taken when something went wrong.
    pub fn is_exception(self) -> bool {
        self != Self::Transition
    }
}

/// The body of a branch or loop: states of its own, entered by the owner.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    pub owner: usize,
    /// The branch's name, or what an item is called.
    pub name: String,
    /// The body around the owner.
    pub parent: Option<usize>,
    pub start: usize,
}

/// `on_error`, `on_limit`, `on_no_match` of the workflow and its state `resume`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Handler {
    pub label: String,
    pub to: usize,
}

impl Graph {
    /// The graph of one workflow of a program; `None` if there is no such workflow.
    pub fn of(program: &Program, at: WorkflowIx) -> Option<Self> {
        let workflow = program.workflows.get(at.0)?;
        let Groups { list, of_state } = groups(workflow);
        let nodes: Vec<Node> = workflow
            .states
            .iter()
            .zip(&of_state)
            .map(|(state, group)| node(program, workflow, state, group.map(|at| (at, &list[at]))))
            .collect();
        let edges = workflow.states.iter().enumerate().flat_map(|(from, state)| edges(workflow, from, state));
        let mut graph = Self {
            workflow: workflow.name.clone(),
            description: workflow.description.clone(),
            start: workflow.start.0,
            edges: edges.filter(|edge| edge.to < nodes.len()).collect(),
            groups: list.into_iter().map(|body| body.group).collect(),
            handlers: handlers(workflow),
            nodes,
        };
        graph.judge(workflow);
        Some(graph)
    }

    /// Ways out of a state, in order.
    pub fn leaving(&self, from: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == from)
    }

    /// Bodies that a state owns, in the order of the file.
    pub fn bodies(&self, owner: usize) -> impl Iterator<Item = (usize, &Group)> {
        self.groups.iter().enumerate().filter(move |(_, group)| group.owner == owner)
    }

    /// Follows every way from the start; an end of which the file says nothing and that nothing leads to is hidden.
    fn judge(&mut self, workflow: &Workflow) {
        let mut open: Vec<usize> = vec![self.start];
        open.extend(self.handlers.iter().map(|handler| handler.to));
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes.get_mut(at) else { continue };
            if !std::mem::replace(&mut node.reachable, true) {
                open.extend(self.leaving(at).map(|edge| edge.to));
                open.extend(self.bodies(at).map(|(_, group)| group.start));
            }
        }
        for (node, state) in self.nodes.iter_mut().zip(&workflow.states) {
            node.hidden =
                !node.reachable && state.terminal && node.label == "stop" && state.output == Input::Absent;
        }
    }
}

fn node(
    program: &Program,
    workflow: &Workflow,
    state: &State,
    group: Option<(usize, &super::groups::Body)>,
) -> Node {
    let label = group.and_then(|(_, body)| state.name.strip_prefix(&body.prefix)).unwrap_or(&state.name);
    let calls = match &state.work {
        Work::Child { workflow, .. } => Some(workflow.0),
        _ => None,
    };
    Node {
        name: state.name.clone(),
        label: label.to_owned(),
        kind: kind(state),
        about: words::about(program, workflow, state),
        group: group.map(|(at, _)| at),
        calls,
        reachable: false,
        hidden: false,
        tally: None,
    }
}

fn kind(state: &State) -> NodeKind {
    match &state.work {
        _ if state.terminal => NodeKind::End,
        Work::None if state.script.is_some() => NodeKind::Script,
        Work::None => NodeKind::Route,
        Work::Agent { .. } => NodeKind::Agent,
        Work::Child { .. } => NodeKind::Child,
        Work::Parallel(_) => NodeKind::Parallel,
        Work::ForEach(_) => NodeKind::ForEach,
        Work::Step(_) => NodeKind::Step,
        Work::Pause(_) => NodeKind::Pause,
        Work::Wait(_) => NodeKind::Wait,
        Work::Fail { .. } => NodeKind::Fail,
    }
}

fn edges(workflow: &Workflow, from: usize, state: &State) -> Vec<Edge> {
    let edge = |to: StateIx, kind, order: usize, label: String| Edge {
        from,
        to: to.0,
        kind,
        order,
        label,
        tally: None,
    };
    // a state that fails or ends is never left by a transition
    let leaves = !state.terminal && !matches!(state.work, Work::Fail { .. });
    let several = state.transitions.len() > 1;
    let mut all: Vec<Edge> = state
        .transitions
        .iter()
        .enumerate()
        .filter(|_| leaves)
        .map(|(at, one)| {
            let label = words::condition(workflow, one.condition, several);
            edge(one.target, EdgeKind::Transition, at + 1, label)
        })
        .collect();
    for (at, catch) in state.recovery.catch.iter().enumerate() {
        all.push(edge(catch.target, EdgeKind::Catch, at + 1, words::errors(&catch.errors)));
    }
    if let Some(OnError::Go(target)) = state.recovery.on_error {
        all.push(edge(target, EdgeKind::OnError, 1, "any other error".to_owned()));
    }
    if let Some(target) = state.on_limit {
        all.push(edge(target, EdgeKind::OnLimit, 1, "limit or budget reached".to_owned()));
    }
    if let Work::Pause(pause) = &state.work
        && let Some(target) = pause.on_timeout
    {
        all.push(edge(target, EdgeKind::OnTimeout, 1, "no answer in time".to_owned()));
    }
    all
}

fn handlers(workflow: &Workflow) -> Vec<Handler> {
    let mut all = Vec::new();
    let mut add = |label: &str, to: StateIx| all.push(Handler { label: label.to_owned(), to: to.0 });
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
        add("the person says something", target);
    }
    all
}
