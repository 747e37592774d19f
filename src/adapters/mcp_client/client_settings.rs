//! Settings of the MCP client.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::stored_tools::StoredMcpTools;
use crate::liveness_handle::LivenessLockHandle;
use crate::sandbox::CommandSandbox;
use synthdev_domain::mcp_server::McpServerConfig;

/// The servers that one project can use, and how they are started.
#[derive(Clone)]
pub struct McpClientSettings {
    pub servers: BTreeMap<String, McpServerConfig>,
    /// Servers start here.
    pub project: PathBuf,
    /// Name patterns of environment variables that no server inherits (such as `*_KEY`). A user's server gets one
    /// by `${NAME}` in its configuration.
    pub strip_env: Vec<String>,
    /// The sandbox for servers that the project configures.
    pub sandbox: Arc<CommandSandbox>,
    pub stored_tools: StoredMcpTools,
    /// Held while the servers of a killed process are ended.
    pub liveness: LivenessLockHandle,
}
