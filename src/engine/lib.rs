//! The machine: `Machine::handle_input(now, Input) -> MachineOutput { effects, events }`.
//!
//! Read `input`, `effect` and `event`, then `machine`; `branch` and `call_frame` are its state, `prompt` is what a model gets.
//!
//! Pure: never awaits, reads a clock, draws an id or touches the disk. The same inputs give the same
//! effects and events, so a journal of inputs is a run.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod agent_turn;
pub mod answer_validation;
pub mod asked_approval;
pub mod branch;
pub mod budget_usage;
pub mod call_frame;
pub mod context_index;
pub mod conversation;
pub mod effect;
pub mod event;
pub mod explain;
pub mod input;
pub mod machine;
pub mod merge;
pub mod model_caller;
mod optional_value;
pub mod parallel;
pub mod pending_requests;
pub mod prompt;
pub mod replay;
pub mod replay_skips;
pub mod run_spec;
pub mod script_scope;
pub mod state_visit;
pub mod steering;
pub mod streaming_replay;
pub mod time_limit;
pub mod trace;
