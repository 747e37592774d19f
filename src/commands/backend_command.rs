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
use synthdev_restate::host_move::{MoveReport, UnmovedService, move_runs};

pub(crate) fn run_backend_command(context: &StartContext, command: BackendCommand) -> Result<u8> {
    match command {
        BackendCommand::Doctor { json } => run_backend_doctor(context, json),
        BackendCommand::Move { old, new } => {
            let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
            let client = open_client(&catalog)?;
            let runtime = build_runtime()?;
            let report = runtime.block_on(move_runs(&client, &old, &new)).map_err(refusal_error)?;
            print_move(&report, &old, &new)
        }
    }
}

fn print_move(report: &MoveReport, old: &str, new: &str) -> Result<u8> {
    let MoveReport { moved, unmoved } = report;
    if moved.is_empty() && unmoved.is_empty() {
        bail!("{old} answers for no runs\nhint: `synthdev runs list --backend restate` shows where runs are");
    }
    let mut out = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut out);
    if unmoved.is_empty() {
        writeln!(out, "the runs of {old} go on at {new}")?;
        return Ok(exit::COMPLETED);
    }
    for service in moved {
        writeln!(out, "the runs of {service} go on at {new}")?;
    }
    for UnmovedService { service, host, refused } in unmoved {
        let place = host.as_ref().map_or_else(
            || "the server does not say where they are".to_owned(),
            |host| format!("they are at {host}"),
        );
        writeln!(out, "the runs of {service} were not moved, {place}: {refused}")?;
    }
    let hint = unmoved.iter().find_map(|left| left.refused.hint.as_deref());
    bail!(
        "{} of {} services of {old} were not moved\nhint: {}",
        unmoved.len(),
        unmoved.len() + moved.len(),
        hint.unwrap_or("`synthdev backend doctor` says what is wrong; then move them again")
    );
}
