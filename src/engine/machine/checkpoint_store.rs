//! The checkpoints of delegated tasks, and what their states have spent.
//!
//! The spending of a visit is added to each checkpoint that holds it: a restored task gets nothing refunded.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::machine_core::MachineCore;
use crate::branch::{Branch, BudgetScope};
use crate::budget_usage::{BudgetUnit, BudgetUsage};
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::Timestamp;

/// Most checkpoints of one task.
pub const MAX_CHECKPOINTS: usize = 20;

/// The checkpoints of all tasks, by branch and name, and how often each task was restored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CheckpointStore {
    checkpoints: BTreeMap<u64, BTreeMap<String, Arc<Branch>>>,
    restore_counts: BTreeMap<u64, u64>,
}

impl CheckpointStore {
    /// The checkpoints of a task, in the order of their names.
    pub(super) fn names(&self, task: u64) -> impl Iterator<Item = &str> {
        self.checkpoints.get(&task).into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }

    pub(super) fn has_room(&self, task: u64) -> bool {
        self.names(task).count() < MAX_CHECKPOINTS
    }

    /// How often a task was restored.
    pub(super) fn restore_count(&self, task: u64) -> u64 {
        self.restore_counts.get(&task).copied().unwrap_or(0)
    }

    pub(super) fn count_restore(&mut self, task: u64) {
        *self.restore_counts.entry(task).or_insert(0) += 1;
    }

    pub(super) fn insert(&mut self, task: u64, name: String, branch: Branch) {
        self.checkpoints.entry(task).or_default().insert(name, Arc::new(branch));
    }

    pub(super) fn get(&self, task: u64, name: &str) -> Option<&Branch> {
        self.checkpoints.get(&task)?.get(name).map(Arc::as_ref)
    }

    /// Drops the checkpoints of tasks that are over.
    pub(super) fn retain_open(&mut self, open_branches: &[u64]) {
        self.checkpoints.retain(|owner, _| open_branches.contains(owner));
    }

    /// Drops all: the definition has changed, and they name its old states.
    pub(super) fn clear(&mut self) {
        self.checkpoints.clear();
    }

    fn usages_of_visit(&mut self, nth: u64) -> impl Iterator<Item = &mut BudgetUsage> {
        let holds = move |branch: &&mut Arc<Branch>| branch.frames.iter().any(|frame| frame.visit.nth == nth);
        let branches = self.checkpoints.values_mut().flat_map(BTreeMap::values_mut).filter(holds);
        let frames = branches.flat_map(|branch| &mut Arc::make_mut(branch).frames);
        frames
            .map(|frame| &mut frame.visit)
            .filter(move |visit| visit.nth == nth)
            .map(|visit| &mut visit.budget_usage)
    }

    pub(super) fn spend(&mut self, core: &MachineCore, nth: u64, usage: &TokenUsage, cost_usd: Option<f64>) {
        if core.spec.suspends_timeouts() {
            self.usages_of_visit(nth).for_each(|spent| spent.add_usage(usage, cost_usd));
        }
    }

    pub(super) fn grant(&mut self, core: &MachineCore, scope: BudgetScope, unit: BudgetUnit, more: f64) {
        let BudgetScope::State { branch_id, frame_id } = scope else { return };
        let frame = core.branches.by_id(branch_id).and_then(|branch| branch.frames.get(frame_id));
        if let Some(nth) = frame.map(|frame| frame.visit.nth).filter(|_| core.spec.suspends_timeouts()) {
            self.usages_of_visit(nth).for_each(|spent| spent.grant_more(unit, more));
        }
    }

    /// The visit of the innermost frame is over. Its time continues when the task is restored to a checkpoint.
    pub(super) fn pause_clocks(&mut self, core: &MachineCore) {
        if self.checkpoints.is_empty() || !core.spec.suspends_timeouts() {
            return;
        }
        if let Some(nth) = core.frame().map(|frame| frame.visit.nth) {
            self.usages_of_visit(nth).for_each(|spent| spent.pause_clock(core.now));
        }
    }

    /// A visit is open again.
    pub(super) fn resume_clocks(&mut self, nth: u64, now: Timestamp) {
        self.usages_of_visit(nth).for_each(|spent| spent.resume_clock(now));
    }

    /// Excludes the time during which no process drove the run.
    pub(super) fn exclude_time(&mut self, core: &MachineCore, gap: i64) {
        if !core.spec.suspends_timeouts() {
            return;
        }
        let branches = self.checkpoints.values_mut().flat_map(BTreeMap::values_mut);
        let frames = branches.flat_map(|branch| &mut Arc::make_mut(branch).frames);
        let usages = frames.map(|frame| &mut frame.visit.budget_usage);
        // a paused clock resumes from its own reading
        usages.filter(|spent| !spent.is_clock_paused()).for_each(|spent| spent.exclude_time(gap));
    }
}
