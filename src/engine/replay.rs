//! A run from its journal: the same inputs give the same events; no script runs, no model is asked.

use std::sync::Arc;

use super::event::RunEvent;
use super::input::Input;
use super::machine::Machine;
use super::spec::RunSpec;
use crate::domain::ids::Timestamp;

/// Feeds recorded inputs to a new machine and returns it with every event in order.
pub fn replay(
    spec: Arc<RunSpec>,
    inputs: impl IntoIterator<Item = (Timestamp, Input)>,
) -> (Machine, Vec<(Timestamp, RunEvent)>) {
    let mut machine = Machine::new(spec);
    let mut events = Vec::new();
    for (at, input) in inputs {
        events.extend(machine.handle(at, input).events.into_iter().map(|event| (at, event)));
    }
    (machine, events)
}
