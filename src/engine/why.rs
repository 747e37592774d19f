//! Why a run went into a state: the conditions that were tried, what they read, and who had supplied that (FSM-18,
//! HIST-2). Plain data, from a replay of the run's inputs; nothing is evaluated again.
//!
//! Refuses: guessing. What cannot be traced has no source.

mod answer;
mod lines;
mod reads;
mod sources;
mod walk;
mod whereabouts;

use std::sync::Arc;

use super::input::Input;
use super::replay::effective;
use super::spec::RunSpec;
use crate::domain::ids::Timestamp;

pub use answer::{Back, By, Call, Came, Gave, How, Read, Source, Tried, Why};
pub use lines::lines;

/// Why the run entered its `step`-th state (from 1); `None` if it entered fewer. What the run went back behind does
/// not count.
pub fn why(spec: Arc<RunSpec>, inputs: &[(Timestamp, Input)], step: u32) -> Option<Why> {
    let mut walk = walk::Walk::new(spec, step);
    let inputs = effective(inputs, |(_, input)| input);
    let next = inputs.iter().skip(1).map(|(_, input)| Some(input)).chain([None]);
    inputs.iter().zip(next).find_map(|((at, input), next)| walk.take(*at, input, next))
}
