//! What can be read of one run or of two: the types that front-ends show.

pub use synthdev_engine::explain::StepExplanation;
pub use synthdev_runtime::diff_runs::{AlignedSide, AlignedStep, RunDiff, RunDiffSide};
pub use synthdev_runtime::history::RunRecord;
pub use synthdev_runtime::inspect_call::{InspectedCall, ModelCallSelector};
pub use synthdev_runtime::time_travel::{ReplayVerdict, RunStep};
