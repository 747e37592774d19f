//! What a run left at a state or way: how often, what it cost, whether it is there now.

use serde::Serialize;

use super::model::{Edge, EdgeKind, Graph};
use crate::domain::trail::{Passage, Trail, Way};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Never entered.
    #[default]
    Untouched,
    Done,
    /// The run is here, or ended here.
    Current,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Tally {
    pub count: u32,
    /// Of the model calls made there, those of called workflows and bodies included.
    pub tokens: u64,
    /// `None` as soon as one price is unknown.
    pub cost_usd: Option<f64>,
    pub standing: Standing,
}

impl Graph {
    /// Puts the trail of a run onto the graph. `prefix` is what events put in front of this workflow's states:
    /// nothing for the root, `child_workflow/` for a child.
    pub fn mark(&mut self, trail: &Trail, prefix: &str) {
        let marks: Vec<Tally> =
            self.nodes.iter().map(|node| of_state(trail, &format!("{prefix}{}", node.name))).collect();
        for (node, tally) in self.nodes.iter_mut().zip(marks) {
            node.tally = Some(tally);
        }
        self.roll_up();
        let marks: Vec<Tally> = self.edges.iter().map(|edge| self.of_edge(trail, prefix, edge)).collect();
        for (edge, tally) in self.edges.iter_mut().zip(marks) {
            edge.tally = Some(tally);
        }
    }

    fn of_edge(&self, trail: &Trail, prefix: &str, edge: &Edge) -> Tally {
        let (from, to) = (&self.nodes[edge.from].name, &self.nodes[edge.to].name);
        let way = match edge.kind {
            EdgeKind::Transition => Way::Transition(edge.order - 1),
            _ => Way::Exception(format!("{prefix}{to}")),
        };
        let found = trail.ways.get(&(format!("{prefix}{from}"), way));
        tally(found, Standing::Done)
    }

    /// An owner's cost holds that of its bodies. Inner bodies first: their owners stand in outer ones.
    fn roll_up(&mut self) {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.depth(*at)));
        for at in order {
            let inside = self.nodes.iter().filter(|node| node.group == Some(at)).filter_map(|node| node.tally);
            let (mut tokens, mut cost) = (0_u64, Some(0.0));
            for one in inside {
                tokens = tokens.saturating_add(one.tokens);
                cost = cost.zip(one.cost_usd).map(|(sum, more)| sum + more);
            }
            let owner = self.groups[at].owner;
            if let Some(tally) = self.nodes.get_mut(owner).and_then(|node| node.tally.as_mut()) {
                tally.tokens = tally.tokens.saturating_add(tokens);
                tally.cost_usd = tally.cost_usd.zip(cost).map(|(sum, more)| sum + more);
            }
        }
    }

    fn depth(&self, mut at: usize) -> usize {
        let mut depth = 0;
        while let Some(parent) = self.groups[at].parent.filter(|_| depth < self.groups.len()) {
            at = parent;
            depth += 1;
        }
        depth
    }
}

fn of_state(trail: &Trail, name: &str) -> Tally {
    let here = trail.active.iter().any(|one| one == name);
    tally(trail.states.get(name), if here { Standing::Current } else { Standing::Done })
}

fn tally(found: Option<&Passage>, standing: Standing) -> Tally {
    found.map_or_else(
        || Tally { cost_usd: Some(0.0), ..Tally::default() },
        |one| Tally { count: one.count, tokens: one.tokens, cost_usd: one.cost_usd, standing },
    )
}
