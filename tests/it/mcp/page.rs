//! The exchanges of `docs/protocol.md` are what happens (DOC-6).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::Client;
use super::flows::world;

const PAGE: &str = include_str!("../../../docs/protocol.md");

fn fenced(kind: &str) -> Vec<&'static str> {
    let opening = format!("```{kind}\n");
    PAGE.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_page_tells_what_is_said() {
    let flows: Vec<Value> =
        fenced("json").into_iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let world = world(&flows);
    let mut client = Client::start(&world, &["--provider", "agentllm"]);
    let mut values = BTreeMap::new();
    let mut exchanges = 0;
    for line in fenced("mcp").into_iter().flat_map(str::lines) {
        exchanges += 1;
        if let Some(sent) = line.strip_prefix("> ") {
            let filled = values.iter().fold(sent.to_owned(), |text, (name, value): (&String, &Value)| {
                value.as_str().map_or(text.clone(), |value| {
                    text.replace(&format!("\"{name}\""), &json!(value).to_string())
                })
            });
            client.send(&filled);
        } else {
            let expected: Value = serde_json::from_str(line.strip_prefix("< ").unwrap()).unwrap();
            let said = client.read();
            assert!(same(&expected, &said, &mut values), "the page says\n{expected}\nthe server\n{said}");
        }
    }
    assert!(exchanges > 20, "{exchanges}");
    client.close();
}

/// Whether both are the same, where `$name` is whatever was said there first.
fn same(expected: &Value, said: &Value, values: &mut BTreeMap<String, Value>) -> bool {
    match (expected, said) {
        (Value::String(name), said) if name.starts_with('$') => {
            values.entry(name.clone()).or_insert_with(|| said.clone()) == said
        }
        (Value::Object(expected), Value::Object(said)) => {
            expected.len() == said.len()
                && expected
                    .iter()
                    .all(|(key, value)| said.get(key).is_some_and(|said| same(value, said, values)))
        }
        (Value::Array(expected), Value::Array(said)) => {
            expected.len() == said.len()
                && expected.iter().zip(said).all(|(one, other)| same(one, other, values))
        }
        (one, other) => one == other,
    }
}
