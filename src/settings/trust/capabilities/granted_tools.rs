//! Which tools agents get, and what the tools that a project defines run, as lines of the question for trust.

use serde_json::Value;

use synthdev_language::json::JsonNode;

/// What runs when an agent or a state calls a tool of the project.
pub(super) fn own_tool_line(path: &str, root: &JsonNode) -> String {
    let command = root.get("command").map(|node| node.to_value().to_string()).unwrap_or_default();
    format!("{path}: a tool for agents: $ {command} (arguments on its input)")
}

/// Ports of this machine that the commands of a workflow or of a tool reach, by its `sandbox.ports`.
pub(super) fn ports_line(at: &str, node: &JsonNode) -> Option<String> {
    let ports = node.get("sandbox").and_then(|sandbox| sandbox.get("ports"))?;
    let what = if ports.items().is_some_and(|items| items.len() > 1) { "ports" } else { "port" };
    let ports = join_names(&ports.to_value());
    Some(format!("{at}: its commands reach {what} {ports} of this machine, also with the network off"))
}

/// Tools that an agent gets.
pub(super) fn granted_lines(path: &str, who: &str, node: &JsonNode) -> Vec<String> {
    let line = |key: &str| {
        let all = if key.starts_with('i') { "may call" } else { "may call all tools but" };
        Some(format!("{path}: {who} {all} {}", join_names(&node.get(key)?.to_value())))
    };
    ["includedTools", "included_tools", "excludedTools", "excluded_tools"]
        .into_iter()
        .filter_map(line)
        .collect()
}

pub(super) fn join_names(names: &Value) -> String {
    let list = names.as_array().map(|list| {
        list.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect::<Vec<_>>()
    });
    match list {
        Some(list) if list.is_empty() => "nothing".to_owned(),
        Some(list) => list.join(", "),
        None => names.to_string(),
    }
}
