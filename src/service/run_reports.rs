//! What can be read of one run or of two: its steps and why each was taken, its requests and conversations, how two runs
//! differ, and whether a run comes out the same again.

use serde_json::{Map, Value};
use synthdev_domain::context::statistics::ContextStatistics;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_engine::explain::report_lines;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

pub use synthdev_engine::explain::StepExplanation;
pub use synthdev_runtime::diff_runs::{AlignedSide, AlignedStep, ForkPlace, RunDiff, RunDiffSide};
pub use synthdev_runtime::history::RunRecord;
pub use synthdev_runtime::inspect_call::{InspectedCall, ModelCallSelector};
pub use synthdev_runtime::time_travel::{ReplayVerdict, RunStep};

/// Every state that a run entered, in order: the n-th is step n. One that was rewound and not resumed yet ends with the
/// step before which it is.
///
/// # Errors
/// Unknown or unreadable.
pub fn list_steps(handle: &RuntimeHandle, run: &RunId) -> Result<Vec<RunStep>, StoreError> {
    handle.steps(run)
}

/// Computes a run again from its journal, without calls, and compares.
///
/// # Errors
/// Unknown or unreadable.
pub fn verify_replay(handle: &RuntimeHandle, run: &RunId) -> Result<ReplayVerdict, StoreError> {
    handle.verify_replay(run)
}

/// A request of a run with its answer; `run` may be a unique prefix of its id.
///
/// # Errors
/// Unknown or unreadable, or no request fits: says what was asked.
pub fn inspect_call(
    handle: &RuntimeHandle,
    run: &str,
    which: &ModelCallSelector,
) -> Result<InspectedCall, StoreError> {
    handle.inspect_call(run, which)
}

/// How much is in each conversation of a run, as it stands; `run` may be a unique prefix of its id.
///
/// # Errors
/// Unknown or unreadable.
pub fn measure_contexts(
    handle: &RuntimeHandle,
    run: &str,
) -> Result<(RunSummary, Vec<ContextStatistics>), StoreError> {
    handle.context_statistics(run)
}

/// How two runs differ; both may be unique prefixes of ids.
///
/// # Errors
/// One of them is unknown or unreadable.
pub fn compare_runs(handle: &RuntimeHandle, first: &str, second: &str) -> Result<RunDiff, StoreError> {
    handle.diff_runs(first, second)
}

/// `common_data` as it was when a step began: what a fork before it begins with.
///
/// # Errors
/// There is no such step, or the run is unknown or unreadable.
pub fn data_before_step(
    handle: &RuntimeHandle,
    run: &RunId,
    step: u32,
) -> Result<Map<String, Value>, StoreError> {
    handle.data_before(run, step)
}

/// Why a run took a step, as data.
///
/// # Errors
/// There is no such step, it was not taken yet, or the run is unknown or unreadable.
pub fn explain_step(handle: &RuntimeHandle, run: &RunId, step: u32) -> Result<StepExplanation, StoreError> {
    handle.explain_step(run, step)
}

/// The same in words, for every front-end.
///
/// # Errors
/// As [`explain_step`].
pub fn explain_step_text(handle: &RuntimeHandle, run: &RunId, step: u32) -> Result<String, StoreError> {
    Ok(report_lines(&explain_step(handle, run, step)?).join("\n"))
}
