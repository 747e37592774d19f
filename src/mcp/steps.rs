//! What sub-agents and those who start them are told, message by message (seed 004, SUBA-1 to SUBA-9).
//!
//! Owns the form of steps, their results and the prompts of sub-agents. Who gets which step and whether a result counts
//! is the runtime's.

mod details;
mod fault;
mod prompt;
mod results;
mod tasks;

pub(super) use self::details::{of_step, of_told};
pub(super) use self::fault::Fault;
pub(super) use self::results::{MOST_BYTES, as_input};
pub(super) use self::tasks::fields;

/// Steps, and results, in one message.
pub(super) const MOST_STEPS: usize = 50;
