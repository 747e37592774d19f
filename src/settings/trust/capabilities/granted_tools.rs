//! Which tools agents get, and what the tools that a project defines run, as lines of the question for trust.

use serde_json::Value;

use synthdev_language::json::JsonNode;

/// What runs when an agent or a state calls a tool of the project.
pub(super) fn own_tool_line(path: &str, root: &JsonNode) -> String {
    let command = root.get("command").map(|node| node.to_value().to_string()).unwrap_or_default();
    format!("{path}: a tool for agents: $ {command} (arguments on its input)")
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
