//! How far long work on the project's files is: asked for while something waits for it, never else.

use crate::file_work::PendingFileWork;
use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::file_progress::FileProgress;
use synthdev_domain::ids::Timestamp;
use synthdev_service::session::{
    FileWorkKind, FileWorkWatch, PendingStart, RunRequest, SnapshotOperation, StartPreparation,
};

/// Watches work that has begun; one thing at a time.
fn watch_work(model: &mut UiModel, kind: FileWorkKind, label: String) -> Option<UiCommand> {
    // line mode prints what is done
    if model.line_mode || model.file_work.is_some() {
        return None;
    }
    model.file_work_count += 1;
    let watch = FileWorkWatch { number: model.file_work_count, kind };
    model.file_work = Some(PendingFileWork::new(watch, label));
    Some(UiCommand::ask(RunRequest::FileProgress(watch)))
}

/// A worktree is made for a run that begins.
pub(super) fn watch_start(model: &mut UiModel) -> Vec<UiCommand> {
    let copies = |start: &&PendingStart| start.preparation == StartPreparation::Files;
    let label =
        model.pending_start.as_ref().filter(copies).map(|start| format!("a worktree for {}", start.name));
    label.and_then(|label| watch_work(model, FileWorkKind::Worktree, label)).into_iter().collect()
}

/// A snapshot is taken.
pub(super) fn watch_snapshot(model: &mut UiModel, operation: &SnapshotOperation) -> Option<UiCommand> {
    let label = match operation {
        SnapshotOperation::Create { .. } => "a snapshot",
        _ => return None,
    };
    watch_work(model, FileWorkKind::Snapshot, label.to_owned())
}

/// What was waited for is there, or failed.
pub(super) fn end_work(model: &mut UiModel, kind: FileWorkKind) {
    model.file_work = model.file_work.take().filter(|work| work.watch.kind != kind);
}

/// Asks again as long as it takes.
pub(super) fn on_progress(
    model: &mut UiModel,
    watch: FileWorkWatch,
    progress: FileProgress,
    at: Timestamp,
) -> Vec<UiCommand> {
    let Some(work) = model.file_work.as_mut().filter(|work| work.watch == watch) else { return Vec::new() };
    work.note_progress(progress, at);
    vec![UiCommand::ask(RunRequest::FileProgress(watch))]
}
