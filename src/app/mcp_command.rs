//! `mcp list`, `mcp test` (`add` and `remove` are in `mcp_configuration`), and the lists of tools that a run needs before it begins.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use super::cli_context::CliContext;
use super::load_config::load_catalog;
use super::mcp_servers::{failure_line, server_pool, servers_for_program, unlisted_servers};
use super::run_to_end::build_runtime;
use super::{bootstrap, diagnostics, mcp_configuration};
use synthdev_adapters::mcp_client::{McpServerListing, McpToolLists};
use synthdev_cli::args::McpCommand;
use synthdev_cli::output::{TerminalSafeWriter, first_line, print_stderr, safe_name};
use synthdev_cli::{exit, json_output};
use synthdev_domain::mcp_server::{McpServerConfig, McpServerTransport, McpToolDescription};
use synthdev_domain::number_format::format_count;
use synthdev_domain::tool::ToolRisk;
use synthdev_service::mcp_configuration::McpServerAddition;
use synthdev_settings::catalog::{ConfigCatalog, ConfigSources};

/// The configuration once the servers that the workflow's agents may need have been asked for their tools; the user is
/// told which did not answer. A server that answered once is not waited for.
pub(super) fn with_listed_tools(
    context: &CliContext,
    catalog: ConfigCatalog,
    workflow: &str,
    sources: ConfigSources,
) -> Result<ConfigCatalog> {
    let unlisted = unlisted_servers(&catalog, &context.dirs.data);
    if unlisted.is_empty() {
        return Ok(catalog);
    }
    let Ok(program) = catalog.program(workflow) else { return Ok(catalog) };
    let wanted = servers_for_program(&catalog, &program, unlisted);
    if wanted.is_empty() {
        return Ok(catalog);
    }
    let listings = build_runtime()?.block_on(list_servers(context, &catalog, &wanted));
    for line in listings.iter().filter_map(failure_line) {
        print_stderr(format_args!("warning: {line}"));
    }
    Ok(bootstrap::load_catalog(context, sources))
}

/// Asks these servers for their tools and stores the answers; what went wrong, a line each.
pub(super) async fn list_servers(
    context: &CliContext,
    catalog: &ConfigCatalog,
    names: &[String],
) -> Vec<McpServerListing> {
    let tools = bootstrap::tool_settings(&context.project, &context.dirs.data, catalog);
    server_pool(&tools, &context.dirs.data, catalog).list_servers(names).await
}

/// The subcommands of `mcp`.
pub(super) fn run_mcp_command(context: &CliContext, command: &McpCommand) -> Result<u8> {
    match command {
        McpCommand::Add { name, environment, headers, target } => {
            let (name, target) = (name.clone(), target.clone());
            let (environment, headers) = (environment.clone(), headers.clone());
            let addition = McpServerAddition { name, target, environment, headers };
            mcp_configuration::add_server(context, &addition)
        }
        McpCommand::Remove { name } => mcp_configuration::remove_server(context, name),
        McpCommand::List { json } => print_server_list(context, &load_sound_catalog(context)?, *json),
        McpCommand::Test { name } => test_server(context, &load_sound_catalog(context)?, name),
    }
}

fn load_sound_catalog(context: &CliContext) -> Result<ConfigCatalog> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    Ok(catalog)
}

pub(super) fn print_server_list(context: &CliContext, catalog: &ConfigCatalog, as_json: bool) -> Result<u8> {
    let lists = McpToolLists::new(&context.dirs.data);
    let mut stdout = std::io::stdout().lock();
    if as_json {
        let rows: Vec<_> = catalog
            .mcp_servers()
            .values()
            .map(|server| {
                let (tools, failure) = match lists.load(server) {
                    Some(Ok(tools)) => (Some(tools), None),
                    Some(Err(why)) => (None, Some(why)),
                    None => (None, None),
                };
                let layer = server.layer.to_string();
                json!({"name": server.name, "layer": layer, "reached": reached_text(server), "tools": tools, "failure": failure})
            })
            .collect();
        json_output::write_pretty_json(&rows, &mut stdout)?;
        return Ok(exit::COMPLETED);
    }
    let mut out = TerminalSafeWriter(&mut stdout);
    if catalog.mcp_servers().is_empty() {
        writeln!(
            out,
            "no MCP server is configured: `synthdev mcp add` adds one to your settings, or write a .mcp.json"
        )?;
    }
    for server in catalog.mcp_servers().values() {
        let state = match lists.load(server) {
            Some(Ok(tools)) => format_count(tools.len() as u64, "tool"),
            Some(Err(why)) => format!("failed: {}", first_line(&why, 100)),
            None => "not asked yet".to_owned(),
        };
        let layer = server.layer.to_string();
        writeln!(
            out,
            "{:<16} {layer:<8} {:<40} {state}",
            safe_name(&server.name),
            first_line(&reached_text(server), 40)
        )?;
    }
    Ok(exit::COMPLETED)
}

/// Without variables' values: they may be keys.
fn reached_text(server: &McpServerConfig) -> String {
    match &server.transport {
        McpServerTransport::Stdio { command, arguments, .. } => {
            std::iter::once(command).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        McpServerTransport::Http { url, .. } => synthdev_settings::redaction::mask_address(url),
    }
}

pub(super) fn test_server(context: &CliContext, catalog: &ConfigCatalog, name: &str) -> Result<u8> {
    let Some(server) = catalog.mcp_servers().get(name) else {
        let known: Vec<&str> = catalog.mcp_servers().keys().map(String::as_str).collect();
        bail!(
            "there is no MCP server `{name}`\nhint: {}",
            if known.is_empty() {
                "none is configured".to_owned()
            } else {
                format!("there are: {}", known.join(", "))
            }
        );
    };
    McpToolLists::new(&context.dirs.data).forget(server);
    let runtime = build_runtime()?;
    let listings = runtime.block_on(list_servers(context, catalog, &[name.to_owned()]));
    let Some(McpServerListing { tools, took, .. }) = listings.into_iter().next() else {
        return Ok(exit::FAILED);
    };
    match tools {
        Ok(tools) => {
            print_tools(server, &tools, took)?;
            Ok(exit::COMPLETED)
        }
        Err(why) => {
            print_stderr(format_args!("error: MCP server `{}` gave no tools: {why}", safe_name(name)));
            Ok(exit::FAILED)
        }
    }
}

fn print_tools(server: &McpServerConfig, tools: &[McpToolDescription], took: Duration) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    let count = format_count(tools.len() as u64, "tool");
    writeln!(out, "{}: {count} in {} ms", safe_name(&server.name), took.as_millis())?;
    for tool in tools {
        let spec = server.tool_spec(tool);
        let risk = if spec.risk == ToolRisk::Read { "read" } else { "execute" };
        writeln!(out, "  {:<32} {risk:<8} {}", spec.name, first_line(&tool.description, 80))?;
    }
    Ok(())
}
