//! `backend`: another host answers for the runs of one from now on (`backend move`).

use std::io::Write;

use anyhow::{Result, bail};

use super::backend_doctor::run_backend_doctor;
use super::load_config::load_catalog;
use super::restate_runs::{open_client, refusal_error};
use super::run_to_end::build_runtime;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::BackendCommand;
use synthdev_cli::exit;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_domain::terminal_safe::redact_url;
use synthdev_restate::host_directory::{HostEntry, can_take_over};
use synthdev_restate::host_watch::hasten_calls;
use synthdev_restate::journaled_step::StepRefusal;
use synthdev_restate::run_host_names::service_uri;
use synthdev_restate::server_client::RestateClient;

pub(crate) fn run_backend_command(context: &StartContext, command: BackendCommand) -> Result<u8> {
    match command {
        BackendCommand::Doctor { json } => run_backend_doctor(context, json),
        BackendCommand::Move { old, new } => {
            let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
            let client = open_client(&catalog)?;
            let runtime = build_runtime()?;
            let moved = runtime.block_on(move_runs(&client, &old, &new)).map_err(refusal_error)?;
            if moved == 0 {
                bail!(
                    "{old} answers for no runs\nhint: `synthdev runs list --backend restate` shows where runs are"
                );
            }
            let mut out = std::io::stdout().lock();
            writeln!(TerminalSafeWriter(&mut out), "the runs of {old} go on at {new}")?;
            Ok(exit::COMPLETED)
        }
    }
}

/// How many services were moved.
async fn move_runs(client: &RestateClient, old: &str, new: &str) -> Result<usize, StepRefusal> {
    let directory = client.directory().await?;
    let refused = |message: String, hint: &str| StepRefusal { message, hint: Some(hint.to_owned()) };
    let moved: Vec<&HostEntry> = directory.answered_by(old).collect();
    if moved.is_empty() && directory.entries.iter().all(|entry| entry.description.host_id != old) {
        return Err(refused(
            format!("the Restate server knows no host {old}"),
            "`synthdev runs list --backend restate` shows the hosts of runs",
        ));
    }
    let Some(heir) = directory.home_of(new).filter(|_| old != new) else {
        return Err(refused(
            format!("{new} takes no runs: no worker with this name has registered, or it has left"),
            "start one: `synthdev worker --host-id NAME`",
        ));
    };
    // one that is not there is not told that it has these runs
    if !client.reaches(&heir.uri).await? {
        return Err(refused(
            format!("the Restate server does not reach {new} at {}", redact_url(heir.base())),
            "start that worker, or name another one; no run was moved",
        ));
    }
    if let Some(foreign) = moved.iter().find(|entry| !can_take_over(&entry.description, &heir.description)) {
        return Err(refused(
            format!(
                "{new} works in {} and has not the files of the runs of {}, {}",
                heir.description.project.path, foreign.description.host_id, foreign.description.project.path
            ),
            "set the same backend.restate.snapshot_remote at both, before runs begin",
        ));
    }
    for entry in &moved {
        if client.reaches(&entry.uri).await? {
            client.ask_to_leave(&entry.service).await?;
        }
        let uri = service_uri(heir.base(), new, &entry.service);
        client.move_service(&entry.deployment, &uri).await?;
        client.ask_to_take(&entry.service).await?;
    }
    futures_util::future::join_all(moved.iter().map(|entry| hasten_calls(client, &entry.service))).await;
    Ok(moved.len())
}
