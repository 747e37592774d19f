//! What MCP servers offer beside tools, in what the user types: the resource `@server:uri` is added to the message, and
//! the prompt `/server:prompt` becomes one.
//!
//! Owns which words mean a resource, and the arguments of a prompt. Refuses to change a text whose words name no configured
//! server.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use synthdev_domain::mcp_server::{McpPromptDescription, McpServerConfig};
use synthdev_language::did_you_mean::suggest_or_list;
use synthdev_ports::mcp::{McpError, McpPort, McpServerRecords};

/// Bytes of one resource in a message.
const LONGEST_RESOURCE: usize = 256 << 10;

/// `@server:uri` in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceReference {
    pub server: String,
    pub uri: String,
}

/// What can be completed, from what servers have listed: each with what it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct McpCompletions {
    pub servers: Vec<(String, String)>,
    /// `server:uri`
    pub resources: Vec<(String, String)>,
    /// `server:prompt`
    pub prompts: Vec<(String, String)>,
}

/// Why there is no text.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum McpTextError {
    #[error("{error}{}", .error.hint().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Server {
        #[from]
        error: McpError,
    },
    #[error("there is no MCP server `{server}`{}", hint_after(.hint))]
    UnknownServer { server: String, hint: Option<String> },
    #[error("the MCP server `{server}` has no prompt `{prompt}`{}", hint_after(.hint))]
    UnknownPrompt { server: String, prompt: String, hint: Option<String> },
    #[error("/{server}:{prompt} needs {}: write {}", names(.missing), .usage)]
    MissingArguments { server: String, prompt: String, missing: Vec<String>, usage: String },
    #[error("/{server}:{prompt} has no argument for `{word}`: write {usage}")]
    SurplusArgument { server: String, prompt: String, word: String, usage: String },
}

fn hint_after(hint: &Option<String>) -> String {
    hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default()
}

