//! Client of servers that implement the model context protocol (<https://modelcontextprotocol.io>): tools of
//! agents and `mcp` states. A server is started when it is first called, listed or read, and ends with the
//! program; one that has ended is started again by the next use. Refuses to wait for a server without a limit:
//! its `start_timeout`, its `call_timeout`, or a constant of these files; listing may take `start_timeout` three times.
//!
//! Two words for tools that a server has listed: *known* (`KnownTools`, in memory) and *stored* (`StoredMcpTools`, on disk).

mod client_settings;
mod connection;
mod known_tools;
mod server_listing;
mod server_start;
mod stored_tools;
mod tool_refresh;
mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::time::timeout;

pub use client_settings::McpClientSettings;
use connection::{McpCallFailure, McpConnection};
use known_tools::KnownTools;
use server_listing::{empty_listing, list_connection};
pub use stored_tools::StoredMcpTools;
use synthdev_domain::mcp_server::{McpCallRecord, McpServerConfig, SERVER_SEPARATOR};
use synthdev_domain::tool::ToolSpec;
use synthdev_ports::mcp::{McpError, McpPort, McpServerListing, McpToolAddress};
use synthdev_ports::tool::ToolProgressSink;
use tool_refresh::{FirstListing, LiveConnection};

/// How long a call that has its answer waits for the first listing of its connection: a short run would end before the list is
/// stored, and the next one would not see new tools.
const FIRST_LISTING: Duration = Duration::from_millis(500);

/// All configured servers; nothing is started before it is needed.
pub struct McpServerPool {
    settings: McpClientSettings,
    slots: BTreeMap<String, ServerSlot>,
    known: Arc<KnownTools>,
}

/// The connection to one server, if there is one. The call that starts the server holds the lock, so that it is started once.
#[derive(Default)]
struct ServerSlot {
    live: tokio::sync::Mutex<Option<LiveConnection>>,
}

/// A connection for a call.
struct ConnectedServer {
    connection: Arc<McpConnection>,
    /// Ends when the tools of a new connection are listed.
    first_listing: Option<oneshot::Receiver<()>>,
}

impl McpServerPool {
    pub fn new(settings: McpClientSettings) -> Self {
        let slots = settings.servers.keys().map(|name| (name.clone(), ServerSlot::default())).collect();
        let known = Arc::new(KnownTools::new(settings.stored_tools.clone()));
        let pool = Self { settings, slots, known };
        pool.load_stored_tools();
        pool
    }

    /// What is stored of each server becomes known.
    fn load_stored_tools(&self) {
        self.settings.servers.values().for_each(|server| self.known.load_stored(server));
    }

    /// Asks these servers for their tools, side by side, and stores the answers. Boxed: the client would be compiled
    /// once more in each crate that waits for it.
    pub fn list_servers<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<McpServerListing>> {
        let asked = names.iter().filter_map(|name| self.settings.servers.get(name));
        futures_util::future::join_all(asked.map(|server| self.list_server(server))).boxed()
    }

    async fn list_server(&self, server: &McpServerConfig) -> McpServerListing {
        let started = Instant::now();
        let limit = Duration::from_millis(server.start_timeout_ms);
        let listing = match self.connect(server, FirstListing::ByCaller).await {
            Ok(connected) => list_connection(server, &connected.connection, limit).await,
            Err(why) => empty_listing(server, Err(why)),
        };
        let listing = McpServerListing { took: started.elapsed(), ..listing };
        self.known.add_listing(server, &listing);
        listing
    }

    /// The connection that there is, or a new one.
    async fn connect(
        &self,
        server: &McpServerConfig,
        first: FirstListing,
    ) -> Result<ConnectedServer, String> {
        let Some(slot) = self.slots.get(&server.name) else { return Err("it is not configured".to_owned()) };
        let mut held = slot.live.lock().await;
        if let Some(live) = held.as_ref().filter(|live| live.connection.is_open()) {
            return Ok(ConnectedServer { connection: Arc::clone(&live.connection), first_listing: None });
        }
        // the one that has ended goes first: it may hold what the new one needs
        held.take();
        let limit = Duration::from_millis(server.start_timeout_ms);
        let opened = McpConnection::open(&self.settings, server, limit).await?;
        let (live, first_listing) = LiveConnection::begin(opened, &self.known, server, first);
        let connection = Arc::clone(&live.connection);
        *held = Some(live);
        Ok(ConnectedServer { connection, first_listing })
    }

