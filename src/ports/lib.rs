//! Traits for everything outside of the runtime: models, tools, files, clocks. Adapters implement them;
//! a few wrappers in `runtime` implement a port around another, and `bootstrap` gathers those of scripted runs.

pub mod clock;
pub mod lock;
pub mod mcp;
pub mod model;
pub mod project_index;
pub mod run_server;
pub mod run_store;
pub mod script;
pub mod simulation;
pub mod snapshot;
pub mod tool;
pub mod worktree;
