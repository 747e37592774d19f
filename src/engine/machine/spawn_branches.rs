//! `parallel` and `foreach` begin: one lane per branch or item, as many at once as there are places.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Branch, Machine, RunEvent, WaitState};
use crate::call_frame::CallFrame;
use crate::parallel::{ParallelKind, ParallelProgress};
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::LOOPS;
use synthdev_domain::workflow::{ForEachSpec, ParallelSpec, StateBody, value_kind};

impl Machine {
    pub(super) fn begin_parallel(&mut self, spec: &ParallelSpec) {
        let names = spec.branches.iter().map(|branch| branch.name.clone()).collect();
        self.split(ParallelKind::Branches, spec.branches.len(), spec.max_concurrency, names);
    }

    pub(super) fn begin_foreach(&mut self, spec: &ForEachSpec, items: Option<Value>) {
        match items {
            Some(Value::Array(items)) => {
                let total = items.len();
                self.split(ParallelKind::Items(Arc::new(items)), total, spec.max_concurrency, Vec::new());
            }
            other => {
                let found = other.as_ref().map_or("undefined", value_kind);
                let detail =
                    format!("`in` of state `{}` must give an array, it gives {found}", self.state_name());
                self.fail(
                    RunError::new("validation", "There is nothing to loop over", detail).hint(
                        "write an expression that gives an array, for example `common_data.files ?? []`",
                    ),
                );
            }
        }
    }

    fn split(&mut self, kind: ParallelKind, total: usize, most: Option<u32>, branches: Vec<String>) {
        let Some(workflow) = self.workflow() else { return };
        let depth = self.lane.depth + self.lane.frames.len();
        if depth > workflow.limits.max_depth as usize {
            let detail = format!(
                "state `{}` would be level {depth}, at most {} are allowed",
                self.state_name(),
                workflow.limits.max_depth
            );
            return self.fail(
                RunError::new("limit", "Branches are nested too deep", detail)
                    .hint("raise \"limits\": {\"max_depth\": …}, or nest less"),
            );
        }
        let allowed = self.spec.program.workflows.first().map_or(1, |root| root.limits.max_concurrency);
        let places = most.map_or(allowed, |most| most.min(allowed));
        self.emit(RunEvent::Forked { state: self.state_name(), branches, total });
        self.lane.fork = Some(ParallelProgress::new(kind, total, places as usize));
        self.lane.phase = WaitState::Fork;
        self.fill_places();
    }

    /// Begins what there is room for; joins when nothing is left.
    pub(super) fn fill_places(&mut self) {
        while let Some(at) = self.lane.fork.as_mut().and_then(ParallelProgress::start_next) {
            self.spawn(at);
        }
        if self.lane.fork.as_ref().is_some_and(ParallelProgress::is_done) {
            self.join();
        }
    }

    fn spawn(&mut self, at: usize) {
        let Some((workflow, state)) = self.current_state() else { return };
        let owner = self.state_name();
        self.frame_ids += 1;
        self.lane_ids += 1;
        let (id, frame_id) = (self.lane_ids, self.frame_ids);
        let Some((frame, fork)) = self.lane.frames.last().zip(self.lane.fork.as_mut()) else { return };
        let (frame, start) = match (&state.work, &fork.kind) {
            (StateBody::Parallel(spec), ParallelKind::Branches) => {
                let Some(branch) = spec.branches.get(at) else { return };
                (frame.branch(frame_id, branch.start), branch.start)
            }
            (StateBody::ForEach(spec), ParallelKind::Items(items)) => {
                let Some(item) = items.get(at) else { return };
                let facts = facts(item, at, items.len());
                let mut body = frame.item(frame_id, &workflow, spec.start, visible(frame, spec, &facts));
                body.item = Some(Arc::new(facts));
                let own = frame.path_name(&state);
                let own = own.strip_prefix(&frame.prefix).unwrap_or(&own);
                body.body = Some((format!("{}/", state.name), format!("{own}[{at}]/")));
                (body, spec.start)
            }
            _ => return,
        };
        let handed_out = matches!(&state.work, StateBody::ForEach(spec) if spec.handed_out.is_some());
        fork.running.insert(at, id);
        let branch = branch_name(&state.work, at);
        self.emit(RunEvent::BranchStarted { state: owner, branch, index: at });
        let errand = if handed_out { Some(id) } else { self.lane.errand };
        self.begin_lane(id, at, (frame, start), errand);
    }

    fn begin_lane(&mut self, id: u64, at: usize, (frame, start): (CallFrame, StateIx), errand: Option<u64>) {
        let mut lane = Branch::new(id, Some((self.lane.id, at)), self.lane.depth + self.lane.frames.len());
        lane.errand = errand;
        lane.frames.push(frame);
        lane.jump = Some(start);
        self.lanes.insert(id, lane);
        self.ready.push_back(id);
    }
}

/// The name of a branch, `[3]` for an item.
pub(super) fn branch_name(work: &StateBody, at: usize) -> String {
    match work {
        StateBody::Parallel(spec) => {
            spec.branches.get(at).map(|branch| branch.name.clone()).unwrap_or_default()
        }
        StateBody::None
        | StateBody::Agent { .. }
        | StateBody::Child { .. }
        | StateBody::ForEach(_)
        | StateBody::Step(_)
        | StateBody::Pause(_)
        | StateBody::Wait(_)
        | StateBody::Fail { .. } => format!("[{at}]"),
    }
}

/// `loop` in scripts.
fn facts(item: &Value, at: usize, total: usize) -> Value {
    json!({"item": item, "index": at, "total": total, "is_first": at == 0, "is_last": at + 1 == total})
}

/// What a body sees of its parent: the paths it asked for, and its item.
fn visible(frame: &CallFrame, spec: &ForEachSpec, facts: &Value) -> Map<String, Value> {
    let mut data = Map::new();
    for path in &spec.needs {
        if path == "*" {
            data = (*frame.data).clone();
            data.shift_remove(LOOPS);
        } else {
            let keys: Vec<&str> = path.split('.').collect();
            copy(&frame.data, &mut data, &keys);
        }
    }
    for (name, key) in [(spec.each.as_str(), "item"), (spec.at.as_str(), "index")] {
        data.insert(name.to_owned(), facts[key].clone());
    }
    for key in ["total", "is_first", "is_last"] {
        data.insert(key.to_owned(), facts[key].clone());
    }
    data
}

/// Copies `a.b.c` with the objects above it; what is not there stays undefined.
fn copy(from: &Map<String, Value>, to: &mut Map<String, Value>, path: &[&str]) {
    let [key, rest @ ..] = path else { return };
    let Some(value) = from.get(*key) else { return };
    match (value, rest) {
        (value, []) => {
            to.insert((*key).to_owned(), value.clone());
        }
        (Value::Object(inner), rest) => {
            let slot = to.entry(*key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(slot) = slot {
                copy(inner, slot, rest);
            }
        }
        _ => {}
    }
}
