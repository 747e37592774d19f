//! Circles of a directed graph: what can come back to where it was. Linear, without recursion.

/// Numbers the strongly connected parts of the nodes that count: forward for an order, backward for the parts. Two nodes
/// of one part lead to each other.
pub(super) fn strongly_connected_components(next: &[Vec<usize>], counts: &[bool]) -> Vec<usize> {
    let mut back = vec![Vec::new(); next.len()];
    for (from, targets) in next.iter().enumerate().filter(|(from, _)| counts[*from]) {
        for to in targets.iter().filter(|to| counts[**to]) {
            back[*to].push(from);
        }
    }
    let mut part = vec![next.len(); next.len()];
    let mut number = 0;
    for first in finish_order(next, counts).into_iter().rev() {
        if part[first] != next.len() {
            continue;
        }
        let mut open = vec![first];
        while let Some(at) = open.pop() {
            if part[at] == next.len() {
                part[at] = number;
                open.extend(back[at].iter().filter(|from| part[**from] == next.len()));
            }
        }
        number += 1;
    }
    part
}

/// The nodes in the order in which a walk into the depth is done with them.
fn finish_order(next: &[Vec<usize>], counts: &[bool]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; next.len()];
    for first in (0..next.len()).filter(|at| counts[*at]) {
        let mut open = vec![(first, 0)];
        while let Some((at, edge)) = open.pop() {
            if edge == 0 && std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match next[at].get(edge) {
                Some(to) => {
                    open.push((at, edge + 1));
                    if counts[*to] && !seen[*to] {
                        open.push((*to, 0));
                    }
                }
                None => order.push(at),
            }
        }
    }
    order
}
