//! How often each state can be visited by one thread of control that enters at a given state.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::super::cycles::strongly_connected_components;
use super::usage_amount::UNBOUNDED;
use synthdev_domain::agent::ToolLoop;
use synthdev_domain::workflow::{NoMatch, OnError, StateBody, StateSpec, Workflow};

/// Which limits count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VisitLimitSource {
    Declared,
    Default,
}

/// The states that can be reached from `start`, each with the most visits of one entry.
///
/// A state on no circle is visited once at most. On a circle its limit counts; a state without one is visited at
/// most once between two visits of limited ones, if no circle avoids these.
pub(super) fn max_visits(workflow: &Workflow, start: usize, limited: VisitLimitSource) -> Vec<(usize, u64)> {
    let top = start == workflow.start.0;
    let mut starts = vec![start];
    starts.extend(workflow.resume.filter(|_| top).map(|at| at.0));
    let (reached, next) = reachable_states(workflow, starts, top);
    let part = strongly_connected_components(&next, &vec![true; next.len()]);
    let limits: Vec<u64> =
        reached.iter().map(|at| visit_limit(workflow, &workflow.states[*at], limited)).collect();
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
    let rest_part = strongly_connected_components(&rest, &free);
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
    reached.iter().enumerate().map(|(at, state)| (*state, most(at))).collect()
}

fn visit_limit(workflow: &Workflow, state: &StateSpec, limited: VisitLimitSource) -> u64 {
    // continuing after tools is no new visit: only the steps of the run bound it
    if let StateBody::Agent { agent, .. } = &state.work
        && workflow.agent(*agent).is_some_and(|agent| agent.tool_loop == ToolLoop::Step)
    {
        return UNBOUNDED;
    }
    let own = state.max_visits.map(u64::from);
    let shared = || {
        (limited == VisitLimitSource::Default || workflow.limits.declared.visits)
            .then_some(workflow.limits.max_visits)
    };
    own.or_else(|| shared().map(u64::from)).unwrap_or(UNBOUNDED)
}

/// Where a state can lead. What the workflow says of errors and limits holds outside of bodies.
fn state_successors(workflow: &Workflow, state: &StateSpec, top: bool) -> Vec<usize> {
    if state.terminal {
        return Vec::new();
    }
    let mut all: Vec<usize> = state.transitions.iter().map(|one| one.target.0).collect();
    all.extend(state.recovery.catch.iter().map(|one| one.target.0));
    all.extend(state.on_limit.map(|at| at.0));
    if let Some(OnError::Go(at)) = state.recovery.on_error {
        all.push(at.0);
    }
    if let StateBody::Pause(pause) = &state.work {
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

/// The states that can be reached, in their order, and where each leads, by position among them. Costs what is reached:
/// a workflow of many bodies is entered at each of them.
fn reachable_states(workflow: &Workflow, from: Vec<usize>, top: bool) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut open = from;
    while let Some(at) = open.pop() {
        let Some(state) = workflow.states.get(at) else { continue };
        if let Entry::Vacant(entry) = found.entry(at) {
            open.extend(entry.insert(state_successors(workflow, state, top)).iter());
        }
    }
    let states: Vec<usize> = found.keys().copied().collect();
    let place: HashMap<usize, usize> = states.iter().enumerate().map(|(at, state)| (*state, at)).collect();
    let next = found.into_values().map(|to| to.iter().filter_map(|to| place.get(to).copied()).collect());
    (states, next.collect())
}

fn in_circle(next: &[Vec<usize>], part: &[usize], at: usize) -> bool {
    next[at].iter().any(|to| part[*to] == part[at])
}
