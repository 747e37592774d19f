//! What is judged: a command, where it would run, and what it could reach.

use std::path::Path;

/// A command before it runs, and what its words lead to.
#[derive(Clone, Copy)]
pub struct RefusedCommandInput<'a> {
    pub command: CommandText<'a>,
    /// Where it runs.
    pub directory: &'a Path,
    pub project: &'a Path,
    pub home: Option<&'a Path>,
    /// Whether the command can reach the network.
    pub network: bool,
}

#[derive(Clone, Copy)]
pub enum CommandText<'a> {
    /// Read by `sh`.
    Line(&'a str),
    /// A program and its arguments, which no shell reads.
    Program(&'a str, &'a [String]),
}
