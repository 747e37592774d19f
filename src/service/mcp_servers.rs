//! The MCP servers whose tools agents use: how each stands, and trying one.
//!
//! Owns what is said of a server, the same on the command line and on the screen. Refuses to start a server that is only
//! listed.

use std::collections::BTreeMap;
use std::fmt;

use futures_util::future::BoxFuture;

use synthdev_domain::mcp_server::{McpCallRecord, McpServerConfig, McpServerTransport, McpToolDescription};
use synthdev_domain::number_format::format_count;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::terminal_safe::{escape_name, first_line};
use synthdev_domain::tool::ToolRisk;
use synthdev_ports::mcp::{McpServerListing, McpServerRecords};
use synthdev_settings::redaction::mask_address;

/// Letters of an error in a line.
const LINE_LETTERS: usize = 100;

/// What a server does now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum McpServerState {
    /// There is a connection to it.
    Connected,
    /// It has listed its tools before, and starts with the first call.
    Listed,
    /// It did not list its tools when it was asked last.
    Failed,
    NotAsked,
}

impl McpServerState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Listed => "ready",
            Self::Failed => "failed",
            Self::NotAsked => "not asked yet",
        }
    }
}

/// A server and all that is known of it without starting it.
#[derive(Clone, PartialEq, Debug)]
pub struct McpServerReport {
    pub name: String,
    pub layer: ConfigLayer,
    /// Without variables' values: they may be keys.
    pub reached: String,
    pub state: McpServerState,
    pub tools: Option<Vec<McpToolDescription>>,
    pub last_call: Option<McpCallRecord>,
    /// Why it listed no tools, else why its last call failed.
    pub last_error: Option<String>,
}

impl McpServerReport {
    /// Why it listed no tools when it was asked last.
    pub fn listing_failure(&self) -> Option<&str> {
        self.last_error.as_deref().filter(|_| self.state == McpServerState::Failed)
    }

    /// `connected, 12 tools, last call (status) 34 ms`, and the last error.
    pub fn state_text(&self) -> String {
        let mut text = self.state.word().to_owned();
        if let Some(tools) = &self.tools {
            text.push_str(&format!(", {}", format_count(tools.len() as u64, "tool")));
        }
        if let Some(call) = &self.last_call {
            text.push_str(&format!(", last call ({}) {} ms", escape_name(&call.tool), call.took_ms));
        }
        if let Some(error) = &self.last_error {
            text.push_str(&format!(", last error: {}", first_line(error, LINE_LETTERS)));
        }
        text
    }
}

/// All servers. `is_connected`: whether this process has a connection to one.
pub fn mcp_server_reports(
    servers: &BTreeMap<String, McpServerConfig>,
    records: &dyn McpServerRecords,
    is_connected: &dyn Fn(&str) -> bool,
) -> Vec<McpServerReport> {
    let report = |server: &McpServerConfig| {
        let stored = records.stored_tools(server);
        let last_call = records.last_call(server);
        let state = match &stored {
            _ if is_connected(&server.name) => McpServerState::Connected,
            Some(Ok(_)) => McpServerState::Listed,
            Some(Err(_)) => McpServerState::Failed,
            None => McpServerState::NotAsked,
        };
        let (tools, failure) = match stored {
            Some(Ok(tools)) => (Some(tools), None),
            Some(Err(failure)) => (None, Some(failure)),
            None => (None, None),
        };
        McpServerReport {
            name: server.name.clone(),
            layer: server.layer,
            reached: reached_text(server),
            state,
            tools,
            last_error: failure.or_else(|| last_call.as_ref()?.failure.clone()),
            last_call,
        }
    };
    servers.values().map(report).collect()
}

/// The lines for these servers, or what to do where there is none.
pub fn mcp_report_text(reports: &[McpServerReport]) -> String {
    if reports.is_empty() {
        return "no MCP server is configured: `synthdev mcp add NAME PROGRAM` adds one to your settings, or write a \
                .mcp.json; conversations and runs that begin then have its tools"
            .to_owned();
    }
    let line = |report: &McpServerReport| {
        format!(
            "{:<16} {:<8} {:<40} {}",
            escape_name(&report.name),
            report.layer.to_string(),
            first_line(&report.reached, 40),
            report.state_text()
        )
    };
    reports.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Starts servers and asks them.
pub trait McpServerProbe: Send + Sync {
    fn list_tools<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<McpServerListing>>;
}

/// A server was tried and gave no tools, or there is none of that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum McpServerTestError {
    Unknown { name: String, known: Vec<String> },
    Failed { name: String, reason: String },
}

impl fmt::Display for McpServerTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, .. } => write!(f, "there is no MCP server `{}`", escape_name(name)),
            Self::Failed { name, reason } => {
                write!(f, "MCP server `{}` gave no tools: {reason}", escape_name(name))
            }
        }
    }
}

impl McpServerTestError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { known, .. } if known.is_empty() => {
                "none is configured; `synthdev mcp add NAME PROGRAM` adds one".to_owned()
            }
            Self::Unknown { known, .. } => format!("there are: {}", known.join(", ")),
            Self::Failed { .. } => {
                "look at its command, its address and its variables in `mcpServers`".to_owned()
            }
        }
    }
}

/// Starts one server and lists its tools, whatever was known of it before.
///
/// # Errors
/// There is none of that name, or it does not answer.
pub async fn test_mcp_server(
    servers: &BTreeMap<String, McpServerConfig>,
    name: &str,
    records: &dyn McpServerRecords,
    probe: &dyn McpServerProbe,
) -> Result<McpServerListing, McpServerTestError> {
    let Some(server) = servers.get(name) else {
        let known = servers.keys().cloned().collect();
        return Err(McpServerTestError::Unknown { name: name.to_owned(), known });
    };
    records.forget(server);
    let failed = |reason: String| McpServerTestError::Failed { name: name.to_owned(), reason };
    let asked = [name.to_owned()];
    match probe.list_tools(&asked).await.into_iter().next() {
        Some(McpServerListing { tools: Err(reason), .. }) => Err(failed(reason)),
        Some(listing) => Ok(listing),
        None => Err(failed("it was not asked".to_owned())),
    }
}

/// What a server listed, a line for each tool.
pub fn mcp_tools_text(server: &McpServerConfig, listing: &McpServerListing) -> String {
    let tools = listing.tools.as_deref().unwrap_or_default();
    let count = format_count(tools.len() as u64, "tool");
    let mut lines =
        vec![format!("{}: {count} in {} ms", escape_name(&server.name), listing.took.as_millis())];
    lines.extend(tools.iter().map(|tool| {
        let spec = server.tool_spec(tool);
        let risk = match spec.risk {
            ToolRisk::Read => "read",
            ToolRisk::Write => "write",
            ToolRisk::Execute => "execute",
        };
        format!("  {:<32} {risk:<8} {}", spec.name, first_line(&tool.description, 80))
    }));
    lines.join("\n")
}

/// Without variables' values: they may be keys.
fn reached_text(server: &McpServerConfig) -> String {
    match &server.transport {
        McpServerTransport::Stdio { command, arguments, .. } => {
            std::iter::once(command).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        McpServerTransport::Http { url, .. } => mask_address(url),
    }
}
