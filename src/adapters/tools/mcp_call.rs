//! `mcp`: one call of a tool of an MCP server, for a workflow; agents are offered each tool by its own name.

use serde::Deserialize;
use serde_json::{Value, json};

use synthdev_domain::mcp_server::agent_tool_name;
use synthdev_domain::tool::{RerunPolicy, ToolPreview};
use synthdev_ports::mcp::{McpPort, McpToolAddress};
use synthdev_ports::tool::ToolProgressSink;

use super::tool_answer::ToolAnswer;
use super::truncated_output::shorten_text;

/// Bytes of a result that scripts get. It is recorded, and stays in the run's memory.
pub(super) const DATA_BYTES: usize = 1 << 20;

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

/// What a crash means for the call: what its tool says of itself, if the server is the user's own and has listed it.
pub(super) fn rerun_policy(servers: &dyn McpPort, arguments: &McpCallArguments) -> RerunPolicy {
    let found = servers.find_tool(&agent_tool_name(&arguments.server, &arguments.tool));
    // two pairs of names can be one name for agents
    let own =
        found.filter(|(address, _)| (&address.server, &address.tool) == (&arguments.server, &arguments.tool));
    own.map_or(RerunPolicy::Ask, |(_, spec)| spec.rerun_policy())
}

pub(super) async fn run_tool(
    servers: &dyn McpPort,
    arguments: McpCallArguments,
    progress: &dyn ToolProgressSink,
) -> ToolAnswer {
    let given = arguments.arguments.unwrap_or_else(|| json!({}));
    match servers.call(&arguments.server, &arguments.tool, &given, progress).await {
        Ok(result) => {
            let body = match &result {
                Value::String(text) => text.clone(),
                other => format!("{other:#}"),
            };
            ToolAnswer::success(format!("{} of {} answered", arguments.tool, arguments.server))
                .data(result_data(result, &body))
                .body(body)
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            ToolAnswer::failure(format!("{error}{hint}"))
        }
    }
}

/// What scripts get of a result: a part of an object is no object, so a large one is cut as text.
fn result_data(result: Value, text: &str) -> Value {
    if !result.is_string() && result.to_string().len() <= DATA_BYTES {
        return result;
    }
    Value::String(shorten_text(text, DATA_BYTES))
}
