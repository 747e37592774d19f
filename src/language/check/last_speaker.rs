//! Which agents can be the last speaker when a state is entered, and when it is left.

use std::collections::{HashMap, VecDeque};

use super::CompilationUnit;
use super::state_graph::StateFlowGraph;

pub(super) struct LastSpeakers {
    pub(super) before_state: Vec<AgentBitSet>,
    pub(super) after_state: Vec<AgentBitSet>,
}

/// A set of agents by their indices, as bits: most sets of a large workflow are small or empty.
#[derive(Clone, Default)]
pub(super) struct AgentBitSet(Vec<u64>);

impl AgentBitSet {
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| {
            (0..64).filter(move |bit| (word >> bit) & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }

    fn add_agent(&mut self, agent: usize) {
        if self.0.len() <= agent / 64 {
            self.0.resize(agent / 64 + 1, 0);
        }
        self.0[agent / 64] |= 1 << (agent % 64);
    }

    fn contains_all(&self, others: &Self) -> bool {
        let own = self.0.iter().chain(std::iter::repeat(&0));
        others.0.iter().zip(own).all(|(other, own)| other & !own == 0)
    }

    /// Adds all agents of `more`; whether any of them was new.
    fn add_all(&mut self, more: &Self) -> bool {
        if self.0.len() < more.0.len() {
            self.0.resize(more.0.len(), 0);
        }
        let mut grown = false;
        for (one, more) in self.0.iter_mut().zip(&more.0) {
            grown |= *more & !*one != 0;
            *one |= more;
        }
        grown
    }
}

impl LastSpeakers {
    pub(super) fn new(unit: &CompilationUnit, graph: &StateFlowGraph) -> Self {
        let own: Vec<Option<usize>> = unit.form.states.iter().map(|state| unit.speaker(state)).collect();
        let mut before = vec![AgentBitSet::default(); graph.successors.len()];
        let mut after = before.clone();
        for (at, agent) in own.iter().enumerate() {
            if let Some(agent) = agent {
                after[at].add_agent(*agent);
            }
        }
        let (ends, owners) = body_end_states(unit, graph);
        // both only ever grow, so this comes to rest; only what follows a state that grew is looked at again
        let mut open: VecDeque<usize> =
            (0..graph.successors.len()).filter(|at| graph.is_reachable[*at]).collect();
        let mut waits = graph.is_reachable.clone();
        let wake = |at: usize, open: &mut VecDeque<usize>, waits: &mut Vec<bool>| {
            if graph.is_reachable[at] && !std::mem::replace(&mut waits[at], true) {
                open.push_back(at);
            }
        };
        while let Some(at) = open.pop_front() {
            waits[at] = false;
            if own.get(at).copied().flatten().is_none() {
                after[at].add_all(&before[at]);
                for end in &ends[at] {
                    let inside = after[*end].clone();
                    after[at].add_all(&inside);
                }
            }
            for next in graph.successors[at].iter().chain(&graph.body_starts[at]) {
                if before[*next].add_all(&after[at]) {
                    wake(*next, &mut open, &mut waits);
                }
            }
            for owner in owners[at].iter().filter(|owner| own.get(**owner).copied().flatten().is_none()) {
                if !after[*owner].contains_all(&after[at]) {
                    wake(*owner, &mut open, &mut waits);
                }
            }
        }
        Self { before_state: before, after_state: after }
    }
}

/// The states that end the bodies of each state, and the other way round.
fn body_end_states(unit: &CompilationUnit, graph: &StateFlowGraph) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let states = &unit.form.states;
    let mut of_scope: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, state) in states.iter().enumerate().filter(|(_, state)| state.is_terminal()) {
        of_scope.entry(state.scope.as_str()).or_default().push(at);
    }
    let mut ends = vec![Vec::new(); graph.successors.len()];
    let mut owners = ends.clone();
    for (owner, inside) in graph.body_starts.iter().enumerate() {
        for start in inside {
            for end in of_scope.get(states[*start].scope.as_str()).into_iter().flatten() {
                ends[owner].push(*end);
                owners[*end].push(owner);
            }
        }
    }
    (ends, owners)
}
