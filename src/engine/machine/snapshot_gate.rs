//! The snapshot that tools which change files wait for, and the one that the run is undone to.

use super::machine_core::MachineCore;
use crate::effect::Effect;
use serde::{Deserialize, Serialize};
use synthdev_domain::ids::{CallId, SnapshotId};

/// How far the snapshot is that a tool which changes files waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum SnapshotProgress {
    /// None was requested, or the run continues without one: the user agreed, or is not there to be asked.
    None,
    /// Requested by the first tool that is about to change files.
    Deferred,
    Pending(CallId),
    Taken,
    Failed(String),
}

/// The run's snapshots, as far as tools and the end of the run wait for them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SnapshotGate {
    pub(super) progress: SnapshotProgress,
    /// The snapshot taken before the run.
    pub(super) initial: Option<SnapshotId>,
    /// The run was rewound to a step: it takes a snapshot of its own before it continues.
    pub(super) needed_before_step: bool,
}

impl Default for SnapshotGate {
    fn default() -> Self {
        Self { progress: SnapshotProgress::None, initial: None, needed_before_step: false }
    }
}

impl SnapshotGate {
    pub(super) fn request(&mut self, core: &mut MachineCore, label: String, note: String) {
        let call = core.next_call();
        self.progress = SnapshotProgress::Pending(call);
        core.push_effect(Effect::TakeSnapshot { call, label, note });
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self.progress, SnapshotProgress::Pending(_))
    }

    pub(super) fn is_pending_call(&self, call: CallId) -> bool {
        self.progress == SnapshotProgress::Pending(call)
    }

    /// The snapshot that is being taken.
    pub(super) fn pending_call(&self) -> Option<CallId> {
        if let SnapshotProgress::Pending(call) = self.progress { Some(call) } else { None }
    }

    /// If the state that ends has changed files, takes a snapshot, to which the run can go back.
    /// Branches run beside others, so their changes count for the state that started them.
    pub(super) fn request_after_state(&mut self, core: &mut MachineCore) {
        if core.branches.current.parent.is_some() {
            return;
        }
        let touched = core.frame_mut().is_some_and(|frame| std::mem::take(&mut frame.files_touched));
        // one that is being taken holds all changes so far: whatever changes files has waited for it
        if touched && self.progress == SnapshotProgress::Taken {
            let state = core.state_name();
            let workflow = core.spec.program.workflows.first().map(|root| root.name.clone());
            self.request(
                core,
                format!("Workflow: {} after {state}", workflow.unwrap_or_default()),
                String::new(),
            );
        }
    }
}
