//! What a run was started with, without its journal.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::handle::Handle;
use super::reopen;
use crate::domain::ids::RunId;
use crate::domain::journal::RunHeader;
use crate::engine::spec::RunSpec;
use crate::ports::run_store::{RowRef, RunReader, StoreError};

/// Has seen enough when it has the head.
#[derive(Default)]
struct Head(Option<RunHeader>);

impl RunReader for Head {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        self.0 = Some(header);
        ControlFlow::Break(())
    }

    fn row(&mut self, _: RowRef<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

impl Handle {
    /// The definition that a run was started with. Costs the same, however long the run is.
    /// # Errors
    /// There is no such run, or its head cannot be read.
    pub fn definition(&self, run: &RunId) -> Result<Arc<RunSpec>, StoreError> {
        let mut head = Head::default();
        self.ports().store.read(run, &mut head)?;
        let missing = || StoreError { message: format!("run {run} has no definition"), hint: None };
        reopen::definition(&head.0.ok_or_else(missing)?)
    }
}
