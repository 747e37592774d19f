//! How far long work on the project's files is: asked for while something waits for it, never else.

use crate::file_work::PendingFileWork;
use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::file_progress::FileProgress;
use synthdev_domain::ids::Timestamp;
use synthdev_service::session::{PendingStart, RunRequest, SnapshotOperation, StartPreparation};

/// Watches work that has begun; one thing at a time.
fn watch_work(model: &mut UiModel, label: String) -> Option<UiCommand> {
    // line mode prints what is done
    if model.line_mode || model.file_work.is_some() {
        return None;
    }
    model.file_work = Some(PendingFileWork::new(label));
    Some(UiCommand::ask(RunRequest::FileProgress))
}

/// A worktree is made for a run that begins.
pub(super) fn watch_start(model: &mut UiModel) -> Vec<UiCommand> {
    let copies = |start: &&PendingStart| start.preparation == StartPreparation::Files;
    let label =
        model.pending_start.as_ref().filter(copies).map(|start| format!("a worktree for {}", start.name));
    label.and_then(|label| watch_work(model, label)).into_iter().collect()
}

/// A snapshot is taken.
pub(super) fn watch_snapshot(model: &mut UiModel, operation: &SnapshotOperation) -> Option<UiCommand> {
    let label = match operation {
        SnapshotOperation::Create { .. } => "a snapshot",
        _ => return None,
    };
    watch_work(model, label.to_owned())
}

/// What was waited for is there, or failed.
pub(super) fn end_work(model: &mut UiModel) {
    model.file_work = None;
}

/// Asks again as long as it takes.
pub(super) fn on_progress(model: &mut UiModel, progress: FileProgress, at: Timestamp) -> Vec<UiCommand> {
    let Some(work) = &mut model.file_work else { return Vec::new() };
    work.note_progress(progress, at);
    vec![UiCommand::ask(RunRequest::FileProgress)]
}
