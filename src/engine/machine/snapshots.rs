//! Snapshots are taken beside the work; only a tool that changes files waits for them.

use super::snapshot_gate::SnapshotProgress;
use super::{Branch, CallId, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use synthdev_domain::run_error::RunError;
use synthdev_domain::snapshot::{SkippedPath, SnapshotInfo};
use synthdev_domain::workflow::SnapshotPolicy;

/// Files that a warning names.
const NAMED: usize = 3;

impl Machine {
    /// The snapshot that is being taken.
    pub fn pending_snapshot(&self) -> Option<CallId> {
        self.snapshots.pending_call()
    }

    /// Whether the run begins with this snapshot, so that it can be undone.
    pub fn is_first_snapshot(&self, call: CallId) -> bool {
        self.snapshots.is_pending_call(call) && self.snapshots.initial.is_none()
    }

    /// A tool of the run itself waits for its snapshot, to change files.
    pub fn is_to_change(&self) -> bool {
        self.awaits_a_snapshot(false)
    }

    /// Something else waits for it: an end, a stop, a step of a sub-agent.
    pub fn waits_for_snapshot(&self) -> bool {
        let stops = || (!self.core.user_present || self.core.is_stopping()) && self.is_idle();
        self.snapshots.is_pending()
            && (self.core.branches.current.wait_state == WaitState::Ending
                || self.awaits_a_snapshot(true)
                || stops())
    }

    fn awaits_a_snapshot(&self, theirs: bool) -> bool {
        let held = |branch: &Branch| {
            branch.wait_state == WaitState::ToolHeld && self.waits_for_sub_agent_result(branch) == theirs
        };
        self.snapshots.is_pending() && !self.core.starts_nothing_new() && self.core.branches.all().any(held)
    }

    pub(super) fn on_snapshot_taken(&mut self, call: CallId, info: SnapshotInfo) -> NextHandler {
        if !self.snapshots.is_pending_call(call) {
            return NextHandler::Wait;
        }
        let lacks = if self.snapshots.initial.is_none() { skipped_files_text(&info.skipped) } else { None };
        self.snapshots.progress = SnapshotProgress::Taken;
        if self.snapshots.initial.is_none() {
            self.snapshots.initial = Some(info.id.clone());
        }
        self.core.emit_event(RunEvent::SnapshotTaken {
            id: info.id,
            label: info.label,
            files: info.files,
            skipped: info.skipped,
        });
        if let Some(lacks) = lacks {
            if self.requires_snapshot() && self.error.is_none() {
                let reason =
                    format!("the snapshot lacks {lacks}, and this workflow requires all files in it");
                let hint = "move such a file away or have git ignore it, or allow the run without it: \"snapshot\": \
                            \"auto\" in the workflow";
                return self.refuse_without(reason, hint);
            }
            self.core.emit_warning("snapshot_partial", format!("going back will not bring back {lacks}"));
        }
        self.after_snapshot()
    }

    fn requires_snapshot(&self) -> bool {
        self.core.spec.program.workflows.first().is_some_and(|root| root.snapshot == SnapshotPolicy::Required)
    }

    /// Ends the run: a snapshot is required, and it is missing or incomplete.
    fn refuse_without(&mut self, reason: String, hint: &str) -> NextHandler {
        self.stop_all();
        let mut failure = RunError::new("snapshot", "No snapshot could be taken", reason).with_hint(hint);
        if self.core.spec.program.workflows.first().is_some_and(|root| root.conversational) {
            return NextHandler::fail(failure);
        }
        // no `catch` applies: nothing may continue without it
        failure.state = Some(self.core.state_name());
        let failure = self.core.with_definition(failure, self.core.frame());
        self.drop_visit();
        self.end_run(failure)
    }

    pub(super) fn on_snapshot_failed(&mut self, call: CallId, reason: String) -> NextHandler {
        if !self.snapshots.is_pending_call(call) {
            return NextHandler::Wait;
        }
        self.core.emit_event(RunEvent::SnapshotFailed { reason: reason.clone() });
        if self.snapshots.initial.is_some() {
            // The run can still be undone as a whole; only this state has no point of its own.
            self.snapshots.progress = SnapshotProgress::Taken;
            return self.after_snapshot();
        }
        self.snapshots.progress = SnapshotProgress::Failed(reason.clone());
        if !self.requires_snapshot() || self.error.is_some() {
            return self.after_snapshot();
        }
        let hint = "mend the cause, or allow the run without one: \"snapshot\": \"auto\" in the workflow";
        self.refuse_without(reason, hint)
    }

    fn after_snapshot(&mut self) -> NextHandler {
        if self.core.branches.current.wait_state == WaitState::Ending {
            return self.emit_run_finished();
        }
        self.core.wake_held_tools()
    }

    /// Whether a tool that changes files may run now. `Err`: the branch waits, as its wait state says.
    pub(super) fn await_snapshot(&mut self) -> Result<(), NextHandler> {
        match self.snapshots.progress.clone() {
            SnapshotProgress::None | SnapshotProgress::Taken => Ok(()),
            SnapshotProgress::Deferred => {
                self.request_first_snapshot();
                self.core.branches.current.wait_state = WaitState::ToolHeld;
                Err(NextHandler::Wait)
            }
            SnapshotProgress::Pending(_) => {
                self.core.branches.current.wait_state = WaitState::ToolHeld;
                Err(NextHandler::Wait)
            }
            SnapshotProgress::Failed(reason) if self.core.user_present => {
                Err(self.core.ask_user(PendingQuestion::NoSnapshot, UserQuestion::NoSnapshot { reason }))
            }
            SnapshotProgress::Failed(reason) => {
                self.snapshots.progress = SnapshotProgress::None;
                self.core.emit_warning("no_snapshot", format!("this run cannot be undone: {reason}"));
                Ok(())
            }
        }
    }
}

/// The project's own files that a snapshot could not take, as text. Snapshots of earlier versions do not list them.
fn skipped_files_text(skipped: &[SkippedPath]) -> Option<String> {
    let lost: Vec<&SkippedPath> =
        skipped.iter().filter(|skipped| !skipped.lack.is_outside_project()).collect();
    let named: Vec<String> =
        lost.iter().take(NAMED).map(|lost| format!("{} ({})", lost.path, lost.reason)).collect();
    let more = match lost.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!lost.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}
