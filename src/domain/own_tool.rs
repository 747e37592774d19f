//! A tool that a user or a project defines in a file: a command that gets its arguments as JSON.

use std::collections::BTreeSet;

use super::sandbox::{NetworkAccess, RoleNetwork};
use super::source_location::ConfigLayer;
use super::tool::ToolSpec;

/// A tool of `tools/NAME.json`.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnTool {
    pub spec: ToolSpec,
    /// Where it is defined: the network of a project's tool is never more than that of other commands.
    pub layer: ConfigLayer,
    /// The file, as it is shown.
    pub file: String,
    /// A program and its arguments.
    pub command: Vec<String>,
    /// Seconds; `None`: as for other commands.
    pub timeout_seconds: Option<u64>,
    /// Absent: as the settings or the role say.
    pub network: Option<NetworkAccess>,
    /// Ports of this machine that its command reaches with the network off.
    pub ports: BTreeSet<u16>,
    /// Paths that its command may write besides. Only a tool of the user has them: `~` is the home directory, relative ones
    /// are of the project.
    pub writable: Vec<String>,
    /// The same of paths that are hidden from other commands: they may be read.
    pub readable: Vec<String>,
}

impl OwnTool {
    /// The network that its file asks for.
    pub fn wanted_network(&self) -> Option<RoleNetwork> {
        let may_loosen = self.layer != ConfigLayer::Project;
        self.network.map(|access| RoleNetwork { access, may_loosen })
    }

    /// What it wants of the sandbox, in words; empty: no more than other commands.
    pub fn needs_text(&self) -> String {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let needs = [
            self.network.map(|access| format!("network {}", access.as_str())),
            (!ports.is_empty()).then(|| format!("ports {}", ports.join(", "))),
            (!self.writable.is_empty()).then(|| format!("writes {}", self.writable.join(", "))),
            (!self.readable.is_empty()).then(|| format!("reads {}", self.readable.join(", "))),
        ];
        needs.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}
