//! What can be done with a run from the history, and why not, in the words of the command line. The last word has the
//! backend: what it refuses is shown, too.

use super::RunRow;
use synthdev_domain::journal::RunStatus;
use synthdev_service::run_control::{ControlAction, check_control};
use synthdev_service::run_resume::{check_failed, check_open};

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
        let id = &run.id;
        let elsewhere = || self.other_project_hint(run, step);
        let found = match self {
            Self::Export | Self::Compare | Self::Why => None,
            Self::Pause => control_refusal(run, ControlAction::Pause),
            Self::Cancel => control_refusal(run, ControlAction::Cancel),
            Self::Resume => elsewhere().or_else(|| not_resumed(run)),
            Self::Retry => elsewhere().or_else(|| not_retried(run)),
            Self::Fork => elsewhere().or_else(|| in_worktree(run, self)),
            Self::Rewind if run.status == RunStatus::Running => {
                Some(format!("run {id} is running and cannot be rewound meanwhile"))
            }
            Self::Rewind => elsewhere().or_else(|| in_worktree(run, self)),
            Self::Undo if run.status == RunStatus::Running => {
                Some(format!("run {id} is running: its files cannot be restored meanwhile"))
            }
            Self::Undo => elsewhere().or_else(|| in_worktree(run, self)).or_else(|| {
                let none = || format!("run {id} cannot be undone: no snapshot was taken before it started");
                (!run.can_undo).then(none)
            }),
        };
        let stepless = || match self {
            Self::Why => "why needs a step: Enter opens the run",
            _ => "this needs a step: Enter opens the run, choose one there",
        };
        found.or_else(|| (self.needs_step() && step.is_none()).then(|| stepless().to_owned()))
    }

    /// A run of another project: what to type instead.
    fn other_project_hint(self, run: &RunRow, step: Option<u32>) -> Option<String> {
        let project = run.other_project.as_ref()?;
        let id = &run.id;
        let step = step.map_or_else(|| "STEP".to_owned(), |step| step.to_string());
        let command = match self {
            Self::Resume => format!("resume {id}"),
            Self::Retry => format!("runs retry {id}"),
            Self::Rewind => format!("runs rewind {id} --to {step}"),
            Self::Fork => format!("runs fork {id} --at {step}"),
            Self::Undo => format!("runs undo {id}"),
            Self::Export | Self::Why | Self::Compare | Self::Pause | Self::Cancel => return None,
        };
        Some(format!("run {id} belongs to {project}: synthdev -C {project} {command}"))
    }
}

fn control_refusal(run: &RunRow, action: ControlAction) -> Option<String> {
    check_control(&run.id, run.status, action).err().map(|error| error.to_string())
}

fn in_worktree(run: &RunRow, deed: RunAction) -> Option<String> {
    let tree = run.worktree.as_ref()?;
    let id = &run.id;
    let command = match deed {
        RunAction::Undo => format!("synthdev runs discard {id} throws its files away"),
        other => format!("synthdev runs {} {id} goes there", other.word()),
    };
    Some(format!("run {id} works in a worktree of its own, {tree}: {command}"))
}

fn not_resumed(run: &RunRow) -> Option<String> {
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
