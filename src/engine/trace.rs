//! The trace of a run, read from its events: for drawings of finished and running runs.

use super::event::RunEvent;
use synthdev_domain::trace::{RunTrace, StateExit};

/// The trail that these events leave.
pub fn build_trace<'e>(events: impl IntoIterator<Item = &'e RunEvent>) -> RunTrace {
    let mut trail = RunTrace::default();
    events.into_iter().for_each(|event| record_event(&mut trail, event));
    trail
}

/// Takes one more event into account; most say nothing about where a run is.
pub fn record_event(trail: &mut RunTrace, event: &RunEvent) {
    if let RunEvent::StateEntered { state, agent, .. } = event {
        trail.record_entered(state, agent.as_deref());
    } else if let RunEvent::Transitioned { from, guard, .. } = event {
        trail.record_left(from, StateExit::Transition(*guard));
    } else if let RunEvent::Caught { state, target: Some(target), .. } = event {
        trail.record_left(state, StateExit::Exception(target.clone()));
    } else if let RunEvent::ChildStarted { state, workflow, .. } = event {
        trail.record_called(state, workflow);
    } else if let RunEvent::ChildFinished { state, workflow, .. } = event {
        trail.record_returned(state, workflow);
    } else if let RunEvent::BranchFinished { state, branch, .. } = event {
        trail.record_closed(&body_prefix(state, branch));
    } else if let RunEvent::Joined { state, .. } = event {
        trail.record_joined(state);
    } else if let RunEvent::Replied { agent, usage, cost_usd, .. } = event {
        trail.record_spent(agent, usage.total(), *cost_usd);
    } else if let RunEvent::ModelFailed { spent, .. } | RunEvent::ModelStopped { spent, .. } = event {
        spent.iter().for_each(|entry| trail.record_spent(&entry.agent, entry.usage.total(), entry.cost_usd));
    }
}

/// How the paths of a body's states begin: an item is called `[3]`, a branch by its name.
fn body_prefix(owner: &str, branch: &str) -> String {
    if branch.starts_with('[') { format!("{owner}{branch}/") } else { format!("{owner}.{branch}/") }
}
