//! `Input::Started`: the first frame, the snapshot, the start state.

use super::{BudgetUsage, CallFrame, Machine, Next, RunEvent, WaitState};
use synthdev_domain::ids::WorkflowIx;
use synthdev_domain::workflow::{SnapshotPolicy, plain_text};

impl Machine {
    pub(super) fn on_started(&mut self, seed: u64) -> Next {
        if self.branch.phase != WaitState::New {
            return Next::Wait;
        }
        self.seed = seed;
        let Some(root) = self.spec.program.workflows.first().cloned() else { return Next::Wait };
        let inputs = self.spec.inputs.clone();
        self.emit_event(RunEvent::RunStarted {
            workflow: root.name.clone(),
            definition: self.spec.program.hash.clone(),
            inputs: inputs.clone(),
            chat: root.conversational,
            replayed: self.counts_all() && self.spec.program.is_replay(),
            budget: (self.checks_budgets_ahead() && !root.budget.is_unbounded())
                .then(|| Box::new(root.budget)),
        });
        if !self.breakpoints.is_empty() {
            self.emit_breakpoints();
        }
        self.snapshot_before();
        self.last_frame_id = 1;
        self.branch.frames.push(CallFrame::new(1, WorkflowIx(0), &root, String::new(), inputs));
        self.budget_usage = BudgetUsage::open(self.now);
        self.arm_workflow_timer();
        self.branch.next_state = Some(root.start);
        Next::Wait
    }

    /// What the run is undone to.
    pub(super) fn snapshot_before(&mut self) {
        let Some(root) = self.spec.program.workflows.first().cloned() else { return };
        if root.snapshot != SnapshotPolicy::Off {
            let note = self.spec.inputs.values().map(plain_text).collect::<Vec<_>>().join("\n");
            let kind = if root.conversational { "Chat" } else { "Workflow" };
            self.take_snapshot(format!("{kind}: {}", root.name), note);
        }
    }
}
