//! Puts what a run left behind onto its graph: how often, what it cost, whether it is there now.

use super::model::{BodyStates, EdgeKind, GraphEdge, GraphVisitStatus, GraphVisitTally, WorkflowGraph};
use synthdev_domain::trace::{RunTrace, StateExit, TraceCounts, TraceScope};

impl WorkflowGraph {
    /// Puts the trail of a run onto the graph. `part` says whether this is the workflow that was started, or one that
    /// it calls.
    pub fn overlay_trace(&mut self, trail: &RunTrace, part: TraceScope<'_>) {
        for node in &mut self.nodes {
            let here = trail.is_in(part, &node.name);
            let standing = if here { GraphVisitStatus::Current } else { GraphVisitStatus::Done };
            node.tally = Some(tally_visits(trail.state_counts(part, &node.name), standing));
        }
        self.add_body_costs_to_owners();
        let marks: Vec<GraphVisitTally> =
            self.edges.iter().map(|edge| self.edge_visits(trail, part, edge)).collect();
        for (edge, tally) in self.edges.iter_mut().zip(marks) {
            edge.tally = Some(tally);
        }
    }

    fn edge_visits(&self, trail: &RunTrace, part: TraceScope<'_>, edge: &GraphEdge) -> GraphVisitTally {
        let way = match edge.kind {
            EdgeKind::Transition => StateExit::Transition(edge.order - 1),
            EdgeKind::Catch | EdgeKind::OnError | EdgeKind::OnLimit | EdgeKind::OnTimeout => {
                StateExit::Exception(self.nodes[edge.to].name.clone())
            }
        };
        tally_visits(trail.exit_counts(part, &self.nodes[edge.from].name, &way), GraphVisitStatus::Done)
    }

    /// An owner's cost includes that of its bodies. Inner bodies first: their owners are in outer ones.
    fn add_body_costs_to_owners(&mut self) {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.depth(*at)));
        let states = BodyStates::from_graph(self);
        for at in order {
            let inside = states.states_in(Some(at)).iter().filter_map(|state| self.nodes[*state].tally);
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

fn tally_visits(found: Option<TraceCounts>, standing: GraphVisitStatus) -> GraphVisitTally {
    found.map_or_else(
        || GraphVisitTally { cost_usd: Some(0.0), ..GraphVisitTally::default() },
        |one| GraphVisitTally { count: one.count, tokens: one.tokens, cost_usd: one.cost_usd, standing },
    )
}
