//! What had happened in a run, as the screen shows it: its facts and its last entries.

use std::ops::Range;

use crate::domain::ids::RunId;
use crate::tui::run_view::RunView;
use crate::tui::transcript::item::Item;

/// Entries of a run's past that are shown; it may have a hundred thousand.
pub const SHOWN: usize = 200;

/// A run before it goes on.
#[derive(Clone, Debug)]
pub struct Past {
    /// Its positions count from the first of `items`.
    pub view: RunView,
    pub items: Vec<Item>,
    /// Entries before the first of `items`.
    pub left_out: usize,
    /// The run has gone on since.
    pub behind: bool,
}

/// A run of which a glance is shown while all of it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    pub run: RunId,
    /// Its entries in the transcript, a line about it first; `None`: the screen was cleared.
    pub shown: Option<Range<usize>>,
}