    async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
        progress: &dyn ToolProgressSink,
    ) -> Result<Value, McpError> {
        let Some(config) = self.settings.servers.get(server) else {
            return Err(self.unknown_server(server));
        };
        let unreachable = |message: String| McpError::Unreachable { server: server.to_owned(), message };
        let connected = self.connect(config, FirstListing::AtOnce).await.map_err(unreachable)?;
        let limit = Duration::from_millis(config.call_timeout_ms);
        let started = Instant::now();
        let answered = timeout(limit, connected.connection.call_tool(tool, arguments, progress)).await;
        let took = started.elapsed();
        if let Some(listing) = connected.first_listing {
            let _ = timeout(FIRST_LISTING, listing).await;
        }
        let result = match answered {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(McpCallFailure::Refused(message))) => {
                Err(McpError::Failed { server: server.to_owned(), tool: tool.to_owned(), message })
            }
            Ok(Err(McpCallFailure::Lost(message))) => Err(unreachable(message)),
            Err(_) => Err(McpError::Failed {
                server: server.to_owned(),
                tool: tool.to_owned(),
                message: no_answer_within(limit),
            }),
        };
        let record = McpCallRecord {
            tool: tool.to_owned(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            failure: result.as_ref().err().map(ToString::to_string),
        };
        let (stored, config) = (self.settings.stored_tools.clone(), config.clone());
        // a disk may be slow; without the record only `mcp list` says less
        let _ = tokio::task::spawn_blocking(move || stored.store_call(&config, &record)).await;
        result
    }

    /// A resource or a prompt, within the time of a call.
    async fn fetch_item<T>(
        &self,
        server: &str,
        item: &str,
        fetch: impl AsyncFnOnce(&McpConnection) -> Result<T, McpCallFailure>,
    ) -> Result<T, McpError> {
        let Some(config) = self.settings.servers.get(server) else {
            return Err(self.unknown_server(server));
        };
        let unreachable = |message: String| McpError::Unreachable { server: server.to_owned(), message };
        let not_given = |message: String| {
            let (server, item) = (server.to_owned(), item.to_owned());
            McpError::NotGiven { server, item, message }
        };
        let connected = self.connect(config, FirstListing::AtOnce).await.map_err(unreachable)?;
        let limit = Duration::from_millis(config.call_timeout_ms);
        match timeout(limit, fetch(&connected.connection)).await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(McpCallFailure::Refused(message))) => Err(not_given(message)),
            Ok(Err(McpCallFailure::Lost(message))) => Err(unreachable(message)),
            Err(_) => Err(not_given(no_answer_within(limit))),
        }
    }

    fn unknown_server(&self, server: &str) -> McpError {
        let configured: Vec<&str> = self.settings.servers.keys().map(String::as_str).collect();
        let hint = if configured.is_empty() {
            "add it to `mcpServers` in your settings.json or to the project's .mcp.json; `synthdev mcp list` shows all"
                .to_owned()
        } else {
            format!(
                "there are: {}; add it to `mcpServers` in your settings.json or to .mcp.json",
                configured.join(", ")
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
        progress: &'a dyn ToolProgressSink,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        self.call_tool(server, tool, arguments, progress).boxed()
    }

    fn find_tool(&self, agent_tool: &str) -> Option<(McpToolAddress, ToolSpec)> {
        let found = self.known.find(agent_tool).or_else(|| {
            if !agent_tool.contains(SERVER_SEPARATOR) {
                return None;
            }
            // another process, or another part of this one, may have asked the server since
            self.load_stored_tools();
            self.known.find(agent_tool)
        })?;
        Some((found.address, found.spec))
    }

    fn read_resource<'a>(&'a self, server: &'a str, uri: &'a str) -> BoxFuture<'a, Result<String, McpError>> {
        self.fetch_item(server, uri, async |connection| connection.read_resource(uri).await).boxed()
    }

    fn get_prompt<'a>(
        &'a self,
        server: &'a str,
        prompt: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, McpError>> {
        let fetch = async move |connection: &McpConnection| connection.get_prompt(prompt, arguments).await;
        self.fetch_item(server, prompt, fetch).boxed()
    }

    fn is_connected(&self, server: &str) -> bool {
        let slot = self.slots.get(server).map(|slot| slot.live.try_lock());
        // a lock that is held: it is being started
        matches!(slot, Some(Ok(held)) if held.as_ref().is_some_and(|live| live.connection.is_open()))
    }
}

fn no_answer_within(limit: Duration) -> String {
    format!("no answer within {} s (`call_timeout` of the server)", limit.as_secs())
}

fn no_server(server: &str) -> McpError {
    McpError::UnknownServer {
        server: server.to_owned(),
        hint: "add it to `mcpServers` in your settings.json or to the project's .mcp.json".to_owned(),
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
        _progress: &'a dyn ToolProgressSink,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        std::future::ready(Err(no_server(server))).boxed()
    }

    fn read_resource<'a>(
        &'a self,
        server: &'a str,
        _uri: &'a str,
    ) -> BoxFuture<'a, Result<String, McpError>> {
        std::future::ready(Err(no_server(server))).boxed()
    }

    fn get_prompt<'a>(
        &'a self,
        server: &'a str,
        _prompt: &'a str,
        _arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, McpError>> {
        std::future::ready(Err(no_server(server))).boxed()
    }

    fn find_tool(&self, _agent_tool: &str) -> Option<(McpToolAddress, ToolSpec)> {
        None
    }
}
