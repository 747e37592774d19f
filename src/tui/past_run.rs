//! What had happened in a run, as the screen shows it: its facts and its last entries.

use std::ops::Range;

use crate::run_view::RunView;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;

/// Entries of a run's past that are shown; it may have a hundred thousand.
pub const SHOWN: usize = 200;

/// A run before it is resumed.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// Its positions count from the first of `items`.
    pub view: RunView,
    pub items: Vec<TranscriptItem>,
    /// Entries before the first of `items`.
    pub left_out_count: usize,
    /// The run has gone on since.
    pub is_outdated: bool,
    /// Its workflow is defined otherwise by now.
    pub definition_note: Option<String>,
}

/// A run that is being read to be resumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpeningRun {
    /// Or the beginning of its id, as it was typed.
    pub run: RunId,
    /// The entries of its preview in the transcript, a line about it first; `None`: there was no preview, or the screen
    /// was cleared.
    pub preview_range: Option<Range<usize>>,
    /// Its view came with the preview, and is dropped with it.
    pub view_from_preview: bool,
    /// Lines that were typed for it meanwhile.
    pub lines: Vec<String>,
}
