use std::sync::Mutex;

use serde_json::json;

use super::*;
use synthdev_domain::model::{DeltaKind, ModelReply};
use synthdev_ports::model::DeltaSink;

fn decode_events(events: &[Value]) -> Result<ModelReply, ModelError> {
    let mut answer = ChatCompletionDecoder::default();
    for event in events {
        answer.decode_event("", &event.to_string(), "here")?;
    }
    answer.into_reply(40, 3)
}

fn delta_event(delta: Value) -> Value {
    json!({"choices": [{"delta": delta}]})
}

fn end_event(reason: Value) -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]})
}

fn short_text_event() -> Value {
    delta_event(json!({"content": "Hi"}))
}

/// Chunks that a typed reader refuses.
#[test]
fn odd_envelopes_are_read() {
    let odd = json!({"id": 7, "created": 1.5, "model": null, "choices": [{"delta": {"content": "Hi"}}]});
    let tier = json!({"service_tier": "warp", "choices": [{"index": null, "delta": {"content": "Hi"}}]});
    let message = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    let rows = [
        ("odd numbers", vec![odd], FinishReason::Stop),
        (
            "delta null",
            vec![delta_event(Value::Null), short_text_event(), end_event(json!("eos"))],
            FinishReason::Stop,
        ),
        (
            "choices null",
            vec![json!({"choices": null}), short_text_event(), end_event(json!(""))],
            FinishReason::Stop,
        ),
        ("choices empty", vec![json!({"choices": [], "x": []}), short_text_event()], FinishReason::Stop),
        ("end_turn", vec![short_text_event(), end_event(json!("end_turn"))], FinishReason::Stop),
        ("unknown reason", vec![short_text_event(), end_event(json!("bored"))], FinishReason::Other),
        ("MAX_TOKENS", vec![short_text_event(), end_event(json!("MAX_TOKENS"))], FinishReason::Length),
        ("service tier", vec![tier], FinishReason::Stop),
        ("a message in a stream", vec![message], FinishReason::Stop),
        ("a ping", vec![json!({"type": "ping"}), short_text_event()], FinishReason::Stop),
        ("text of completions", vec![json!({"choices": [{"text": "Hi"}]})], FinishReason::Stop),
    ];
    for (title, events, finish) in rows {
        let reply = decode_events(&events).unwrap_or_else(|error| panic!("{title}: {error}"));
        assert_eq!((reply.text.as_str(), reply.finish), ("Hi", finish), "{title}");
    }
}

#[test]
fn thoughts_are_kept_apart_in_every_dialect() {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]});
    let rows = [
        vec![delta_event(json!({"content": [thinking, {"type": "text", "text": "Hi"}]}))],
        vec![delta_event(json!({"content": null, "reasoning_content": "Hm"})), short_text_event()],
        // After the first chunk the quick way must let these pass to the slow one.
        vec![
            delta_event(json!({"content": ""})),
            delta_event(json!({"content": "", "reasoning": "Hm"})),
            short_text_event(),
        ],
        vec![
            delta_event(json!({"content": ""})),
            delta_event(json!({"content": "", "reasoning_content": "Hm"})),
            short_text_event(),
        ],
        vec![delta_event(json!({"reasoning": "Hm", "reasoning_content": null})), short_text_event()],
    ];
    for events in rows {
        let reply = decode_events(&events).unwrap();
        assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("Hi", "Hm"), "{events:?}");
    }
}

#[test]
fn calls_come_with_any_reason_to_finish() {
    for reason in [json!("stop"), json!("tool_calls"), Value::Null, json!("")] {
        let call = json!({"id": "a", "type": "", "function": {"name": "read", "arguments": {"p": 1}}});
        let reply = decode_events(&[
            json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": reason}]}),
        ])
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
            "model.empty",
            "nothing",
        ),
        (
            vec![choice(json!({"delta": {"reasoning": "Hm"}, "finish_reason": "stop"}))],
            "model.empty",
            "thought",
        ),
        (vec![choice(json!({"delta": {}, "finish_reason": "length"}))], "model.empty", "output limit"),
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
        let error = decode_events(&events).unwrap_err();
        assert_eq!(error.code(), code, "{events:?}: {error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn the_quick_way_hears_the_same_as_the_slow_one() {
    struct ChatTextCollector(Mutex<String>);
    impl DeltaSink for ChatTextCollector {
        fn delta(&self, kind: DeltaKind, text: &str) {
            assert_eq!(kind, DeltaKind::Text);
            self.0.lock().unwrap().push_str(text);
        }
    }
    let heard = ChatTextCollector(Mutex::default());
    let mut answer = ChatCompletionDecoder::default();
    let chunk = |text: &str| {
        json!({"model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}], "usage": null}).to_string()
    };
    for text in ["He", "ll\u{f6}\n", "\"you\""] {
        answer.decode_event("", &chunk(text), "here").unwrap();
        answer.reply_mut().flush_deltas(&heard);
    }
    assert!(answer.decode_text_event("", &chunk("!")), "a usual chunk is quick");
    answer.reply_mut().flush_deltas(&heard);
    assert_eq!(heard.0.into_inner().unwrap(), "Hell\u{f6}\n\"you\"!");
    let tool = json!({"choices": [{"delta": {"content": "", "tool_calls": [{}]}}]}).to_string();
    assert!(!answer.decode_text_event("", &tool));
}
