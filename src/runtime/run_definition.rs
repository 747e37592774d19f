//! What a run was started with, without its journal.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::handle::RuntimeHandle;
use super::journal_replay;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunHeader;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_store::{JournalRowRef, RunReader, RunStore, StoreError};

/// Has seen enough when it has the head.
#[derive(Default)]
struct HeaderReader(Option<RunHeader>);

impl RunReader for HeaderReader {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        self.0 = Some(header);
        ControlFlow::Break(())
    }

    fn row(&mut self, _: JournalRowRef<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

impl RuntimeHandle {
    /// The definition that a run was started with. Costs the same, however long the run is.
    ///
    /// # Errors
    /// There is no such run, its head cannot be read, or a newer program made it.
    pub fn definition(&self, run: &RunId) -> Result<Arc<RunSpec>, StoreError> {
        read_definition(&*self.ports().store, run)
    }
}

/// The same from a store.
///
/// # Errors
/// As [`RuntimeHandle::definition`].
pub fn read_definition(store: &dyn RunStore, run: &RunId) -> Result<Arc<RunSpec>, StoreError> {
    let missing = || StoreError { message: format!("run {run} has no definition"), hint: None };
    journal_replay::load_definition(&read_header(store, run)?.ok_or_else(missing)?)
}

/// The head of a run, without its rows.
///
/// # Errors
/// There is no such run, or its head cannot be read.
pub fn read_header(store: &dyn RunStore, run: &RunId) -> Result<Option<RunHeader>, StoreError> {
    let mut head = HeaderReader::default();
    store.read(run, &mut head)?;
    Ok(head.0)
}
