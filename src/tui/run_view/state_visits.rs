//! When each state of a run was visited, and for how long: all visits together, and the last few one by one.

use std::collections::{HashMap, VecDeque};

use synthdev_domain::ids::Timestamp;
use synthdev_domain::trace::TraceScope;
use synthdev_service::run_events::RunEvent;

/// Visits that are listed one by one.
const LISTED: usize = 5;

#[derive(Clone, Debug, Default)]
pub struct StateVisitTimes {
    /// By the state's path name, numbers of items left out.
    states: HashMap<String, StateVisitLog>,
    start_time: Option<Timestamp>,
    /// The last step in each state, by its path name.
    last_steps: HashMap<String, u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateVisitLog {
    /// Milliseconds of all visits that are over.
    pub total_ms: u64,
    /// The last ones: milliseconds since the start of the run, and how long it took; `None`: it is not over.
    pub visits: VecDeque<(u64, Option<u64>)>,
}

impl StateVisitTimes {
    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        let start = *self.start_time.get_or_insert(at);
        let since_start = u64::try_from(at.0.saturating_sub(start.0)).unwrap_or(0);
        match event {
            RunEvent::StateEntered { state, step, .. } => {
                self.last_steps.insert(state.clone(), *step);
                let log = self.states.entry(without_item_numbers(state)).or_default();
                if log.visits.len() == LISTED {
                    log.visits.pop_front();
                }
                log.visits.push_back((since_start, None));
            }
            RunEvent::Transitioned { from: state, .. } | RunEvent::Caught { state, target: Some(_), .. } => {
                if let Some(log) = self.states.get_mut(&without_item_numbers(state)) {
                    log.finish_visit(since_start);
                }
            }
            RunEvent::Finished { .. } => {
                self.states.values_mut().for_each(|log| log.finish_visit(since_start));
            }
            _ => {}
        }
    }

    /// The last step in a state: named by its path name, or by its own where it is in a called workflow or a branch.
    pub fn last_step_in(&self, state: &str) -> Option<u32> {
        let end = format!("/{state}");
        let inside = || self.last_steps.iter().filter(|(name, _)| name.ends_with(&end));
        self.last_steps.get(state).copied().or_else(|| inside().map(|(_, step)| *step).max())
    }

    /// The last step in a state of the workflow that was started, or of one that it calls.
    pub fn last_step_of(&self, part: TraceScope<'_>, state: &str) -> Option<u32> {
        let steps =
            self.last_steps.iter().filter(|(name, _)| is_state_of(part, &without_item_numbers(name), state));
        steps.map(|(_, step)| *step).max()
    }

    /// The visits of a state of the workflow that was started, or of one that it calls.
    pub fn log(&self, part: TraceScope<'_>, state: &str) -> Option<&StateVisitLog> {
        match part {
            TraceScope::Root => self.states.get(state),
            TraceScope::Called(_) => {
                self.states.iter().find(|(name, _)| is_state_of(part, name, state)).map(|(_, log)| log)
            }
        }
    }
}

/// Whether a path name is that of a state of the workflow that was started, or of one that it calls.
fn is_state_of(part: TraceScope<'_>, path: &str, state: &str) -> bool {
    match part {
        TraceScope::Root => path == state,
        TraceScope::Called(workflow) => path
            .strip_suffix(&format!("{workflow}/{state}"))
            .is_some_and(|before| before.is_empty() || before.ends_with('/')),
    }
}

impl StateVisitLog {
    fn finish_visit(&mut self, now: u64) {
        if let Some((start, took @ None)) = self.visits.iter_mut().find(|(_, took)| took.is_none()) {
            let ms = now.saturating_sub(*start);
            *took = Some(ms);
            self.total_ms = self.total_ms.saturating_add(ms);
        }
    }
}

/// `review[3]/judge` is `review/judge`.
fn without_item_numbers(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']') else { break };
        let inside = &rest[open + 1..open + close];
        let is_number = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
        name.push_str(if is_number { &rest[..open] } else { &rest[..=open + close] });
        rest = &rest[open + close + 1..];
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(state: &str) -> RunEvent {
        RunEvent::StateEntered { state: state.into(), visit: 1, step: 1, agent: None, context: None }
    }

    fn left(state: &str) -> RunEvent {
        RunEvent::Transitioned { from: state.into(), to: "x".into(), guard: 0, tried: Vec::new() }
    }

    #[test]
    fn visits_are_listed_with_their_times() {
        let mut times = StateVisitTimes::default();
        for (at, event) in [
            (1_000, entered("code")),
            (3_000, left("code")),
            (3_000, entered("each[12]/judge")),
            (4_000, entered("each[2]/judge")),
            (4_500, left("each[12]/judge")),
            (9_000, entered("talk/say")),
            (9_500, entered("code")),
        ] {
            times.apply_event(Timestamp(at), &event);
        }
        let check = |part, state: &str, total_ms: u64, visits: &[(u64, Option<u64>)]| {
            let expected = StateVisitLog { total_ms, visits: visits.iter().copied().collect() };
            assert_eq!(times.log(part, state), Some(&expected), "{state}");
        };
        check(TraceScope::Root, "code", 2_000, &[(0, Some(2_000)), (8_500, None)]);
        check(TraceScope::Root, "each/judge", 1_500, &[(2_000, Some(1_500)), (3_000, None)]);
        check(TraceScope::Called("talk"), "say", 0, &[(8_000, None)]);
        assert_eq!(times.log(TraceScope::Root, "say"), None);
        assert_eq!(times.log(TraceScope::Called("alk"), "say"), None);
    }
}
