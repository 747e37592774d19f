//! What can be read of one run or of two: the types that front-ends show, and why a step was taken.

use synthdev_domain::ids::RunId;
use synthdev_engine::explain::report_lines;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

pub use synthdev_engine::explain::StepExplanation;
pub use synthdev_runtime::diff_runs::{AlignedSide, AlignedStep, RunDiff, RunDiffSide};
pub use synthdev_runtime::history::RunRecord;
pub use synthdev_runtime::inspect_call::{InspectedCall, ModelCallSelector};
pub use synthdev_runtime::time_travel::{ReplayVerdict, RunStep};

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
