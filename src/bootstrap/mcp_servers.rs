//! Servers of the model context protocol whose tools our agents use: which are configured, and what they list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use synthdev_adapters::mcp_client::StoredMcpTools;
use synthdev_adapters::mcp_client::{McpClientSettings, McpServerPool};
use synthdev_adapters::tools::ToolSettings;
use synthdev_domain::mcp_server::McpServerConfig;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::tool::ToolSpec;
use synthdev_ports::mcp::{McpServerListing, McpServerRecords as _};
use synthdev_settings::catalog::ConfigCatalog;

/// The servers of a configuration, for the tools of one directory.
pub(crate) fn server_pool(tools: &ToolSettings, data: &Path, catalog: &ConfigCatalog) -> McpServerPool {
    McpServerPool::new(McpClientSettings {
        servers: catalog.mcp_servers().clone(),
        project: tools.root.clone(),
        strip_env: tools.strip_env.clone(),
        sandbox: Arc::clone(&tools.sandbox),
        stored_tools: StoredMcpTools::new(data),
        liveness: tools.liveness.clone(),
    })
}

/// The stored tools of these servers, each name once: a project's server describes no tool of the user's.
pub(crate) fn stored_tools(servers: &BTreeMap<String, McpServerConfig>, data: &Path) -> Vec<ToolSpec> {
    let stored = StoredMcpTools::new(data);
    let mut servers: Vec<&McpServerConfig> = servers.values().collect();
    servers.sort_by_key(|server| server.layer == ConfigLayer::Project);
    let of_servers = servers.iter().filter_map(|server| Some((server, stored.stored_tools(server)?.ok()?)));
    let mut names = BTreeSet::new();
    of_servers
        .flat_map(|(server, tools)| tools.iter().map(|tool| server.tool_spec(tool)).collect::<Vec<_>>())
        .filter(|spec| names.insert(spec.name.clone()))
        .collect()
}

/// Servers that were never asked for their tools.
pub fn unlisted_servers(catalog: &ConfigCatalog, data: &Path) -> Vec<String> {
    let stored = StoredMcpTools::new(data);
    let unlisted = catalog.mcp_servers().values().filter(|server| stored.stored_tools(server).is_none());
    unlisted.map(|server| server.name.clone()).collect()
}

/// Why a server is left out, for the user.
pub fn failure_line(listing: &McpServerListing) -> Option<String> {
    let why = listing.tools.as_ref().err()?;
    Some(format!(
        "MCP server `{}` is left out: {why}; `synthdev mcp test {}` tries it again",
        listing.server, listing.server
    ))
}

/// Whether the environment of this process has a value for it, as servers and `http` states see it.
pub fn is_variable_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
