//! The only async logic: drives machines, performs their effects through ports, writes the journal.

pub mod command;
pub mod handle;
