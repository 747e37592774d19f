//! The host of workflow scripts.
//!
//! Owns: one QuickJS world per thread, limits on time, memory and stack, what scripts can see (A4–A6, A30–A33,
//! A54–A56). Refuses: files, network, processes, timers, promises, code made from text, and any state that would
//! outlive a job.

mod compile;
mod engine;
mod extract;
mod fault;
mod host;
mod kept;
mod limits;
mod shared;
mod view;
mod work;
mod world;

pub use host::Host;
pub use limits::Limits;
pub use world::World;
