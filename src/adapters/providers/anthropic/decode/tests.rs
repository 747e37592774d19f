use super::*;
use synthdev_domain::model::ModelReply;

fn decode_events(events: &[Value]) -> Result<ModelReply, ModelError> {
    let mut answer = AnthropicReplyDecoder::default();
    for event in events {
        answer.decode_event(event["type"].as_str().unwrap_or_default(), &event.to_string(), "here")?;
    }
    answer.into_reply(40, 3)
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn piece(index: u64, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}

fn call(index: u64, id: &str) -> Value {
    start(index, json!({"type": "tool_use", "id": id, "name": "read", "input": {}}))
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}})
}

fn open_text(index: u64) -> Value {
    start(index, json!({"type": "text", "text": ""}))
}

#[test]
fn every_reason_to_stop_has_its_word() {
    let rows = [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("pause_turn", FinishReason::Other),
        ("bored", FinishReason::Other),
    ];
    for (said, finish) in rows {
        let reply = decode_events(&[open_text(0), text(0, "Hi \"é\n\""), end(said)]).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("Hi \"é\n\"", finish), "{said}");
        let reply = decode_events(&[call(0, "a"), piece(0, "{}"), end(said)]).unwrap();
        let expected = if finish == FinishReason::Length { finish } else { FinishReason::ToolCalls };
        assert_eq!(reply.finish, expected, "{said}");
    }
    let error = decode_events(&[open_text(0), text(0, "Hi"), end("refusal")]).unwrap_err();
    assert_eq!(error.code(), "model.refusal");
    assert!(error.to_string().contains("after 2 characters"), "{error}");
}

#[test]
fn calls_are_put_together_however_they_come() {
    let whole = start(2, json!({"type": "tool_use", "id": "c", "name": "read", "input": {"q": 1}}));
    let rows = [
        (
            "by the book",
            vec![call(0, "a"), piece(0, ""), piece(0, "{\"p\""), piece(0, ":1}")],
            vec![("a", "{\"p\":1}")],
        ),
        (
            "two at a time",
            vec![call(0, "a"), call(1, "b"), piece(1, "{\"y\":"), piece(0, "{}"), piece(1, "2}")],
            vec![("a", "{}"), ("b", "{\"y\":2}")],
        ),
        ("one id twice", vec![call(0, "a"), call(1, "a")], vec![("a", "{}"), ("call_3_1", "{}")]),
        (
            "one index twice",
            vec![call(0, "a"), piece(0, "{}"), call(0, "b"), piece(0, "[]")],
            vec![("a", "{}"), ("b", "[]")],
        ),
        ("its pieces first", vec![piece(0, "{}"), call(0, "a")], vec![("a", "{}")]),
        ("no ids", vec![call(0, ""), call(1, "")], vec![("call_3_0", "{}"), ("call_3_1", "{}")]),
        ("whole at the start", vec![whole], vec![("c", "{\"q\":1}")]),
        ("cut off", vec![call(0, "a"), piece(0, "{\"p\": \"ab")], vec![("a", "{\"p\": \"ab")]),
    ];
    for (title, mut events, expected) in rows {
        events.push(end("tool_use"));
        let reply = decode_events(&events).unwrap();
        let found: Vec<_> =
            reply.tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
        assert_eq!(found, expected, "{title}");
    }
    // arguments of a call without a start
    assert_eq!(decode_events(&[piece(0, "{}"), end("tool_use")]).unwrap_err().code(), "model.protocol");
}

#[test]
fn signed_thoughts_are_kept_beside_calls_and_only_there() {
    let thinking = |index| start(index, json!({"type": "thinking", "thinking": "", "signature": ""}));
    let think = |index, text: &str| delta(index, json!({"type": "thinking_delta", "thinking": text}));
    let sign = |index, text: &str| delta(index, json!({"type": "signature_delta", "signature": text}));
    let hidden = json!({"type": "redacted_thinking", "data": "xyz"});
    let mut events = vec![
        thinking(0),
        think(0, "Let me "),
        think(0, "see."),
        sign(0, "si"),
        sign(0, "gned"),
        start(1, hidden.clone()),
        open_text(2),
        text(2, "I look."),
        thinking(3),
        think(3, "Now."),
        sign(3, "two"),
        call(4, "a"),
        open_text(5),
        text(5, "Done."),
    ];
    events.push(end("tool_use"));
    let reply = decode_events(&events).unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("I look.\n\nDone.", "Let me see.\n\nNow."));
    let signed =
        |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let expected = [
        OpaqueBlock { after: 0, block: signed("Let me see.", "signed") },
        OpaqueBlock { after: 0, block: hidden },
        OpaqueBlock { after: 1, block: signed("Now.", "two") },
    ];
    assert_eq!(reply.sealed, expected);

    let without_call =
        [thinking(0), think(0, "Hm"), sign(0, "s"), open_text(1), text(1, "Hi"), end("end_turn")];
    assert_eq!(decode_events(&without_call).unwrap().sealed, []);
    let unsigned = [start(0, json!({"type": "thinking"})), think(0, "Hm"), call(1, "a"), end("tool_use")];
    assert_eq!(decode_events(&unsigned).unwrap().sealed, []);
}

#[test]
fn what_is_no_answer_is_an_error() {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "x"}});
    let rows = [
        (vec![error("overloaded_error")], "model.overloaded"),
        (vec![error("api_error")], "model.overloaded"),
        (vec![error("rate_limit_error")], "model.rate_limit"),
        (vec![error("authentication_error")], "model.auth"),
        (vec![error("permission_error")], "model.auth"),
        (vec![error("invalid_request_error")], "model.protocol"),
        (vec![json!({"choices": [{"delta": {"content": "Hi"}}]})], "model.protocol"),
        (vec![end("end_turn")], "model.empty"),
        (vec![json!({"type": "ping"}), json!({"type": "new_thing"}), end("max_tokens")], "model.empty"),
    ];
    for (events, code) in rows {
        assert_eq!(decode_events(&events).unwrap_err().code(), code, "{events:?}");
    }
}
