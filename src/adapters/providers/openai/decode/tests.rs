use std::sync::Mutex;

use serde_json::json;

use super::*;

fn read(events: &[Value]) -> Result<ModelReply, ModelError> {
    let mut answer = Answer::default();
    for event in events {
        answer.event("", &event.to_string(), "here")?;
    }
    answer.into_reply(40, 3)
}

/// Chunks that a typed reader refuses.
#[test]
fn deviations_are_read() {
    let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
    let end = |reason: Value| json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    let stop = FinishReason::Stop;
    let rows = [
        (
            "odd numbers",
            vec![json!({"id": 7, "created": 1.5, "model": null, "choices": [{"delta": {"content": "Hi"}}]})],
            "Hi",
            "",
            stop,
        ),
        (
            "delta null",
            vec![delta(Value::Null), delta(json!({"content": "Hi", "role": ""})), end(json!("eos"))],
            "Hi",
            "",
            stop,
        ),
        (
            "choices null",
            vec![json!({"choices": null}), delta(json!({"content": "Hi"})), end(json!(""))],
            "Hi",
            "",
            stop,
        ),
        (
            "choices empty",
            vec![json!({"choices": [], "prompt_filter_results": []}), delta(json!({"content": "Hi"}))],
            "Hi",
            "",
            stop,
        ),
        ("end_turn", vec![delta(json!({"content": "Hi"})), end(json!("end_turn"))], "Hi", "", stop),
        (
            "unknown reason",
            vec![delta(json!({"content": "Hi"})), end(json!("bored"))],
            "Hi",
            "",
            FinishReason::Other,
        ),
        (
            "MAX_TOKENS",
            vec![delta(json!({"content": "Hi"})), end(json!("MAX_TOKENS"))],
            "Hi",
            "",
            FinishReason::Length,
        ),
        (
            "parts",
            vec![delta(json!({"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Hi"}]}))],
            "Hi",
            "Hm",
            stop,
        ),
        (
            "reasoning_content",
            vec![delta(json!({"content": null, "reasoning_content": "Hm"})), delta(json!({"content": "Hi"}))],
            "Hi",
            "Hm",
            stop,
        ),
        (
            "reasoning beside content, after the first chunk",
            vec![
                delta(json!({"content": ""})),
                delta(json!({"content": "", "reasoning": "Hm"})),
                delta(json!({"content": "Hi"})),
            ],
            "Hi",
            "Hm",
            stop,
        ),
        (
            "usage in a text chunk",
            vec![
                delta(json!({"content": "H"})),
                json!({"choices": [{"delta": {"content": "i"}}], "usage": null}),
            ],
            "Hi",
            "",
            stop,
        ),
        (
            "service tier",
            vec![json!({"service_tier": "warp", "choices": [{"index": null, "delta": {"content": "Hi"}}]})],
            "Hi",
            "",
            stop,
        ),
        (
            "a message in a stream",
            vec![json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})],
            "Hi",
            "",
            stop,
        ),
        ("a ping", vec![json!({"type": "ping"}), delta(json!({"content": "Hi"}))], "Hi", "", stop),
        ("text of completions", vec![json!({"choices": [{"text": "Hi"}]})], "Hi", "", stop),
    ];
    for (title, events, text, reasoning, finish) in rows {
        let reply = read(&events).unwrap_or_else(|error| panic!("{title}: {error}"));
        let found = (reply.text.as_str(), reply.reasoning.as_str(), reply.finish);
        assert_eq!(found, (text, reasoning, finish), "{title}");
    }
}

#[test]
fn calls_come_with_any_reason_to_finish() {
    for reason in [json!("stop"), json!("tool_calls"), Value::Null, json!("")] {
        let call = json!({"id": "a", "type": "", "function": {"name": "read", "arguments": {"p": 1}}});
        let reply = read(&[json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": reason}]})])
            .unwrap();
        assert_eq!(reply.finish, FinishReason::ToolCalls, "{reason}");
        assert_eq!(reply.tool_calls[0].arguments, "{\"p\":1}");
    }
}

#[test]
fn what_is_no_answer_is_an_error() {
    let choice = |choice: Value| json!({"choices": [choice]});
    let rows = [
        (
            vec![choice(json!({"delta": {"content": " \n"}, "finish_reason": "stop"}))],
            "model.protocol",
            "nothing",
        ),
        (
            vec![choice(json!({"delta": {"reasoning": "Hm"}, "finish_reason": "stop"}))],
            "model.protocol",
            "thought",
        ),
        (vec![choice(json!({"delta": {}, "finish_reason": "length"}))], "model.protocol", "output limit"),
        (
            vec![choice(json!({"delta": {"content": "x"}, "finish_reason": "error"}))],
            "model.overloaded",
            "gave up",
        ),
        (vec![choice(json!({"error": {"message": "E", "code": 502}}))], "model.overloaded", "E"),
        (vec![choice(json!({"delta": {"refusal": "No."}}))], "model.refusal", "No."),
        (vec![json!({"detail": "E"})], "model.protocol", "E"),
        (vec![json!({"object": "error", "message": "E", "code": 500})], "model.overloaded", "E"),
    ];
    for (events, code, says) in rows {
        let error = read(&events).unwrap_err();
        assert_eq!(error.code(), code, "{events:?}: {error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn the_quick_way_hears_the_same_as_the_slow_one() {
    struct Heard(Mutex<String>);
    impl DeltaSink for Heard {
        fn delta(&self, kind: DeltaKind, text: &str) {
            assert_eq!(kind, DeltaKind::Text);
            self.0.lock().unwrap().push_str(text);
        }
    }
    let heard = Heard(Mutex::default());
    let mut answer = Answer::default();
    let chunk = |text: &str| {
        json!({"model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}], "usage": null}).to_string()
    };
    for text in ["He", "ll\u{f6}\n", "\"you\""] {
        answer.event("", &chunk(text), "here").unwrap();
        answer.tell(&heard);
    }
    assert!(answer.quick(&chunk("!")), "a usual chunk is quick");
    answer.tell(&heard);
    assert_eq!(heard.0.into_inner().unwrap(), "Hell\u{f6}\n\"you\"!");
    let tool = json!({"choices": [{"delta": {"content": "", "tool_calls": [{}]}}]}).to_string();
    assert!(!answer.quick(&tool));
}
