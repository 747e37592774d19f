//! Long work on the project's files that a screen waits for, and how far it is.

use synthdev_domain::file_progress::{FileProgress, FileWorkStage};
use synthdev_domain::ids::Timestamp;

/// Files that are copied, stored or restored, outside of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PendingFileWork {
    /// `taking a snapshot`
    label: String,
    stage: FileWorkStage,
    /// When the stage was seen first.
    since: Option<Timestamp>,
    /// How far it is; `None`: it has only begun.
    progress_text: Option<String>,
}

impl PendingFileWork {
    pub fn new(label: String) -> Self {
        Self { label, ..Self::default() }
    }

    /// For the status line; nothing before it takes a while.
    pub fn activity_text(&self) -> Option<String> {
        self.progress_text.as_ref().map(|text| format!("{}: {text}", self.label))
    }

    pub fn note_progress(&mut self, progress: FileProgress, at: Timestamp) {
        if self.since.is_none() || progress.stage != self.stage || progress.done_count == 0 {
            (self.stage, self.since) = (progress.stage, Some(at));
        }
        let elapsed = self.since.map_or(0, |since| u64::try_from(at.0 - since.0).unwrap_or(0));
        self.progress_text = Some(progress.text(elapsed));
    }
}
