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
    /// How far it is, the longest form first; empty: it has only begun.
    progress_forms: Vec<String>,
    /// There is a number of files.
    is_counted: bool,
}

impl PendingFileWork {
    pub fn new(watch: FileWorkWatch, label: String) -> Self {
        Self {
            watch,
            label,
            stage: FileWorkStage::default(),
            since: None,
            progress_forms: Vec::new(),
            is_counted: false,
        }
    }

    /// For the status line, the longest form first; none before it takes a while.
    pub fn activity_forms(&self) -> Vec<String> {
        let whole = self.progress_forms.first().map(|text| format!("{}: {text}", self.label));
        whole.into_iter().chain(self.progress_forms.iter().cloned()).collect()
    }

    /// It has taken a while.
    pub fn has_text(&self) -> bool {
        !self.progress_forms.is_empty()
    }

    /// What is waited for while it is not known how long it takes.
    pub fn wait_text(&self) -> Option<String> {
        let text = self.progress_forms.first().filter(|_| !self.is_counted)?;
        Some(format!("{}: {text}", self.label))
    }

    pub fn note_progress(&mut self, progress: FileProgress, at: Timestamp) {
        // a run that begins waits for more than its files
        if self.watch.kind == FileWorkKind::Worktree && progress.total_count == 0 {
            self.progress_forms.clear();
            return;
        }
        if self.since.is_none() || progress.stage != self.stage || progress.done_count == 0 {
            (self.stage, self.since) = (progress.stage, Some(at));
        }
        let elapsed = self.since.map_or(0, |since| u64::try_from(at.0 - since.0).unwrap_or(0));
        (self.progress_forms, self.is_counted) = (progress.text_forms(elapsed), progress.total_count > 0);
    }
}
