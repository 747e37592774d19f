//! The nouns of the program: plain data that every other layer shares.
//!
//! Never here: async, IO, clocks, randomness.

pub mod agent;
pub mod approval;
pub mod brief;
pub mod command_preview;
pub mod context;
pub mod cost;
pub mod delegation;
pub mod diagnostic;
pub mod failure;
pub mod figures;
pub mod ids;
pub mod journal;
pub mod limits;
pub mod line_diff;
pub mod lock;
pub mod message;
pub mod model;
pub mod model_list;
pub mod parameter;
pub mod place;
pub mod printable;
pub mod project_index;
pub mod protocol;
pub mod question_text;
pub mod recovery;
pub mod refused_commands;
pub mod role;
pub mod sample;
pub mod sandbox;
pub mod script;
pub mod scripted;
pub mod secret;
pub mod secret_names;
pub mod snapshot;
pub mod span;
pub mod spending;
pub mod suggestion;
pub mod task_list;
pub mod tool;
pub mod trail;
pub mod work;
pub mod workflow;
pub mod writing;
