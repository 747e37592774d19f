//! `mcp`: one call of a tool of an MCP server, for a workflow; agents are offered each tool by its own name.

use serde::Deserialize;
use serde_json::{Value, json};

use synthdev_domain::tool::ToolPreview;
use synthdev_ports::mcp::{McpPort, McpToolAddress};
use synthdev_ports::tool::ToolProgressSink;

use super::tool_answer::ToolAnswer;

/// Bytes of what a server answers. It is recorded, and stays in the run's memory.
const MOST_BYTES: usize = 1 << 20;

pub(super) const NAME: &str = "mcp";

#[derive(Deserialize)]
pub(super) struct McpCallArguments {
    server: String,
    tool: String,
    arguments: Option<Value>,
}

impl McpCallArguments {
    /// An agent's call of a tool that a server has listed.
    pub(super) fn of_agent(address: McpToolAddress, arguments: Value) -> Self {
        Self { server: address.server, tool: address.tool, arguments: Some(arguments) }
    }
}

pub(super) fn arguments_schema() -> Value {
    json!({"type": "object", "required": ["server", "tool"], "properties": {
        "server": {"type": "string", "minLength": 1},
        "tool": {"type": "string", "minLength": 1},
        "arguments": {"type": "object"}}})
}

pub(super) fn preview_call(arguments: &McpCallArguments) -> ToolPreview {
    let given = arguments.arguments.as_ref().map(|given| format!("{given:#}")).unwrap_or_default();
    ToolPreview::Text {
        text: format!("`{}` of MCP server `{}`\n\n{given}", arguments.tool, arguments.server),
    }
}

pub(super) async fn run_tool(
    servers: &dyn McpPort,
    arguments: McpCallArguments,
    progress: &dyn ToolProgressSink,
) -> ToolAnswer {
    let given = arguments.arguments.unwrap_or_else(|| json!({}));
    match servers.call(&arguments.server, &arguments.tool, &given, progress).await {
        Ok(result) if result.to_string().len() > MOST_BYTES => ToolAnswer::failure(format!(
            "{} of {} answered with {} bytes, at most {MOST_BYTES} are taken: ask it for less, or for a file and its path",
            arguments.tool,
            arguments.server,
            result.to_string().len()
        )),
        Ok(result) => {
            let body = match &result {
                Value::String(text) => text.clone(),
                other => format!("{other:#}"),
            };
            ToolAnswer::success(format!("{} of {} answered", arguments.tool, arguments.server))
                .body(body)
                .data(result)
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            ToolAnswer::failure(format!("{error}{hint}"))
        }
    }
}
