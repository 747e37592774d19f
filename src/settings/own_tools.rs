//! Tools that a user or a project defines: `tools/NAME.json`, a command that gets its arguments as JSON.
//! Refuses names that are taken, and risks of a project's tool below that of a command.

use std::collections::BTreeSet;

use serde_json::Value;

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::mcp_server::SERVER_SEPARATOR;
use synthdev_domain::own_tool::OwnTool;
use synthdev_domain::sandbox::NetworkAccess;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::tool::{ToolRisk, ToolSpec};
use synthdev_language::fields::ObjectFields;
use synthdev_language::json::{JsonNode, JsonNodeKind};
use synthdev_language::source::{FileDiagnostics, NOT_TAKEN, SourceFile};
use synthdev_language::workflow_file::read_port_list;

/// The folder of these files in a layer.
pub const TOOLS_FOLDER: &str = "tools";

pub(crate) const KEYS: [&str; 8] =
    ["$schema", "description", "parameters", "command", "timeout_seconds", "risk", "network", "sandbox"];

/// Keys of `sandbox`: what the command of a tool needs of it.
pub(crate) const SANDBOX_KEYS: [&str; 3] = ["ports", "writable", "readable"];

pub(crate) const RISKS: [(&str, ToolRisk); 3] =
    [("read", ToolRisk::Read), ("write", ToolRisk::Write), ("execute", ToolRisk::Execute)];

/// Bytes of a tool's name that all model servers take.
const LONGEST_NAME: usize = 64;

/// Longest time limit, in seconds.
const LONGEST_TIMEOUT: u64 = 3600;

/// The tools of these files, and what is wrong with them. `taken`: the tools of the product.
pub fn load_own_tools(files: &[SourceFile], taken: &[ToolSpec]) -> (Vec<OwnTool>, Vec<Diagnostic>) {
    let mut files: Vec<&SourceFile> = files.iter().collect();
    files.sort_by_key(|file| file.layer);
    let (mut tools, mut diagnostics) = (Vec::<OwnTool>::new(), Vec::new());
    for file in files {
        let mut findings = FileDiagnostics::new(file);
        if let Some(tool) = read_own_tool(file, taken, &mut findings) {
            match tools.iter().find(|known| known.spec.name == tool.spec.name) {
                // a project must not answer for a tool that the user's roles were given
                Some(known) => {
                    let message = format!(
                        "the tool `{}` is not taken: {} has one of that name",
                        tool.spec.name, known.file
                    );
                    let hint = "rename one of the two files if you want both".to_owned();
                    findings.add_warning(NOT_TAKEN, 0..0, message, Some(hint));
                }
                None => tools.push(tool),
            }
        }
        diagnostics.append(&mut findings.list);
    }
    (tools, diagnostics)
}

/// `None`: it has errors.
fn read_own_tool(
    file: &SourceFile,
    taken: &[ToolSpec],
    findings: &mut FileDiagnostics<'_>,
) -> Option<OwnTool> {
    let root = JsonNode::parse(file, findings)?;
    let name = tool_name(&file.name);
    if let Some(why) = bad_name(name, taken) {
        findings.add_error(
            "C06",
            0..0,
            format!("the tool `{name}` {why}"),
            Some("rename the file".to_owned()),
        );
    }
    let noun = format!("the tool `{name}`");
    let fields = ObjectFields::from_node(&root, &noun, findings)?;
    fields.reject_unknown_keys(&KEYS, findings);
    report_missing_keys(&root, &noun, findings);
    let description = fields.text(&["description"], findings).map(|text| text.value).unwrap_or_default();
    let parameters = read_parameters(&fields, findings);
    let command = read_command(&fields, findings);
    let timeout_seconds = fields.count(&["timeout_seconds"], findings);
    if timeout_seconds.is_some_and(|seconds| seconds > LONGEST_TIMEOUT)
        && let Some(node) = root.get("timeout_seconds")
    {
        let message = format!("{noun}: `timeout_seconds` must be at most {LONGEST_TIMEOUT}");
        findings.add_error("C06", node.span.clone(), message, None);
    }
    let risk = read_risk(&fields, file.layer, findings);
    let network = fields.text(&["network"], findings).and_then(|text| {
        let access = NetworkAccess::from_name(&text.value);
        if access.is_none() {
            let message = format!("{noun}: `network` must be on, ask or off, not `{}`", text.value);
            findings.add_error("C06", text.span, message, None);
        }
        access
    });
    let needs = read_sandbox_needs(&root, file.layer, findings);
    if findings
        .list
        .iter()
        .any(|finding| finding.severity == synthdev_domain::diagnostic::DiagnosticSeverity::Error)
    {
        return None;
    }
    let spec = ToolSpec { name: name.to_owned(), description, parameters: parameters?, risk, repeat: None };
    Some(OwnTool {
        spec,
        layer: file.layer,
        file: file.name.clone(),
        command,
        timeout_seconds,
        network,
        ports: needs.ports,
        writable: needs.writable,
        readable: needs.readable,
    })
}

