//! `Input::Started`: the first frame, the snapshot, the start state.

use super::snapshot_gate::SnapshotProgress;
use super::{BudgetUsage, CallFrame, Machine, NextHandler, RunEvent, WaitState};
use synthdev_domain::ids::WorkflowIx;
use synthdev_domain::workflow::{SnapshotPolicy, plain_text};

impl Machine {
    pub(super) fn on_started(&mut self, seed: u64) -> NextHandler {
        if self.core.branches.current.wait_state != WaitState::New {
            return NextHandler::Wait;
        }
        self.core.seed = seed;
        let Some(root) = self.core.spec.program.workflows.first().cloned() else { return NextHandler::Wait };
        let inputs = self.core.spec.inputs.clone();
        self.core.emit_event(RunEvent::RunStarted {
            workflow: root.name.clone(),
            definition: self.core.spec.program.hash.clone(),
            inputs: inputs.clone(),
            chat: root.conversational,
            replayed: self.core.spec.charges_every_attempt() && self.core.spec.program.is_replay(),
            budget: (self.core.spec.checks_budgets_ahead() && !root.budget.is_unbounded())
                .then(|| Box::new(root.budget)),
        });
        if !self.breakpoints.set.is_empty() {
            self.breakpoints.emit_breakpoints(&mut self.core);
        }
        self.snapshot_before();
        self.core.last_frame_id = 1;
        self.core.branches.current.frames.push(CallFrame::new(
            1,
            WorkflowIx(0),
            &root,
            String::new(),
            inputs,
        ));
        self.budgets.run = BudgetUsage::open(self.core.now);
        self.core.arm_workflow_timer();
        self.core.branches.current.next_state = Some(root.start);
        NextHandler::Wait
    }

    /// What the run is undone to: taken beside the work, or not before it is needed where nothing that the definition
    /// declares can change files.
    pub(super) fn snapshot_before(&mut self) {
        if self.core.spec.defers_snapshot() {
            self.snapshots.progress = SnapshotProgress::Deferred;
        } else if self
            .core
            .spec
            .program
            .workflows
            .first()
            .is_some_and(|root| root.snapshot != SnapshotPolicy::Off)
        {
            self.request_first_snapshot();
        }
    }

    pub(super) fn request_first_snapshot(&mut self) {
        let Some(root) = self.core.spec.program.workflows.first().cloned() else { return };
        let note = self.core.spec.inputs.values().map(plain_text).collect::<Vec<_>>().join("\n");
        let kind = if root.conversational { "Chat" } else { "Workflow" };
        self.snapshots.request(&mut self.core, format!("{kind}: {}", root.name), note);
    }
}
