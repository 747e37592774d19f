//! In which order states are drawn: after what leads to them, then what only errors lead to, then ends; otherwise as
//! in the file.

use super::model::{Graph, NodeKind};

/// The states of one body (or, without one, of the workflow itself) from top to bottom.
pub(super) fn order(graph: &Graph, group: Option<usize>) -> Vec<usize> {
    let start = group.and_then(|at| graph.groups.get(at)).map_or(graph.start, |body| body.start);
    let own = |at: usize| {
        graph.nodes.get(at).is_some_and(|node| node.group == group && node.reachable && !node.hidden)
    };
    let mut seen = vec![false; graph.nodes.len()];
    let mut list = walk(graph, start, &own, &mut seen);
    // what no transition leads to: handlers, `catch` and the like, and what follows from there
    let late = graph.edges.iter().filter(|edge| edge.kind.is_exception()).map(|edge| edge.to);
    for at in late.chain(graph.handlers.iter().map(|handler| handler.to)) {
        list.extend(walk(graph, at, &own, &mut seen));
    }
    let is_own = |at: &usize| graph.nodes[*at].group == group && !graph.nodes[*at].hidden;
    list.extend((0..graph.nodes.len()).filter(|at| !seen[*at]).filter(is_own));
    // stable: inside of each rank the order stays
    list.sort_by_key(|at| rank(graph, *at));
    list
}

/// Reverse postorder over the transitions, with a stack of its own: a file may be a chain of any length.
fn walk(graph: &Graph, start: usize, own: &dyn Fn(usize) -> bool, seen: &mut [bool]) -> Vec<usize> {
    let mut finished = Vec::new();
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let enter = |at: usize, seen: &mut [bool], open: &mut Vec<(usize, Vec<usize>)>| {
        if own(at) && !std::mem::replace(&mut seen[at], true) {
            open.push((at, next(graph, at)));
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
fn next(graph: &Graph, at: usize) -> Vec<usize> {
    let mut targets: Vec<usize> =
        graph.leaving(at).filter(|edge| !edge.kind.is_exception()).map(|edge| edge.to).collect();
    targets.sort_unstable();
    targets
}

fn rank(graph: &Graph, at: usize) -> u8 {
    let node = &graph.nodes[at];
    match node.kind {
        _ if !node.reachable => 2,
        NodeKind::End | NodeKind::Fail => 1,
        _ => 0,
    }
}
