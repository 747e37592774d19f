//! The workflow server: workflows as tools of the model context protocol (`docs/mcp.md`).
//!
//! Owns what clients see: tools, answers, resources, progress. It starts runs, follows them and hands on what they ask
//! for; the runs themselves are those of every other front-end, in the same store.
//! Refuses to know how anything is configured or wired (that is the [`backend::Backend`]), and to print: its output
//! belongs to the protocol.

pub mod answer;
mod arguments;
pub mod backend;
mod calls;
mod deadlines;
mod follow;
mod http;
mod moment;
mod progress;
mod refusal;
pub mod reminders;
mod replies;
mod resources;
mod sampling;
mod schema;
mod server;
mod steps;
mod tools;
mod wire;

pub use http::{Reachable, serve_http};
pub use server::serve;
