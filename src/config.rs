//! Users' files: text in, checked values and diagnostics out. Never reads a file.

pub mod fields;
pub mod json;
pub mod models;
pub mod render;
pub mod secret;
pub mod settings;
pub mod source;
pub mod suggest;
