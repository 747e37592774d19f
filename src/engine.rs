//! The interpreter: `Machine::handle(now, Input) -> Output { effects, events }`.
//!
//! Pure: never awaits, reads a clock, draws an id or touches the disk. The same inputs give the same
//! effects and events, so a journal of inputs is a run.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod answer;
pub mod effect;
pub mod event;
pub mod fork;
pub mod frame;
pub mod input;
pub mod lane;
pub mod look;
pub mod machine;
pub mod merge;
pub mod purse;
pub mod replay;
mod said;
pub mod scope;
pub mod sight;
pub mod spared;
pub mod speaking;
pub mod spec;
pub mod stay;
pub mod steering;
pub mod thread;
pub mod time_limit;
pub mod trail;
pub mod turn;
pub mod view;
pub mod why;
