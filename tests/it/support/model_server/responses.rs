//! The Responses side of the model server: answers by the book, and what the real server refuses (`strict.rs`).

mod strict;

use serde_json::{Value, json};

use super::Behaviour;

pub use strict::check_body;

/// A streamed text, one event per word (10 input, 5 output tokens).
pub fn text(text: &str) -> Behaviour {
    items(&[message(text)])
}

/// Function calls as (id, name, arguments), their arguments split over events of three characters.
pub fn calls(calls: &[(&str, &str, &str)]) -> Behaviour {
    let list: Vec<Value> = calls.iter().map(|(id, name, arguments)| call(id, name, arguments)).collect();
    items(&list)
}

pub fn message(text: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]})
}

pub fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "status": "completed", "call_id": id, "name": name,
        "arguments": arguments})
}

/// A thought; `sealed` begins with `enc-`, or this server does not know it again.
pub fn reasoning(summary: &str, sealed: &str) -> Value {
    let summary = json!([{"type": "summary_text", "text": summary}]);
    json!({"type": "reasoning", "id": "rs_1", "status": null, "summary": summary, "encrypted_content": sealed})
}

/// An answer of these items.
pub fn items(items: &[Value]) -> Behaviour {
    events(&parts(items, ""))
}

/// An event stream of exactly these events.
pub fn events(events: &[Value]) -> Behaviour {
    Behaviour::raw_stream(&super::messages::event_stream(events))
}

/// Every event of an answer; `cut`: why it is incomplete, if it is.
pub fn parts(items: &[Value], cut: &str) -> Vec<Value> {
    let (status, why) =
        if cut.is_empty() { ("completed", Value::Null) } else { ("incomplete", json!({"reason": cut})) };
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": status, "error": null,
            "incomplete_details": if status == "incomplete" { why.clone() } else { Value::Null },
            "model": "mock-1", "output": output, "store": false, "usage": usage})
    };
    let begun = response("in_progress", &[], Value::Null);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in items.iter().enumerate() {
        pieces(item, &mut |kind: &str, mut event: Value| {
            event["type"] = json!(format!("response.{kind}"));
            event["output_index"] = json!(index);
            event["item_id"] = item["id"].clone();
            events.push(event);
        });
    }
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15});
    let last = response(status, items, usage);
    events.push(json!({"type": format!("response.{status}"), "response": last}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

/// An item from its beginning to its end.
fn pieces(item: &Value, tell: &mut dyn FnMut(&str, Value)) {
    let mut opening = item.clone();
    let said = |path: &str| item.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    match item["type"].as_str().unwrap() {
        "message" => {
            opening["content"] = json!([]);
            tell("output_item.added", json!({"item": opening}));
            let refusal = said("/content/0/type") == "refusal";
            let (kind, text) =
                if refusal { ("refusal", "/content/0/refusal") } else { ("output_text", "/content/0/text") };
            tell("content_part.added", json!({"content_index": 0, "part": {"type": kind}}));
            for word in said(text).split_inclusive(' ') {
                tell(&format!("{kind}.delta"), json!({"content_index": 0, "delta": word}));
            }
            tell(&format!("{kind}.done"), json!({"content_index": 0, "text": said(text)}));
            tell("content_part.done", json!({"content_index": 0, "part": item["content"][0]}));
        }
        "function_call" => {
            opening["arguments"] = json!("");
            tell("output_item.added", json!({"item": opening}));
            let letters: Vec<char> = said("/arguments").chars().collect();
            for piece in letters.chunks(3) {
                tell("function_call_arguments.delta", json!({"delta": piece.iter().collect::<String>()}));
            }
            tell("function_call_arguments.done", json!({"arguments": item["arguments"]}));
        }
        "reasoning" => {
            opening["summary"] = json!([]);
            opening["encrypted_content"] = Value::Null;
            tell("output_item.added", json!({"item": opening}));
            tell(
                "reasoning_summary_part.added",
                json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
            );
            tell(
                "reasoning_summary_text.delta",
                json!({"summary_index": 0, "delta": said("/summary/0/text")}),
            );
            tell("reasoning_summary_text.done", json!({"summary_index": 0, "text": said("/summary/0/text")}));
            tell("reasoning_summary_part.done", json!({"summary_index": 0, "part": item["summary"][0]}));
        }
        _ => tell("output_item.added", json!({"item": opening})),
    }
    tell("output_item.done", json!({"item": item}));
}
