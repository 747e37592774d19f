use std::collections::BTreeSet;

use super::*;
use crate::layers::rules::RULES;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::key_declaration::KeyDeclaration;
use synthdev_language::source::SourceFile;
use synthdev_language::workflow_file::declared_keys::{OBJECTS, state_types, step_types};

/// The keys that an object of a schema explains.
fn explained<'s>(schema: &'s Value, object: &str) -> Vec<&'s str> {
    let properties = schema["$defs"][object]["properties"].as_object();
    properties.into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

#[test]
fn test_files_are_explained_as_they_are_read() {
    let schema = FileSchema::Test.value();
    for (object, keys) in synthdev_language::test_file::VOCABULARY {
        let explained: BTreeSet<&str> = explained(&schema, object).into_iter().collect();
        assert_eq!(explained, keys.iter().copied().collect::<BTreeSet<_>>(), "{object}");
    }
}

/// Keys with an example, each with its object.
fn declared_examples() -> Vec<(String, &'static KeyDeclaration)> {
    let objects = OBJECTS.into_iter().map(|object| (object.name.to_owned(), object.keys.iter().collect()));
    let table = |word: &str, noun| format!("{}_{noun}", if word.is_empty() { "plain" } else { word });
    let states = state_types().map(|kind| (table(kind.word, "state"), kind.keys().collect()));
    let steps = step_types().map(|kind| (table(kind.word, "step"), kind.keys().collect()));
    let all = objects.chain(states).chain(steps);
    let keys = |(object, keys): (String, Vec<&'static KeyDeclaration>)| {
        keys.into_iter().map(move |key| (object.clone(), key))
    };
    all.flat_map(keys).filter(|(_, key)| key.example.is_some()).collect()
}

#[test]
fn declared_examples_fit_the_shape_of_their_key() {
    let schema = FileSchema::Workflow.value();
    let examples = declared_examples();
    assert!(!examples.is_empty());
    for (object, key) in examples {
        let path = format!("#/$defs/{object}/properties/{}", key.name);
        let shape = jsonschema::validator_for(&json!({"$defs": schema["$defs"], "$ref": path})).unwrap();
        let example: Value = serde_json::from_str(key.example.unwrap()).unwrap();
        assert!(shape.is_valid(&example), "{object}.{}: {example}", key.name);
    }
}

#[test]
fn the_schema_of_roles_has_the_keys_that_are_read() {
    let schema = FileSchema::Role.value();
    let explained = explained(&schema, "role");
    assert_eq!(explained.len(), crate::role_file::KEYS.len());
    assert!(crate::role_file::KEYS.iter().all(|key| explained.contains(key)));
}

/// The shape below a key of every object that a schema of free names has there.
fn named_shape<'s>(object: &'s Value, key: &str) -> &'s Value {
    let patterns = object["properties"][key]["patternProperties"].as_object().unwrap();
    patterns.values().find(|shape| shape.is_object()).unwrap()
}

#[test]
fn the_schema_of_models_has_the_keys_that_are_read() {
    use crate::models::models_file::{MODEL_KEYS, PROVIDER_KEYS};

    let schema = FileSchema::Models.value();
    let provider = named_shape(&schema, "providers");
    let model = named_shape(provider, "models");
    for (object, keys) in [(provider, PROVIDER_KEYS), (model, MODEL_KEYS)] {
        let properties = object["properties"].as_object().unwrap();
        let known: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(known, keys.iter().copied().collect());
        assert!(properties.values().all(|key| key["description"].as_str().unwrap().ends_with('.')));
    }
}

#[test]
fn models_are_judged_as_they_are_read() {
    let schema = jsonschema::validator_for(&FileSchema::Models.value()).unwrap();
    let rows = [
        (r#"{}"#, true),
        (r#"{"$schema": "s", "x_note": 1, "providers": {"x_note": 1}}"#, true),
        (r#"{"provider": {}}"#, false),
        (r#"{"providers": {"a": {"base_url": "http://h:1/v1", "key_env": "A", "needs_key": false}}}"#, true),
        (r#"{"providers": {"a": {"base_url": "h:1"}}}"#, false),
        (r#"{"providers": {"a": {"base_urll": "http://h"}}}"#, false),
        (r#"{"providers": {"a": {"protocol": "antropic"}}}"#, false),
        (r#"{"providers": {"a": {"accepts": ["temprature"]}}}"#, false),
        (r#"{"providers": {"a": {"prices": {"input": 1, "output": null}}}}"#, true),
        (r#"{"providers": {"a": {"prices": {"input": -1}}}}"#, false),
        (r#"{"providers": {"a": {"prices": {"cache": 1}}}}"#, false),
        (r#"{"providers": {"a": {"models": {"m": {"prices": null, "x_note": 1}}}}}"#, true),
        (
            r#"{"providers": {"a": {"base_url": null, "protocol": null, "models": {"m": {"max_output": null}}}}}"#,
            true,
        ),
        (r#"{"providers": {"a": {"models": {"m": {"context_size": 0}}}}}"#, false),
        (r#"{"providers": {"a": {"models": {"m": {"parameters": {"top_q": 1}}}}}}"#, false),
        (r#"{"providers": {"a": {"models": {"m": {"decisions": "structured_output"}}}}}"#, true),
    ];
    for (text, fits) in rows {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(schema.is_valid(&value), fits, "{text}");
        let file = SourceFile::new(ConfigLayer::User, "models.json", text);
        let found = crate::models::models_file::load_providers(&[file]).1;
        // half a price is a matter of all files together
        let refused = found.iter().any(|one| !one.message.contains("stays unknown"));
        assert_eq!(!refused, fits, "the reader: {text}: {found:?}");
    }
}

#[test]
fn every_key_and_word_is_explained_in_a_sentence() {
    for schema in FileSchema::ALL {
        let value = schema.value();
        for (object, definition) in value["$defs"].as_object().into_iter().flatten() {
            let about = definition["description"].as_str().unwrap_or_default();
            assert!(about.ends_with('.'), "{}: {object}: {about}", schema.name());
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                let about = property["description"].as_str().unwrap_or_default();
                assert!(about.ends_with(['.', ',']), "{}: {object}.{key}: {about}", schema.name());
                for word in property["oneOf"].as_array().into_iter().flatten() {
                    let about = word["description"].as_str().unwrap_or_default();
                    assert!(!about.is_empty(), "{}: {object}.{key}: {word}", schema.name());
                }
            }
            for required in definition["required"].as_array().into_iter().flatten() {
                let there = definition["properties"].get(required.as_str().unwrap()).is_some();
                assert!(there, "{}: {object} requires {required}", schema.name());
            }
        }
    }
}

#[test]
fn every_reference_has_its_definition_and_every_schema_is_one() {
    for schema in FileSchema::ALL {
        let value = schema.value();
        let mut found = Vec::new();
        shape::collect_references(&value, &mut found);
        for name in found {
            assert!(value["$defs"].get(&name).is_some(), "{}: {name}", schema.name());
        }
        jsonschema::draft202012::meta::validate(&value).unwrap();
    }
}

/// A schema's judgement of a value as the settings of the table see it.
#[test]
fn settings_are_judged_as_they_are_read() {
    let schema = jsonschema::validator_for(&FileSchema::Settings.value()).unwrap();
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
    let text = FileSchema::Settings.text();
    for rule in RULES {
        assert!(text.contains(rule.description), "{} is not explained", rule.path);
    }
}
