//! Breaks cycles and puts boxes into layers: each one below everything that leads down to it.

/// A line that passes more layers is not drawn through all of them: it ends before the name of its target. An eye
/// cannot follow it, and a thousand of them would need a million cells.
const FARTHEST: usize = 24;

/// How an edge is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeCourse {
    Down,
    /// Up, at the right side.
    Return,
    /// Back to where it starts.
    Loop,
    /// To a name: its target is too far away.
    Reference,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphLayering {
    /// The layer of each box, from the top.
    pub layers: Vec<usize>,
    /// The course of each edge.
    pub courses: Vec<EdgeCourse>,
}

/// Layers of `count` boxes; the first one is where everything starts. `edges` are pairs of boxes.
pub fn assign_layers(count: usize, edges: &[(usize, usize)]) -> GraphLayering {
    let mut search = CycleSearch::from_edges(count, edges);
    let first_reached = search.walk_from(0);
    (1..count).for_each(|root| {
        search.walk_from(root);
    });
    let CycleSearch { finished, outgoing, mut courses, .. } = search;
    let mut layers = vec![0_usize; count];
    let down = |courses: &[EdgeCourse], at: usize| courses[at] == EdgeCourse::Down;
    for from in finished.iter().rev() {
        for at in outgoing[*from].iter().filter(|at| down(&courses, **at)) {
            let to = edges[*at].1;
            layers[to] = layers[to].max(layers[*from] + 1);
        }
    }
    // what nothing leads to from the first box is put just above what it leads to, else at the bottom
    let deepest = layers.iter().copied().max().unwrap_or(0);
    for at in &finished[first_reached.min(finished.len())..] {
        let below =
            outgoing[*at].iter().filter(|edge| down(&courses, **edge)).map(|edge| layers[edges[*edge].1]);
        layers[*at] = below.min().map_or(deepest, |below| below.saturating_sub(1).max(layers[*at]));
    }
    for (course, (from, to)) in courses.iter_mut().zip(edges) {
        if layers[*from].abs_diff(layers[*to]) > FARTHEST {
            *course = EdgeCourse::Reference;
        }
    }
    GraphLayering { layers, courses }
}

/// A depth-first walk: an edge to a box that is still being walked closes a cycle.
struct CycleSearch<'e> {
    edges: &'e [(usize, usize)],
    outgoing: Vec<Vec<usize>>,
    courses: Vec<EdgeCourse>,
    is_entered: Vec<bool>,
    is_finished: Vec<bool>,
    /// A box comes after everything that it leads down to.
    finished: Vec<usize>,
}

impl<'e> CycleSearch<'e> {
    fn from_edges(count: usize, edges: &'e [(usize, usize)]) -> Self {
        let mut outgoing = vec![Vec::new(); count];
        for (at, (from, _)) in edges.iter().enumerate() {
            outgoing[*from].push(at);
        }
        Self {
            edges,
            outgoing,
            courses: vec![EdgeCourse::Down; edges.len()],
            is_entered: vec![false; count],
            is_finished: vec![false; count],
            finished: Vec::new(),
        }
    }

    /// Returns how many boxes are finished afterwards. With a stack of its own: a chain may be of any length.
    fn walk_from(&mut self, root: usize) -> usize {
        if root < self.is_entered.len() && !std::mem::replace(&mut self.is_entered[root], true) {
            let mut open = vec![(root, 0)];
            while let Some((at, next)) = open.last_mut() {
                let Some(edge) = self.outgoing[*at].get(*next).copied() else {
                    self.is_finished[*at] = true;
                    self.finished.push(*at);
                    open.pop();
                    continue;
                };
                *next += 1;
                let to = self.edges[edge].1;
                if to == *at {
                    self.courses[edge] = EdgeCourse::Loop;
                } else if !std::mem::replace(&mut self.is_entered[to], true) {
                    open.push((to, 0));
                } else if !self.is_finished[to] {
                    self.courses[edge] = EdgeCourse::Return;
                }
            }
        }
        self.finished.len()
    }
}
