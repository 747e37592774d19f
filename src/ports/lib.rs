//! Traits through which the runtime meets the world. Adapters implement them, nobody else.

pub mod clock;
pub mod lock;
pub mod mcp;
pub mod model;
pub mod project_index;
pub mod run_store;
pub mod script;
pub mod snapshot;
pub mod tool;
pub mod worktree;
