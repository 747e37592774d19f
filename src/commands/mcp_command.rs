//! `mcp list`, `mcp test` (`add` and `remove` are in `mcp_configuration`), and the lists of tools that a run needs before it begins.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::json;

use super::diagnostics;
use super::load_config::load_catalog;
use super::mcp_configuration;
use super::run_to_end::build_runtime;
use synthdev_bootstrap::mcp_servers::{StoredMcpTools, failure_line};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_cli::args::McpCommand;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr};
use synthdev_cli::{exit, json_output};
use synthdev_service::mcp_configuration::{McpServerAddition, McpServerChange};
use synthdev_service::mcp_servers::{
    McpServerReport, McpServerTestError, mcp_report_text, mcp_server_reports, mcp_tools_text, test_mcp_server,
};
use synthdev_service::start_check::{StartableProgram, find_program};
use synthdev_session::mcp_probe::LocalMcpProbe;
use synthdev_session::requirement_gate::RequirementGate;
use synthdev_session::unlisted_servers::unlisted_for_program;
use synthdev_settings::catalog::{ConfigCatalog, ConfigSources};

/// The configuration once what the workflow requires was found, and the servers that its agents may need have been asked
/// for their tools; the user is told which did not answer. A server that answered once is not waited for.
pub(crate) fn with_listed_tools(
    context: &StartContext,
    catalog: ConfigCatalog,
    startable: StartableProgram,
    sources: ConfigSources,
) -> Result<(ConfigCatalog, StartableProgram)> {
    let (catalog, startable) = with_requirements(context, catalog, startable)?;
    let wanted = unlisted_for_program(context, &catalog, &startable.program);
    if wanted.is_empty() {
        return Ok((catalog, startable));
    }
    let listings = build_runtime()?.block_on(wiring::list_mcp_servers(context, &catalog, &wanted));
    for line in listings.iter().filter_map(failure_line) {
        print_stderr(format_args!("warning: {line}"));
    }
    with_present_definition(wiring::load_catalog(context, sources), startable)
}

/// The program as the configuration has it now, with the same inputs.
fn with_present_definition(
    catalog: ConfigCatalog,
    startable: StartableProgram,
) -> Result<(ConfigCatalog, StartableProgram)> {
    let name = startable.program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
    let found = find_program(&catalog, &name);
    let program = found.map_err(|refused| diagnostics::lookup_error(&catalog, refused))?;
    Ok((catalog, StartableProgram { program, ..startable }))
}

/// The configuration once everything that the workflow requires was found, with what its servers list now.
fn with_requirements(
    context: &StartContext,
    catalog: ConfigCatalog,
    startable: StartableProgram,
) -> Result<(ConfigCatalog, StartableProgram)> {
    let catalog = Arc::new(catalog);
    if let Some(gate) = RequirementGate::for_program(context, &catalog, &startable.program) {
        build_runtime()?.block_on(gate.check(startable.program.clone()))?;
        return with_present_definition(wiring::load_catalog(context, catalog.sources().clone()), startable);
    }
    Ok((Arc::unwrap_or_clone(catalog), startable))
}

/// The subcommands of `mcp`.
pub(crate) fn run_mcp_command(context: &StartContext, command: &McpCommand) -> Result<u8> {
    match command {
        McpCommand::Add { name, environment, headers, target } => {
            let (name, target) = (name.clone(), target.clone());
            let (environment, headers) = (environment.clone(), headers.clone());
            let addition = McpServerAddition { name, target, environment, headers };
            mcp_configuration::change_servers(context, &McpServerChange::Add(addition))
        }
        McpCommand::Remove { name } => {
            mcp_configuration::change_servers(context, &McpServerChange::Remove(name.clone()))
        }
        McpCommand::List { json } => print_server_list(context, &load_sound_catalog(context)?, *json),
        McpCommand::Test { name } => test_server(context, &load_sound_catalog(context)?, name),
    }
}

fn load_sound_catalog(context: &StartContext) -> Result<ConfigCatalog> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    Ok(catalog)
}

fn print_server_list(context: &StartContext, catalog: &ConfigCatalog, as_json: bool) -> Result<u8> {
    let records = StoredMcpTools::new(&context.dirs.data);
    let reports = mcp_server_reports(catalog.mcp_servers(), &records, &|_| false);
    let mut stdout = std::io::stdout().lock();
    if as_json {
        let row = |report: &McpServerReport| {
            let call = report.last_call.as_ref();
            json!({"name": report.name, "layer": report.layer.to_string(), "reached": report.reached, "tools": report.tools,
                   "failure": report.listing_failure(), "state": report.state.word(),
                   "last_call": call, "last_error": report.last_error})
        };
        json_output::write_pretty_json(&reports.iter().map(row).collect::<Vec<_>>(), &mut stdout)?;
    } else {
        writeln!(TerminalSafeWriter(&mut stdout), "{}", mcp_report_text(&reports))?;
    }
    Ok(exit::COMPLETED)
}

fn test_server(context: &StartContext, catalog: &ConfigCatalog, name: &str) -> Result<u8> {
    let records = StoredMcpTools::new(&context.dirs.data);
    let probe = LocalMcpProbe { context, catalog };
    let servers = catalog.mcp_servers();
    let tested = build_runtime()?.block_on(test_mcp_server(servers, name, &records, &probe));
    match tested {
        Ok(listing) => {
            let text = servers.get(name).map(|server| mcp_tools_text(server, &listing));
            writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", text.unwrap_or_default())?;
            Ok(exit::COMPLETED)
        }
        Err(error @ McpServerTestError::Unknown { .. }) => bail!("{error}\nhint: {}", error.hint()),
        Err(error @ McpServerTestError::Failed { .. }) => {
            print_stderr(format_args!("error: {error}\nhint: {}", error.hint()));
            Ok(exit::FAILED)
        }
    }
}
