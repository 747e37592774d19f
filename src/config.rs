//! Users' files: text in, checked values and diagnostics out. Never reads a file.

pub mod check;
pub mod json;
pub mod lower;
pub mod script_facts;
pub mod source;
pub mod suggest;
pub mod workflow_file;
