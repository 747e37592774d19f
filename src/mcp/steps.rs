//! Messages to sub-agents and to the clients that start them.
//!
//! Owns the form of steps, their results and the prompts of sub-agents. The runtime decides which sub-agent gets which
//! step and whether a result counts.

mod prompt;
mod results;
mod step_message;
mod sub_agent_error;
mod tasks;

pub(super) use self::results::{MOST_BYTES, as_input};
pub(super) use self::step_message::{completed_step_json, step_json};
pub(super) use self::sub_agent_error::SubAgentError;
pub(super) use self::tasks::add_task_fields;

/// Steps, and results, in one message.
pub(super) const MOST_STEPS: usize = 50;
