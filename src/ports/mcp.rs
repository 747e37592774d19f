//! Tools of servers that implement the model context protocol.

use futures_util::future::BoxFuture;
use serde_json::Value;
use synthdev_domain::tool::ToolSpec;
use thiserror::Error;

/// Why a server's tool gave no result.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum McpError {
    /// The configuration has no server of this name. `hint`: what to do about it.
    #[error("no MCP server named `{server}` is configured")]
    UnknownServer { server: String, hint: String },
    /// The tool ran and failed, or was refused; `message` says why.
    #[error("`{tool}` of MCP server `{server}` failed: {message}")]
    Failed { server: String, tool: String, message: String },
    /// The server could not be started or reached, or its answer could not be read.
    #[error("MCP server `{server}` does not answer: {message}")]
    Unreachable { server: String, message: String },
}

impl McpError {
    /// What to do next, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::UnknownServer { hint, .. } => Some(hint),
            Self::Failed { .. } | Self::Unreachable { .. } => None,
        }
    }
}

/// A tool, by its server's own name for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpToolAddress {
    pub server: String,
    pub tool: String,
}

/// All configured servers. Dropping the future gives the call up.
pub trait McpPort: Send + Sync {
    /// Calls one tool; the result is its structured content, else its text.
    ///
    /// # Errors
    /// No such server, or its tool gave no result.
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<Value, McpError>>;

    /// The tool that agents know by this name (`server__tool`), if a server has listed one.
    fn find_tool(&self, agent_tool: &str) -> Option<(McpToolAddress, ToolSpec)>;
}
