//! What a drawing is made of: states, ways between them, bodies of branches and loops.

use std::ops::Range;

use serde::Serialize;

/// One workflow. Nodes are in the order of its states, so a node's index is the state's.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkflowGraph {
    pub workflow: String,
    pub description: String,
    pub start: usize,
    pub nodes: Vec<GraphNode>,
    /// Sorted by state, then by the order in which they are tried.
    pub edges: Vec<GraphEdge>,
    /// Bodies of branches and loops, sorted by owner.
    pub groups: Vec<GraphGroup>,
    /// Ways that lead out of every state.
    pub handlers: Vec<GraphHandler>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GraphNode {
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
    /// Whether a transition leads there: a state without one is drawn last, or hidden if the file does not declare it.
    pub reachable: bool,
    /// Not in the file: the implicit `stop` that nothing leads to.
    #[serde(skip)]
    pub hidden: bool,
    /// Only with a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<GraphVisitTally>,
    /// Not drawn: for a reader who asks.
    #[serde(skip)]
    pub details: GraphNodeDetails,
}

/// What a state is in full.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphNodeDetails {
    /// The name of its agent.
    pub agent: Option<String>,
    pub fields: Vec<StateField>,
}

/// A part of a state's definition: printable text, with lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateField {
    pub name: &'static str,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Agent,
    Script,
    /// Neither script nor work: it only decides where to go.
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

impl NodeKind {
    /// One column wide.
    pub fn sign(self) -> char {
        match self {
            Self::Agent => '●',
            Self::Script | Self::Route => '○',
            Self::Child => '◆',
            Self::Parallel => '‖',
            Self::ForEach => '∀',
            Self::Step => '▷',
            Self::Pause => '?',
            Self::Wait => '◷',
            Self::Fail => '✗',
            Self::End => '■',
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GraphEdge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
    /// Position in the file among the ways of its kind, from 1.
    pub order: usize,
    /// The condition in short, or the errors that this transition handles; empty for the only transition.
    pub label: String,
    /// Only with a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<GraphVisitTally>,
}

impl GraphEdge {
    /// The condition, with its place among several; what leads away from a failure is marked.
    pub fn words(&self, is_one_of_several: bool) -> String {
        match self.kind {
            EdgeKind::Transition if is_one_of_several => format!("{} {}", ordinal(self.order), self.label),
            EdgeKind::Transition => self.label.clone(),
            EdgeKind::Catch | EdgeKind::OnError | EdgeKind::OnLimit | EdgeKind::OnTimeout => {
                format!("! {}", self.label)
            }
        }
    }
}

/// `1st`, `2nd`: which condition is asked when, not how often.
fn ordinal(place: usize) -> String {
    let ending = match (place % 10, place % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{place}{ending}")
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
pub struct GraphGroup {
    pub owner: usize,
    /// The branch's name, or what an item is called.
    pub name: String,
    /// The body around the owner.
    pub parent: Option<usize>,
    pub start: usize,
}

/// `on_error`, `on_limit`, `on_no_match` of the workflow and its state `resume`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GraphHandler {
    pub label: String,
    pub to: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphVisitStatus {
    /// Never entered.
    #[default]
    Untouched,
    Done,
    /// The current state of the run, or its last one.
    Current,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct GraphVisitTally {
    pub count: u32,
    /// Of the model calls made there, those of called workflows and bodies included.
    pub tokens: u64,
    /// `None` as soon as one price is unknown.
    pub cost_usd: Option<f64>,
    pub standing: GraphVisitStatus,
}

impl WorkflowGraph {
    /// Ways out of a state, in order.
    pub fn outgoing_edges(&self, from: usize) -> impl Iterator<Item = &GraphEdge> {
        self.edges[self.outgoing_edge_indices(from)].iter()
    }

    /// The indices of the ways out of a state.
    pub fn outgoing_edge_indices(&self, from: usize) -> Range<usize> {
        equal_range(&self.edges, from, |edge| edge.from)
    }

    /// Bodies that a state owns, in the order of the file.
    pub fn bodies(&self, owner: usize) -> impl Iterator<Item = (usize, &GraphGroup)> {
        equal_range(&self.groups, owner, |group| group.owner).map(|at| (at, &self.groups[at]))
    }
}

/// The range of a key in a sorted list: a scan of the whole list for each state would be quadratic.
fn equal_range<T>(sorted: &[T], key: usize, key_of: impl Fn(&T) -> usize) -> Range<usize> {
    sorted.partition_point(|one| key_of(one) < key)..sorted.partition_point(|one| key_of(one) <= key)
}

/// The states of each body, in their order.
#[derive(Clone, Debug)]
pub(super) struct BodyStates {
    outside_bodies: Vec<usize>,
    by_body: Vec<Vec<usize>>,
}

impl BodyStates {
    pub(super) fn from_graph(graph: &WorkflowGraph) -> Self {
        Self::from_states(graph, 0..graph.nodes.len())
    }

    /// These states by their bodies; each body keeps their order.
    pub(super) fn from_states(graph: &WorkflowGraph, states: impl Iterator<Item = usize>) -> Self {
        let mut all = Self { outside_bodies: Vec::new(), by_body: vec![Vec::new(); graph.groups.len()] };
        for at in states {
            match graph.nodes.get(at).map(|node| node.group) {
                Some(None) => all.outside_bodies.push(at),
                Some(Some(group)) => all.by_body[group].push(at),
                None => {}
            }
        }
        all
    }

    /// Without a body: the states of the workflow itself.
    pub(super) fn states_in(&self, group: Option<usize>) -> &[usize] {
        group.map_or(Some(&self.outside_bodies), |at| self.by_body.get(at)).map_or(&[], Vec::as_slice)
    }
}
