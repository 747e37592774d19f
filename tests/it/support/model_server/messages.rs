//! Anthropic's side of the model server: answers by the book, and what the real server refuses (`strict.rs`).

mod strict;

use serde_json::{Value, json};

use super::Behaviour;

pub use strict::{check_body, check_headers};

/// A streamed text, one event per word (10 prompt, 5 completion tokens).
pub fn text(text: &str) -> Behaviour {
    blocks_answer(&[text_block(text)], "end_turn")
}

/// Tool uses as (id, name, arguments), their arguments split over events of three characters.
pub fn calls(calls: &[(&str, &str, &str)]) -> Behaviour {
    let list: Vec<Value> =
        calls.iter().map(|(id, name, arguments)| call_block(id, name, arguments)).collect();
    blocks_answer(&list, "tool_use")
}

pub fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The arguments stand in `input` as the text that is streamed.
pub fn call_block(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
}

pub fn thinking_block(text: &str, signature: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": signature})
}

/// An answer of these blocks, with a ping in the middle.
pub fn blocks_answer(blocks: &[Value], stop: &str) -> Behaviour {
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": 1});
    answer_with_usage(blocks, stop, &usage)
}

/// The same with this usage at the start; the end always counts five tokens.
pub fn answer_with_usage(blocks: &[Value], stop: &str, usage: &Value) -> Behaviour {
    events(&parts(blocks, stop, usage))
}

/// An event stream of exactly these events.
pub fn events(events: &[Value]) -> Behaviour {
    Behaviour::raw_stream(&event_stream(events))
}

/// The bytes of a stream.
pub fn event_stream(events: &[Value]) -> String {
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}

/// Every event of an answer.
pub fn parts(blocks: &[Value], stop: &str, usage: &Value) -> Vec<Value> {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut events = vec![json!({"type": "message_start", "message": message}), json!({"type": "ping"})];
    for (index, block) in blocks.iter().enumerate() {
        let (opening, deltas) = pieces(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": opening}));
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// A block as it is opened, and what follows.
fn pieces(block: &Value) -> (Value, Vec<Value>) {
    let said = |key: &str| block[key].as_str().unwrap().to_owned();
    match block["type"].as_str().unwrap() {
        "text" => {
            let text = said("text");
            let deltas = text.split_inclusive(' ').map(|word| json!({"type": "text_delta", "text": word}));
            (text_block(""), deltas.collect())
        }
        "thinking" => {
            let think = json!({"type": "thinking_delta", "thinking": said("thinking")});
            let sign = json!({"type": "signature_delta", "signature": said("signature")});
            (thinking_block("", ""), vec![think, sign])
        }
        "tool_use" => {
            let letters: Vec<char> = said("input").chars().collect();
            let pieces = letters.chunks(3).map(|piece| piece.iter().collect::<String>());
            let deltas = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            let opening = json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}});
            (opening, deltas.collect())
        }
        _ => (block.clone(), Vec::new()),
    }
}
