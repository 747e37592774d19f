//! The strict server itself: it refuses what the real one refuses, and whatever would keep something there.

use serde_json::{Value, json};

use crate::support::model_server::responses::check_body;

fn user() -> Value {
    json!({"type": "message", "role": "user", "content": "U"})
}

fn assistant_message() -> Value {
    json!({"type": "message", "role": "assistant", "content": "A"})
}

fn call() -> Value {
    json!({"type": "function_call", "call_id": "1", "name": "r", "arguments": "{}"})
}

fn output() -> Value {
    json!({"type": "function_call_output", "call_id": "1", "output": "x"})
}

fn thought(sealed: &str) -> Value {
    json!({"type": "reasoning", "summary": [], "encrypted_content": sealed})
}

fn tool(strict: Value, schema: Value) -> Value {
    json!([{"type": "function", "name": "r", "strict": strict, "parameters": schema}])
}

fn valid_body() -> Value {
    json!({"model": "mock-1", "instructions": "S", "input": [user(), thought("enc-1"), call(), output()],
        "tools": tool(json!(false), json!({"type": "object", "properties": {}})), "tool_choice": "auto",
        "max_output_tokens": 2000, "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"], "store": false, "stream": true})
}

/// The good body with one field changed, or left out for null, is refused so.
fn assert_refused(rows: &[(&str, Value, &str)]) {
    for (key, value, why) in rows {
        let mut body = valid_body();
        if value.is_null() {
            body.as_object_mut().unwrap().remove(*key);
        } else {
            body[*key] = value.clone();
        }
        let told = check_body(&body).expect_err(&format!("{key} = {value}"));
        assert!(told.contains(why), "{key} = {value}: {told}");
    }
}

#[test]
fn fields_and_schemas_are_checked() {
    assert_eq!(check_body(&valid_body()), Ok(()));
    let (no, yes) = (json!(false), json!(true));
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let closed = |inner: Value| json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false});
    let rows = [
        ("model", Value::Null, "`model`"),
        ("frequency_penalty", json!(1), "unrecognized"),
        ("previous_response_id", json!("r"), "unrecognized"),
        ("store", Value::Null, "kept"),
        ("store", json!(true), "kept"),
        ("max_output_tokens", json!(15), "from 16"),
        ("temperature", json!(0.5), "unsupported parameter"),
        ("reasoning", Value::Null, "encrypted content is not supported"),
        ("reasoning", json!({"effort": "max"}), "unknown `max`"),
        ("include", json!(["everything"]), "unknown"),
        ("tools", Value::Null, "only allowed when tools"),
        ("tools", json!([]), "non-empty"),
        ("tools", tool(Value::Null, open.clone()), "whether it is strict"),
        ("tools", tool(no.clone(), json!({"type": "string"})), "must be object"),
        ("tools", tool(no.clone(), json!({"type": "object"})), "missing properties"),
        ("tools", tool(no.clone(), json!({"type": "object", "properties": {}, "anyOf": []})), "top level"),
        ("tools", tool(no, closed(json!({"type": "array"}))), "missing items"),
        ("tools", tool(yes.clone(), open), "additionalProperties"),
        (
            "tools",
            tool(yes.clone(), closed(json!({"type": "string", "minLength": 1}))),
            "not permitted in strict",
        ),
        ("tools", tool(yes, closed(json!({"type": "object", "properties": {}}))), "additionalProperties"),
        ("tool_choice", json!({"type": "function", "name": "x"}), "not offered"),
        ("tool_choice", json!("any"), "unknown tool_choice"),
    ];
    assert_refused(&rows);
    let mut plain = valid_body();
    plain.as_object_mut().unwrap().retain(|key, _| !["reasoning", "include"].contains(&key.as_str()));
    assert!(check_body(&plain).unwrap_err().contains("not supported with this model"));
}

#[test]
fn items_are_checked() {
    let odd = json!({"type": "message", "role": "system", "content": "S"});
    let with = |key: &str, value: Value, mut item: Value| {
        item[key] = value;
        item
    };
    let rows = [
        ("input", json!([]), "non-empty"),
        ("input", json!([odd]), "unknown role"),
        ("input", json!([with("content", json!(" "), user())]), "must not be empty"),
        ("input", json!([with("status", json!("completed"), assistant_message())]), "unrecognized"),
        ("input", json!([{"type": "item_reference", "id": "x"}]), "unknown type"),
        ("input", json!([user(), call()]), "no tool output"),
        ("input", json!([user(), call(), user()]), "no tool output"),
        ("input", json!([user(), output()]), "no tool call"),
        ("input", json!([user(), call(), output(), output()]), "no tool call"),
        ("input", json!([user(), call(), output(), call(), output()]), "duplicate call_id"),
        ("input", json!([user(), with("arguments", json!("[1]"), call()), output()]), "JSON object"),
        ("input", json!([user(), with("name", json!("a b"), call()), output()]), "function name"),
        ("input", json!([user(), with("output", json!(""), output())]), "no tool call"),
        ("input", json!([user(), thought("enc-1")]), "without its required following item"),
        ("input", json!([user(), thought("enc-1"), user()]), "without its required following item"),
        ("input", json!([user(), thought("x"), assistant_message()]), "could not be verified"),
        (
            "input",
            json!([user(), with("id", json!("rs_1"), thought("enc-1")), assistant_message()]),
            "not found",
        ),
        (
            "input",
            json!([user(), with("status", Value::Null, thought("enc-1")), assistant_message()]),
            "unrecognized",
        ),
    ];
    assert_refused(&rows);
}
