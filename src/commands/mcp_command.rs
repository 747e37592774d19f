//! `mcp list`, `mcp test` (`add` and `remove` are in `mcp_configuration`), and the lists of tools that a run needs before it begins.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use super::diagnostics;
use super::load_config::load_catalog;
use super::mcp_configuration;
use super::run_to_end::build_runtime;
use synthdev_bootstrap::mcp_servers::{McpServerListing, McpToolLists, failure_line, unlisted_servers};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_cli::args::McpCommand;
use synthdev_cli::output::{TerminalSafeWriter, first_line, print_stderr, safe_name};
use synthdev_cli::{exit, json_output};
use synthdev_domain::mcp_server::{
    McpServerConfig, McpServerTransport, McpToolDescription, SERVER_SEPARATOR,
};
use synthdev_domain::number_format::format_count;
use synthdev_domain::tool::ToolRisk;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::tool_patterns::ToolPattern;
use synthdev_service::mcp_configuration::McpServerAddition;
use synthdev_settings::catalog::{ConfigCatalog, ConfigSources};

/// The configuration once the servers that the workflow's agents may need have been asked for their tools; the user is
/// told which did not answer. A server that answered once is not waited for.
pub(crate) fn with_listed_tools(
    context: &StartContext,
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
    let listings = build_runtime()?.block_on(wiring::list_mcp_servers(context, &catalog, &wanted));
    for line in listings.iter().filter_map(failure_line) {
        print_stderr(format_args!("warning: {line}"));
    }
    Ok(wiring::load_catalog(context, sources))
}

/// Those of these servers whose tools an agent of the workflow may be given.
fn servers_for_program(
    catalog: &ConfigCatalog,
    program: &WorkflowProgram,
    servers: Vec<String>,
) -> Vec<String> {
    let roles =
        program.workflows.iter().flat_map(|workflow| &workflow.agents).map(|agent| agent.role.as_str());
    let roles: Vec<_> = roles.filter_map(|role| catalog.roles().find_role(role).ok()).collect();
    let wants = |server: &String| {
        let first = format!("{server}{SERVER_SEPARATOR}");
        roles.iter().any(|role| match (&role.included_tools, &role.excluded_tools) {
            (Some(included), _) => included.iter().any(|text| may_name_tool_of(text, &first)),
            (None, Some(_)) => true,
            (None, None) => false,
        })
    };
    servers.into_iter().filter(wants).collect()
}

/// Whether a pattern can fit a tool whose name begins so. What a regular expression fits is not known before.
fn may_name_tool_of(pattern: &str, first: &str) -> bool {
    match ToolPattern::parse(pattern) {
        Ok(ToolPattern::Exact(name)) => name.starts_with(first),
        Ok(ToolPattern::Wildcard(pieces)) => {
            pieces.first().is_none_or(|piece| first.starts_with(piece.as_str()) || piece.starts_with(first))
        }
        Ok(ToolPattern::Regex(_)) => true,
        Err(_) => false,
    }
}

/// The subcommands of `mcp`.
pub(crate) fn run_mcp_command(context: &StartContext, command: &McpCommand) -> Result<u8> {
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

fn load_sound_catalog(context: &StartContext) -> Result<ConfigCatalog> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    Ok(catalog)
}

pub(crate) fn print_server_list(
    context: &StartContext,
    catalog: &ConfigCatalog,
    as_json: bool,
) -> Result<u8> {
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

pub(crate) fn test_server(context: &StartContext, catalog: &ConfigCatalog, name: &str) -> Result<u8> {
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
    let listings = runtime.block_on(wiring::list_mcp_servers(context, catalog, &[name.to_owned()]));
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
