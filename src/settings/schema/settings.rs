//! settings.json, from the one table of settings.

use serde_json::{Map, Value, json};

use super::shape::{close_object, with_description};
use crate::layers::rules::{RULES, SettingRule};
use crate::layers::value_type::{HOME, KEY, SettingValueType};
use crate::mcp_servers::MCP_SERVERS;

/// The nested object of all rules.
pub(super) fn settings_root() -> Value {
    let mut root = settings_object("");
    root["properties"][MCP_SERVERS] = mcp_servers_schema();
    root
}

fn mcp_servers_schema() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let seconds = |about: &str| json!({"type": "integer", "minimum": 1, "description": about});
    let text = |about: &str| json!({"type": "string", "description": about});
    let server = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["stdio", "http"], "description": "how it is reached; `command` and `url` say it too"},
            "command": text("program that speaks the protocol over its standard input and output"),
            "args": {"type": "array", "items": {"type": "string"}, "description": "its arguments"},
            "env": with_description(texts.clone(), "variables that it gets; `${NAME}` stands for one of yours"),
            "cwd": text("directory that it starts in, relative to the project"),
            "url": text("address of a server that is asked over HTTP"),
            "headers": with_description(texts, "headers of each request; `${NAME}` stands for a variable of your environment"),
            "disabled": {"type": "boolean", "description": "it is not used"},
            "start_timeout": seconds("seconds that it may take to start and to list its tools (10)"),
            "call_timeout": seconds("seconds that a call may take (120)")
        },
        "additionalProperties": false
    });
    json!({
        "type": "object",
        "description": "servers of the model context protocol, by name; agents know their tools as `name__tool`",
        "additionalProperties": server
    })
}

/// The object below a dotted prefix.
fn settings_object(prefix: &str) -> Value {
    let mut properties = Map::new();
    let mut family = None;
    for rule in RULES {
        let Some(rest) = rule.path.strip_prefix(prefix) else { continue };
        match rest.split_once('.') {
            None if rest == "*" => family = Some(rule_schema(rule)),
            None => drop(properties.insert(rest.to_owned(), rule_schema(rule))),
            Some((name, _)) if !properties.contains_key(name) => {
                properties.insert(name.to_owned(), settings_object(&format!("{prefix}{name}.")));
            }
            Some(_) => {}
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if !properties.is_empty() {
        schema.insert("properties".to_owned(), Value::Object(properties));
    }
    match family {
        Some(family) => drop(schema.insert("additionalProperties".to_owned(), family)),
        None => close_object(&mut schema),
    }
    Value::Object(schema)
}

fn rule_schema(rule: &SettingRule) -> Value {
    let mut about = rule.description.to_owned();
    if let Some(name) = rule.env.first() {
        about.push_str(&format!(" (environment: {name})"));
    }
    let mut schema = with_description(value_shape(rule.value_type), &about);
    if let (Some(members), Ok(default)) =
        (schema.as_object_mut(), serde_json::from_str::<Value>(rule.default))
    {
        members.insert("default".to_owned(), default);
    }
    schema
}

pub(super) fn value_shape(wanted: SettingValueType) -> Value {
    match wanted {
        SettingValueType::Text => json!({"type": "string", "pattern": "\\S"}),
        SettingValueType::Secret => json!({"oneOf": [
            {"type": "string", "pattern": "\\S"},
            {
                "type": "object",
                "properties": {
                    KEY: {"type": "string", "pattern": "\\S"},
                    HOME: with_description(value_shape(SettingValueType::Url), "the server that it is for, and no other")
                },
                "required": [KEY],
                "additionalProperties": false
            }
        ]}),
        SettingValueType::Url => {
            json!({"type": "string", "pattern": "^\\s*https?://[^\\s@/?#:\\\\][^\\s@?#\\\\]*\\s*$"})
        }
        SettingValueType::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        SettingValueType::Real { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        SettingValueType::Flag => json!({"type": "boolean"}),
        SettingValueType::Permission => json!({"oneOf": [
            {"const": "allow", "description": "without asking"},
            {"const": "ask", "description": "the user decides each time"},
            {"const": "deny", "description": "never"}
        ]}),
        SettingValueType::OneOf(words) => json!({"type": "string", "enum": words}),
        SettingValueType::TextList => json!({"type": "array", "items": {"type": "string"}}),
    }
}
