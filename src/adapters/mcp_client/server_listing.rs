//! What a connected server offers, asked of it in one go.

use std::time::Duration;

use tokio::time::timeout;

use super::connection::McpConnection;
use synthdev_domain::mcp_server::{McpServerConfig, McpToolDescription};
use synthdev_ports::mcp::McpServerListing;

/// Lists the tools within this time, then resources and prompts within the same time again.
pub(super) async fn list_connection(
    server: &McpServerConfig,
    connection: &McpConnection,
    limit: Duration,
) -> McpServerListing {
    let tools = match timeout(limit, connection.list_tools()).await {
        Ok(listed) => listed,
        Err(_) => Err(format!("it did not list its tools within {} s", limit.as_secs())),
    };
    if tools.is_err() {
        return empty_listing(server, tools);
    }
    // a server whose tools can be used is not left out for the rest
    let others = async { (connection.list_resources().await, connection.list_prompts().await) };
    let (resources, prompts) = timeout(limit, others).await.unwrap_or_default();
    McpServerListing { resources, prompts, ..empty_listing(server, tools) }
}

pub(super) fn empty_listing(
    server: &McpServerConfig,
    tools: Result<Vec<McpToolDescription>, String>,
) -> McpServerListing {
    let (resources, prompts) = (Vec::new(), Vec::new());
    McpServerListing { server: server.name.clone(), tools, resources, prompts, took: Duration::ZERO }
}
