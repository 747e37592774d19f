//! The only async logic: drives machines, performs their effects through ports, writes the journal.

pub mod bundle;
mod bus;
mod carried;
pub mod command;
pub mod compare;
mod digest;
mod driver;
pub mod handle;
pub mod history;
mod journal;
mod look;
mod mail;
mod perform;
mod redact;
mod reopen;
mod restoring;
pub mod resume;
mod retry;
pub mod search;
mod shared;
mod sharing;
pub mod simulation;
mod steps;
pub mod tokens;
pub mod travel;
mod words;