fn names(list: &[String]) -> String {
    list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

/// The words of a text that can mean a resource, each once.
pub fn resource_references(text: &str) -> Vec<ResourceReference> {
    let mut found: Vec<ResourceReference> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '[', '{', '"', '\'', '`', '<']);
        let Some((server, uri)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) else {
            continue;
        };
        let uri = uri.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`', '>']);
        let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
        if server.is_empty() || !scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(plain))
        {
            continue;
        }
        let reference = ResourceReference { server: server.to_owned(), uri: uri.to_owned() };
        if !found.contains(&reference) {
            found.push(reference);
        }
    }
    found
}

/// The text with the resources that it names behind it. Words that name no configured server stay words.
///
/// # Errors
/// A server does not give one of them.
pub async fn with_resources(
    text: &str,
    servers: &BTreeMap<String, McpServerConfig>,
    port: &dyn McpPort,
) -> Result<String, McpTextError> {
    let mut expanded = text.to_owned();
    for ResourceReference { server, uri } in resource_references(text) {
        if !servers.contains_key(&server) {
            continue;
        }
        let read = port.read_resource(&server, &uri).await?;
        let end = read.floor_char_boundary(LONGEST_RESOURCE);
        expanded.push_str(&format!("\n\n[{server}:{uri}]\n{}", &read[..end]));
        if end < read.len() {
            expanded.push_str(&format!("\n[cut here: {end} of {} bytes are shown]", read.len()));
        }
    }
    Ok(expanded)
}

/// The message that a prompt makes of its arguments: `name=value`, or values in the order of their names.
///
/// # Errors
/// No such server or prompt, a required argument is missing, or the server does not give it.
pub async fn prompt_message(
    name: &str,
    words: &str,
    servers: &BTreeMap<String, McpServerConfig>,
    records: &dyn McpServerRecords,
    port: &dyn McpPort,
) -> Result<String, McpTextError> {
    let (server, prompt) = name.split_once(':').unwrap_or((name, ""));
    let Some(config) = servers.get(server) else {
        let known: Vec<&str> = servers.keys().map(String::as_str).collect();
        let hint = suggest_or_list(server, "there are", &known);
        return Err(McpTextError::UnknownServer { server: server.to_owned(), hint });
    };
    let prompts = records.stored_prompts(config);
    let described = prompts.iter().find(|known| known.name == prompt);
    // a server that was never asked may have it
    if described.is_none() && !prompts.is_empty() {
        let known: Vec<&str> = prompts.iter().map(|known| known.name.as_str()).collect();
        let hint = suggest_or_list(prompt, "it has", &known);
        return Err(McpTextError::UnknownPrompt {
            server: server.to_owned(),
            prompt: prompt.to_owned(),
            hint,
        });
    }
    let unlisted =
        McpPromptDescription { name: prompt.to_owned(), description: String::new(), arguments: Vec::new() };
    let arguments = prompt_arguments(server, described.unwrap_or(&unlisted), described.is_some(), words)?;
    Ok(port.get_prompt(server, prompt, arguments).await?)
}

fn prompt_arguments(
    server: &str,
    prompt: &McpPromptDescription,
    is_listed: bool,
    words: &str,
) -> Result<Map<String, Value>, McpTextError> {
    let mut given: Map<String, Value> = Map::new();
    let is_name = |name: &str| !is_listed || prompt.arguments.iter().any(|known| known.name == name);
    let single = match prompt.arguments.as_slice() {
        [only] if !words.is_empty() && !words.starts_with(&format!("{}=", only.name)) => Some(only),
        _ => None,
    };
    if let Some(only) = single {
        // the only one takes everything, blanks included
        given.insert(only.name.clone(), unquoted(words).into());
    } else {
        for word in split_quoted(words) {
            let named = word.split_once('=').filter(|(name, _)| is_name(name));
            let (name, value) = match named {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => match prompt.arguments.iter().find(|known| !given.contains_key(&known.name)) {
                    Some(next) => (next.name.clone(), word),
                    None => {
                        return Err(McpTextError::SurplusArgument {
                            server: server.to_owned(),
                            prompt: prompt.name.clone(),
                            word,
                            usage: prompt_usage(server, prompt),
                        });
                    }
                },
            };
            given.insert(name, value.into());
        }
    }
    let required = prompt.arguments.iter().filter(|known| known.is_required);
    let missing: Vec<String> =
        required.filter(|known| !given.contains_key(&known.name)).map(|known| known.name.clone()).collect();
    if missing.is_empty() {
        return Ok(given);
    }
    let usage = prompt_usage(server, prompt);
    Err(McpTextError::MissingArguments {
        server: server.to_owned(),
        prompt: prompt.name.clone(),
        missing,
        usage,
    })
}

/// `/docs:review file=… [tone=…]`
fn prompt_usage(server: &str, prompt: &McpPromptDescription) -> String {
    let argument = |known: &synthdev_domain::mcp_server::McpPromptArgument| match known.is_required {
        true => format!(" {}=…", known.name),
        false => format!(" [{}=…]", known.name),
    };
    let arguments: String = prompt.arguments.iter().map(argument).collect();
    format!("/{server}:{}{arguments}", prompt.name)
}

fn unquoted(text: &str) -> String {
    let inner = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    inner.unwrap_or(text).to_owned()
}

/// Words; what is in quotes is part of one.
fn split_quoted(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_open) = (Vec::new(), String::new(), None, false);
    for letter in text.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            None if letter == '"' || letter == '\'' => (quote, is_open) = (Some(letter), true),
            None if letter.is_whitespace() => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            _ => {
                word.push(letter);
                is_open = true;
            }
        }
    }
    if is_open {
        words.push(word);
    }
    words
}

/// What the servers have listed, for completion. No server is asked.
pub fn mcp_completions(
    servers: &BTreeMap<String, McpServerConfig>,
    records: &dyn McpServerRecords,
) -> McpCompletions {
    let mut all = McpCompletions::default();
    for server in servers.values() {
        all.servers.push((server.name.clone(), server.layer.to_string()));
        for resource in records.stored_resources(server) {
            let about = match resource.description.lines().next() {
                Some(description) => format!("{} · {description}", resource.name),
                None => resource.name,
            };
            all.resources.push((format!("{}:{}", server.name, resource.uri), about));
        }
        for prompt in records.stored_prompts(server) {
            let about = prompt.description.lines().next().unwrap_or_default();
            let usage = prompt_usage(&server.name, &prompt);
            let about = if about.is_empty() { usage } else { format!("{about} · {usage}") };
            all.prompts.push((format!("{}:{}", server.name, prompt.name), about));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::mcp_server::McpPromptArgument;

    #[test]
    fn words_that_mean_a_resource() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = resource_references(text)
                .into_iter()
                .map(|reference| format!("{} {}", reference.server, reference.uri))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("look at @docs:note://one.", &["docs note://one"]);
        check("(@docs:file:///a/b), @docs:urn:x and @docs:urn:x", &["docs file:///a/b", "docs urn:x"]);
        check("@file:src/main.rs @role:coder me@host:a:b @:a:b @docs:", &[]);
    }

    #[test]
    fn arguments_of_a_prompt() {
        let argument =
            |name: &str, is_required: bool| McpPromptArgument { name: name.to_owned(), is_required };
        let prompt = |arguments: Vec<McpPromptArgument>| McpPromptDescription {
            name: "p".to_owned(),
            description: String::new(),
            arguments,
        };
        let check = |prompt: &McpPromptDescription, listed: bool, words: &str, expected: &str| {
            let told = match prompt_arguments("s", prompt, listed, words) {
                Ok(given) => Value::Object(given),
                Err(error) => Value::String(error.to_string()),
            };
            let expected =
                serde_json::from_str(expected).unwrap_or_else(|_| Value::String(expected.to_owned()));
            assert_eq!(told, expected, "{words}");
        };
        let one = prompt(vec![argument("a", true)]);
        let two = prompt(vec![argument("a", true), argument("b", false)]);
        check(&one, true, "all of this", r#"{"a":"all of this"}"#);
        check(&one, true, "\"all of this\"", r#"{"a":"all of this"}"#);
        check(&one, true, "a='x y'", r#"{"a":"x y"}"#);
        check(&one, true, "", "/s:p needs `a`: write /s:p a=…");
        check(&two, true, "x 'y z'", r#"{"a":"x","b":"y z"}"#);
        check(&two, true, "b=1 2", r#"{"a":"2","b":"1"}"#);
        check(&two, true, "b=1", "/s:p needs `a`: write /s:p a=… [b=…]");
        check(&two, true, "1 2 3", "/s:p has no argument for `3`: write /s:p a=… [b=…]");
        check(&two, true, "x=1", r#"{"a":"x=1"}"#);
        check(&prompt(Vec::new()), false, "x=1", r#"{"x":"1"}"#);
        check(&prompt(Vec::new()), true, "x=1", "/s:p has no argument for `x=1`: write /s:p");
    }
}
