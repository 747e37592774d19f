//! Runs below the run that they came from: the order of a tree, and the lines that join it.

use std::collections::{HashMap, HashSet};

use crate::ids::RunId;

/// Deeper runs are not moved further to the right.
const DEEPEST: usize = 6;

/// Every run once, below the one that it came from if that is among them, with its depth. Given are ids with those of
/// origins.
pub fn order_as_tree<'a>(runs: impl Iterator<Item = (&'a RunId, Option<&'a RunId>)>) -> Vec<(usize, usize)> {
    let runs: Vec<_> = runs.collect();
    let places: HashMap<&RunId, usize> = runs.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut tops = Vec::new();
    for (at, (_, origin)) in runs.iter().enumerate() {
        let from = origin.and_then(|origin| places.get(origin).copied());
        match from.filter(|from| *from != at) {
            Some(from) => below.entry(from).or_default().push(at),
            None => tops.push(at),
        }
    }
    // origins from files can be circular: a run without a root becomes a root itself
    tops.extend(0..runs.len());
    let (mut order, mut seen) = (Vec::with_capacity(runs.len()), HashSet::with_capacity(runs.len()));
    for top in tops {
        let mut open = vec![(top, 0)];
        while let Some((at, depth)) = open.pop() {
            if seen.insert(at) {
                order.push((at, depth));
                let children = below.get(&at).into_iter().flatten();
                open.extend(children.rev().map(|child| (*child, depth + 1)));
            }
        }
    }
    order
}

/// The tree characters before each run: `├ ` and `└ `, below `│ ` where the parent has more children.
pub fn tree_prefixes(order: &[(usize, usize)]) -> Vec<String> {
    let depth = |at: usize| order.get(at).map_or(0, |(_, depth)| (*depth).min(DEEPEST));
    // whether another one follows at a depth, before the tree goes above it
    let more = |at: usize, level: usize| {
        let next = (at + 1..order.len()).find(|next| depth(*next) <= level);
        next.is_some_and(|next| depth(next) == level)
    };
    let branch = |at: usize| {
        let own = depth(at);
        let above = (1..own).map(|level| if more(at, level) { "│ " } else { "  " });
        let last = (own > 0).then(|| if more(at, own) { "├ " } else { "└ " });
        above.chain(last).collect::<String>()
    };
    (0..order.len()).map(branch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_and_their_parents_are_joined() {
        for (depths, expected) in [
            (&[0, 0][..], &["", ""][..]),
            (&[0, 1, 1, 0], &["", "├ ", "└ ", ""]),
            (&[0, 1, 2, 2, 1, 2, 0], &["", "├ ", "│ ├ ", "│ └ ", "└ ", "  └ ", ""]),
        ] {
            let order: Vec<(usize, usize)> = depths.iter().copied().enumerate().collect();
            assert_eq!(tree_prefixes(&order), expected, "{depths:?}");
        }
    }

    #[test]
    fn every_run_stands_once() {
        let ids: Vec<RunId> = ["a", "b", "c", "d"].map(RunId::from).to_vec();
        for (origins, expected) in [
            ([None, None, None, None], [(0, 0), (1, 0), (2, 0), (3, 0)]),
            ([Some(3), None, Some(0), None], [(1, 0), (3, 0), (0, 1), (2, 2)]),
            // in circles
            ([Some(1), Some(0), None, Some(3)], [(2, 0), (3, 0), (0, 0), (1, 1)]),
        ] {
            let runs = ids.iter().zip(origins).map(|(id, origin)| (id, origin.map(|at: usize| &ids[at])));
            assert_eq!(order_as_tree(runs), expected, "{origins:?}");
        }
    }
}
