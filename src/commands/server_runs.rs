//! Runs of a Restate server, whichever worker drives them: lists, copies and cancels them.

use std::io::Write;

use anyhow::{Result, bail};

use super::load_config::load_catalog;
use super::read_only::{open_reader, store_error};
use super::run_servers::{open_client, refusal_error};
use super::run_to_end::build_runtime;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::ListArgs;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_cli::{exit, json_output};
use synthdev_domain::ids::RunId;
use synthdev_restate::run_server::{CancelledRun, cancel_run as cancel_at_server};
use synthdev_restate::server_admin::ServerRun;
use synthdev_restate::server_client::RestateClient;

fn print_text(text: &str) -> std::io::Result<()> {
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{text}")
}

fn client(context: &StartContext) -> Result<RestateClient> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    open_client(&catalog)
}

pub(crate) fn list_runs(context: &StartContext, args: &ListArgs) -> Result<u8> {
    let client = client(context)?;
    let runs = build_runtime()?.block_on(client.list(args.limit)).map_err(refusal_error)?;
    if args.json {
        json_output::write_pretty_json(&runs, &mut std::io::stdout().lock())?;
        return Ok(exit::COMPLETED);
    }
    for run in &runs {
        print_text(&run_line(run))?;
    }
    Ok(exit::COMPLETED)
}

fn run_line(run: &ServerRun) -> String {
    let ServerRun { run: id, status, result, created, attempts, failure, host, .. } = run;
    let host = host.as_deref().unwrap_or("-");
    let status = match (status.as_str(), result.as_deref()) {
        ("completed", Some("failure")) => "completed: failure".to_owned(),
        (other, _) => other.to_owned(),
    };
    let began = created.split(['.', '+']).next().unwrap_or(created);
    let failed = failure.as_deref().filter(|_| attempts.is_some_and(|attempts| attempts > 0));
    let failed =
        failed.map_or_else(String::new, |failure| format!("  {}", failure.lines().next().unwrap_or(failure)));
    format!("{id}  {began}  {host}  {status}{failed}")
}

/// Copies into the history what the server has of a run.
pub(crate) fn fetch_run(context: &StartContext, run: &str) -> Result<()> {
    let handle = open_reader(context)?.handle;
    let run = handle.summary(run).map_or_else(|_| RunId::from(run), |known| known.id);
    build_runtime()?.block_on(handle.fetch_from_server(&run)).map_err(store_error)
}

pub(crate) fn cancel_run(context: &StartContext, run: &str) -> Result<u8> {
    let (client, run) = (client(context)?, RunId::from(run));
    let ended = build_runtime()?.block_on(cancel_at_server(&client, &run)).map_err(refusal_error)?;
    match ended {
        Some(CancelledRun::Ended(progress)) => {
            print_text(&format!("run {run} is {}", progress.status.as_str()))?;
        }
        Some(CancelledRun::Withdrawn) => print_text(&format!("run {run} is cancelled"))?,
        None => bail!(
            "run {run} was told to end, but work in progress goes on\nhint: `runs list --backend restate` shows when it has ended"
        ),
    }
    Ok(exit::COMPLETED)
}
