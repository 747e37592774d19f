//! settings.json, from the one table of settings.

use serde_json::{Map, Value, json};

use super::shape::{close_object, with_description};
use crate::layers::rules::{RULES, SettingRule};
use crate::layers::value_type::{HOME, KEY, SettingValueType};

/// The nested object of all rules.
pub(super) fn settings_root() -> Value {
    settings_object("")
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

fn value_shape(wanted: SettingValueType) -> Value {
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
