//! The states as a graph: what cannot be reached (W01), what cannot end (W02), what turns for ever (W05).

use std::collections::HashMap;

use super::super::source::Findings;
use super::super::workflow_file::WorkForm;
use super::Unit;

type Names<'n> = HashMap<&'n str, usize>;

/// Successors of each state over transitions that can be taken, after errors and limits, and into bodies. `stop` is
/// the index after the last state if the file defines none.
pub(super) struct Graph {
    pub(super) next: Vec<Vec<usize>>,
    /// Those of `next` that are taken although the state's work may not have been done.
    pub(super) detours: Vec<Vec<usize>>,
    /// The state that a body belongs to, for the states that end it.
    pub(super) owner: Vec<Option<usize>>,
    pub(super) start: Option<usize>,
    pub(super) reachable: Vec<bool>,
    ends: Vec<usize>,
}

impl Graph {
    pub(super) fn new(unit: &Unit) -> Self {
        let states = &unit.form.states;
        let names: Names<'_> =
            states.iter().enumerate().rev().map(|(at, state)| (state.name.value.as_str(), at)).collect();
        let stop = names.get("stop").copied().unwrap_or(states.len());
        let find = |name: &str| if name == "stop" { Some(stop) } else { names.get(name).copied() };
        let mut graph = Self {
            next: vec![Vec::new(); states.len() + 1],
            detours: vec![Vec::new(); states.len() + 1],
            owner: vec![None; states.len() + 1],
            start: names.get("start").copied(),
            reachable: Vec::new(),
            ends: vec![stop],
        };
        for (at, state) in states.iter().enumerate() {
            if state.is_terminal() {
                graph.ends.push(at);
                continue;
            }
            graph.transitions(unit, at, &find);
            for start in state.bodies() {
                graph.next[at].extend(find(start));
                let scope = start.strip_suffix("start").unwrap_or(start);
                for (end, inner) in states.iter().enumerate() {
                    if inner.scope == scope && inner.is_terminal() {
                        graph.owner[end] = Some(at);
                    }
                }
            }
            graph.detours[at] = state.detours().filter_map(|target| find(&target.value)).collect();
            let detours = graph.detours[at].clone();
            graph.next[at].extend(detours);
        }
        let mut from: Vec<usize> = graph.start.into_iter().collect();
        // entered from anywhere: by what the person says, after errors and limits
        from.extend(names.get("resume"));
        from.extend(unit.form.detours().filter_map(|target| find(&target.value)));
        graph.reachable = reach(&graph.next, from);
        graph
    }

    fn transitions(&mut self, unit: &Unit, at: usize, find: &dyn Fn(&str) -> Option<usize>) {
        let state = &unit.form.states[at];
        let Some(transitions) = &state.transitions else {
            if matches!(state.work, WorkForm::Fail { .. }) {
                self.ends.push(at);
            } else {
                self.next[at].extend(find(&state.beside("stop")));
            }
            return;
        };
        for (form, script) in transitions.iter().zip(&unit.states[at].transitions) {
            let never = script.condition.as_ref().is_some_and(|one| one.facts.constant == Some(false));
            if let (false, Some(target)) = (never, find(&form.target.value)) {
                self.next[at].push(target);
            }
            let blank = form.condition.as_ref().is_none_or(|text| text.value.trim() == "true");
            if script.condition.is_none() && blank {
                break;
            }
        }
    }

    pub(super) fn check(&self, unit: &Unit, findings: &mut Findings<'_>) {
        if self.start.is_none() || findings.has_errors() {
            return;
        }
        let states = &unit.form.states;
        for (at, state) in states.iter().enumerate() {
            // of a body that is never entered only its owner is named
            let start = state.beside("start");
            let entered = state.scope.is_empty()
                || states.iter().zip(&self.reachable).any(|(other, seen)| *seen && other.name.value == start);
            if !self.reachable[at] && entered && state.local() != "stop" {
                let message = format!("the state `{}` cannot be reached from `start`", state.name.value);
                let hint = "add a transition to it, or remove it";
                findings.warning("W01", state.name.span.clone(), message, Some(hint.to_owned()));
            }
        }
        let mut back = vec![Vec::new(); self.next.len()];
        for (from, targets) in self.next.iter().enumerate() {
            for target in targets {
                back[*target].push(from);
            }
        }
        let ends = reach(&back, self.ends.clone());
        let mut reported = vec![false; self.next.len()];
        for (at, state) in states.iter().enumerate() {
            if !self.reachable[at] || ends[at] || reported[at] {
                continue;
            }
            // one finding for everything that hangs together with this state
            for (other, seen) in reach(&self.next, vec![at]).into_iter().enumerate() {
                reported[other] |= seen;
            }
            for (other, seen) in reach(&back, vec![at]).into_iter().enumerate() {
                reported[other] |= seen;
            }
            self.endless(unit, at, state.name.span.clone(), findings);
        }
    }

    fn endless(&self, unit: &Unit, at: usize, span: std::ops::Range<usize>, findings: &mut Findings<'_>) {
        let name = &unit.form.states[at].name.value;
        let from = reach(&self.next, vec![at]);
        let turns = (0..self.next.len()).all(|one| !from[one] || self.next[one].len() == 1);
        let limited = unit.form.limits.max_steps.or(unit.form.limits.max_visits).is_some();
        let hint = Some("add a transition that leads to `stop`".to_owned());
        if turns && !limited {
            let message =
                format!("from `{name}` the workflow turns for ever, until the default limits stop it");
            findings.warning("W05", span, message, hint);
        } else {
            let message = format!("no end can be reached from the state `{name}`");
            findings.warning("W02", span, message, hint);
        }
    }
}

/// Everything that can be reached, the beginnings included.
fn reach(next: &[Vec<usize>], from: Vec<usize>) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    let mut open = from;
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            open.extend(&next[at]);
        }
    }
    seen
}
