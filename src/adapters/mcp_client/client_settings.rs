//! What the client is given.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::tool_lists::McpToolLists;
use crate::sandbox::CommandSandbox;
use synthdev_domain::mcp_server::McpServerConfig;

/// What the servers of one project need to know.
#[derive(Clone)]
pub struct McpClientSettings {
    pub servers: BTreeMap<String, McpServerConfig>,
    /// Servers start here.
    pub project: PathBuf,
    /// Variables of synthdev's environment that no server inherits (`*_KEY`).
    pub strip_env: Vec<String>,
    /// Holds the servers of a project.
    pub sandbox: Arc<CommandSandbox>,
    pub tool_lists: McpToolLists,
}
