//! The states as a graph: what cannot be reached (W01), what cannot end (W02), what turns for ever (W05).

use super::super::source::Findings;
use super::Unit;

/// Successors of each state over transitions that can be taken. `stop` is the index after the last state if the
/// file defines none.
pub(super) struct Graph {
    pub(super) next: Vec<Vec<usize>>,
    pub(super) start: Option<usize>,
    pub(super) reachable: Vec<bool>,
    stop: usize,
}

impl Graph {
    pub(super) fn new(unit: &Unit) -> Self {
        let states = &unit.form.states;
        let names: std::collections::HashMap<&str, usize> =
            states.iter().enumerate().rev().map(|(at, state)| (state.name.value.as_str(), at)).collect();
        let stop = names.get("stop").copied().unwrap_or(states.len());
        let mut next = vec![Vec::new(); states.len() + 1];
        for (at, state) in states.iter().enumerate() {
            if at == stop {
                continue;
            }
            let Some(transitions) = &state.transitions else {
                next[at].push(stop);
                continue;
            };
            for (form, script) in transitions.iter().zip(&unit.states[at].transitions) {
                let never = script.condition.as_ref().is_some_and(|one| one.facts.constant == Some(false));
                let target = if form.target.value == "stop" {
                    Some(stop)
                } else {
                    names.get(form.target.value.as_str()).copied()
                };
                if let (false, Some(target)) = (never, target) {
                    next[at].push(target);
                }
                let blank = form.condition.as_ref().is_none_or(|text| text.value.trim() == "true");
                if script.condition.is_none() && blank {
                    break;
                }
            }
        }
        let start = names.get("start").copied();
        let reachable = reach(&next, start.into_iter().collect());
        Self { next, start, reachable, stop }
    }

    pub(super) fn check(&self, unit: &Unit, findings: &mut Findings<'_>) {
        if self.start.is_none() || findings.has_errors() {
            return;
        }
        let states = &unit.form.states;
        for (at, state) in states.iter().enumerate() {
            if !self.reachable[at] && at != self.stop {
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
        let ends = reach(&back, vec![self.stop]);
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
