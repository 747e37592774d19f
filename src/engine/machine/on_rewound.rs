//! `Input::Rewound`: a run that is rewound, or a fork, is before a step again with the state it had then.

use serde_json::{Map, Value};

use super::run_phase::RunPhase;
use super::{Machine, RunEvent, WaitState};
use crate::input::RewindInput;
use synthdev_domain::journal::RunStatus;

impl Machine {
    /// Stops before the n-th state is entered. Replays use it for the last input that still counts.
    pub fn halt_before(&mut self, step: u32) {
        self.breakpoints.halt_before_step = Some(step);
    }

    pub fn is_halted(&self) -> bool {
        self.core.phase.is_halted()
    }

    /// `common_data` of the workflow whose state comes next.
    pub fn data(&self) -> Map<String, Value> {
        self.core.frame().map(|frame| Map::clone(&frame.data)).unwrap_or_default()
    }

    /// Texts of the user that nothing has read yet.
    pub fn queued_texts(&self) -> Vec<String> {
        self.messages.texts().map(str::to_owned).collect()
    }

    pub(super) fn on_rewound(&mut self, returned: RewindInput) {
        let RewindInput { step, fork_of, set, program, spent, files, taken, withdrawn, .. } = returned;
        self.breakpoints.halt_before_step = None;
        if let Some(program) = program {
            // the driver has tried it on a copy before it wrote this down
            let _ = self.upgrade_program(program);
        }
        for entry in spent {
            self.budgets.spent_before(&mut self.core, &entry);
            self.ledger.entries.push(&entry);
        }
        let state = self
            .core
            .branches
            .current
            .next_state
            .map(|target| self.core.state_path(target))
            .unwrap_or_default();
        self.core.emit_event(RunEvent::Rewound { step, state, fork_of: fork_of.clone(), files });
        if let Some((call, info)) = self.pending_snapshot().zip(taken) {
            let next = self.on_snapshot_taken(call, info);
            self.advance(next);
        }
        self.set_data_paths(set);
        withdrawn.into_iter().for_each(|text| self.take_message_back(text));
        if fork_of.is_some() {
            // a fork is a run of its own: it is undone to where it begins
            self.snapshots.initial = None;
        }
        if self.core.spec.closes_answered() {
            // what it waited for has been answered: it only enters its next state
            (self.core.branches.current.wait_state, self.core.branches.current.was_shown) =
                (WaitState::New, false);
        }
        // the user may change files while the run is stopped
        self.snapshots.needed_before_step = true;
        (self.status, self.error, self.result) = (RunStatus::Paused, None, None);
        self.core.phase = RunPhase::Rewound;
    }

    pub(super) fn set_data_paths(&mut self, set: Vec<(Vec<String>, Value)>) {
        let state = self.core.state_name();
        let Some(frame) = self.core.frame_mut() else { return };
        let mut changed = Map::new();
        for (path, value) in set {
            let [key, rest @ ..] = path.as_slice() else { continue };
            let mut whole =
                changed.remove(key).or_else(|| frame.data.get(key).cloned()).unwrap_or(Value::Null);
            set_at_path(&mut whole, rest, value);
            changed.insert(key.clone(), whole);
        }
        if !changed.is_empty() {
            frame.set_data(&changed, &[]);
            self.core.emit_event(RunEvent::DataChanged { state, set: changed, removed: Vec::new() });
        }
    }
}

/// Objects on the way are made where there is none; positions of lists are numbers.
fn set_at_path(into: &mut Value, path: &[String], value: Value) {
    let [key, rest @ ..] = path else {
        *into = value;
        return;
    };
    if let Some(item) = into.as_array_mut().and_then(|items| items.get_mut(key.parse::<usize>().ok()?)) {
        return set_at_path(item, rest, value);
    }
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Value::Object(fields) = into {
        set_at_path(fields.entry(key.clone()).or_insert(Value::Null), rest, value);
    }
}
