//! `synthdev sandbox`: the policy in force, and what it says of one path.

use std::io::Write;

use anyhow::Result;

use super::load_config::load_catalog;
use synthdev_bootstrap::sandbox_setup::command_sandbox;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::{SandboxArgs, SandboxQuestion};
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_json};
use synthdev_session::sandbox_answers::{explain_path_access, sandbox_report};

/// `synthdev sandbox`
pub(crate) fn show_sandbox(context: &StartContext, args: &SandboxArgs) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let sandbox = command_sandbox(&context.project, &context.dirs.data, &catalog);
    if let Some(SandboxQuestion::Explain { path }) = &args.question {
        let explained = explain_path_access(&sandbox, &context.project, path);
        if args.json {
            print_json(&explained.json());
        } else {
            writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", explained.text())?;
        }
        return Ok(exit::COMPLETED);
    }
    let report = sandbox_report(&sandbox, &catalog);
    if args.json {
        print_json(&report.json());
    } else {
        writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", report.text())?;
    }
    Ok(if report.problem.is_some() { exit::FAILED } else { exit::COMPLETED })
}
