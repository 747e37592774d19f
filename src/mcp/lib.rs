//! The workflow server: workflows as tools of the model context protocol (`docs/mcp.md`).
//!
//! Owns what clients see: tools, answers, resources, progress. It starts runs, follows them and passes on their
//! questions; the runs themselves are those of every other front-end, in the same store. Refuses to know how anything
//! is configured or wired (that is the [`backend::McpBackend`]), and to print: its output belongs to the protocol.

mod arguments;
mod await_run;
pub mod backend;
mod calls;
mod client_hints;
mod error;
mod http;
mod llm_reply;
mod pause_timeouts;
mod progress;
pub mod reminders;
mod resources;
pub mod response;
mod sampling;
mod server;
pub mod start_queue;
mod steps;
mod timestamp;
mod tool_schema;
mod tools;
mod transport;

pub use http::{HttpServerUrl, serve_http};
pub use server::serve_stdio;
