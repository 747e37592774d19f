//! `worker`: serves the runs of this project that a Restate server hands out, until it is ended.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::diagnostics;
use super::load_config::load_catalog;
use super::restate_runs::{open_client, refusal_error};
use super::run_to_end::{interrupt_receiver, runtime_with_threads};
use super::worker_host::ProjectRunHost;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::WorkerArgs;
use synthdev_cli::exit;
use synthdev_cli::output::print_stderr;
use synthdev_domain::terminal_safe::{redact_remote, redact_url};
use synthdev_restate::host_directory::HostDescription;
use synthdev_restate::host_takeover::{HostHeir, HostTeller};
use synthdev_restate::host_watch::{HostWatch, enroll};
use synthdev_restate::run_host_names::check_host_id;
use synthdev_restate::server_client::RestateClient;
use synthdev_restate::worker::{RunHost, RunWorker, WorkerOptions};
use synthdev_restate::worker_server::{open_listener, serve_runs};

/// Of the server's calls.
const SERVING_THREADS: usize = 2;
/// Of the runs; a driver that waits for the server holds one, and the runtime adds others meanwhile.
const DRIVING_THREADS: usize = 4;

/// A server that has just been started takes a moment.
const REGISTRATIONS: u32 = 20;
const BETWEEN_REGISTRATIONS: Duration = Duration::from_millis(500);

pub(crate) fn run_worker(context: &StartContext, args: &WorkerArgs) -> Result<u8> {
    check_host_id(&args.host_id).map_err(refusal_error)?;
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    synthdev_bootstrap::logs::start_logging(&context.dirs.data, catalog.settings().verbosity());
    let client = open_client(&catalog)?;
    let driving = runtime_with_threads(DRIVING_THREADS)?;
    let options = WorkerOptions {
        host_id: args.host_id.clone(),
        server: redact_url(catalog.settings().restate_server().0).into_owned(),
        slots: args.slots,
        identity_key: args.identity_key.clone(),
        drivers: driving.handle().clone(),
    };
    let host = Arc::new(ProjectRunHost::new(context, catalog));
    let description = describe_host(&host, args);
    let worker = Arc::new(RunWorker::new(host, options));
    let runtime = runtime_with_threads(SERVING_THREADS)?;
    let served = runtime.block_on(async {
        let mut interrupts = interrupt_receiver();
        let listener = open_listener(args.listen, args.identity_key.as_deref()).map_err(refusal_error)?;
        let address = listener.local_addr()?;
        let advertised = args.advertise.clone().unwrap_or_else(|| format!("http://{address}"));
        let stop = async move {
            let _ = interrupts.recv().await;
        };
        let mut serving = tokio::spawn(serve_runs(Arc::clone(&worker), listener, stop));
        let service = tokio::select! {
            ended = &mut serving => return ended?.map_err(refusal_error),
            enrolled = enroll_patiently(&client, &worker, &advertised, &description) => enrolled?,
        };
        print_stderr(format_args!(
            "worker {} serves {} at {}",
            args.host_id,
            context.project.display(),
            redact_url(&advertised)
        ));
        worker.enable_handover(client.clone(), description.clone());
        let tell = teller(&args.host_id);
        let heir = HostHeir { client, worker, base: advertised, description, tell };
        let watching = tokio::spawn(HostWatch::new(heir, service).watch_hosts());
        let served = serving.await?.map_err(refusal_error);
        watching.abort();
        served
    });
    driving.shutdown_background();
    runtime.shutdown_background();
    served?;
    Ok(exit::COMPLETED)
}

/// Other hosts compare it, and the server shows it.
fn describe_host(host: &ProjectRunHost, args: &WorkerArgs) -> HostDescription {
    HostDescription {
        host_id: args.host_id.clone(),
        project: host.project().clone(),
        slots: args.slots.to_string(),
        snapshot_remote: host
            .snapshot_remote()
            .map_or_else(String::new, |remote| redact_remote(remote).into_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn teller(host_id: &str) -> HostTeller {
    let name = host_id.to_owned();
    Arc::new(move |what| print_stderr(format_args!("worker {name}: {what}")))
}

async fn enroll_patiently(
    client: &RestateClient,
    worker: &RunWorker,
    advertised: &str,
    description: &HostDescription,
) -> Result<String> {
    let mut last = None;
    for _ in 0..REGISTRATIONS {
        // first: the server calls it for its runs as soon as it is registered
        let enrolled = match worker.clock().measure(client).await {
            Ok(()) => enroll(client, advertised, description).await,
            Err(refused) => Err(refused),
        };
        match enrolled {
            Ok(service) => return Ok(service),
            Err(refused) => last = Some(refused),
        }
        tokio::time::sleep(BETWEEN_REGISTRATIONS).await;
    }
    Err(last.map_or_else(|| anyhow!("the worker was not registered"), refusal_error))
}