fn report_missing_keys(root: &JsonNode, noun: &str, findings: &mut FileDiagnostics<'_>) {
    let required = [
        ("description", "a text that tells models what it does"),
        ("command", "a list: a program and its arguments"),
        ("parameters", "a JSON Schema of its arguments"),
    ];
    for (key, what) in required {
        if root.get(key).is_none() {
            findings.add_error(
                "C03",
                root.span.start..root.span.start + 1,
                format!("{noun} lacks `{key}`: {what}"),
                None,
            );
        }
    }
}

/// What `sandbox` of a tool opens for its command.
#[derive(Default)]
struct SandboxNeeds {
    ports: BTreeSet<u16>,
    writable: Vec<String>,
    readable: Vec<String>,
}

/// A project's tool may have ports, as a project's workflow may: you trust it with them. Paths it may not open.
fn read_sandbox_needs(
    root: &JsonNode,
    layer: ConfigLayer,
    findings: &mut FileDiagnostics<'_>,
) -> SandboxNeeds {
    let mut needs = SandboxNeeds::default();
    let Some(node) = root.get("sandbox").filter(|node| node.kind != JsonNodeKind::Null) else { return needs };
    let Some(fields) = ObjectFields::from_node(node, "`sandbox` of a tool", findings) else { return needs };
    fields.reject_unknown_keys(&SANDBOX_KEYS, findings);
    if let Some(list) = fields.get(&["ports"], findings) {
        let hint = "declare only those that its command needs";
        needs.ports = read_port_list(list, hint, findings);
    }
    for (key, paths) in [("writable", &mut needs.writable), ("readable", &mut needs.readable)] {
        for path in fields.texts(&[key], findings).unwrap_or_default() {
            if path.value.trim().is_empty() || path.value.contains('\0') {
                let message = format!("`sandbox.{key}` holds a text that is no path");
                findings.add_error("C06", path.span, message, None);
            } else if layer == ConfigLayer::Project {
                let message = format!(
                    "`{}` in `sandbox.{key}` has no effect: a tool of a project reaches no more files than other commands",
                    path.value
                );
                let hint = format!("add it to `sandbox.{key}` in your own settings if you want it");
                findings.add_warning(NOT_TAKEN, path.span, message, Some(hint));
            } else {
                paths.push(path.value);
            }
        }
    }
    needs
}

/// The name of the file without its ending.
fn tool_name(path: &str) -> &str {
    let file = path.rsplit(['/', ':']).next().unwrap_or(path);
    file.strip_suffix(".json").unwrap_or(file)
}

fn bad_name(name: &str, taken: &[ToolSpec]) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        return Some(format!("needs a name of 1 to {LONGEST_NAME} letters, digits, `_` or `-`"));
    }
    if name.contains(SERVER_SEPARATOR) {
        return Some(format!("must not have `{SERVER_SEPARATOR}` in its name: tools of MCP servers have"));
    }
    taken
        .iter()
        .any(|tool| tool.name == name)
        .then(|| "has the name of a tool that is always there".to_owned())
}

