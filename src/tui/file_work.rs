//! Long work on the project's files that a screen waits for, and how far it is.

use synthdev_domain::file_progress::{FileProgress, FileWorkStage};
use synthdev_domain::ids::Timestamp;
use synthdev_service::session::{FileWorkKind, FileWorkWatch};

/// Files that are copied or stored, outside of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingFileWork {
    pub watch: FileWorkWatch,
    /// `a snapshot`
    label: String,
    stage: FileWorkStage,
    /// When the stage was seen first.
    since: Option<Timestamp>,
    /// How far it is; `None`: it has only begun.
    progress_text: Option<String>,
}

impl PendingFileWork {
    pub fn new(watch: FileWorkWatch, label: String) -> Self {
        Self { watch, label, stage: FileWorkStage::default(), since: None, progress_text: None }
    }

    /// For the status line; nothing before it takes a while.
    pub fn activity_text(&self) -> Option<String> {
        self.progress_text.as_ref().map(|text| format!("{}: {text}", self.label))
    }

    pub fn note_progress(&mut self, progress: FileProgress, at: Timestamp) {
        // a run that begins waits for more than its files
        if self.watch.kind == FileWorkKind::Worktree && progress.total_count == 0 {
            self.progress_text = None;
            return;
        }
        if self.since.is_none() || progress.stage != self.stage || progress.done_count == 0 {
            (self.stage, self.since) = (progress.stage, Some(at));
        }
        let elapsed = self.since.map_or(0, |since| u64::try_from(at.0 - since.0).unwrap_or(0));
        self.progress_text = Some(progress.text(elapsed));
    }
}
