//! The nouns of the program: plain data that every other layer shares.
//!
//! Begin with `workflow`, `state_body`, `context` and `agent` (what is run), then `journal` and `run_error` (what is kept),
//! `approval`, `tool` and `sandbox` (what is allowed).
//!
//! Never here: async, IO, clocks, randomness.

pub mod agent;
pub mod agent_team;
pub mod approval;
mod base64_text;
pub mod command_preview;
pub mod command_suggestion;
pub mod context;
pub mod cost;
pub mod cost_breakdown;
pub mod decision_source;
pub mod delegation;
pub mod diagnostic;
pub mod duration;
pub mod file_progress;
pub mod ids;
pub mod image_reference;
pub mod journal;
pub mod limits;
pub mod line_diff;
pub mod mcp_server;
pub mod message;
pub mod mock_results;
pub mod model;
pub mod model_list;
pub mod number_format;
pub mod own_tool;
pub mod parameter;
pub mod progress_text;
pub mod project_index;
pub mod project_lock;
pub mod protocol;
pub mod question_text;
pub mod recovery;
pub mod refused_commands;
pub mod required_schema;
pub mod role;
pub mod run_error;
pub mod sandbox;
pub mod schema_sample;
pub mod script;
pub mod secret;
pub mod secret_names;
pub mod snapshot;
pub mod source_location;
pub mod state_body;
pub mod system_context;
pub mod task_list;
pub mod terminal_safe;
pub mod tool;
pub mod trace;
pub mod word_boundaries;
pub mod workflow;
pub mod workflow_requirements;
