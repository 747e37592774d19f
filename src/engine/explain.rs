//! Why a run went into a state: the conditions that were tried, what they read, and the source of each value. Plain
//! data, from a replay of the run's inputs; nothing is evaluated again.
//!
//! Refuses: guessing. A value that cannot be traced has no source.

mod explanation;
mod provenance;
mod reads;
mod report_lines;
mod run_tracer;
mod state_path;

use std::sync::Arc;

use super::input::Input;
use super::replay::drop_rewound;
use super::run_spec::RunSpec;
use synthdev_domain::ids::Timestamp;

pub use explanation::{
    ConditionRead, ConditionResult, EntryCause, OriginToolCall, PreviousStep, ReplacedValue, RewindNote,
    StepExplanation, TriedCondition, ValueOrigin, ValueOriginKind,
};
pub use report_lines::report_lines;
pub use run_tracer::replaced_values;

/// Explains why the run entered its `step`-th state (from 1); `None` if it entered fewer. Steps that a rewind discarded
/// do not count.
pub fn explain_step(spec: Arc<RunSpec>, inputs: &[(Timestamp, Input)], step: u32) -> Option<StepExplanation> {
    let mut walk = run_tracer::RunTracer::new(spec, step);
    let inputs = drop_rewound(inputs, |(_, input)| input);
    let next = inputs.iter().skip(1).map(|(_, input)| Some(input)).chain([None]);
    inputs.iter().zip(next).find_map(|((at, input), next)| walk.feed_input(*at, input, next))
}
