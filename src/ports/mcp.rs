//! Tools of servers that implement the model context protocol.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use synthdev_domain::mcp_server::{
    McpCallRecord, McpPromptDescription, McpResourceDescription, McpServerConfig, McpToolDescription,
};
use synthdev_domain::tool::ToolSpec;
use thiserror::Error;

use crate::tool::ToolProgressSink;

/// Why a server's tool gave no result.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum McpError {
    /// The configuration has no server of this name. `hint`: what to do about it.
    #[error("no MCP server named `{server}` is configured")]
    UnknownServer { server: String, hint: String },
    /// The server does not give the resource, or cannot make the prompt; `message` says why.
    #[error("MCP server `{server}` does not give `{item}`: {message}")]
    NotGiven { server: String, item: String, message: String },
    /// The tool ran and failed, was refused, or gave no answer in time (it may still take effect); `message` says why.
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
            Self::NotGiven { .. } | Self::Failed { .. } | Self::Unreachable { .. } => None,
        }
    }
}

/// A tool, by its server's own name for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpToolAddress {
    pub server: String,
    pub tool: String,
}

/// All configured servers. Dropping the future cancels the call and notifies the server.
pub trait McpPort: Send + Sync {
    /// Calls one tool; the result is its structured content, else its text. What the server says of its progress goes to
    /// `progress`.
    ///
    /// # Errors
    /// No such server, or its tool gave no result.
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: &'a Value,
        progress: &'a dyn ToolProgressSink,
    ) -> BoxFuture<'a, Result<Value, McpError>>;

    /// The known tool that agents call by this name (`server__tool`), if a server has listed one.
    fn find_tool(&self, agent_tool: &str) -> Option<(McpToolAddress, ToolSpec)>;

    /// The text of a resource.
    ///
    /// # Errors
    /// No such server, or it does not give this resource.
    fn read_resource<'a>(&'a self, server: &'a str, uri: &'a str) -> BoxFuture<'a, Result<String, McpError>>;

    /// The text of a prompt with these arguments.
    ///
    /// # Errors
    /// No such server, or it does not give this prompt.
    fn get_prompt<'a>(
        &'a self,
        server: &'a str,
        prompt: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, McpError>>;

    /// Whether there is a connection to this server now.
    fn is_connected(&self, _server: &str) -> bool {
        false
    }
}

/// What a server has answered when it was asked for its tools.
#[derive(Clone, PartialEq, Debug)]
pub struct McpServerListing {
    pub server: String,
    pub tools: Result<Vec<McpToolDescription>, String>,
    pub resources: Vec<McpResourceDescription>,
    pub prompts: Vec<McpPromptDescription>,
    pub took: Duration,
}

/// What is stored of servers between starts of the program. No server is started to read it.
pub trait McpServerRecords: Send + Sync {
    /// What the server listed last: its tools, or why there were none (for some minutes). `None`: it was not asked yet.
    fn stored_tools(&self, server: &McpServerConfig) -> Option<Result<Vec<McpToolDescription>, String>>;

    /// The resources that it listed then.
    fn stored_resources(&self, server: &McpServerConfig) -> Vec<McpResourceDescription>;

    /// The prompts that it listed then.
    fn stored_prompts(&self, server: &McpServerConfig) -> Vec<McpPromptDescription>;

    /// How the last call of one of its tools went.
    fn last_call(&self, server: &McpServerConfig) -> Option<McpCallRecord>;

    /// The server counts as never asked.
    fn forget(&self, server: &McpServerConfig);
}
