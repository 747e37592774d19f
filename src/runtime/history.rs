//! Past runs, read from the store: lists as they are, one run by replaying its journal.

use std::sync::Arc;

use super::handle::Handle;
use crate::domain::cost::CostLedger;
use crate::domain::ids::Timestamp;
use crate::domain::journal::{RowKind, RunQuery, RunSummary};
use crate::domain::workflow::Program;
use crate::engine::event::RunEvent;
use crate::engine::input::Input;
use crate::engine::replay::{Replayed, replay};
use crate::engine::spec::{MACHINE_VERSION, RunSpec};
use crate::ports::run_store::StoreError;

/// One past run, rebuilt.
#[derive(Clone, Debug)]
pub struct RunRecord {
    pub summary: RunSummary,
    /// What was run, as it was then.
    pub program: Program,
    pub events: Vec<(Timestamp, RunEvent)>,
    pub ledger: CostLedger,
    /// What had begun and never answered: what a crash left open (§1.7).
    pub open: Vec<String>,
}

impl Handle {
    /// Newest first; `limit` 0 means all.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        self.ports().store.list(&RunQuery::newest(limit))
    }

    /// Rebuilds one run from its journal; accepts a unique prefix of the id.
    ///
    /// # Errors
    /// Unknown id, unreadable rows, or a run of a newer program.
    pub fn run(&self, id: &str) -> Result<RunRecord, StoreError> {
        let summary = self.ports().store.find(id)?;
        let (header, rows) = self.ports().store.load(&summary.id)?;
        let spec: RunSpec =
            serde_json::from_str(&header.spec).map_err(|error| unreadable("definition", &error))?;
        if spec.machine_version > MACHINE_VERSION {
            return Err(StoreError {
                message: format!("run {} was made by a newer version of the program", summary.id),
                hint: Some("update synthdev to look inside it".to_owned()),
            });
        }
        let mut open: Vec<(Option<crate::domain::ids::CallId>, String)> = Vec::new();
        let mut inputs = Vec::with_capacity(rows.len());
        for row in rows {
            match row.kind {
                RowKind::Intent => open.push((row.call, row.body)),
                RowKind::Begun => {}
                RowKind::Input => {
                    let input: Input =
                        serde_json::from_str(&row.body).map_err(|error| unreadable("journal", &error))?;
                    open.retain(|(call, _)| call.is_none() || *call != row.call);
                    inputs.push((row.at, input));
                }
            }
        }
        let spec = Arc::new(spec);
        let Replayed { machine, events, .. } = replay(Arc::clone(&spec), inputs);
        let open =
            if machine.is_over() { Vec::new() } else { open.into_iter().map(|(_, body)| body).collect() };
        let program = spec.program.clone();
        Ok(RunRecord { summary, program, events, ledger: machine.ledger().clone(), open })
    }
}

fn unreadable(what: &str, error: &serde_json::Error) -> StoreError {
    StoreError { message: format!("the run's {what} cannot be read: {error}"), hint: None }
}
