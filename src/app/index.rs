//! `index`: looks, says what it comes to, asks, and has the files described.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::FutureExt;

use super::driving::{interrupts, runtime};
use super::loading::load;
use super::world::World;
use super::{findings, logs, wiring};
use crate::adapters::project_index::ProjectIndex;
use crate::cli::args::IndexArgs;
use crate::cli::words::{Clean, print_json, tell};
use crate::cli::{exit, index as told};
use crate::domain::project_index::report::{Report, proposal};
use crate::domain::project_index::{Plan, SizeLimit};
use crate::ports::project_index::ProjectIndexPort as _;
use crate::runtime::indexing::{Progress, Work};

/// The level that is asked for small things.
const LEVEL: &str = "fast";

/// What has changed since the index was made. Blocking.
///
/// # Errors
/// The project or its index cannot be read.
pub(super) fn look(port: &ProjectIndex, limit: SizeLimit) -> Result<Plan, String> {
    Ok(Plan::of(port.scan(limit)?, &port.load()?, limit))
}

pub(super) fn index(world: &World, args: &IndexArgs) -> Result<u8> {
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    findings::sound(&catalog)?;
    logs::start(&world.dirs.data, catalog.settings().verbosity());
    let port = wiring::project_index(&world.project, &world.dirs.data, &catalog);
    let plan = look(&port, args.max_size).map_err(|why| anyhow!(why))?;
    if plan.is_empty() {
        return finished(&Report::of(&plan), args.json);
    }
    let choice = catalog.choice(LEVEL).map_err(|missing| {
        let hint = missing.hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        anyhow!("{}{hint}", missing.message)
    })?;
    let estimate = plan.estimate(choice.price);
    if estimate.calls > 0 && !args.yes && !agreed(&proposal(&plan, &choice.model, &estimate))? {
        tell("nothing was asked, nothing was changed");
        return Ok(exit::CANCELLED);
    }
    let wired = wiring::wire(&world.project, &world.dirs.data, &catalog, None);
    let runtime = runtime()?;
    let report = runtime.block_on(async {
        let mut interrupts = interrupts();
        let stopped = async move {
            let _ = interrupts.recv().await;
        }
        .boxed()
        .shared();
        let progress = |at: Progress| {
            if !args.json && at.is_worth_a_line() {
                tell(format_args!("{} of {} described", at.done, at.of));
            }
        };
        wired.handle.index(Work { port: Arc::new(port), plan, choice }, &progress, stopped).await
    });
    runtime.shutdown_background();
    finished(&report, args.json)
}

/// Shows what it comes to; at a terminal it asks, elsewhere `--yes` is needed.
fn agreed(lines: &[String]) -> Result<bool> {
    tell(lines.join("\n"));
    if !std::io::stdin().is_terminal() {
        return Err(anyhow!("not indexed: nobody can be asked here whether to pay for it\nhint: add --yes"));
    }
    tell("index? [y/N]");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn finished(report: &Report, json: bool) -> Result<u8> {
    if json {
        print_json(&told::json(report));
    } else {
        writeln!(Clean(&mut std::io::stdout().lock()), "{}", report.line())?;
        report.notes().iter().for_each(tell);
    }
    Ok(told::code(report))
}
