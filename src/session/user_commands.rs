//! A shell command that the user typed, or is shown to take over, as the tool that runs commands takes it.

use serde_json::json;

use synthdev_domain::tool::{ToolInvocation, ToolPreview};
use synthdev_ports::tool::ToolPort;

/// The tool that runs commands.
const TERMINAL: &str = "execute_terminal";

pub(crate) fn command_invocation(command: &str) -> ToolInvocation {
    ToolInvocation {
        agent: String::new(),
        tool: TERMINAL.to_owned(),
        arguments: json!({"command": command}),
        network: None,
        loopback_ports: std::collections::BTreeSet::new(),
        reads_files: false,
        original: None,
        run: None,
    }
}

/// What the user is to know before it runs.
pub(crate) async fn command_warning(tools: &impl ToolPort, call: &ToolInvocation) -> Option<String> {
    match tools.preview_call(call).await {
        Some(ToolPreview::Command { warning, .. }) => warning,
        _ => None,
    }
}
