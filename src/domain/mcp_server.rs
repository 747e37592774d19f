//! Servers of the model context protocol (<https://modelcontextprotocol.io>): how one is reached, and the names that its
//! tools have for agents.

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use fnv::FnvHasher;

use super::source_location::ConfigLayer;
use super::tool::{RerunPolicy, ToolRisk, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Between the server and its tool in the name that agents know: `git__status`.
pub const SERVER_SEPARATOR: &str = "__";

/// Bytes of a tool's name that all model servers take.
const LONGEST_NAME: usize = 64;

/// A configured server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpServerConfig {
    pub name: String,
    /// Where it was configured: a server of a project runs in the sandbox, and each call of its tools asks.
    pub layer: ConfigLayer,
    pub transport: McpServerTransport,
    /// Milliseconds that it may take to start and to list its tools.
    pub start_timeout_ms: u64,
    /// Milliseconds that a call may take.
    pub call_timeout_ms: u64,
}

/// How a server is reached. `${NAME}` and `${NAME:-default}` in the texts stand for variables of the environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum McpServerTransport {
    /// A process that speaks over its standard input and output.
    Stdio {
        command: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        directory: Option<String>,
    },
    /// Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, String> },
}

/// A tool as its server describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct McpToolDescription {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// What the server says of it; it need not be true.
    #[serde(default)]
    pub is_read_only: bool,
    #[serde(default)]
    pub is_idempotent: bool,
    /// It changes something and destroys nothing: `destructiveHint` is false. Without a word of the server it is not so.
    #[serde(default)]
    pub is_additive: bool,
}

/// A text or a file that a server offers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct McpResourceDescription {
    pub uri: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
}

/// A message that a server has prepared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct McpPromptDescription {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub arguments: Vec<McpPromptArgument>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct McpPromptArgument {
    pub name: String,
    #[serde(default)]
    pub is_required: bool,
}

/// How the last call of a server's tool went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct McpCallRecord {
    /// The server's own name for it.
    pub tool: String,
    pub took_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl McpToolDescription {
    /// By what the server says of it.
    fn declared_risk(&self) -> ToolRisk {
        match (self.is_read_only, self.is_additive) {
            (true, _) => ToolRisk::Read,
            (false, true) => ToolRisk::Write,
            (false, false) => ToolRisk::Execute,
        }
    }
}

impl McpServerConfig {
    /// The tool as agents see it.
    pub fn tool_spec(&self, tool: &McpToolDescription) -> ToolSpec {
        // what a server of a project says of itself is not believed
        let trusted = self.layer != ConfigLayer::Project;
        let repeatable = trusted && (tool.is_read_only || tool.is_idempotent);
        ToolSpec {
            name: agent_tool_name(&self.name, &tool.name),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            risk: if trusted { tool.declared_risk() } else { ToolRisk::Execute },
            repeat: Some(if repeatable { RerunPolicy::Safe } else { RerunPolicy::Ask }),
        }
    }
}

/// `server__tool`, in letters that model servers take. A name that had to be changed ends with its hash, which
/// keeps it apart from others. Unchanged names can still meet (`a_` and `x`, `a` and `_x`):
/// `KnownTool::gives_way_to` decides.
pub fn agent_tool_name(server: &str, tool: &str) -> String {
    let whole = format!("{server}{SERVER_SEPARATOR}{tool}");
    let plain: String = whole
        .chars()
        .map(
            |letter| if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') { letter } else { '_' },
        )
        .collect();
    if plain == whole && plain.len() <= LONGEST_NAME {
        return plain;
    }
    let mut hasher = FnvHasher::default();
    hasher.write(whole.as_bytes());
    let hash = format!("{:016x}", hasher.finish());
    // all of it is ASCII
    let kept = &plain[..plain.len().min(LONGEST_NAME - hash.len() - 1)];
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_model_servers_take() {
        let check = |server: &str, tool: &str, expected: &str| {
            let name = agent_tool_name(server, tool);
            assert!(name.starts_with(expected) && name.len() <= 64, "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{name}");
        };
        check("git", "git_status", "git__git_status");
        check("my-server", "list-all", "my-server__list-all");
        check("git", "a.b", "git__a_b_");
        check("git", "ü", "git____");
        check("git", &"x".repeat(80), "git__xxx");
        assert_ne!(agent_tool_name("s", "a.b"), agent_tool_name("s", "a/b"));
        assert_eq!(agent_tool_name("s", &"x".repeat(61)), format!("s__{}", "x".repeat(61)));
    }

    #[test]
    fn what_a_server_says_of_its_tools_counts_only_where_the_user_configured_it() {
        let check = |layer: ConfigLayer, hints: &str, expected: (ToolRisk, RerunPolicy)| {
            let transport =
                McpServerTransport::Http { url: "http://localhost/".to_owned(), headers: BTreeMap::new() };
            let server = McpServerConfig {
                name: "s".to_owned(),
                layer,
                transport,
                start_timeout_ms: 1,
                call_timeout_ms: 1,
            };
            let tool = McpToolDescription {
                name: "t".to_owned(),
                description: String::new(),
                parameters: Value::Null,
                is_read_only: hints.contains("read-only"),
                is_idempotent: hints.contains("idempotent"),
                is_additive: hints.contains("additive"),
            };
            let spec = server.tool_spec(&tool);
            assert_eq!((spec.risk, spec.rerun_policy()), expected, "{layer}: {hints}");
        };
        check(ConfigLayer::User, "read-only", (ToolRisk::Read, RerunPolicy::Safe));
        check(ConfigLayer::User, "read-only additive", (ToolRisk::Read, RerunPolicy::Safe));
        check(ConfigLayer::User, "additive", (ToolRisk::Write, RerunPolicy::Ask));
        check(ConfigLayer::User, "additive idempotent", (ToolRisk::Write, RerunPolicy::Safe));
        check(ConfigLayer::User, "idempotent", (ToolRisk::Execute, RerunPolicy::Safe));
        check(ConfigLayer::User, "", (ToolRisk::Execute, RerunPolicy::Ask));
        check(ConfigLayer::Project, "read-only", (ToolRisk::Execute, RerunPolicy::Ask));
        check(ConfigLayer::Project, "additive", (ToolRisk::Execute, RerunPolicy::Ask));
    }
}
