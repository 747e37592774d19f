//! Runs of a Restate server, whichever worker drives them: lists and cancels them.

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};

use super::load_config::load_catalog;
use super::restate_runs::{open_client, refusal_error};
use super::run_to_end::build_runtime;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::ListArgs;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_cli::{exit, json_output};
use synthdev_domain::ids::RunId;
use synthdev_restate::journaled_step::RunEnd;
use synthdev_restate::server_admin::ServerRun;
use synthdev_restate::server_client::RestateClient;

/// Until a run that was told to end has ended.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

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

pub(crate) fn cancel_run(context: &StartContext, run: &str) -> Result<u8> {
    let (client, run) = (client(context)?, RunId::from(run));
    let ended = build_runtime()?.block_on(async {
        let mut placed = client.find_run(&run).await?;
        while let Err(refused) = client.cancel(&placed).await {
            // it may have been handed over in that moment
            let now = client.find_run(&run).await?;
            if now == placed {
                return Err(refused);
            }
            placed = now;
        }
        for _ in 0..LOOKS {
            // one that had not begun ends with a refusal
            match client.outcome(&placed).await {
                Ok(None | Some(RunEnd::HandedOver { .. })) => tokio::time::sleep(BETWEEN_LOOKS).await,
                Ok(Some(RunEnd::Ended(progress))) => return Ok(Some(progress.status.as_str())),
                Err(_) => return Ok(Some("cancelled")),
            }
        }
        Ok(None)
    });
    match ended.map_err(refusal_error)? {
        Some(status) => print_text(&format!("run {run} is {status}"))?,
        None => bail!(
            "run {run} was told to end, but work in progress goes on\nhint: `runs list --backend restate` shows when it has ended"
        ),
    }
    Ok(exit::COMPLETED)
}
