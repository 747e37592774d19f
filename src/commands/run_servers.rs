//! The server that may keep the journals of runs, for every command that asks about one: a runtime reaches it when it needs
//! it. Without the cargo feature `restate` there is none.

#[cfg(feature = "restate")]
use std::sync::Arc;

#[cfg(feature = "restate")]
use anyhow::Result;

#[cfg(feature = "restate")]
use super::project_place::project_place;
#[cfg(feature = "restate")]
use synthdev_bootstrap::local_files::repository_identity::directory_identity;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
#[cfg(feature = "restate")]
use synthdev_cli::args::BackendArg;
use synthdev_cli::headless::FinalReport;
#[cfg(feature = "restate")]
use synthdev_cli::output::print_stderr;
#[cfg(feature = "restate")]
use synthdev_domain::journal::RunStatus;
#[cfg(feature = "restate")]
use synthdev_restate::journaled_step::StepRefusal;
#[cfg(feature = "restate")]
use synthdev_restate::run_server::{ClientPlace, RestateRunServer};
#[cfg(feature = "restate")]
use synthdev_restate::server_client::{RestateAddresses, RestateClient};
use synthdev_runtime::handle::RuntimeHandle;
#[cfg(feature = "restate")]
use synthdev_session::hinted_error::error_with_hint;
use synthdev_settings::catalog::ConfigCatalog;

#[cfg(feature = "restate")]
pub(crate) fn with_run_server(
    context: &StartContext,
    catalog: &ConfigCatalog,
    mut wired: WiredRuntime,
) -> WiredRuntime {
    wired.handle = wired.handle.with_run_server(open_run_server(context, catalog));
    wired
}

/// The server of the settings.
#[cfg(feature = "restate")]
pub(crate) fn open_run_server(context: &StartContext, catalog: &ConfigCatalog) -> Arc<RestateRunServer> {
    let (project, data) = (context.project.clone(), context.dirs.data.clone());
    let find_place =
        move || ClientPlace { history: directory_identity(&data), project: project_place(&project) };
    Arc::new(RestateRunServer::new(server_addresses(catalog), find_place))
}

#[cfg(not(feature = "restate"))]
pub(crate) fn with_run_server(_: &StartContext, _: &ConfigCatalog, wired: WiredRuntime) -> WiredRuntime {
    wired
}

#[cfg(feature = "restate")]
fn server_addresses(catalog: &ConfigCatalog) -> RestateAddresses {
    let (ingress, admin, token) = catalog.settings().restate_server();
    let auth_token = token.map(|token| token.expose_secret().to_owned());
    RestateAddresses { ingress: ingress.to_owned(), admin: admin.to_owned(), auth_token }
}

#[cfg(feature = "restate")]
pub(crate) fn open_client(catalog: &ConfigCatalog) -> Result<RestateClient> {
    RestateClient::new(server_addresses(catalog)).map_err(refusal_error)
}

#[cfg(feature = "restate")]
pub(crate) fn refusal_error(refused: StepRefusal) -> anyhow::Error {
    error_with_hint(&refused.message, refused.hint.as_deref())
}

/// What this process leaves of a run that a server keeps goes on there.
#[cfg(feature = "restate")]
pub(crate) fn report_of_server(handle: &RuntimeHandle, mut report: FinalReport) -> FinalReport {
    let Some(run) = report.run_id.clone().filter(|run| handle.is_at_server(run).unwrap_or(false)) else {
        return report;
    };
    report.backend = Some(BackendArg::Restate.as_str());
    if report.status == RunStatus::Interrupted && report.error.is_none() {
        print_stderr(format_args!("run {run} goes on at the Restate server"));
        report.status = RunStatus::Running;
    }
    report
}

#[cfg(not(feature = "restate"))]
pub(crate) fn report_of_server(_: &RuntimeHandle, report: FinalReport) -> FinalReport {
    report
}
