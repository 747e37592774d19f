//! The states as a graph: what cannot be reached (W01), what cannot end (W02), what turns for ever (W05).

use std::collections::{HashMap, HashSet};

use super::super::source::FileDiagnostics;
use super::super::workflow_file::{NoMatchForm, OnErrorForm, SpannedText, StateForm, WorkForm, WorkflowForm};
use super::CompilationUnit;

/// Successors of each state over everything that can be taken: transitions, detours after errors and limits. `stop`
/// is the index after the last state if the file defines none.
pub(super) struct StateFlowGraph {
    pub(super) successors: Vec<Vec<usize>>,
    /// The beginnings of a state's branches or loop body: they run inside of its visit.
    pub(super) body_starts: Vec<Vec<usize>>,
    pub(super) start: Option<usize>,
    pub(super) is_reachable: Vec<bool>,
    stop_state: usize,
}

impl StateFlowGraph {
    pub(super) fn new(unit: &CompilationUnit) -> Self {
        let states = &unit.form.states;
        let names: HashMap<&str, usize> =
            states.iter().enumerate().rev().map(|(at, state)| (state.name.value.as_str(), at)).collect();
        let stop = names.get("stop").copied().unwrap_or(states.len());
        let find = |name: &str| if name == "stop" { Some(stop) } else { names.get(name).copied() };
        let shared: Vec<usize> =
            policy_targets(&unit.form).filter_map(|target| find(&target.value)).collect();
        let mut next = vec![Vec::new(); states.len() + 1];
        let mut inside = next.clone();
        for (at, state) in states.iter().enumerate() {
            if state.is_terminal() {
                continue;
            }
            inside[at] = state.bodies().into_iter().filter_map(find).collect();
            next[at].extend(transition_targets(unit, at).filter_map(|name| find(&name)));
            next[at].extend(state.error_targets().filter_map(|target| find(&target.value)));
            if state.scope.is_empty() {
                next[at].extend(&shared);
            }
        }
        let start = names.get("start").copied();
        let from = start.into_iter().chain(names.get("resume").copied().filter(|_| start.is_some()));
        let both: Vec<Vec<usize>> =
            next.iter().zip(&inside).map(|(a, b)| [a.as_slice(), b].concat()).collect();
        let reachable = reachable_nodes(&both, from.collect());
        Self { successors: next, body_starts: inside, start, is_reachable: reachable, stop_state: stop }
    }

    pub(super) fn check_graph(&self, unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
        if self.start.is_none() || findings.has_errors() {
            return;
        }
        let states = &unit.form.states;
        // of a body that is never entered only its owner is named
        let inside =
            (0..states.len()).filter(|at| self.is_reachable[*at]).flat_map(|at| &self.body_starts[at]);
        let mut entered: HashSet<&str> = inside.map(|start| states[*start].scope.as_str()).collect();
        entered.insert("");
        for (at, state) in states.iter().enumerate() {
            let seen = entered.contains(state.scope.as_str());
            if !self.is_reachable[at]
                && at != self.stop_state
                && !state.implied
                && seen
                && !findings.is_full()
            {
                let message = format!("the state `{}` cannot be reached from `start`", state.name.value);
                let hint = "add a transition to it, or remove it";
                findings.add_warning("W01", state.name.span.clone(), message, Some(hint.to_owned()));
            }
        }
        let mut back = vec![Vec::new(); self.successors.len()];
        for (from, targets) in self.successors.iter().enumerate() {
            for target in targets {
                back[*target].push(from);
            }
        }
        let ended = |state: &StateForm| state.is_terminal() || matches!(state.work, WorkForm::Fail(_));
        let all = states.iter().enumerate().filter(|(_, state)| ended(state)).map(|(at, _)| at);
        let ends = reachable_nodes(&back, all.chain([self.stop_state]).collect());
        let mut reported = vec![false; self.successors.len()];
        for (at, state) in states.iter().enumerate() {
            if !self.is_reachable[at] || ends[at] || reported[at] || findings.is_full() {
                continue;
            }
            // one finding for everything that hangs together with this state
            for (other, seen) in reachable_nodes(&self.successors, vec![at]).into_iter().enumerate() {
                reported[other] |= seen;
            }
            for (other, seen) in reachable_nodes(&back, vec![at]).into_iter().enumerate() {
                reported[other] |= seen;
            }
            self.check_endless(unit, at, state, findings);
        }
    }

    fn check_endless(
        &self,
        unit: &CompilationUnit,
        at: usize,
        state: &StateForm,
        findings: &mut FileDiagnostics<'_>,
    ) {
        let (name, span) = (&state.name.value, state.name.span.clone());
        let from = reachable_nodes(&self.successors, vec![at]);
        let turns = (0..self.successors.len()).all(|one| !from[one] || self.successors[one].len() == 1);
        let form = &unit.form;
        let limits = &form.limits;
        let limited = limits.max_steps.or(limits.max_visits).or(limits.max_model_calls).is_some()
            || !form.spec.budget.is_unbounded()
            || form.spec.timeout_ms.is_some()
            || form
                .states
                .iter()
                .zip(&from)
                .any(|(state, inside)| *inside && state.spec.max_visits.is_some());
        let end = state.sibling_name("stop");
        let hint = Some(format!(
            "add a transition that leads to `{}`",
            end.strip_prefix(&state.scope).unwrap_or(&end)
        ));
        if turns && !limited {
            let message =
                format!("from `{name}` the workflow turns for ever, until the default limits stop it");
            findings.add_warning("W05", span, message, hint);
        } else {
            let message = format!("no end can be reached from the state `{name}`");
            findings.add_warning("W02", span, message, hint);
        }
    }
}

/// Where errors, limits and missing transitions lead from every state of the workflow itself.
fn policy_targets(form: &WorkflowForm) -> impl Iterator<Item = &SpannedText> {
    let on_error = match &form.on_error {
        Some(OnErrorForm::Go(target)) => Some(target),
        Some(OnErrorForm::Fail | OnErrorForm::Continue) | None => None,
    };
    let no_match = match &form.no_match {
        NoMatchForm::Go(target) => Some(target),
        NoMatchForm::Error | NoMatchForm::Stop => None,
    };
    on_error.into_iter().chain(&form.on_limit).chain(no_match)
}

/// The names of the states that the transitions of a state can lead to.
fn transition_targets(unit: &CompilationUnit, at: usize) -> impl Iterator<Item = String> {
    let state = &unit.form.states[at];
    let mut all = Vec::new();
    match &state.transitions {
        None if matches!(state.work, WorkForm::Fail(_)) => {}
        None => all.push(state.sibling_name("stop")),
        Some(transitions) => {
            for (form, script) in transitions.iter().zip(&unit.states[at].transitions) {
                let never = script.condition.as_ref().is_some_and(|one| one.facts.constant == Some(false));
                if !never {
                    all.push(form.target.value.clone());
                }
                let blank = form.condition.as_ref().is_none_or(|text| text.value.trim() == "true");
                if script.condition.is_none() && blank {
                    break;
                }
            }
        }
    }
    all.into_iter()
}

/// Everything that can be reached, the beginnings included.
fn reachable_nodes(next: &[Vec<usize>], from: Vec<usize>) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    let mut open = from;
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            open.extend(&next[at]);
        }
    }
    seen
}
