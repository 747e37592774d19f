//! Who can have spoken last when a state is entered, and when it is left.

use super::Unit;
use super::graph::Graph;

pub(super) struct Speakers {
    pub(super) before: Vec<Vec<bool>>,
    pub(super) after: Vec<Vec<bool>>,
}

impl Speakers {
    pub(super) fn new(unit: &Unit, graph: &Graph) -> Self {
        let agents = unit.form.agents.len();
        let own: Vec<Option<usize>> = unit.form.states.iter().map(|state| unit.speaker(state)).collect();
        let mut before = vec![vec![false; agents]; graph.next.len()];
        let mut after = before.clone();
        for (at, agent) in own.iter().enumerate() {
            if let Some(agent) = agent {
                after[at][*agent] = true;
            }
        }
        let ends = ends(unit, graph);
        // both only ever grow, so this comes to rest
        let mut grown = true;
        while std::mem::take(&mut grown) {
            for at in (0..graph.next.len()).filter(|at| graph.reachable[*at]) {
                if own.get(at).copied().flatten().is_none() {
                    grown |= join(&mut after[at], &before[at]);
                    for end in &ends[at] {
                        let inside = after[*end].clone();
                        grown |= join(&mut after[at], &inside);
                    }
                }
                for next in graph.next[at].iter().chain(&graph.inside[at]) {
                    grown |= join(&mut before[*next], &after[at]);
                }
            }
        }
        Self { before, after }
    }
}

/// The states that end the bodies of each state.
fn ends(unit: &Unit, graph: &Graph) -> Vec<Vec<usize>> {
    let states = &unit.form.states;
    let mut ends = vec![Vec::new(); graph.next.len()];
    for (at, inside) in graph.inside.iter().enumerate() {
        for start in inside {
            let scope = &states[*start].scope;
            let last = states.iter().enumerate().filter(|(_, one)| one.is_terminal() && one.scope == *scope);
            ends[at].extend(last.map(|(end, _)| end));
        }
    }
    ends
}

/// Adds everybody of `more`; whether that was anybody new.
fn join(to: &mut [bool], more: &[bool]) -> bool {
    let mut grown = false;
    for (one, more) in to.iter_mut().zip(more) {
        grown |= *more && !*one;
        *one |= more;
    }
    grown
}
