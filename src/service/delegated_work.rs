//! Work of runs that others do: model calls that a client answers, and tasks of sub-agents.

pub use synthdev_engine::machine::{DelegatedTask, MAX_CHECKPOINTS};
pub use synthdev_runtime::{delegated_calls, task_queue};
