use super::shape::Table;
use super::*;
use crate::config::settings::rules::RULES;
use crate::config::workflow_file::vocabulary;

fn tables(schema: Schema) -> Vec<&'static Table> {
    match schema {
        Schema::Workflow => workflow_tables(),
        Schema::Role => role::tables(),
        Schema::Settings => Vec::new(),
        Schema::Replies => replies::tables(),
        Schema::Test => test_file::tables(),
    }
}

#[test]
fn every_key_that_is_read_is_explained() {
    let all = workflow_tables();
    for object in vocabulary::objects() {
        let table = all.iter().find(|table| table.name == object);
        let table = table.unwrap_or_else(|| panic!("no table explains the object `{object}`"));
        for key in vocabulary::known(object) {
            let there = table.fields.iter().any(|field| field.key == *key);
            assert!(there, "`{key}` of `{object}` is read, but no field of its table explains it");
        }
    }
    for key in crate::config::role_file::KEYS {
        assert!(role::tables()[0].fields.iter().any(|field| field.key == *key), "{key}");
    }
}

#[test]
fn every_key_of_a_schema_is_read() {
    let schema = Schema::Workflow.value();
    for object in vocabulary::objects() {
        let properties = schema["$defs"][object]["properties"].as_object();
        for key in properties.into_iter().flat_map(Map::keys) {
            assert!(vocabulary::known(object).contains(&key.as_str()), "{object}.{key}");
        }
    }
}

/// An object with a known vocabulary that nothing refers to would be a table nobody sees.
#[test]
fn every_object_that_is_read_is_reachable() {
    let schema = Schema::Workflow.value();
    for object in vocabulary::objects() {
        assert!(schema["$defs"].get(object).is_some(), "nothing refers to `{object}`");
    }
}

#[test]
fn tables_are_whole() {
    for schema in Schema::ALL {
        let list = tables(schema);
        let name = schema.name();
        for (at, table) in list.iter().enumerate() {
            assert!(list[..at].iter().all(|one| one.name != table.name), "{name}: two `{}`", table.name);
            for (place, field) in table.fields.iter().enumerate() {
                let twice = table.fields[..place].iter().any(|other| other.key == field.key);
                assert!(!twice, "{name}: {}.{} stands there twice", table.name, field.key);
                assert!(field.about.ends_with('.'), "{name}: {}.{}: {}", table.name, field.key, field.about);
            }
            for key in table.required {
                assert!(table.fields.iter().any(|field| field.key == *key), "{name}: {}.{key}", table.name);
            }
        }
    }
}

#[test]
fn every_reference_has_its_definition_and_every_schema_is_one() {
    for schema in Schema::ALL {
        let value = schema.value();
        let mut found = Vec::new();
        gather(&value, &mut found);
        for name in found {
            assert!(value["$defs"].get(&name).is_some(), "{}: {name}", schema.name());
        }
        jsonschema::draft202012::meta::validate(&value).unwrap();
    }
}

fn gather(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let to = members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"));
            found.extend(to.map(str::to_owned));
            members.values().for_each(|value| gather(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        _ => {}
    }
}

/// A schema's judgement of a value as the settings of the table see it.
#[test]
fn settings_are_judged_as_they_are_read() {
    let schema = jsonschema::validator_for(&Schema::Settings.value()).unwrap();
    let rows = [
        (r#"{}"#, true),
        (r#"{"verbosity": 5}"#, true),
        (r#"{"verbosity": 6}"#, false),
        (r#"{"verbosity": "2"}"#, false),
        (r#"{"verbosty": 2}"#, false),
        (r#"{"x_note": 2, "$schema": "s"}"#, true),
        (r#"{"levels": {"base": {"model": "m", "base_url": "http://h:1/v1"}}}"#, true),
        (r#"{"levels": {"base": {"modle": "m"}}}"#, false),
        (r#"{"levels": {"base": {"base_url": "h:1/v1"}}}"#, false),
        (r#"{"levels": {"other": {}}}"#, false),
        (r#"{"keys": {"openai": "k"}}"#, true),
        (r#"{"approvals": {"tools": {"write_file": "deny"}}}"#, true),
        (r#"{"approvals": {"tools": {"write_file": "never"}}}"#, false),
        (r#"{"parameters": {"temperature": 2.5}}"#, false),
    ];
    for (text, fits) in rows {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(schema.is_valid(&value), fits, "{text}");
    }
    let text = Schema::Settings.text();
    for rule in RULES {
        assert!(text.contains(rule.about), "{} is not explained", rule.path);
    }
}
