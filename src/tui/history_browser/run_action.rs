//! What can be done with a run from the history, and why not, in the words of the command line. The last word has the
//! backend: what it refuses is shown, too.

use super::RunRow;
use synthdev_domain::journal::RunStatus;
use synthdev_service::conversations::{ConversationError, LEAVE_THERE};
use synthdev_service::run_control::{ControlAction, check_control};
use synthdev_service::run_place::{RunOperation, RunPlaceError};
use synthdev_service::run_resume::{check_failed, check_open};
use synthdev_service::time_travel::{TimeTravelError, check_not_running};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunAction {
    Resume,
    Retry,
    Fork,
    Rewind,
    Undo,
    Export,
    Why,
    Compare,
    Pause,
    Cancel,
}

impl RunAction {
    /// In the order in which the last line names them.
    pub const ALL: [Self; 10] = [
        Self::Why,
        Self::Resume,
        Self::Pause,
        Self::Cancel,
        Self::Retry,
        Self::Undo,
        Self::Fork,
        Self::Rewind,
        Self::Export,
        Self::Compare,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::Fork => "fork",
            Self::Rewind => "rewind",
            Self::Undo => "undo",
            Self::Export => "export",
            Self::Why => "why",
            Self::Compare => "compare",
            Self::Pause => "pause",
            Self::Cancel => "cancel",
        }
    }

    /// It begins at a step.
    pub fn needs_step(self) -> bool {
        matches!(self, Self::Fork | Self::Rewind | Self::Why)
    }

    /// Why it cannot be done with a run, as far as the list knows.
    pub fn unavailable_reason(self, run: &RunRow, step: Option<u32>) -> Option<String> {
        let found = match self {
            Self::Export | Self::Compare | Self::Why => None,
            Self::Pause => control_refusal(run, ControlAction::Pause),
            Self::Cancel => control_refusal(run, ControlAction::Cancel),
            Self::Resume => elsewhere(run, RunOperation::Resume).or_else(|| not_resumed(run)),
            Self::Retry => elsewhere(run, RunOperation::Retry).or_else(|| not_retried(run)),
            Self::Fork => elsewhere(run, RunOperation::Fork { step, restores_files: false }),
            Self::Rewind => not_reverted(run, RunOperation::Rewind { step }),
            Self::Undo => not_reverted(run, RunOperation::Undo).or_else(|| not_undone(run)),
        };
        let stepless = || match self {
            Self::Why => "why needs a step: Enter opens the run",
            _ => "this needs a step: Enter opens the run, choose one there",
        };
        found.or_else(|| (self.needs_step() && step.is_none()).then(|| stepless().to_owned()))
    }
}

/// A run of another project: what to type instead.
fn elsewhere(run: &RunRow, operation: RunOperation) -> Option<String> {
    run.place.check_project(&run.id, operation).err().map(place_text)
}

fn place_text(error: RunPlaceError) -> String {
    format!("{error}: {}", error.hint())
}

fn not_reverted(run: &RunRow, operation: RunOperation) -> Option<String> {
    let running = check_not_running(&run.id, run.status, operation).err();
    running.map(|error| error.to_string()).or_else(|| elsewhere(run, operation))
}

fn not_undone(run: &RunRow) -> Option<String> {
    let none = || TimeTravelError::no_snapshot_before(&run.id).to_string();
    let own = run.place.check_project_files(&run.id).err().map(place_text);
    own.or_else(|| (!run.can_undo).then(none))
}

fn control_refusal(run: &RunRow, action: ControlAction) -> Option<String> {
    check_control(&run.id, run.status, action).err().map(|error| error.to_string())
}

fn not_resumed(run: &RunRow) -> Option<String> {
    if run.is_open_elsewhere {
        let refused = ConversationError::OpenElsewhere(run.id.clone());
        return Some(format!("{refused}: {LEAVE_THERE}"));
    }
    if run.status == RunStatus::Running && run.is_at_server {
        return None;
    }
    if run.status == RunStatus::Running {
        return Some(format!("run {} is running: pause it first", run.id));
    }
    let over = check_open(&run.id, run.status, run.can_retry).err();
    over.map(|error| format!("{error}: fork or rewind it at one of its steps"))
}

fn not_retried(run: &RunRow) -> Option<String> {
    let refused = check_failed(&run.id, run.status).err().map(|error| error.to_string());
    refused.or_else(|| not_resumed(run))
}
