//! Users' files: text in, checked values and diagnostics out. Never reads a file.

pub mod fields;
pub mod inputs;
pub mod json;
pub mod models;
pub mod render;
pub mod role_file;
pub mod roles;
pub mod secret;
pub mod settings;
pub mod source;
pub mod suggest;
pub mod tool_patterns;
pub mod trust;
