//! The tools that servers have listed: in memory by the names that agents know, and on disk for later runs.
//! Forgets no tool while the program runs: an agent that was offered one hears from its server that it is gone.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::tool_lists::McpToolLists;
use synthdev_domain::mcp_server::{McpServerConfig, McpToolDescription};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::tool::ToolSpec;
use synthdev_ports::mcp::{McpServerListing, McpServerRecords as _, McpToolAddress};

/// A tool as its server knows it, and as agents do.
#[derive(Clone)]
pub(super) struct KnownTool {
    pub(super) address: McpToolAddress,
    pub(super) spec: ToolSpec,
    of_project: bool,
}

impl KnownTool {
    /// Whether `other`, which has the same name for agents, replaces this tool. Different server and tool names
    /// can give one such name. Then the first one known stays, except that a user's server replaces a project's.
    fn gives_way_to(&self, other: &Self) -> bool {
        self.address == other.address || self.of_project && !other.of_project
    }
}

pub(super) struct KnownTools {
    lists: McpToolLists,
    by_agent_name: Mutex<BTreeMap<String, KnownTool>>,
}

impl KnownTools {
    pub(super) fn new(lists: McpToolLists) -> Self {
        Self { lists, by_agent_name: Mutex::default() }
    }

    /// Takes in what is kept of this server.
    pub(super) fn remember_retained(&self, server: &McpServerConfig) {
        if let Some(tools) = self.lists.listed_tools(server).and_then(Result::ok) {
            self.remember(server, &tools);
        }
    }

    pub(super) fn keep_listing(&self, server: &McpServerConfig, listing: &McpServerListing) {
        self.lists.store_listing(server, listing);
        if let Ok(tools) = &listing.tools {
            self.remember(server, tools);
        }
    }

    fn remember(&self, server: &McpServerConfig, tools: &[McpToolDescription]) {
        let mut known = self.by_agent_name.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let spec = server.tool_spec(tool);
            let address = McpToolAddress { server: server.name.clone(), tool: tool.name.clone() };
            let of_project = server.layer == ConfigLayer::Project;
            let tool = KnownTool { address, spec, of_project };
            match known.get_mut(&tool.spec.name) {
                Some(held) if held.gives_way_to(&tool) => *held = tool,
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
