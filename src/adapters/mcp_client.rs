//! Client of servers that implement the model context protocol (<https://modelcontextprotocol.io>): tools of agents and
//! `mcp` states. A server is started by the first call that needs it and ends with us; one that has ended is started
//! again by the next call. Refuses to wait for a server longer than its settings say.

mod client_settings;
mod connection;
mod server_start;
mod tool_lists;
mod variables;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;

pub use client_settings::McpClientSettings;
use connection::{McpCallFailure, McpConnection};
use synthdev_domain::mcp_server::{McpServerConfig, McpToolDescription};
use synthdev_domain::tool::ToolSpec;
use synthdev_ports::mcp::{McpError, McpPort, McpToolAddress};
pub use tool_lists::McpToolLists;

/// All configured servers; nothing is started before it is needed.
pub struct McpServerPool {
    settings: McpClientSettings,
    slots: BTreeMap<String, ServerSlot>,
    /// By the names that agents know.
    addresses: Mutex<BTreeMap<String, (McpToolAddress, ToolSpec)>>,
}

/// The connection to one server, if there is one. The call that starts the server holds the lock, so that it is started once.
#[derive(Default)]
struct ServerSlot {
    connection: tokio::sync::Mutex<Option<Arc<McpConnection>>>,
}

/// What a server has answered to a first look.
pub struct McpServerListing {
    pub server: String,
    pub tools: Result<Vec<McpToolDescription>, String>,
    pub took: Duration,
}

impl McpServerPool {
    pub fn new(settings: McpClientSettings) -> Self {
        let slots = settings.servers.keys().map(|name| (name.clone(), ServerSlot::default())).collect();
        let pool = Self { settings, slots, addresses: Mutex::default() };
        for server in pool.settings.servers.values() {
            if let Some(tools) = pool.settings.tool_lists.load(server).and_then(Result::ok) {
                pool.remember_tools(server, &tools);
            }
        }
        pool
    }

    /// Asks these servers for their tools, side by side, and stores the answers. Boxed: the client would be compiled
    /// once more in each crate that waits for it.
    pub fn list_servers<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<McpServerListing>> {
        let asked = names.iter().filter_map(|name| self.settings.servers.get(name));
        futures_util::future::join_all(asked.map(|server| self.list_server(server))).boxed()
    }

    async fn list_server(&self, server: &McpServerConfig) -> McpServerListing {
        let started = std::time::Instant::now();
        let listed = match self.connect(server).await {
            Ok(connection) => {
                let limit = Duration::from_millis(server.start_timeout_ms);
                match timeout(limit, connection.list_tools()).await {
                    Ok(listed) => listed,
                    Err(_) => Err(format!("it did not list its tools within {} s", limit.as_secs())),
                }
            }
            Err(why) => Err(why),
        };
        self.settings.tool_lists.store(server, &listed);
        if let Ok(tools) = &listed {
            self.remember_tools(server, tools);
        }
        McpServerListing { server: server.name.clone(), tools: listed, took: started.elapsed() }
    }

    fn remember_tools(&self, server: &McpServerConfig, tools: &[McpToolDescription]) {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let spec = server.tool_spec(tool);
            let address = McpToolAddress { server: server.name.clone(), tool: tool.name.clone() };
            addresses.insert(spec.name.clone(), (address, spec));
        }
    }

    /// The connection that there is, or a new one.
    async fn connect(&self, server: &McpServerConfig) -> Result<Arc<McpConnection>, String> {
        let Some(slot) = self.slots.get(&server.name) else { return Err("it is not configured".to_owned()) };
        let mut held = slot.connection.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        // the one that has ended goes first: it may hold what the new one needs
        held.take();
        let limit = Duration::from_millis(server.start_timeout_ms);
        let connection = Arc::new(McpConnection::open(&self.settings, server, limit).await?);
        *held = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn call_tool(&self, server: &str, tool: &str, arguments: &Value) -> Result<Value, McpError> {
        let Some(config) = self.settings.servers.get(server) else {
            return Err(self.unknown_server(server));
        };
        let unreachable = |message: String| McpError::Unreachable { server: server.to_owned(), message };
        let connection = self.connect(config).await.map_err(unreachable)?;
        // a list that was made by another version of the server is made again beside the call
        if connection.take_list_change()
            && let Ok(Ok(tools)) =
                timeout(Duration::from_millis(config.start_timeout_ms), connection.list_tools()).await
        {
            self.remember_tools(config, &tools);
            self.settings.tool_lists.store(config, &Ok(tools));
        }
        let limit = Duration::from_millis(config.call_timeout_ms);
        match timeout(limit, connection.call_tool(tool, arguments)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(McpCallFailure::Refused(message))) => {
                Err(McpError::Failed { server: server.to_owned(), tool: tool.to_owned(), message })
            }
            Ok(Err(McpCallFailure::Lost(message))) => Err(unreachable(message)),
            Err(_) => Err(McpError::Failed {
                server: server.to_owned(),
                tool: tool.to_owned(),
                message: format!("no answer within {} s (`call_timeout` of the server)", limit.as_secs()),
            }),
        }
    }

    fn unknown_server(&self, server: &str) -> McpError {
        let known: Vec<&str> = self.settings.servers.keys().map(String::as_str).collect();
        let hint = if known.is_empty() {
            "add it to `mcpServers` in your settings.json or to the project's .mcp.json; `synthdev mcp list` shows all"
                .to_owned()
        } else {
            format!(
                "there are: {}; add it to `mcpServers` in your settings.json or to .mcp.json",
                known.join(", ")
            )
        };
        McpError::UnknownServer { server: server.to_owned(), hint }
    }
}

impl McpPort for McpServerPool {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        self.call_tool(server, tool, arguments).boxed()
    }

    fn find_tool(&self, agent_tool: &str) -> Option<(McpToolAddress, ToolSpec)> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).get(agent_tool).cloned()
    }
}

/// No server is configured.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMcpServers;

impl McpPort for NoMcpServers {
    fn call<'a>(
        &'a self,
        server: &'a str,
        _tool: &'a str,
        _arguments: &'a Value,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        let error = McpError::UnknownServer {
            server: server.to_owned(),
            hint: "add it to `mcpServers` in your settings.json or to the project's .mcp.json".to_owned(),
        };
        std::future::ready(Err(error)).boxed()
    }

    fn find_tool(&self, _agent_tool: &str) -> Option<(McpToolAddress, ToolSpec)> {
        None
    }
}
