//! A tool that a user or a project defines in a file: a command that gets its arguments as JSON.

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
}

impl OwnTool {
    /// The network that its file asks for.
    pub fn wanted_network(&self) -> Option<RoleNetwork> {
        let may_loosen = self.layer != ConfigLayer::Project;
        self.network.map(|access| RoleNetwork { access, may_loosen })
    }
}
