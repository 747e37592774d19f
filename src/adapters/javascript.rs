//! The host of workflow scripts.
//!
//! Owns: one QuickJS world per thread, limits on time, memory and stack, what scripts can see. Refuses: files (but for a reader that the
//! caller gives), network,
//! processes, timers, promises, code made from text, and any state that would outlive a job.

mod cached_common_data;
mod compile;
mod engine;
mod extract;
mod isolate;
mod job;
mod job_state;
mod limits;
mod scope_json;
mod script_error;
mod worker_pool;

pub use isolate::ScriptIsolate;
pub use job_state::ScriptFileReader;
pub use limits::ScriptLimits;
pub use worker_pool::ScriptWorkerPool;
