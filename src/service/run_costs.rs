//! What runs have cost.
//!
//! Owns what counts: a run that was answered from a recording costs nothing, a call without a stored time is of
//! the day on which its run began. Refuses to count a run that cannot be read as one that cost nothing.

use synthdev_domain::cost::CostEntry;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

use crate::run_list::{RunListError, find_runs};

/// What is summed up.
#[derive(Clone, PartialEq, Debug)]
pub struct RunsCostReport {
    pub scope: CostReportScope,
    pub entries: Vec<CostEntry>,
    /// Runs that were answered from recordings: nothing was spent for them.
    pub replayed_count: usize,
    /// Runs that cannot be read, and why.
    pub uncounted: Vec<(RunId, String)>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum CostReportScope {
    Run(Box<RunSummary>),
    /// So many runs together.
    Runs(usize),
}

/// A cost in words; `None`: no price is known for a model of the run.
pub fn cost_text(cost_usd: Option<f64>) -> String {
    cost_usd.map_or_else(|| "unknown (no price for the model)".to_owned(), |usd| format!("${usd:.4}"))
}

/// What one run has cost; accepts a unique prefix of its id.
///
/// # Errors
/// Unknown or unreadable.
pub fn cost_of_run(handle: &RuntimeHandle, id: &str) -> Result<RunsCostReport, StoreError> {
    let record = handle.load_record(id)?;
    let mut entries = with_fallback_date(record.ledger.entries.iter().collect(), record.summary.started);
    let is_replay = record.program.is_replay();
    if is_replay {
        entries.iter_mut().for_each(|entry| entry.cost_usd = Some(0.0));
    }
    Ok(RunsCostReport {
        scope: CostReportScope::Run(Box::new(record.summary)),
        entries,
        replayed_count: usize::from(is_replay),
        uncounted: Vec::new(),
    })
}

/// What the newest run has cost; `None`: there is none yet.
///
/// # Errors
/// The history cannot be read.
pub fn cost_of_last_run(handle: &RuntimeHandle) -> Result<Option<RunsCostReport>, RunListError> {
    let newest = find_runs(handle, &RunQuery::newest(1))?;
    Ok(newest.first().map(|run| cost_of_run(handle, run.id.as_str())).transpose()?)
}

/// What the runs of a query have cost together.
///
/// # Errors
/// No run can be in the list, or the history cannot be read.
pub fn cost_of_runs(handle: &RuntimeHandle, query: &RunQuery) -> Result<RunsCostReport, RunListError> {
    let (mut entries, mut uncounted) = (Vec::new(), Vec::new());
    let (mut counted, mut replayed_count) = (0, 0);
    for run in find_runs(handle, query)? {
        if run.progress.usage.total() > 0 {
            match handle.load_record(run.id.as_str()) {
                Ok(record) if record.program.is_replay() => {
                    replayed_count += 1;
                    continue;
                }
                Ok(record) => {
                    entries.extend(with_fallback_date(record.ledger.entries.iter().collect(), run.started));
                }
                Err(error) => {
                    uncounted.push((run.id, error.message));
                    continue;
                }
            }
        }
        counted += 1;
    }
    Ok(RunsCostReport { scope: CostReportScope::Runs(counted), entries, replayed_count, uncounted })
}

fn with_fallback_date(mut entries: Vec<CostEntry>, started: Timestamp) -> Vec<CostEntry> {
    for entry in entries.iter_mut().filter(|entry| entry.at == Timestamp::default()) {
        entry.at = started;
    }
    entries
}
