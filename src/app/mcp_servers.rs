//! Servers of the model context protocol whose tools our agents use: which are configured, and what they list.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use synthdev_adapters::mcp_client::{McpClientSettings, McpServerListing, McpServerPool, McpToolLists};
use synthdev_adapters::tools::ToolSettings;
use synthdev_domain::mcp_server::{McpServerConfig, SERVER_SEPARATOR};
use synthdev_domain::tool::ToolSpec;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::tool_patterns::ToolPattern;
use synthdev_settings::catalog::ConfigCatalog;

/// The servers of a configuration, for the tools of one directory.
pub(super) fn server_pool(tools: &ToolSettings, data: &Path, catalog: &ConfigCatalog) -> McpServerPool {
    McpServerPool::new(McpClientSettings {
        servers: catalog.mcp_servers().clone(),
        project: tools.root.clone(),
        strip_env: tools.strip_env.clone(),
        sandbox: Arc::clone(&tools.sandbox),
        tool_lists: McpToolLists::new(data),
    })
}

/// The tools that these servers listed when they were asked last.
pub(super) fn listed_tools(servers: &BTreeMap<String, McpServerConfig>, data: &Path) -> Vec<ToolSpec> {
    let lists = McpToolLists::new(data);
    let listed = servers.values().filter_map(|server| Some((server, lists.load(server)?.ok()?)));
    listed
        .flat_map(|(server, tools)| tools.iter().map(|tool| server.tool_spec(tool)).collect::<Vec<_>>())
        .collect()
}

/// Servers that were never asked for their tools.
pub(super) fn unlisted_servers(catalog: &ConfigCatalog, data: &Path) -> Vec<String> {
    let lists = McpToolLists::new(data);
    let servers = catalog.mcp_servers().values().filter(|server| lists.load(server).is_none());
    servers.map(|server| server.name.clone()).collect()
}

/// Those of these servers whose tools an agent of the workflow may be given.
pub(super) fn servers_for_program(
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

pub(super) fn failure_line(listing: &McpServerListing) -> Option<String> {
    let why = listing.tools.as_ref().err()?;
    Some(format!(
        "MCP server `{}` is left out: {why}; `synthdev mcp test {}` tries it again",
        listing.server, listing.server
    ))
}
