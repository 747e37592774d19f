//! `index`: looks, says what it comes to, asks, and has the files described.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::FutureExt;
use tokio::time::Instant;

use super::diagnostics;
use super::load_config::load_catalog;
use super::read_only::error_with_hint;
use super::run_to_end::{build_runtime, interrupt_receiver};
use synthdev_bootstrap::logs;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_cli::args::IndexArgs;
use synthdev_cli::output::{TerminalSafeWriter, print_json, print_stderr};
use synthdev_cli::{exit, index as told};
use synthdev_domain::progress_text::progress_text;
use synthdev_domain::project_index::report::IndexReport;
use synthdev_service::project_indexing::{
    IndexingError, IndexingProgress, IndexingProposal, build_index, propose_indexing,
};

pub(crate) fn run_index(context: &StartContext, args: &IndexArgs) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    logs::start_logging(&context.dirs.data, catalog.settings().verbosity());
    let port = Arc::new(wiring::project_index(&context.project, &context.dirs.data, &catalog));
    let job = match propose_indexing(port, args.max_size, &catalog).map_err(indexing_error)? {
        IndexingProposal::UpToDate(report) => return report_indexing(&report, args.json),
        IndexingProposal::Free(job) => job,
        IndexingProposal::Priced { job, lines } => {
            if !args.yes && !confirm_indexing(&lines)? {
                print_stderr("no model was called, nothing was changed");
                return Ok(exit::CANCELLED);
            }
            job
        }
    };
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
    let runtime = build_runtime()?;
    let report = runtime.block_on(async {
        let mut interrupts = interrupt_receiver();
        let stopped = async move {
            let _ = interrupts.recv().await;
        }
        .boxed()
        .shared();
        let begun = Instant::now();
        let progress = |at: IndexingProgress| {
            if !args.json && at.is_worth_a_line() {
                let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                let far = progress_text(at.done_count as u64, at.total_count as u64, elapsed);
                print_stderr(format_args!("described {far}"));
            }
        };
        build_index(&wired.handle, job, &progress, stopped).await
    });
    runtime.shutdown_background();
    report_indexing(&report, args.json)
}

fn indexing_error(error: IndexingError) -> anyhow::Error {
    match &error {
        IndexingError::NoModel(missing) => error_with_hint(&missing.message, missing.hint.as_deref()),
        IndexingError::Unreadable(_) => anyhow!("{error}"),
    }
}

/// Shows what it comes to; at a terminal it asks, elsewhere `--yes` is needed.
fn confirm_indexing(lines: &[String]) -> Result<bool> {
    print_stderr(lines.join("\n"));
    if !std::io::stdin().is_terminal() {
        return Err(anyhow!(
            "not indexed: no terminal is attached for the question about the cost\nhint: add --yes"
        ));
    }
    print_stderr("index? [y/N]");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn report_indexing(report: &IndexReport, json: bool) -> Result<u8> {
    if json {
        print_json(&told::report_json(report));
    } else {
        writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", report.line())?;
        report.notes().iter().for_each(print_stderr);
    }
    Ok(told::exit_code(report))
}
