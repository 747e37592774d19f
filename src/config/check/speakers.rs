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
        let only = |agent: usize| (0..agents).map(|one| one == agent).collect::<Vec<bool>>();
        let mut before = vec![vec![false; agents]; graph.next.len()];
        let mut after = before.clone();
        for (at, agent) in own.iter().enumerate() {
            if let Some(agent) = agent {
                after[at] = only(*agent);
            }
        }
        // what was said in the bodies of a state
        let mut inside = before.clone();
        let mut open: Vec<usize> = graph.start.into_iter().collect();
        let mut visited = vec![false; graph.next.len()];
        while let Some(at) = open.pop() {
            visited[at] = true;
            if own.get(at).copied().flatten().is_none() {
                after[at] = before[at].clone();
                join(&mut after[at], &inside[at]);
            }
            for next in &graph.next[at] {
                let mut grown = join(&mut before[*next], &after[at]);
                if graph.detours[at].contains(next) {
                    let earlier = before[at].clone();
                    grown |= join(&mut before[*next], &earlier);
                }
                if grown || !visited[*next] {
                    open.push(*next);
                }
            }
            if let Some(owner) = graph.owner[at]
                && join(&mut inside[owner], &before[at])
            {
                open.push(owner);
            }
        }
        Self { before, after }
    }
}

/// Adds agents to a set; whether there were new ones.
fn join(set: &mut [bool], more: &[bool]) -> bool {
    let mut grown = false;
    for (one, more) in set.iter_mut().zip(more) {
        grown |= *more && !*one;
        *one |= *more;
    }
    grown
}
