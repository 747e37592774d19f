//! The only async logic: drives machines, performs their effects through ports, writes the journal.

mod bus;
pub mod command;
mod digest;
mod driver;
pub mod handle;
pub mod history;
mod journal;
mod mail;
mod perform;
mod redact;
mod reopen;
pub mod resume;
mod retry;
mod shared;
pub mod simulation;
pub mod tokens;
pub mod travel;
mod words;
