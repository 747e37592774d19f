//! `synthdev`: parse arguments, call the app, turn its answer into an exit code.

use std::process::ExitCode;

use clap::error::ErrorKind;
use synthdev::cli::args;
use synthdev::cli::refusal::{self, Told};
use synthdev::cli::{exit, words};

fn main() -> ExitCode {
    if let Some(code) = synthdev::app::helper(std::env::args_os()) {
        return code;
    }
    let json = refusal::wants_json(std::env::args_os().skip(1));
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(error) => {
            if json && !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                words::print_json(&refusal::from_text(refusal::USAGE, &error.to_string()));
            }
            error.exit()
        }
    };
    match synthdev::app::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is::<Told>() {
                words::tell(format_args!("error: {error:#}"));
            }
            if json {
                words::print_json(&refusal::of(&error));
            }
            ExitCode::from(exit::USAGE)
        }
    }
}

/// `synthdev runs list | head`: the reader has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
