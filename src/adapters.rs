//! The only code that meets the world: disk, git, SQLite, network, processes, JavaScript, clock.
#![allow(clippy::disallowed_methods, reason = "this is the border: IO lives here and nowhere else")]

mod beneath;
pub mod control;
pub mod disk;
pub mod editor;
pub mod git;
mod git_entries;
pub mod ignore_files;
pub mod javascript;
pub mod machine;
pub mod mcp;
pub mod project_index;
pub mod project_lock;
pub mod providers;
pub mod repository_bounds;
pub mod sandbox;
pub mod sqlite;
pub mod stirs;
pub mod system;
pub mod task_list;
pub mod tools;
pub mod typed;
pub mod worktree;
