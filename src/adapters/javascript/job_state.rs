//! What native code and the world see of the job that runs: its scope and its clock.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use super::limits::ScriptLimits;
use synthdev_domain::script::ScopeView;

/// What the interrupt handler and the native functions of the prelude share with the world.
pub(super) struct ScriptJobState {
    pub(super) limits: ScriptLimits,
    /// The scope of the job that runs.
    pub(super) scope: RefCell<Option<Box<ScopeView>>>,
    until: Cell<Option<Instant>>,
    expired: Cell<bool>,
    /// Bytes that the job gives, as far as they are taken.
    taken: Cell<usize>,
    /// A script compiled text of its own: the context may hold names that no later job may see.
    pub(super) tainted: Cell<bool>,
    /// The job made the library of its workflow.
    pub(super) touched: Cell<bool>,
    /// That library hides no change of the data from its JSON.
    pub(super) plain_library: Cell<bool>,
    /// What that library offers; empty without one.
    pub(super) offers: RefCell<Vec<String>>,
}

impl ScriptJobState {
    pub(super) fn new(limits: ScriptLimits) -> Self {
        Self {
            limits,
            scope: RefCell::new(None),
            until: Cell::new(None),
            expired: Cell::new(false),
            taken: Cell::new(0),
            tainted: Cell::new(false),
            touched: Cell::new(false),
            plain_library: Cell::new(true),
            offers: RefCell::new(Vec::new()),
        }
    }

    /// Starts the clock for a job.
    pub(super) fn arm(&self) {
        self.until.set(Instant::now().checked_add(self.limits.time));
        self.expired.set(false);
        self.taken.set(0);
        self.touched.set(false);
    }

    /// Takes so many bytes more from the job; `false`: that is more than it may give.
    pub(super) fn count_result_bytes(&self, bytes: usize) -> bool {
        self.taken.set(self.taken.get().saturating_add(bytes));
        self.taken.get() <= self.limits.result
    }

    /// Whether the job's time is over; asks the clock.
    pub(super) fn overdue(&self) -> bool {
        let over = self.until.get().is_some_and(|until| Instant::now() >= until);
        self.expired.set(self.expired.get() || over);
        self.expired.get()
    }

    /// Whether the job has been found overdue.
    pub(super) fn expired(&self) -> bool {
        self.expired.get()
    }
}
