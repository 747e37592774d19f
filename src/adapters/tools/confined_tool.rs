//! The tools that users and projects define, each with the sandbox that holds its command. Refuses to open a path for any
//! other command.

use std::collections::BTreeMap;

use crate::sandbox::CommandSandbox;
use synthdev_domain::own_tool::OwnTool;

/// A defined tool, with the sandbox that holds its command.
pub(super) struct ConfinedTool {
    tool: OwnTool,
    /// `None`: that of all commands. Else its definition opens paths.
    own_sandbox: Option<CommandSandbox>,
}

impl ConfinedTool {
    /// By name. `sandbox`: that of all commands.
    pub(super) fn all(tools: &[OwnTool], sandbox: &CommandSandbox) -> BTreeMap<String, Self> {
        let confine = |tool: &OwnTool| {
            let opens_paths = !(tool.writable.is_empty() && tool.readable.is_empty());
            let own_sandbox = opens_paths.then(|| sandbox.with_opened_paths(&tool.writable, &tool.readable));
            (tool.spec.name.clone(), Self { tool: tool.clone(), own_sandbox })
        };
        tools.iter().map(confine).collect()
    }

    pub(super) fn definition(&self) -> &OwnTool {
        &self.tool
    }

    pub(super) fn own_sandbox(&self) -> Option<&CommandSandbox> {
        self.own_sandbox.as_ref()
    }
}
