use super::*;
use synthdev_domain::model::ModelReply;

fn decode_events(events: &[Value]) -> Result<ModelReply, ModelError> {
    let mut answer = ResponsesDecoder::default();
    for event in events {
        answer.decode_event("", &event.to_string(), "here")?;
    }
    assert!(answer.has_ended(), "{events:?}");
    answer.into_reply(40, 3)
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn piece(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": text})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "read", "arguments": arguments})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn thought(summary: &[&str], sealed: Value) -> Value {
    let summary: Vec<_> = summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    json!({"type": "reasoning", "id": "rs_1", "status": null, "summary": summary, "encrypted_content": sealed})
}

fn end() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": []}})
}

/// Text, reasoning, arguments of all calls, finish.
type ExpectedResponsesReply<'a> = (&'a str, &'a str, &'a [&'a str], FinishReason);

fn check_all(rows: &[(&str, Vec<Value>, ExpectedResponsesReply<'_>)]) {
    for (title, events, expected) in rows {
        check(title, &[events.as_slice(), &[end()]].concat(), *expected);
    }
}

fn check(title: &str, events: &[Value], expected: ExpectedResponsesReply<'_>) {
    let reply = decode_events(events).unwrap_or_else(|error| panic!("{title}: {error}"));
    let calls: Vec<&str> = reply.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str(), &calls[..], reply.finish),
        expected,
        "{title}"
    );
}

#[test]
fn pieces_and_wholes_find_their_place() {
    use FinishReason::{Stop, ToolCalls};
    let late =
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"p\":1}"});
    let rows = [
        (
            "whole items only",
            vec![done(0, message("Hi")), done(1, call("a", "{}"))],
            ("Hi", "", &["{}"][..], ToolCalls),
        ),
        (
            "a piece before its item",
            vec![piece("output_text", 0, "Hi"), added(0, message("")), done(0, message("Hi"))],
            ("Hi", "", &[], Stop),
        ),
        (
            "arguments before their call",
            vec![
                piece("function_call_arguments", 0, "{\"p\":"),
                added(0, call("a", "")),
                piece("function_call_arguments", 0, "1}"),
                done(0, call("a", "")),
            ],
            ("", "", &["{\"p\":1}"], ToolCalls),
        ),
        (
            "a lost piece",
            vec![added(0, call("a", "")), piece("function_call_arguments", 0, "{"), late],
            ("", "", &["{\"p\":1}"], ToolCalls),
        ),
        (
            "calls at once",
            vec![
                added(0, call("a", "")),
                added(1, call("b", "")),
                piece("function_call_arguments", 1, "{\"b"),
                piece("function_call_arguments", 0, "{}"),
                piece("function_call_arguments", 1, "\":2}"),
            ],
            ("", "", &["{}", "{\"b\":2}"], ToolCalls),
        ),
    ];
    check_all(&rows);
}

#[test]
fn items_make_one_answer() {
    use FinishReason::{Stop, ToolCalls};
    let both = json!({"type": "response.completed", "response": {"output": [message("A"), call("a", "{}")]}});
    let rows = [
        (
            "two messages",
            vec![done(0, message("A")), piece("output_text", 1, "B"), piece("output_text", 1, "C")],
            ("A\n\nBC", "", &[][..], Stop),
        ),
        (
            "thoughts",
            vec![
                piece("reasoning_summary_text", 0, "Hm"),
                piece("reasoning_text", 1, "So"),
                done(2, message("A")),
                done(3, thought(&["x", "y"], Value::Null)),
            ],
            ("A", "Hm\n\nSo\n\nx\n\ny", &[], Stop),
        ),
        (
            "things of the server's own",
            vec![
                done(0, json!({"type": "web_search_call"})),
                json!({"type": "response.new"}),
                done(1, message("A")),
            ],
            ("A", "", &[], Stop),
        ),
        ("only the end", vec![both], ("A", "", &["{}"], ToolCalls)),
    ];
    check_all(&rows);
}

