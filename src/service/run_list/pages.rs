//! Runs of a query a page at a time: a list of ten thousand runs does not hold ten thousand runs.

use std::cell::RefCell;
use std::rc::Rc;
use std::vec;

use super::{RunListError, check_query};
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

const PAGE: usize = 500;

/// Why a list ended early.
pub type ListErrorSlot = Rc<RefCell<Option<StoreError>>>;

pub struct RunPages<'h> {
    handle: &'h RuntimeHandle,
    query: RunQuery,
    page: vec::IntoIter<RunSummary>,
    /// Runs that may still come.
    remaining: usize,
    error_slot: ListErrorSlot,
}

impl<'h> RunPages<'h> {
    /// # Errors
    /// No run can be in the list.
    pub fn new(handle: &'h RuntimeHandle, query: RunQuery) -> Result<Self, RunListError> {
        check_query(&query)?;
        let remaining = if query.limit == 0 { usize::MAX } else { query.limit };
        Ok(Self {
            handle,
            query,
            page: Vec::new().into_iter(),
            remaining,
            error_slot: ListErrorSlot::default(),
        })
    }

    pub fn list_error_slot(&self) -> ListErrorSlot {
        Rc::clone(&self.error_slot)
    }

    /// What the store finds by looking at every run is asked for once.
    fn next_page(&mut self) -> Result<(), StoreError> {
        let walks = self.query.words.is_some() || !self.query.statuses.is_empty();
        let page = if walks { self.remaining } else { self.remaining.min(PAGE) };
        self.query.limit = if page == usize::MAX { 0 } else { page };
        let found = self.handle.find_runs(&self.query)?;
        if self.query.offset == 0 && self.query.until.is_none() {
            // runs that start meanwhile do not shift the pages
            self.query.until = found.first().map(|run| run.started);
        }
        self.remaining = if walks || found.len() < page { 0 } else { self.remaining - found.len() };
        self.query.offset += found.len();
        self.page = found.into_iter();
        Ok(())
    }
}

impl Iterator for RunPages<'_> {
    type Item = RunSummary;

    fn next(&mut self) -> Option<RunSummary> {
        if self.page.len() == 0
            && self.remaining > 0
            && let Err(error) = self.next_page()
        {
            self.remaining = 0;
            self.error_slot.replace(Some(error));
        }
        self.page.next()
    }
}
