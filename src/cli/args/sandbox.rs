//! `synthdev sandbox`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub struct SandboxArgs {
    #[command(subcommand)]
    pub question: Option<SandboxQuestion>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand, Debug)]
pub enum SandboxQuestion {
    /// What a command may do with a path, and which rule says so
    Explain {
        /// The path; a relative one is the project's
        path: PathBuf,
    },
}
