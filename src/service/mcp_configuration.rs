//! Servers of the model context protocol in the user's settings: adding one, removing one.
//!
//! Owns which definitions are refused before anything is written. Refuses to replace a server, and to change files of
//! a project.

use serde_json::{Map, Value, json};

use super::model_setup::{SETTINGS_FILE, SetupError, SetupPlan, SetupPorts, plan_settings};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_language::json::JsonNode;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_settings::mcp_servers::{MCP_FILE, MCP_SERVERS, load_mcp_servers, referenced_variables};
use synthdev_settings::setup::SettingChange;

/// A server as the user describes it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct McpServerAddition {
    pub name: String,
    /// A program with its arguments, or one address.
    pub target: Vec<String>,
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    /// `NAME: VALUE`.
    pub headers: Vec<String>,
}

impl McpServerAddition {
    /// As it stands in a file.
    fn definition(&self) -> Result<Value, SetupError> {
        let environment = named_texts(&self.environment, '=', "--env", "NAME=VALUE")?;
        let headers = named_texts(&self.headers, ':', "--header", "\"NAME: VALUE\"")?;
        let misplaced = |option: &str, what: &str| {
            Err(SetupError(format!("{option} is not for {what}\nhint: leave it out")))
        };
        let mut definition = Map::new();
        match self.target.as_slice() {
            [url] if url.contains("://") => {
                if !environment.is_empty() {
                    return misplaced("--env", "a server that is reached by its address");
                }
                definition.insert("url".to_owned(), json!(url));
                if !headers.is_empty() {
                    definition.insert("headers".to_owned(), headers.into());
                }
            }
            [url, _, ..] if url.contains("://") => {
                return Err(SetupError(
                    "an address takes no arguments\nhint: options stand before the name".to_owned(),
                ));
            }
            [program, arguments @ ..] => {
                if !headers.is_empty() {
                    return misplaced("--header", "a server that is a program");
                }
                definition.insert("command".to_owned(), json!(program));
                if !arguments.is_empty() {
                    definition.insert("args".to_owned(), json!(arguments));
                }
                if !environment.is_empty() {
                    definition.insert("env".to_owned(), environment.into());
                }
            }
            [] => return Err(SetupError("a server needs a program or an address".to_owned())),
        }
        Ok(Value::Object(definition))
    }

    /// Headers and variables whose value stands in the file, although it looks like a key.
    fn written_out_keys(&self) -> Vec<String> {
        let secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["authorization", "key", "token", "secret", "password", "cookie"]
                .iter()
                .any(|word| name.contains(word))
        };
        let environment = self.environment.iter().filter_map(|text| text.split_once('='));
        let headers = self.headers.iter().filter_map(|text| text.split_once(':'));
        environment
            .chain(headers)
            .filter(|(name, value)| secret(name) && referenced_variables(value).is_empty())
            .map(|(name, _)| name.trim().to_owned())
            .collect()
    }
}

/// What is done to the user's servers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum McpServerChange {
    Add(McpServerAddition),
    /// By its name.
    Remove(String),
}

impl McpServerChange {
    pub fn server(&self) -> &str {
        match self {
            Self::Add(addition) => &addition.name,
            Self::Remove(name) => name,
        }
    }

    /// # Errors
    /// The definition is wrong, a server of that name is there or is not there, or the user's settings are broken.
    pub fn plan(&self, ports: &dyn SetupPorts) -> Result<SetupPlan, SetupError> {
        match self {
            Self::Add(addition) => plan_server_addition(ports, addition),
            Self::Remove(name) => plan_server_removal(ports, name),
        }
    }

    /// What the user should know of the file, a line each.
    pub fn notes(&self) -> Vec<String> {
        let Self::Add(addition) = self else { return Vec::new() };
        let note = |name: String| {
            format!(
                "the value of {} now stands in the file; `${{NAME}}` in its place names a variable of your environment",
                escape_name(&name)
            )
        };
        addition.written_out_keys().into_iter().map(note).collect()
    }
}

fn named_texts(
    texts: &[String],
    separator: char,
    option: &str,
    form: &str,
) -> Result<Map<String, Value>, SetupError> {
    let pair = |text: &String| match text.split_once(separator) {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), Value::from(value.trim_start())))
        }
        _ => Err(SetupError(format!("{option} needs {form}"))),
    };
    texts.iter().map(pair).collect()
}

/// # Errors
/// The definition is wrong, a server of that name is there, or the user's settings are broken.
fn plan_server_addition(
    ports: &dyn SetupPorts,
    addition: &McpServerAddition,
) -> Result<SetupPlan, SetupError> {
    let definition = addition.definition()?;
    check_definition(&addition.name, &definition)?;
    let (path, known) = configured_servers(ports)?;
    if known.contains(&addition.name) {
        return Err(SetupError(format!(
            "{path} has an MCP server `{0}` already\nhint: `synthdev mcp remove {0}` first, or choose another name",
            addition.name
        )));
    }
    plan_settings(ports, vec![server_change(&addition.name, Some(definition))])
}

/// # Errors
/// The user's settings have no such server, or are broken.
fn plan_server_removal(ports: &dyn SetupPorts, name: &str) -> Result<SetupPlan, SetupError> {
    let (path, known) = configured_servers(ports)?;
    if known.iter().any(|server| server == name) {
        return plan_settings(ports, vec![server_change(name, None)]);
    }
    let of_project = ports.load_catalog(&[])?.mcp_servers().get(name).is_some();
    let hint = match known.as_slice() {
        _ if of_project => {
            format!("it is of the project: remove it from {MCP_FILE} or the project's settings")
        }
        [] => "there are none".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    Err(SetupError(format!("{path} has no MCP server `{name}`\nhint: {hint}")))
}

fn server_change(name: &str, value: Option<Value>) -> SettingChange {
    SettingChange { path: vec![MCP_SERVERS.to_owned(), name.to_owned()], value }
}

/// What the reader of settings would say about it.
fn check_definition(name: &str, definition: &Value) -> Result<(), SetupError> {
    let text = json!({MCP_SERVERS: {name: definition}}).to_string();
    let (_, found) = load_mcp_servers(&[SourceFile::new(ConfigLayer::User, SETTINGS_FILE, text)], &[]);
    match found.into_iter().next() {
        None => Ok(()),
        Some(finding) => {
            let hint = finding.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            Err(SetupError(format!("{}{hint}", finding.message)))
        }
    }
}

/// The path of the user's settings, and the names of all servers in it, disabled ones too.
fn configured_servers(ports: &dyn SetupPorts) -> Result<(String, Vec<String>), SetupError> {
    let file = ports.read_user_file(SETTINGS_FILE)?;
    let text = file.text.unwrap_or_default();
    let source = SourceFile::new(ConfigLayer::User, SETTINGS_FILE, text);
    let root = JsonNode::parse(&source, &mut FileDiagnostics::new(&source));
    let servers = root.as_ref().and_then(|root| root.get(MCP_SERVERS)).and_then(JsonNode::members);
    let names = servers.into_iter().flatten().map(|member| member.key.clone()).collect();
    Ok((file.path, names))
}
