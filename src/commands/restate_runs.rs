//! `run --backend restate`: the run is handed to a Restate server and followed from here.

use std::sync::Arc;

use anyhow::{Result, bail};

use super::project_place::project_place;
use super::read_only::store_error;
pub(crate) use super::run_servers::{open_client, refusal_error};
use super::run_servers::{open_run_server, report_of_server};
use super::run_to_end::follow_run;
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_cli::args::RunArgs;
use synthdev_cli::headless::{self, HeadlessOutput};
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_server::RunServer;
use synthdev_restate::journaled_step::RunSubmission;
use synthdev_restate::server_client::PlacedRun;
use synthdev_settings::catalog::ConfigCatalog;

/// Starts the run and follows it to its end.
pub(crate) fn run_workflow(
    context: &StartContext,
    catalog: &ConfigCatalog,
    args: &RunArgs,
    mut spec: RunSpec,
    show: HeadlessOutput,
) -> Result<u8> {
    if spec.program.workflows.first().is_some_and(|root| root.isolated) {
        bail!(
            "this workflow wants a worktree of its own, which --backend restate does not give yet\nhint: run it without --backend"
        );
    }
    let client = open_client(catalog)?;
    let mut wired = wiring::wire_runtime(&context.project, &context.dirs.data, catalog, RunModels::default());
    let server = open_run_server(context, catalog);
    wired.handle = wired.handle.with_run_server(Arc::clone(&server) as Arc<dyn RunServer>);
    let warnings = std::mem::take(&mut spec.program.start_warnings);
    let replies = args.replies.as_deref().map(file_io::read_text_file).transpose()?;
    let project = project_place(&context.project);
    let submission = RunSubmission { project, spec, replies, handed_over_by: Vec::new() };
    let report = follow_run(&wired, show, async |handle| {
        let service = client.choose_host(&submission.project).await.map_err(refusal_error)?;
        let run = PlacedRun { service, id: handle.draw_run_id() };
        client.submit(&run, &submission).await.map_err(refusal_error)?;
        server.place_run(run.clone());
        handle.follow_at_server(&run.id, warnings).map_err(store_error)?;
        Ok(run.id)
    })?;
    Ok(headless::print_result(&report_of_server(&wired.handle, report), show)?)
}
