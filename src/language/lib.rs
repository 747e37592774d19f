//! Workflow files: text in, checked programs and diagnostics out. Never reads a file.

pub mod check;
pub mod companion_files;
pub mod cost_estimate;
mod cycles;
pub mod did_you_mean;
pub mod fields;
pub mod graph;
pub mod inputs;
pub mod json;
pub mod key_declaration;
pub mod lower;
pub mod model_selector;
pub mod render;
pub mod script_analysis;
pub mod source;
pub mod test_file;
pub mod tool_patterns;
pub mod workflow_file;
