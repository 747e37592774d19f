//! In which order states are drawn: after what leads to them, then what only errors lead to, then ends; otherwise as
//! in the file.

use super::model::{BodyStates, EdgeKind, NodeKind, WorkflowGraph};

/// Orders the bodies of one graph, each at the cost of its own states.
pub(super) struct DrawingOrder<'g> {
    graph: &'g WorkflowGraph,
    states: BodyStates,
    /// What no transition leads to: targets of handlers, of `catch` and the like.
    unreached: BodyStates,
    visited: Vec<bool>,
}

impl<'g> DrawingOrder<'g> {
    pub(super) fn from_graph(graph: &'g WorkflowGraph) -> Self {
        let late = graph.edges.iter().filter(|edge| edge.kind.is_exception()).map(|edge| edge.to);
        let late = late.chain(graph.handlers.iter().map(|handler| handler.to));
        Self {
            graph,
            states: BodyStates::from_graph(graph),
            unreached: BodyStates::from_states(graph, late),
            visited: vec![false; graph.nodes.len()],
        }
    }

    /// The states of a body in the order of the file.
    pub(super) fn states(&self, group: Option<usize>) -> &[usize] {
        self.states.states_in(group)
    }

    /// The only state of a body that does nothing else: it is drawn in the body's own line.
    pub(super) fn single_state_in(&self, group: usize) -> Option<usize> {
        let graph = self.graph;
        let own = self.states(Some(group));
        let start = graph.groups[group].start;
        let plain_end =
            |at: &usize| graph.nodes[*at].kind == NodeKind::End && graph.nodes[*at].about == "end";
        let others_end = own.iter().filter(|at| **at != start).all(plain_end);
        let mut ways = graph.outgoing_edges(start);
        let goes_on =
            ways.next().is_none_or(|edge| edge.kind == EdgeKind::Transition && edge.label.is_empty());
        (others_end && goes_on && ways.next().is_none() && graph.bodies(start).next().is_none())
            .then_some(start)
    }

    /// The states of one body (or, without one, of the workflow itself) from top to bottom.
    pub(super) fn body(&mut self, group: Option<usize>) -> Vec<usize> {
        let Self { graph, states, unreached: late, visited: seen } = self;
        drawing_order(graph, group, states.states_in(group), late.states_in(group), seen)
    }
}

fn drawing_order(
    graph: &WorkflowGraph,
    group: Option<usize>,
    states: &[usize],
    late: &[usize],
    seen: &mut [bool],
) -> Vec<usize> {
    let start = group.and_then(|at| graph.groups.get(at)).map_or(graph.start, |body| body.start);
    let own = |at: usize| {
        graph.nodes.get(at).is_some_and(|node| node.group == group && node.reachable && !node.hidden)
    };
    let mut list = walk_postorder(graph, start, &own, seen);
    for at in late {
        list.extend(walk_postorder(graph, *at, &own, seen));
    }
    list.extend(states.iter().filter(|at| !seen[**at] && !graph.nodes[**at].hidden));
    // stable: inside of each rank the order stays
    list.sort_by_key(|at| drawing_rank(graph, *at));
    list
}

/// Reverse postorder over the transitions, with a stack of its own: a file may be a chain of any length.
fn walk_postorder(
    graph: &WorkflowGraph,
    start: usize,
    own: &dyn Fn(usize) -> bool,
    seen: &mut [bool],
) -> Vec<usize> {
    let mut finished = Vec::new();
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let enter = |at: usize, seen: &mut [bool], open: &mut Vec<(usize, Vec<usize>)>| {
        if own(at) && !std::mem::replace(&mut seen[at], true) {
            open.push((at, next_states(graph, at)));
        }
    };
    enter(start, seen, &mut open);
    while let Some((at, ahead)) = open.last_mut() {
        match ahead.pop() {
            Some(target) => enter(target, seen, &mut open),
            None => {
                finished.push(*at);
                open.pop();
            }
        }
    }
    finished.reverse();
    finished
}

/// Targets in ascending order, as the last one is taken first and so ends up lowest.
fn next_states(graph: &WorkflowGraph, at: usize) -> Vec<usize> {
    let mut targets: Vec<usize> =
        graph.outgoing_edges(at).filter(|edge| !edge.kind.is_exception()).map(|edge| edge.to).collect();
    targets.sort_unstable();
    targets
}

fn drawing_rank(graph: &WorkflowGraph, at: usize) -> u8 {
    let node = &graph.nodes[at];
    match node.kind {
        _ if !node.reachable => 2,
        NodeKind::End | NodeKind::Fail => 1,
        _ => 0,
    }
}
