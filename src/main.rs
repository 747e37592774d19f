//! `synthdev`: parse arguments, call the app, turn its answer into an exit code.

use std::process::ExitCode;

use clap::Parser;
use synthdev::cli::args::Cli;
use synthdev::cli::exit;

fn main() -> ExitCode {
    match synthdev::app::run(Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            synthdev::cli::words::tell(format_args!("error: {error:#}"));
            ExitCode::from(exit::USAGE)
        }
    }
}

/// `synthdev runs list | head`: the reader has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
