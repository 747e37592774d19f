//! Implements the ports: disk, git, SQLite, network, processes, JavaScript, clock.
#![allow(clippy::disallowed_methods, reason = "this layer implements the ports: IO belongs here")]

pub mod control_socket;
pub mod external_editor;
pub mod file_io;
pub mod file_watch;
pub mod git;
mod git_entries;
pub mod hidden_recording;
pub mod ignore_files;
pub mod image_store;
pub mod input_history;
pub mod javascript;
mod link_walk;
pub mod liveness_handle;
pub mod mcp_client;
mod open_beneath;
pub mod project_index;
pub mod project_lock;
pub mod providers;
pub mod repository_bounds;
pub mod repository_identity;
pub mod sandbox;
pub mod sqlite;
pub mod system_clock;
pub mod system_info;
pub mod task_list;
pub mod tools;
pub mod worktree;
