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
        let mut open: Vec<usize> = graph.start.into_iter().collect();
        let mut visited = vec![false; graph.next.len()];
        while let Some(at) = open.pop() {
            visited[at] = true;
            if own.get(at).copied().flatten().is_none() {
                after[at] = before[at].clone();
            }
            for next in graph.next[at].iter().chain(&graph.inside[at]) {
                let mut grown = !visited[*next];
                for agent in 0..agents {
                    if after[at][agent] && !before[*next][agent] {
                        before[*next][agent] = true;
                        grown = true;
                    }
                }
                if grown {
                    open.push(*next);
                }
            }
        }
        Self { before, after }
    }
}
