//! MCP servers that stand in environment variables: `GIT_MCP_COMMAND` makes a server `git`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::mcp_servers::MCP_SERVERS;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::source::SourceFile;

/// What a variable's name ends in, and the key that it is in a file.
const ENDINGS: [(&str, &str); 4] =
    [("_MCP_TRANSPORT", "type"), ("_MCP_COMMAND", "command"), ("_MCP_ARGS", "args"), ("_MCP_URL", "url")];

/// The name of the file in messages.
const ENVIRONMENT: &str = "environment variables (NAME_MCP_COMMAND and others)";

/// The servers of the environment, written as the file that they would be. `None`: the environment has none. A name with
/// neither a command nor an address is no server, so that variables of other programs do no harm.
pub fn servers_from_environment(variables: &BTreeMap<String, String>) -> Option<SourceFile> {
    let mut servers: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (name, value) in variables {
        let found = ENDINGS.iter().find_map(|(ending, key)| Some((name.strip_suffix(ending)?, *key)));
        let Some((server, key)) = found.filter(|(server, _)| !server.is_empty() && *server != "SYNTHDEV")
        else {
            continue;
        };
        // what is no JSON stays a text, and the reader says what is wanted
        let value = match serde_json::from_str(value) {
            Ok(parsed) if key == "args" => parsed,
            Ok(_) | Err(_) => Value::String(value.clone()),
        };
        servers.entry(server.to_ascii_lowercase()).or_default().insert(key.to_owned(), value);
    }
    servers.retain(|_, keys| keys.contains_key("command") || keys.contains_key("url"));
    if servers.is_empty() {
        return None;
    }
    let servers: Map<String, Value> =
        servers.into_iter().map(|(name, keys)| (name, Value::Object(keys))).collect();
    let text = serde_json::json!({MCP_SERVERS: servers}).to_string();
    Some(SourceFile::new(ConfigLayer::Environment, ENVIRONMENT, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp_servers::load_mcp_servers;

    /// The servers of these variables with their targets, and the messages about them.
    fn check(variables: &[(&str, &str)], servers: &[&str], message: &str) {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let file = servers_from_environment(&variables);
        let (loaded, found) = load_mcp_servers(&[], &file.into_iter().collect::<Vec<_>>());
        let loaded: Vec<String> =
            loaded.values().map(|server| format!("{} {:?}", server.name, server.transport)).collect();
        assert_eq!(loaded.len(), servers.len(), "{loaded:?} {found:?}");
        assert!(loaded.iter().zip(servers).all(|(loaded, part)| loaded.contains(part)), "{loaded:?}");
        let told = found.iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("\n");
        assert!(told.contains(message) && told.is_empty() == message.is_empty(), "{told}");
    }

    #[test]
    fn variables_make_servers_and_mistakes_are_named() {
        check(&[("PATH", "/bin"), ("GIT_MCP_ARGS", "[]"), ("X_MCP_TRANSPORT", "stdio")], &[], "");
        check(
            &[
                ("GIT_MCP_COMMAND", "uvx"),
                ("GIT_MCP_ARGS", "[\"mcp-server-git\"]"),
                ("GIT_MCP_TRANSPORT", "stdio"),
            ],
            &["arguments: [\"mcp-server-git\"]"],
            "",
        );
        check(&[("MY_DOCS_MCP_URL", "https://docs.example.org/mcp")], &["my_docs Http"], "");
        check(&[("GIT_MCP_COMMAND", "uvx"), ("GIT_MCP_ARGS", "one")], &["arguments: [\"one\"]"], "");
        check(&[("GIT_MCP_COMMAND", "uvx"), ("GIT_MCP_ARGS", "{}")], &[], "`args`");
        check(&[("GIT_MCP_COMMAND", "uvx"), ("GIT_MCP_URL", "https://x")], &[], "needs either a `command`");
        check(&[("SYNTHDEV_MCP_COMMAND", "x")], &[], "");
    }
}
