//! `Input::Returned`: a run that goes back, or a fork, stands before a step with everything as it was then.

use serde_json::{Map, Value};

use super::{Machine, RunEvent};
use crate::input::RewindInput;
use synthdev_domain::journal::RunStatus;

impl Machine {
    /// Stands still before the n-th state is entered. Replays use it for the last input that still counts.
    pub fn halt_before(&mut self, step: u32) {
        self.halt = Some(step);
    }

    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// `common_data` where the run stands: of the workflow whose state comes next.
    pub fn data(&self) -> Map<String, Value> {
        self.frame().map(|frame| Map::clone(&frame.data)).unwrap_or_default()
    }

    pub(super) fn on_returned(&mut self, returned: RewindInput) {
        let RewindInput { step, fork_of, set, program, spent, files, taken, .. } = returned;
        self.halt = None;
        if let Some(program) = program {
            // the driver has tried it on a copy before it wrote this down
            let _ = self.upgrade(program);
        }
        for entry in spent {
            self.spent_before(&entry);
            self.ledger.entries.push(&entry);
        }
        let state = self.lane.jump.map(|target| self.name_of(target)).unwrap_or_default();
        self.emit(RunEvent::Returned { step, state, fork_of: fork_of.clone(), files });
        if let Some((call, info)) = self.snapshot_asked().zip(taken) {
            self.on_snapshot_taken(call, info);
        }
        self.set_data_paths(set);
        if fork_of.is_some() {
            // a fork is a run of its own: it is undone to where it begins
            self.before = None;
        }
        // while it stands still, somebody may change the files
        self.fresh = true;
        (self.status, self.error, self.result, self.parked) = (RunStatus::Paused, None, None, true);
    }

    pub(super) fn set_data_paths(&mut self, set: Vec<(Vec<String>, Value)>) {
        let state = self.state_name();
        let Some(frame) = self.frame_mut() else { return };
        let mut changed = Map::new();
        for (path, value) in set {
            let [key, rest @ ..] = path.as_slice() else { continue };
            let mut whole =
                changed.remove(key).or_else(|| frame.data.get(key).cloned()).unwrap_or(Value::Null);
            put(&mut whole, rest, value);
            changed.insert(key.clone(), whole);
        }
        if !changed.is_empty() {
            frame.set_data(&changed, &[]);
            self.emit(RunEvent::DataChanged { state, set: changed, removed: Vec::new() });
        }
    }
}

/// Objects on the way are made where there is none; positions of lists are numbers.
fn put(into: &mut Value, path: &[String], value: Value) {
    let [key, rest @ ..] = path else {
        *into = value;
        return;
    };
    if let Some(item) = into.as_array_mut().and_then(|items| items.get_mut(key.parse::<usize>().ok()?)) {
        return put(item, rest, value);
    }
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Value::Object(fields) = into {
        put(fields.entry(key.clone()).or_insert(Value::Null), rest, value);
    }
}
