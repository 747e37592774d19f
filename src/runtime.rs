//! The only async logic: drives machines, performs their effects through ports, writes the journal.

pub mod bundle;
mod bus;
pub mod command;
pub mod compare;
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
pub mod search;
mod shared;
pub mod simulation;
mod steps;
mod tasks;
pub mod tokens;
pub mod travel;
mod withheld;
mod words;
