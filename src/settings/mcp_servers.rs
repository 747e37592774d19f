//! Servers of the model context protocol from `mcpServers` in settings and from a project's `.mcp.json`, in the format
//! that other programs use.

use std::collections::BTreeMap;

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::mcp_server::{McpServerConfig, McpServerTransport, SERVER_SEPARATOR};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::fields::{ObjectFields, is_free};
use synthdev_language::json::{JsonMember, JsonNode};
use synthdev_language::source::{FileDiagnostics, NOT_TAKEN, SourceFile};

/// The key that holds them in both kinds of files.
pub const MCP_SERVERS: &str = "mcpServers";

/// The file in a project's directory.
pub const MCP_FILE: &str = ".mcp.json";

const KEYS: [&str; 10] =
    ["type", "command", "args", "env", "cwd", "url", "headers", "disabled", "start_timeout", "call_timeout"];

/// Seconds, unless the file says otherwise.
const START_TIMEOUT: u64 = 10;
const CALL_TIMEOUT: u64 = 120;
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60;

/// Bytes of a server's name: the tool's name has to find room behind it.
const LONGEST_NAME: usize = 32;

/// The servers by name, and what is wrong with the files. Settings report everything else that stands in them
/// themselves.
pub fn load_mcp_servers(
    settings: &[SourceFile],
    mcp_files: &[SourceFile],
) -> (BTreeMap<String, McpServerConfig>, Vec<Diagnostic>) {
    let mut files: Vec<&SourceFile> = settings.iter().chain(mcp_files).collect();
    files.sort_by_key(|file| file.layer);
    let mut loaded = LoadedServers::default();
    for file in files {
        // most settings have none: they are not read twice
        if file.text.contains(MCP_SERVERS) || file.name == MCP_FILE {
            loaded.add_file(file);
        }
    }
    loaded.servers.retain(|_, server| server.is_some());
    (
        loaded.servers.into_iter().filter_map(|(name, server)| Some((name, server?))).collect(),
        loaded.diagnostics,
    )
}

#[derive(Default)]
struct LoadedServers {
    /// `None`: disabled.
    servers: BTreeMap<String, Option<McpServerConfig>>,
    diagnostics: Vec<Diagnostic>,
}

impl LoadedServers {
    fn add_file(&mut self, file: &SourceFile) {
        let mut findings = FileDiagnostics::new(file);
        let parsed = JsonNode::parse(file, &mut findings);
        if file.name != MCP_FILE {
            // the reader of settings has reported what is no JSON
            findings.list.clear();
        }
        if let Some(servers) = parsed.as_ref().and_then(|root| root.get(MCP_SERVERS)) {
            match servers.members() {
                Some(members) => {
                    members
                        .iter()
                        .filter(|member| !is_free(&member.key))
                        .for_each(|member| self.add_server(member, &mut findings));
                }
                None => {
                    let message = format!("`{MCP_SERVERS}` must be an object, found {}", servers.kind_name());
                    findings.add_error("C03", servers.span.clone(), message, None);
                }
            }
        }
        self.diagnostics.append(&mut findings.list);
    }

    fn add_server(&mut self, member: &JsonMember, findings: &mut FileDiagnostics<'_>) {
        let name = &member.key;
        if let Some(why) = bad_name(name) {
            let message = format!("the MCP server `{name}` {why}");
            return findings.add_error("C06", member.key_span.clone(), message, None);
        }
        // a project must not answer for a server whose tools the user's roles were given
        if findings.file.layer == ConfigLayer::Project && self.servers.contains_key(name) {
            let message =
                format!("the MCP server `{name}` is not taken: your own settings have one of that name");
            let hint = "rename one of the two if you want both".to_owned();
            return findings.add_warning(NOT_TAKEN, member.key_span.clone(), message, Some(hint));
        }
        if let Some(server) = read_server(name, member, findings) {
            self.servers.insert(name.clone(), server);
        }
    }
}

fn bad_name(name: &str) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        return Some(format!("needs a name of 1 to {LONGEST_NAME} letters, digits, `_`, `-` or `.`"));
    }
    name.contains(SERVER_SEPARATOR).then(|| {
        format!("must not have `{SERVER_SEPARATOR}` in its name: that stands before the names of its tools")
    })
}

