//! Users' files: text in, checked values and diagnostics out. Never reads a file.

pub mod beside;
pub mod brief;
pub mod catalog;
pub mod check;
mod circles;
pub mod envelope;
pub mod fields;
pub mod file_kind;
pub mod graph;
pub mod inputs;
pub mod json;
pub mod lower;
pub mod models;
pub mod render;
pub mod role_file;
pub mod roles;
pub mod schema;
pub mod script_facts;
pub mod secret;
pub mod settings;
pub mod setup;
pub mod source;
pub mod suggest;
pub mod test_file;
pub mod tool_patterns;
pub mod trust;
pub mod workflow_file;
