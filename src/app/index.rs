//! `index`: looks, says what it comes to, asks, and has the files described.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::FutureExt;

use super::cli_context::CliContext;
use super::load_config::load_catalog;
use super::run_to_end::{build_runtime, interrupt_receiver};
use super::{bootstrap, diagnostics, logs};
use synthdev_adapters::project_index::ProjectIndex;
use synthdev_cli::args::IndexArgs;
use synthdev_cli::output::{TerminalSafeWriter, print_json, print_stderr};
use synthdev_cli::{exit, index as told};
use synthdev_domain::project_index::report::{IndexReport, proposal_lines};
use synthdev_domain::project_index::{IndexPlan, SizeLimit};
use synthdev_ports::project_index::ProjectIndexPort as _;
use synthdev_runtime::indexing::{IndexingJob, IndexingProgress};

/// The level that is asked for small things.
const LEVEL: &str = "fast";

/// What has changed since the index was made. Blocking.
///
/// # Errors
/// The project or its index cannot be read.
pub(super) fn plan_index(port: &ProjectIndex, limit: SizeLimit) -> Result<IndexPlan, String> {
    Ok(IndexPlan::from_scan(port.scan(limit)?, &port.load()?, limit))
}

pub(super) fn run_index(world: &CliContext, args: &IndexArgs) -> Result<u8> {
    let (catalog, _) = load_catalog(world, world.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    logs::start_logging(&world.dirs.data, catalog.settings().verbosity());
    let port = bootstrap::project_index(&world.project, &world.dirs.data, &catalog);
    let plan = plan_index(&port, args.max_size).map_err(|why| anyhow!(why))?;
    if plan.is_empty() {
        return report_indexing(&IndexReport::from_plan(&plan), args.json);
    }
    let choice = catalog.model_for_level(LEVEL).map_err(|missing| {
        let hint = missing.hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        anyhow!("{}{hint}", missing.message)
    })?;
    let estimate = plan.estimate_cost(choice.price);
    if estimate.calls > 0 && !args.yes && !confirm_indexing(&proposal_lines(&plan, &choice.model, &estimate))?
    {
        print_stderr("no model was called, nothing was changed");
        return Ok(exit::CANCELLED);
    }
    let wired = bootstrap::wire_runtime(&world.project, &world.dirs.data, &catalog, None);
    let runtime = build_runtime()?;
    let report = runtime.block_on(async {
        let mut interrupts = interrupt_receiver();
        let stopped = async move {
            let _ = interrupts.recv().await;
        }
        .boxed()
        .shared();
        let progress = |at: IndexingProgress| {
            if !args.json && at.is_worth_a_line() {
                print_stderr(format_args!("{} of {} described", at.done_count, at.total_count));
            }
        };
        wired.handle.build_index(IndexingJob { port: Arc::new(port), plan, choice }, &progress, stopped).await
    });
    runtime.shutdown_background();
    report_indexing(&report, args.json)
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