fn read_parameters(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Option<Value> {
    let node = fields.get(&["parameters"], findings)?;
    let schema = node.to_value();
    let problem = match (schema["type"].as_str(), jsonschema::validator_for(&schema)) {
        (_, Err(error)) => format!("`parameters` is no JSON Schema: {error}"),
        (Some("object"), Ok(_)) => return Some(schema),
        (_, Ok(_)) => "`parameters` must describe an object: write \"type\": \"object\"".to_owned(),
    };
    findings.add_error("C06", node.span.clone(), problem, None);
    None
}

fn read_command(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Vec<String> {
    let Some(node) = fields.get(&["command"], findings) else { return Vec::new() };
    let words: Option<Vec<String>> =
        node.items().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    let program = words.as_ref().and_then(|words| words.first()).map_or("", String::as_str).trim();
    let problem = match &words {
        None => "`command` must be a list of texts: the program, then its arguments",
        Some(_) if program.is_empty() => "`command` names no program",
        Some(_) if program.starts_with('-') => "`command` begins with a program: it must not begin with `-`",
        Some(words) if words.iter().any(|word| word.contains('\0')) => "`command` must not contain NUL",
        Some(words) => return words.clone(),
    };
    let hint = "for example [\"python3\", \"scripts/deploy.py\"]; no shell reads it".to_owned();
    findings.add_error("C06", node.span.clone(), problem, Some(hint));
    Vec::new()
}

fn read_risk(fields: &ObjectFields<'_>, layer: ConfigLayer, findings: &mut FileDiagnostics<'_>) -> ToolRisk {
    let Some(text) = fields.text(&["risk"], findings) else { return ToolRisk::Execute };
    let Some((_, risk)) = RISKS.into_iter().find(|(name, _)| *name == text.value) else {
        let message = format!("`risk` must be read, write or execute, not `{}`", text.value);
        findings.add_error("C06", text.span, message, None);
        return ToolRisk::Execute;
    };
    if layer == ConfigLayer::Project && risk != ToolRisk::Execute {
        let message = "`risk` has no effect: a tool of a project counts as a command".to_owned();
        findings.add_warning(NOT_TAKEN, text.span, message, None);
        return ToolRisk::Execute;
    }
    risk
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#""parameters": {"type": "object"}"#;

    fn load(layer: ConfigLayer, name: &str, text: &str) -> (Vec<OwnTool>, Vec<Diagnostic>) {
        let taken = ToolSpec {
            name: "glob".to_owned(),
            description: String::new(),
            parameters: Value::Null,
            risk: ToolRisk::Read,
            repeat: None,
        };
        load_own_tools(&[SourceFile::new(layer, name, text)], &[taken])
    }

    #[test]
    fn a_whole_definition_is_read() {
        let text = format!(
            r#"{{"description": "Deploys.", {SCHEMA}, "command": ["sh", "-c", "x"], "timeout_seconds": 5, "risk": "read", "network": "on"}}"#
        );
        let (tools, found) = load(ConfigLayer::User, "user:tools/deploy.json", &text);
        assert_eq!(found, []);
        let tool = &tools[0];
        assert_eq!((tool.spec.name.as_str(), tool.spec.risk), ("deploy", ToolRisk::Read));
        assert_eq!(
            (tool.command.len(), tool.timeout_seconds, tool.network),
            (3, Some(5), Some(NetworkAccess::On))
        );
        assert!(tool.wanted_network().is_some_and(|network| network.may_loosen));
        let (tools, found) = load(ConfigLayer::Project, ".synthdev/tools/deploy.json", &text);
        assert_eq!(tools[0].spec.risk, ToolRisk::Execute);
        assert!(tools[0].wanted_network().is_some_and(|network| !network.may_loosen));
        assert!(found[0].code == NOT_TAKEN && found[0].message.contains("counts as a command"), "{found:?}");
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        let whole = |more: &str| format!("{{\"description\": \"d\", {SCHEMA}, \"command\": [\"x\"]{more}}}");
        for (name, text, place, expected) in [
            ("a.json", "{".to_owned(), (1, 1), ""),
            ("a.json", "[]".to_owned(), (1, 1), "the tool `a` must be an object"),
            ("a.json", "{}".to_owned(), (1, 1), "the tool `a` lacks `description`"),
            ("a b.json", whole(""), (1, 1), "the tool `a b` needs a name"),
            ("a__b.json", whole(""), (1, 1), "must not have `__`"),
            ("glob.json", whole(""), (1, 1), "has the name of a tool that is always there"),
            ("a.json", whole(",\n \"comand\": []"), (2, 2), "unknown key `comand`"),
            ("a.json", whole(",\n \"timeout_seconds\": 4000"), (2, 21), "must be at most 3600"),
            ("a.json", whole(",\n \"risk\": \"low\""), (2, 10), "`risk` must be read, write or execute"),
            ("a.json", whole(",\n \"network\": \"yes\""), (2, 13), "`network` must be on, ask or off"),
            ("a.json", whole("").replace("[\"x\"]", "\"x\""), (1, 0), "`command` must be a list of texts"),
            ("a.json", whole("").replace("[\"x\"]", "[]"), (1, 0), "`command` names no program"),
            ("a.json", whole("").replace("[\"x\"]", "[\"-c\"]"), (1, 0), "must not begin with `-`"),
            ("a.json", whole(",\n \"sandbox\": []"), (2, 13), "`sandbox` of a tool must be an object"),
            ("a.json", whole(",\n \"sandbox\": {\"port\": []}"), (2, 14), "unknown key `port`"),
            (
                "a.json",
                whole(",\n \"sandbox\": {\"ports\": [80]}"),
                (2, 24),
                "`sandbox.ports` cannot hold 80",
            ),
            ("a.json", whole(",\n \"sandbox\": {\"writable\": [\" \"]}"), (2, 27), "no path"),
            ("a.json", whole(",\n \"sandbox\": {\"readable\": 1}"), (2, 26), "a list of strings"),
            (
                "a.json",
                whole("").replace("\"object\"", "\"objct\""),
                (1, 0),
                "`parameters` is no JSON Schema",
            ),
            (
                "a.json",
                whole("").replace("\"object\"", "\"array\""),
                (1, 0),
                "`parameters` must describe an object",
            ),
        ] {
            let (tools, found) = load(ConfigLayer::User, &format!("user:tools/{name}"), &text);
            assert!(tools.is_empty(), "{text}");
            let fits = |one: &Diagnostic| {
                let at = (one.place.line, one.place.column);
                one.message.contains(expected) && (at == place || place.1 == 0 && at.0 == place.0)
            };
            assert!(found.iter().any(fits), "{text}: {found:?}");
        }
    }

    #[test]
    fn only_a_tool_of_the_user_opens_paths() {
        let text = format!(
            r#"{{"description": "d", {SCHEMA}, "command": ["x"],
                "sandbox": {{"ports": [5432, 8080], "writable": ["~/w"], "readable": "~/.kube"}}}}"#
        );
        let check = |layer: ConfigLayer, expected: &str, warnings: usize| {
            let (tools, found) = load(layer, "tools/rollout.json", &text);
            assert_eq!(tools[0].needs_text(), expected, "{layer}");
            assert_eq!(found.len(), warnings, "{found:?}");
            assert!(found.iter().all(|one| one.code == NOT_TAKEN && one.message.contains("has no effect")));
        };
        check(ConfigLayer::User, "ports 5432, 8080; writes ~/w; reads ~/.kube", 0);
        check(ConfigLayer::Project, "ports 5432, 8080", 2);
    }

    #[test]
    fn a_project_does_not_replace_a_tool_of_the_user() {
        let text = format!("{{\"description\": \"d\", {SCHEMA}, \"command\": [\"x\"]}}");
        let files = [
            SourceFile::new(ConfigLayer::Project, ".synthdev/tools/a.json", text.as_str()),
            SourceFile::new(ConfigLayer::User, "user:tools/a.json", text.as_str()),
        ];
        let (tools, found) = load_own_tools(&files, &[]);
        assert_eq!((tools.len(), tools[0].layer), (1, ConfigLayer::User));
        assert!(found[0].code == NOT_TAKEN && found[0].place.file == ".synthdev/tools/a.json", "{found:?}");
    }
}
