//! How often each state can be visited by one thread of control that enters at a given state.

use super::amount::UNBOUNDED;
use crate::domain::agent::ToolLoop;
use crate::domain::workflow::{NoMatch, OnError, State, Work, Workflow};

/// Which limits count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limited {
    Declared,
    Default,
}

/// The states that can be reached from `start`, each with the most visits of one entry.
///
/// A state on no circle is visited once at most. On a circle its limit counts; a state without one is visited at
/// most once between two visits of limited ones, if no circle avoids these.
pub(super) fn visits(workflow: &Workflow, start: usize, limited: Limited) -> Vec<(usize, u64)> {
    let top = start == workflow.start.0;
    let mut starts = vec![start];
    starts.extend(workflow.resume.filter(|_| top).map(|at| at.0));
    let next: Vec<Vec<usize>> =
        workflow.states.iter().map(|state| successors(workflow, state, top)).collect();
    let reached = reach(&next, &starts);
    let part = parts(&next, &reached);
    let limits: Vec<u64> = workflow.states.iter().map(|state| limit(workflow, state, limited)).collect();
    let circular: Vec<bool> = (0..next.len()).map(|at| in_circle(&next, &part, at)).collect();
    // circles that are left when limited states are taken away
    let free: Vec<bool> = (0..next.len()).map(|at| circular[at] && limits[at] == UNBOUNDED).collect();
    let rest: Vec<Vec<usize>> = next
        .iter()
        .enumerate()
        .map(|(at, to)| {
            to.iter().copied().filter(|to| free[at] && free[*to] && part[at] == part[*to]).collect()
        })
        .collect();
    let rest_part = parts(&rest, &free);
    let mut shared = vec![0_u64; next.len() + 1];
    for at in (0..next.len()).filter(|at| circular[*at] && !free[*at]) {
        shared[part[at]] = shared[part[at]].saturating_add(limits[at]);
    }
    let most = |at: usize| {
        if !circular[at] {
            1
        } else if !free[at] {
            limits[at]
        } else if in_circle(&rest, &rest_part, at) {
            UNBOUNDED
        } else {
            shared[part[at]].saturating_add(1)
        }
    };
    (0..next.len()).filter(|at| reached[*at]).map(|at| (at, most(at))).collect()
}

fn limit(workflow: &Workflow, state: &State, limited: Limited) -> u64 {
    // going on after tools is no new visit (A29): only the steps of the run bound it
    if let Work::Agent { agent, .. } = &state.work
        && workflow.agent(*agent).is_some_and(|agent| agent.tool_loop == ToolLoop::Step)
    {
        return UNBOUNDED;
    }
    let own = state.max_visits.map(u64::from);
    let shared = || {
        (limited == Limited::Default || workflow.limits.declared.visits).then_some(workflow.limits.max_visits)
    };
    own.or_else(|| shared().map(u64::from)).unwrap_or(UNBOUNDED)
}

/// Where a state can lead. What the workflow says of errors and limits holds outside of bodies.
fn successors(workflow: &Workflow, state: &State, top: bool) -> Vec<usize> {
    if state.terminal {
        return Vec::new();
    }
    let mut all: Vec<usize> = state.transitions.iter().map(|one| one.target.0).collect();
    all.extend(state.recovery.catch.iter().map(|one| one.target.0));
    all.extend(state.on_limit.map(|at| at.0));
    if let Some(OnError::Go(at)) = state.recovery.on_error {
        all.push(at.0);
    }
    if let Work::Pause(pause) = &state.work {
        all.extend(pause.on_timeout.map(|at| at.0));
    }
    if top {
        if let OnError::Go(at) = workflow.on_error {
            all.push(at.0);
        }
        if let NoMatch::Go(at) = workflow.no_match {
            all.push(at.0);
        }
        all.extend(workflow.on_limit.map(|at| at.0));
    }
    all.retain(|at| *at < workflow.states.len());
    all
}

fn reach(next: &[Vec<usize>], from: &[usize]) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    let mut open: Vec<usize> = from.iter().copied().filter(|at| *at < next.len()).collect();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            open.extend(&next[at]);
        }
    }
    seen
}

fn in_circle(next: &[Vec<usize>], part: &[usize], at: usize) -> bool {
    next[at].iter().any(|to| part[*to] == part[at])
}

/// Numbers the strongly connected parts of the states that count: forward for an order, backward for the parts.
fn parts(next: &[Vec<usize>], counts: &[bool]) -> Vec<usize> {
    let mut back = vec![Vec::new(); next.len()];
    for (from, targets) in next.iter().enumerate().filter(|(from, _)| counts[*from]) {
        for to in targets.iter().filter(|to| counts[**to]) {
            back[*to].push(from);
        }
    }
    let mut part = vec![next.len(); next.len()];
    let mut number = 0;
    for first in finished(next, counts).into_iter().rev() {
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

/// The states in the order in which a walk into the depth is done with them.
fn finished(next: &[Vec<usize>], counts: &[bool]) -> Vec<usize> {
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
