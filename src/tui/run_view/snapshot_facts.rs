//! What the snapshots of a run say of its files: whether it may have changed any, and what going back does not cover.

use crate::text::{format_count, one_line};
use synthdev_domain::file_progress::{FileProgress, FileWorkStage};
use synthdev_domain::snapshot::SkippedPath;

/// Counts, and the first snapshot's gaps.
#[derive(Clone, Debug, Default)]
pub struct SnapshotFacts {
    taken: u32,
    /// Paths that the first one does not cover.
    skipped: usize,
    /// One of them.
    example: Option<String>,
    /// A tool was called since the last one.
    has_tool_calls: bool,
    /// How far one is that takes a while, the longest form first: `snapshot: reading files …`.
    pub progress_forms: Vec<String>,
}

impl SnapshotFacts {
    /// The first snapshot is taken before the run changes files, the next one after a state that has.
    pub fn note_snapshot(&mut self, skipped: &[SkippedPath]) {
        if self.taken == 0 {
            self.skipped = skipped.len();
            self.example = skipped.first().map(|path| one_line(&path.path));
        }
        self.taken += 1;
        self.progress_forms.clear();
        self.has_tool_calls = false;
    }

    /// One takes a while: `title` says how far it is.
    pub fn note_progress(&mut self, title: &str, done_count: u64, total_count: u64, elapsed_ms: u64) {
        let progress = FileProgress { stage: FileWorkStage::Reading, done_count, total_count };
        let shorter = progress.text_forms(elapsed_ms);
        self.progress_forms = std::iter::once(title.to_owned()).chain(shorter).collect();
    }

    /// A tool is called, which may change files.
    pub fn note_tool_call(&mut self) {
        self.has_tool_calls = true;
    }

    /// Its first events are not known: it may have changed files.
    pub fn assume_changed_files(&mut self) {
        self.taken = self.taken.max(2);
    }

    /// A state of the run may have changed files; `is_cut`: also the last one, after which no snapshot was taken.
    pub fn may_have_changed_files(&self, is_cut: bool) -> bool {
        self.taken > 1 || is_cut && self.has_tool_calls
    }

    /// What going back to the first snapshot does not bring back: ` · not covered: vendor/sub`; mostly empty.
    pub fn uncovered_text(&self) -> String {
        match (&self.example, self.skipped) {
            (Some(path), 1) => format!(" · not covered: {path}"),
            (Some(path), all) => format!(" · {} not covered: {path} …", format_count(all as u64, "path")),
            (None, _) => String::new(),
        }
    }
}
