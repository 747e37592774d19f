//! The known tools: those that servers have listed, in memory by the names that agents use. `stored_tools` has them on disk.
//! Forgets no tool while the program runs: an agent that was offered one hears from its server that it is gone.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::stored_tools::StoredMcpTools;
use synthdev_domain::mcp_server::{McpServerConfig, McpToolDescription};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::tool::ToolSpec;
use synthdev_ports::mcp::{McpServerListing, McpServerRecords as _, McpToolAddress};

/// A tool by its server's name, and as agents use it.
#[derive(Clone)]
pub(super) struct KnownTool {
    pub(super) address: McpToolAddress,
    pub(super) spec: ToolSpec,
    of_project: bool,
}

impl KnownTool {
    /// Whether `other`, which has the same name for agents, replaces this tool. Different server and tool names
    /// can give one such name. Then the first known one stays, except that a user's server replaces a project's.
    fn gives_way_to(&self, other: &Self) -> bool {
        self.address == other.address || self.of_project && !other.of_project
    }
}

pub(super) struct KnownTools {
    stored: StoredMcpTools,
    by_agent_name: Mutex<BTreeMap<String, KnownTool>>,
}

impl KnownTools {
    pub(super) fn new(stored: StoredMcpTools) -> Self {
        Self { stored, by_agent_name: Mutex::default() }
    }

    /// What is stored of this server becomes known.
    pub(super) fn load_stored(&self, server: &McpServerConfig) {
        if let Some(tools) = self.stored.stored_tools(server).and_then(Result::ok) {
            self.add_tools(server, &tools);
        }
    }

    /// What a server has just answered is stored and becomes known.
    pub(super) fn add_listing(&self, server: &McpServerConfig, listing: &McpServerListing) {
        self.stored.store_listing(server, listing);
        if let Ok(tools) = &listing.tools {
            self.add_tools(server, tools);
        }
    }

    fn add_tools(&self, server: &McpServerConfig, tools: &[McpToolDescription]) {
        let mut known = self.by_agent_name.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let spec = server.tool_spec(tool);
            let address = McpToolAddress { server: server.name.clone(), tool: tool.name.clone() };
            let of_project = server.layer == ConfigLayer::Project;
            let tool = KnownTool { address, spec, of_project };
            match known.get_mut(&tool.spec.name) {
                Some(first) if first.gives_way_to(&tool) => *first = tool,
                Some(_) => {}
                None => {
                    known.insert(tool.spec.name.clone(), tool);
                }
            }
        }
    }

    pub(super) fn find(&self, agent_tool: &str) -> Option<KnownTool> {
        self.by_agent_name.lock().unwrap_or_else(PoisonError::into_inner).get(agent_tool).cloned()
    }
}