/// The outer `None`: it has errors; the inner one: it is disabled.
fn read_server(
    name: &str,
    member: &JsonMember,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Option<McpServerConfig>> {
    let noun = format!("the MCP server `{name}`");
    let fields = ObjectFields::from_node(&member.value, &noun, findings)?;
    let found = findings.list.len();
    let layer = findings.file.layer;
    // other programs have keys of their own in `.mcp.json`
    if findings.file.name != MCP_FILE {
        fields.reject_unknown_keys(&KEYS, findings);
    }
    let is_disabled = fields.flag(&["disabled"], findings).unwrap_or(false);
    let start_timeout_ms = read_timeout(&fields, "start_timeout", START_TIMEOUT, findings);
    let call_timeout_ms = read_timeout(&fields, "call_timeout", CALL_TIMEOUT, findings);
    let transport = read_transport(&noun, &fields, member, findings);
    if findings.list.len() > found {
        return None;
    }
    let server = McpServerConfig {
        name: name.to_owned(),
        layer,
        transport: transport?,
        start_timeout_ms,
        call_timeout_ms,
    };
    Some((!is_disabled).then_some(server))
}

fn read_timeout(
    fields: &ObjectFields<'_>,
    key: &'static str,
    default: u64,
    findings: &mut FileDiagnostics<'_>,
) -> u64 {
    let seconds = fields.count(&[key], findings).unwrap_or(default);
    seconds.clamp(1, LONGEST_TIMEOUT) * 1000
}

fn read_transport(
    noun: &str,
    fields: &ObjectFields<'_>,
    member: &JsonMember,
    findings: &mut FileDiagnostics<'_>,
) -> Option<McpServerTransport> {
    let kind = fields.text(&["type"], findings);
    let (command, url) = (fields.text(&["command"], findings), fields.text(&["url"], findings));
    if let Some(kind) = &kind {
        let known = ["stdio", "http", "streamable-http", "streamableHttp"];
        if !known.contains(&kind.value.as_str()) {
            let hint = match kind.value.as_str() {
                "sse" => {
                    "servers answer with `\"type\": \"http\"` today, most often at another path (`/mcp`)"
                }
                _ => "write `stdio` with a `command`, or `http` with a `url`",
            };
            let message = format!("{noun}: `type` cannot be `{}`", kind.value);
            findings.add_error("C06", kind.span.clone(), message, Some(hint.to_owned()));
            return None;
        }
    }
    match (command, url) {
        (Some(command), None) if !command.value.trim().is_empty() => Some(McpServerTransport::Stdio {
            command: command.value,
            arguments: fields
                .texts(&["args"], findings)
                .unwrap_or_default()
                .into_iter()
                .map(|argument| argument.value)
                .collect(),
            environment: read_texts_by_name(fields, "env", findings),
            directory: fields.text(&["cwd"], findings).map(|directory| directory.value),
        }),
        (None, Some(url))
            if url.value.starts_with("http://")
                || url.value.starts_with("https://")
                || url.value.starts_with("${") =>
        {
            Some(McpServerTransport::Http {
                url: url.value,
                headers: read_texts_by_name(fields, "headers", findings),
            })
        }
        (None, Some(url)) => {
            let message = format!("{noun}: `url` must begin with http:// or https://");
            findings.add_error("C06", url.span, message, None);
            None
        }
        (Some(_) | None, _) => {
            let message = format!("{noun} needs either a `command` (with `args`) or a `url`");
            let hint = "for example {\"command\": \"uvx\", \"args\": [\"mcp-server-git\"]}".to_owned();
            findings.add_error("C03", member.key_span.clone(), message, Some(hint));
            None
        }
    }
}

fn read_texts_by_name(
    fields: &ObjectFields<'_>,
    key: &'static str,
    findings: &mut FileDiagnostics<'_>,
) -> BTreeMap<String, String> {
    let Some(node) = fields.get(&[key], findings) else { return BTreeMap::new() };
    let noun = format!("`{key}`");
    let Some(inner) = ObjectFields::from_node(node, &noun, findings) else { return BTreeMap::new() };
    let mut texts = BTreeMap::new();
    for member in inner.members {
        match member.value.as_str() {
            Some(text) => drop(texts.insert(member.key.clone(), text.to_owned())),
            None => {
                let message =
                    format!("`{key}.{}` must be a string, found {}", member.key, member.value.kind_name());
                findings.add_error("C03", member.value.span.clone(), message, None);
            }
        }
    }
    texts
}

/// Names of the variables that a text refers to: `${NAME}` or `${NAME:-default}`.
pub fn referenced_variables(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        rest = &rest[start + 2..];
        let Some(end) = rest.find('}') else { break };
        names.push(rest[..end].split(":-").next().unwrap_or_default().to_owned());
        rest = &rest[end + 1..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(layer: ConfigLayer, name: &str, text: &str) -> SourceFile {
        SourceFile::new(layer, name, text)
    }

    #[test]
    fn servers_of_both_kinds_are_read_and_mistakes_are_named() {
        let check = |servers: &str, expected: &str| {
            let (loaded, found) = load_mcp_servers(
                &[file(ConfigLayer::User, "settings.json", &format!("{{\"mcpServers\": {servers}}}"))],
                &[],
            );
            let told = match found.first() {
                Some(finding) => format!("{} {}", finding.code, finding.message),
                None => loaded.values().map(|server| format!("{:?}", server.transport)).collect(),
            };
            assert!(told.starts_with(expected), "wanted {expected}\ngot {told}");
        };
        check(
            r#"{"git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "b"}}}"#,
            r#"Stdio { command: "uvx", arguments: ["mcp-server-git"], environment: {"A": "b"}, directory: None }"#,
        );
        check(
            r#"{"api": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${T}"}}}"#,
            r#"Http { url: "https://h.example/mcp", headers: {"Authorization": "Bearer ${T}"} }"#,
        );
        check(r#"{"off": {"command": "x", "disabled": true}}"#, "");
        check("[]", "C03 `mcpServers` must be an object");
        check(r#"{"a": {}}"#, "C03 the MCP server `a` needs either a `command`");
        check(r#"{"a": {"command": "x", "url": "http://h"}}"#, "C03 the MCP server `a` needs either");
        check(r#"{"a": {"url": "h.example"}}"#, "C06 the MCP server `a`: `url` must begin with http://");
        check(
            r#"{"a": {"type": "sse", "url": "http://h"}}"#,
            "C06 the MCP server `a`: `type` cannot be `sse`",
        );
        check(r#"{"a": {"command": "x", "arg": []}}"#, "C04 unknown key `arg`");
        check(r#"{"a": {"command": "x", "env": {"A": 1}}}"#, "C03 `env.A` must be a string, found a number");
        check(r#"{"a__b": {"command": "x"}}"#, "C06 the MCP server `a__b` must not have `__`");
        check(r#"{"a b": {"command": "x"}}"#, "C06 the MCP server `a b` needs a name of 1 to 32");
    }

    #[test]
    fn a_project_does_not_replace_a_server_of_the_user() {
        let user = file(
            ConfigLayer::User,
            "settings.json",
            r#"{"mcpServers": {"git": {"command": "mine"}, "off": {"command": "x", "disabled": true}}}"#,
        );
        let project = file(
            ConfigLayer::Project,
            MCP_FILE,
            r#"{"mcpServers": {"git": {"command": "theirs"}, "off": {"command": "y"}, "new": {"command": "n", "alwaysAllow": []}}}"#,
        );
        let (loaded, found) = load_mcp_servers(&[user], &[project]);
        let told: Vec<String> = loaded
            .values()
            .map(|server| format!("{} {} {:?}", server.name, server.layer, server.transport))
            .collect();
        assert!(told[0].starts_with("git user Stdio { command: \"mine\""), "{told:?}");
        assert!(told[1].starts_with("new project Stdio { command: \"n\"") && told.len() == 2, "{told:?}");
        assert_eq!(found.iter().filter(|finding| finding.code == NOT_TAKEN).count(), 2);
    }

    #[test]
    fn variables_of_a_text() {
        assert_eq!(referenced_variables("Bearer ${TOKEN} ${A:-x}${"), ["TOKEN", "A"]);
    }
}
