//! `synthdev`: parse arguments, call the commands, turn their answer into an exit code.

use std::process::ExitCode;

use clap::error::ErrorKind;
use synthdev::cli::args;
use synthdev::cli::json_error::{self, ReportedError};
use synthdev::cli::{exit, output};

fn main() -> ExitCode {
    if let Some(code) = synthdev::bootstrap::sandbox_helper::run_sandbox_helper(std::env::args_os()) {
        return code;
    }
    let json = json_error::is_json_requested(std::env::args_os().skip(1));
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(error) => {
            if json && !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                output::print_json(&json_error::from_text(json_error::USAGE, &error.to_string()));
            }
            error.exit()
        }
    };
    match synthdev::commands::run_cli(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is::<ReportedError>() {
                output::print_stderr(format_args!("error: {error:#}"));
            }
            if json {
                output::print_json(&json_error::error_json(&error));
            }
            ExitCode::from(exit::USAGE)
        }
    }
}

/// `synthdev runs list | head`: the reader has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
