//! What native code and the world see of the job that runs: its scope and its clock.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use super::limits::ScriptLimits;
use synthdev_domain::script::ScopeView;

/// Gives the text of a file to a script, or the reason why not.
pub type ScriptFileReader = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// What the interrupt handler and the native functions of the prelude share with the world.
pub(super) struct ScriptJobState {
    pub(super) limits: ScriptLimits,
    /// `readFile` of the host; workflow scripts have none.
    pub(super) file_reader: Option<ScriptFileReader>,
    /// The scope of the job that runs.
    pub(super) scope: RefCell<Option<Box<ScopeView>>>,
    deadline: Cell<Option<Instant>>,
    has_expired: Cell<bool>,
    /// Bytes that the job gives, as far as they are taken.
    bytes_taken: Cell<usize>,
    /// A script compiled text of its own: the context may hold names that no later job may see.
    pub(super) is_tainted: Cell<bool>,
    /// The job made the library of its workflow.
    pub(super) library_touched: Cell<bool>,
    /// That library hides no change of the data from its JSON.
    pub(super) library_is_plain: Cell<bool>,
    /// What that library offers; empty without one.
    pub(super) library_names: RefCell<Vec<String>>,
}

impl ScriptJobState {
    pub(super) fn new(limits: ScriptLimits, file_reader: Option<ScriptFileReader>) -> Self {
        Self {
            limits,
            file_reader,
            scope: RefCell::new(None),
            deadline: Cell::new(None),
            has_expired: Cell::new(false),
            bytes_taken: Cell::new(0),
            is_tainted: Cell::new(false),
            library_touched: Cell::new(false),
            library_is_plain: Cell::new(true),
            library_names: RefCell::new(Vec::new()),
        }
    }

    /// Starts the clock for a job.
    pub(super) fn start_clock(&self) {
        self.deadline.set(Instant::now().checked_add(self.limits.time));
        self.has_expired.set(false);
        self.bytes_taken.set(0);
        self.library_touched.set(false);
    }

    /// Takes so many bytes more from the job; `false`: that is more than it may give.
    pub(super) fn count_result_bytes(&self, bytes: usize) -> bool {
        self.bytes_taken.set(self.bytes_taken.get().saturating_add(bytes));
        self.bytes_taken.get() <= self.limits.result
    }

    /// Whether the job's time is over; asks the clock.
    pub(super) fn is_overdue(&self) -> bool {
        let over = self.deadline.get().is_some_and(|until| Instant::now() >= until);
        self.has_expired.set(self.has_expired.get() || over);
        self.has_expired.get()
    }

    /// Whether the job has been found overdue.
    pub(super) fn has_expired(&self) -> bool {
        self.has_expired.get()
    }
}