#[test]
fn an_end_says_how_it_ended() {
    use FinishReason::{Length, Other};
    let ended = |status: &str, reason: &str| {
        let why = json!({"reason": reason});
        json!({"type": "response.incomplete", "response": {"status": status, "incomplete_details": why}})
    };
    let hi = done(0, message("Hi"));
    check("limit", &[hi.clone(), ended("incomplete", "max_output_tokens")], ("Hi", "", &[], Length));
    check(
        "limit in a call",
        &[done(0, call("a", "{\"p")), ended("incomplete", "max_output_tokens")],
        ("", "", &["{\"p"], Length),
    );
    check("bored", &[hi.clone(), ended("incomplete", "bored")], ("Hi", "", &[], Other));
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]});
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let rows = [
        (vec![hi.clone(), ended("incomplete", "content_filter")], "model.refusal", "content filter"),
        (vec![piece("refusal", 0, "I won't."), end()], "model.refusal", "I won't."),
        (vec![done(0, refusal), end()], "model.refusal", "I won't."),
        (vec![hi.clone(), ended("cancelled", "")], "model.overloaded", "gave up"),
        (vec![failed(json!({"code": "server_error", "message": "oops"}))], "model.overloaded", "oops"),
        (vec![failed(json!({"code": "rate_limit_exceeded", "message": "slow"}))], "model.rate_limit", "slow"),
        (vec![failed(Value::Null)], "model.protocol", "does not say why"),
        (
            vec![json!({"type": "error", "code": "server_error", "message": "oops"})],
            "model.overloaded",
            "oops",
        ),
        (
            vec![json!({"type": "error", "error": {"code": "context_length_exceeded"}})],
            "context_overflow",
            "context",
        ),
        (vec![done(0, thought(&["x"], Value::Null)), end()], "model.empty", "only thought"),
        (vec![ended("incomplete", "max_output_tokens")], "model.empty", "raise max_output_tokens"),
    ];
    for (events, code, says) in rows {
        let error = decode_events(&events).unwrap_err();
        assert_eq!((error.code(), error.to_string().contains(says)), (code, true), "{error}");
    }
}

#[test]
fn sealed_thoughts_stay_where_they_stood() {
    let sealed = |name: &str| thought(&["x"], json!(name));
    let events = [
        added(0, thought(&[], Value::Null)),
        done(0, sealed("one")),
        done(1, message("I look.")),
        added(2, thought(&[], Value::Null)),
        done(3, call("a", "{}")),
        done(2, sealed("two")),
        done(4, thought(&[], Value::Null)),
        end(),
    ];
    let reply = decode_events(&events).unwrap();
    let block = |name: &str| {
        json!({"type": "reasoning", "encrypted_content": name,
            "summary": [{"type": "summary_text", "text": "x"}]})
    };
    let expected =
        [OpaqueBlock { after: 0, block: block("one") }, OpaqueBlock { after: 1, block: block("two") }];
    assert_eq!(reply.sealed, expected);
    // Without a tool call no request needs them again.
    let reply = decode_events(&[done(0, sealed("one")), done(1, message("Hi")), end()]).unwrap();
    assert_eq!(reply.sealed, []);
}

#[test]
fn a_whole_response_is_read_and_counted() {
    let whole = json!({"object": "response", "model": "m-1", "status": "completed", "error": null,
        "output": [thought(&["Hm"], json!("x")), message("Hi"), call("a", "{}")],
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 8},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}});
    let reply = decode_events(&[whole]).unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str(), reply.sealed.len()), ("Hi", "Hm", 1));
    let usage = reply.usage;
    assert_eq!((usage.prompt, usage.completion, usage.cached, usage.reasoning), (10, 5, 8, 3));
    assert_eq!((reply.model.as_deref(), reply.usage_estimated), (Some("m-1"), false));
}
