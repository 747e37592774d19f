//! No word that a field can be without a case that has it: the words are those of the schema that editors read.

use std::collections::BTreeSet;

use serde_json::Value;
use synthdev::settings::schema::FileSchema;

use super::coverage::{all_cases, runs};

type Words = BTreeSet<(String, String)>;

#[test]
fn no_word_without_a_case() {
    let mut known = Words::new();
    collect_offered(&FileSchema::Workflow.value(), None, &mut known);
    assert!(known.len() > 80, "the schema holds its words elsewhere: {known:?}");
    let mut used = Words::new();
    all_cases()
        .iter()
        .filter(|(_, _, case)| runs(case))
        .for_each(|(_, _, case)| collect_used(&case["workflows"], &mut used));
    let missing: Vec<String> = known.difference(&used).map(|(key, word)| format!("{key}: {word}")).collect();
    assert_eq!(missing, Vec::<String>::new(), "words without a case");
}

/// Every word that a schema allows, by its key; `key*` for the values of an object of free names.
fn collect_offered(schema: &Value, key: Option<&str>, words: &mut Words) {
    match schema {
        Value::Object(members) => {
            for (word, value) in members {
                let inner = value.as_object().into_iter().flatten();
                match word.as_str() {
                    "enum" | "const" => {
                        let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                        let named = all.iter().filter_map(|one| Some((key?.to_owned(), one.to_string())));
                        words.extend(named);
                    }
                    "properties" => inner.for_each(|(key, value)| collect_offered(value, Some(key), words)),
                    "$defs" => inner.for_each(|(_, value)| collect_offered(value, None, words)),
                    "anyOf" | "oneOf" | "allOf" | "items" => collect_offered(value, key, words),
                    "additionalProperties" => {
                        collect_offered(value, key.map(|key| format!("{key}*")).as_deref(), words);
                    }
                    "default" | "examples" => {}
                    _ => collect_offered(value, None, words),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_offered(item, key, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn collect_used(value: &Value, words: &mut Words) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                words.insert((key.clone(), value.to_string()));
                for one in value.as_array().into_iter().flatten() {
                    words.insert((key.clone(), one.to_string()));
                }
                for one in value.as_object().into_iter().flat_map(|members| members.values()) {
                    words.insert((format!("{key}*"), one.to_string()));
                }
                collect_used(value, words);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_used(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
