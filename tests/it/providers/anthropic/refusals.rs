//! The strict server itself: it refuses what the real one refuses.

use serde_json::{Value, json};

use crate::support::model_server::messages::{check_body, check_headers, text_block as text, thinking_block};

fn user() -> Value {
    json!({"role": "user", "content": [text("U")]})
}

fn assistant_message(blocks: Value) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn tool_use_message() -> Value {
    json!({"type": "tool_use", "id": "1", "name": "r", "input": {}})
}

fn signed_message() -> Value {
    assistant_message(json!([thinking_block("Hm", "sig-1"), tool_use_message()]))
}

fn result() -> Value {
    json!({"type": "tool_result", "tool_use_id": "1", "content": "x"})
}

fn results() -> Value {
    json!({"role": "user", "content": [result()]})
}

fn valid_body() -> Value {
    json!({"model": "m", "max_tokens": 2000, "stream": true, "messages": [user(), signed_message(), results()],
        "system": [text("S")], "tools": [{"name": "r", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto"}, "thinking": {"type": "enabled", "budget_tokens": 1024}})
}

/// The good body with one field changed, or left out for null, is refused so.
fn assert_refused(key: &str, value: Value, why: &str) {
    let mut body = valid_body();
    if value.is_null() {
        body.as_object_mut().unwrap().remove(key);
    } else {
        body[key] = value.clone();
    }
    let told = check_body(&body).expect_err(&format!("{key} = {value}"));
    assert!(told.contains(why), "{key} = {value}: {told}");
}

#[test]
fn fields_are_checked() {
    assert_eq!(check_body(&valid_body()), Ok(()));
    let tool = &valid_body()["tools"][0];
    let rows = [
        ("max_tokens", Value::Null, "max_tokens"),
        ("max_tokens", json!(1000), "greater than"),
        ("thinking", json!({"type": "enabled", "budget_tokens": 10}), "at least 1024"),
        ("thinking", Value::Null, "need thinking"),
        ("frequency_penalty", json!(1), "unrecognized"),
        ("temperature", json!(0.5), "sampling"),
        ("tools", Value::Null, "while providing tools"),
        ("tools", json!([{"name": "r", "input_schema": {}}]), "must be object"),
        ("tools", json!([{"name": "r", "input_schema": {"type": "object", "anyOf": []}}]), "top level"),
        ("tools", json!([tool, tool]), "unique"),
        ("tool_choice", json!({"type": "tool", "name": "x"}), "not found"),
        ("tool_choice", json!({"type": "any"}), "forces tool use"),
        ("tool_choice", json!("auto"), "object"),
    ];
    for (key, value, why) in rows {
        assert_refused(key, value, why);
    }
    let mut bare = valid_body();
    for key in ["tools", "tool_choice"] {
        bare.as_object_mut().unwrap().remove(key);
    }
    assert!(check_body(&bare).unwrap_err().contains("must define tools"));
}

#[test]
fn the_order_of_turns_and_blocks_is_checked() {
    let late = json!({"role": "user", "content": [text("first"), result()]});
    let forged = assistant_message(json!([thinking_block("Hm", "x"), tool_use_message()]));
    let thought = assistant_message(json!([thinking_block("Hm", "sig-1")]));
    let words = assistant_message(json!([text("A")]));
    let marked = vec![json!({"type": "text", "text": "U", "cache_control": {"type": "ephemeral"}}); 5];
    let rows = [
        (json!([]), "at least one"),
        (json!([signed_message(), results()]), "first message"),
        (json!([user(), user()]), "alternate"),
        (json!([{"role": "system", "content": "S"}]), "unexpected role"),
        (json!([user(), signed_message()]), "without `tool_result`"),
        (json!([user(), signed_message(), user()]), "immediately after"),
        (json!([user(), signed_message(), late]), "must come first"),
        (json!([user(), words, results()]), "unexpected `tool_use_id`"),
        (json!([user(), words]), "prefill"),
        (json!([user(), thought, user()]), "cannot be thinking"),
        (json!([user(), forged, results()]), "signature"),
        (json!([user(), assistant_message(json!([tool_use_message()])), results()]), "expected `thinking`"),
        (json!([user(), signed_message(), results(), signed_message(), results()]), "unique"),
        (json!([{"role": "user", "content": [text(" ")]}]), "non-whitespace"),
        (json!([{"role": "user", "content": ""}]), "non-empty"),
        (json!([{"role": "user", "content": marked}]), "maximum of 4"),
    ];
    for (messages, why) in rows {
        assert_refused("messages", messages, why);
    }
}

#[test]
fn headers_are_checked() {
    let version = ("anthropic-version".to_owned(), "2023-06-01".to_owned());
    assert_eq!(check_headers(&[version.clone()].into()), Ok(()));
    assert!(check_headers(&[].into()).is_err());
    assert!(check_headers(&[version, ("authorization".to_owned(), "Bearer x".to_owned())].into()).is_err());
}
