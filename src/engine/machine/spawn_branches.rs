//! Starts `parallel` and `foreach`: one branch per branch or item, as many at once as are allowed.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Branch, Machine, NextHandler, RunEvent, WaitState};
use crate::call_frame::CallFrame;
use crate::parallel::{ParallelKind, ParallelProgress};
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::LOOPS;
use synthdev_domain::workflow::{ForEachSpec, ParallelSpec, StateBody, value_kind};

impl Machine {
    pub(super) fn begin_parallel(&mut self, spec: &ParallelSpec) -> NextHandler {
        let names = spec.branches.iter().map(|branch| branch.name.clone()).collect();
        self.start_parallel(ParallelKind::Branches, spec.branches.len(), spec.max_concurrency, names)
    }

    pub(super) fn begin_for_each(&mut self, spec: &ForEachSpec, items: Option<Value>) -> NextHandler {
        match items {
            Some(Value::Array(items)) => {
                let total = items.len();
                self.start_parallel(
                    ParallelKind::Items(Arc::new(items)),
                    total,
                    spec.max_concurrency,
                    Vec::new(),
                )
            }
            other => {
                let found = other.as_ref().map_or("undefined", value_kind);
                let detail = format!(
                    "`in` of state `{}` must give an array, it gives {found}",
                    self.core.state_name()
                );
                NextHandler::fail(
                    RunError::new("validation", "There is nothing to loop over", detail).with_hint(
                        "write an expression that gives an array, for example `common_data.files ?? []`",
                    ),
                )
            }
        }
    }

    fn start_parallel(
        &mut self,
        kind: ParallelKind,
        total: usize,
        most: Option<u32>,
        branches: Vec<String>,
    ) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        let depth = self.core.branches.current.depth + self.core.branches.current.frames.len();
        if depth > workflow.limits.max_depth as usize {
            let detail = format!(
                "state `{}` would be level {depth}, at most {} are allowed",
                self.core.state_name(),
                workflow.limits.max_depth
            );
            return NextHandler::fail(
                RunError::new("limit", "Branches are nested too deep", detail)
                    .with_hint("raise \"limits\": {\"max_depth\": …}, or nest less"),
            );
        }
        let allowed = self.core.spec.program.workflows.first().map_or(1, |root| root.limits.max_concurrency);
        let places = most.map_or(allowed, |most| most.min(allowed));
        self.core.emit_event(RunEvent::Forked { state: self.core.state_name(), branches, total });
        self.core.branches.current.fork = Some(ParallelProgress::new(kind, total, places as usize));
        self.core.branches.current.wait_state = WaitState::Fork;
        self.fill_places()
    }

    /// Begins what there is room for; joins when nothing is left.
    pub(super) fn fill_places(&mut self) -> NextHandler {
        while let Some(at) = self.core.branches.current.fork.as_mut().and_then(ParallelProgress::start_next) {
            self.spawn_branch(at);
        }
        if self.core.branches.current.fork.as_ref().is_some_and(ParallelProgress::is_done) {
            return NextHandler::JoinBranches;
        }
        NextHandler::Wait
    }

    fn spawn_branch(&mut self, at: usize) {
        let Some((workflow, state)) = self.core.current_state() else { return };
        let owner = self.core.state_name();
        self.core.last_frame_id += 1;
        self.core.branches.last_id += 1;
        let (id, frame_id) = (self.core.branches.last_id, self.core.last_frame_id);
        let Some((frame, fork)) =
            self.core.branches.current.frames.last().zip(self.core.branches.current.fork.as_mut())
        else {
            return;
        };
        let (frame, start) = match (&state.work, &fork.kind) {
            (StateBody::Parallel(spec), ParallelKind::Branches) => {
                let Some(branch) = spec.branches.get(at) else { return };
                (frame.for_branch(frame_id, branch.start), branch.start)
            }
            (StateBody::ForEach(spec), ParallelKind::Items(items)) => {
                let Some(item) = items.get(at) else { return };
                let facts = loop_facts(item, at, items.len());
                let mut body =
                    frame.for_item(frame_id, &workflow, spec.start, visible_scope(frame, spec, &facts));
                body.item = Some(Arc::new(facts));
                let own = frame.path_name(&state);
                let own = own.strip_prefix(&frame.prefix).unwrap_or(&own);
                body.body = Some((format!("{}/", state.name), format!("{own}[{at}]/")));
                (body, spec.start)
            }
            _ => return,
        };
        let handed_out = matches!(&state.work, StateBody::ForEach(spec) if spec.handed_out.is_some());
        fork.running_branches.insert(at, id);
        let branch = branch_name(&state.work, at);
        self.core.emit_event(RunEvent::BranchStarted { state: owner, branch, index: at });
        let task = if handed_out { Some(id) } else { self.core.branches.current.task_branch };
        self.start_branch(id, at, frame, start, task);
    }

    fn start_branch(&mut self, id: u64, at: usize, frame: CallFrame, start: StateIx, task: Option<u64>) {
        let mut branch = Branch::new(
            id,
            Some((self.core.branches.current.id, at)),
            self.core.branches.current.depth + self.core.branches.current.frames.len(),
        );
        branch.task_branch = task;
        branch.frames.push(frame);
        branch.next_state = Some(start);
        self.core.branches.others.insert(id, branch);
        self.core.branches.ready.push_back(id);
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
        | StateBody::Action(_)
        | StateBody::Pause(_)
        | StateBody::Wait(_)
        | StateBody::Fail { .. } => format!("[{at}]"),
    }
}

/// `loop` in scripts.
fn loop_facts(item: &Value, at: usize, total: usize) -> Value {
    json!({"item": item, "index": at, "total": total, "is_first": at == 0, "is_last": at + 1 == total})
}

/// What a body sees of its parent: the paths it asked for, and its item.
fn visible_scope(frame: &CallFrame, spec: &ForEachSpec, facts: &Value) -> Map<String, Value> {
    let mut data = Map::new();
    for path in &spec.needs {
        if path == "*" {
            data = (*frame.data).clone();
            data.shift_remove(LOOPS);
        } else {
            let keys: Vec<&str> = path.split('.').collect();
            copy_path(&frame.data, &mut data, &keys);
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
fn copy_path(from: &Map<String, Value>, to: &mut Map<String, Value>, path: &[&str]) {
    let [key, rest @ ..] = path else { return };
    let Some(value) = from.get(*key) else { return };
    match (value, rest) {
        (value, []) => {
            to.insert((*key).to_owned(), value.clone());
        }
        (Value::Object(inner), rest) => {
            let slot = to.entry(*key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(slot) = slot {
                copy_path(inner, slot, rest);
            }
        }
        _ => {}
    }
}
