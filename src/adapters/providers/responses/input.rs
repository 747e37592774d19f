//! A conversation as items: messages, calls, results of calls, and opaque reasoning blocks, all in one flat list.

use serde_json::{Value, json};

use crate::providers::opaque_reasoning::insert_sealed;
use crate::providers::tool_call_ids::CallIds;
use synthdev_domain::message::{ChatMessage, ChatRole};

/// What the protocol wants apart.
#[derive(Default, Debug)]
pub struct ResponsesInput {
    /// The system text.
    pub instructions: Option<String>,
    pub items: Vec<Value>,
}

/// Arranges messages that are in valid order already (`normalize_messages`).
pub fn arrange_messages(messages: Vec<ChatMessage>) -> ResponsesInput {
    let mut out = ResponsesInput::default();
    let mut ids = CallIds::default();
    for message in messages {
        match message.role {
            ChatRole::System => out.instructions = Some(message.content),
            ChatRole::User => out.items.push(text_item("user", &message.content)),
            ChatRole::Assistant => {
                let mut parts = Vec::with_capacity(1 + message.tool_calls.len());
                if !message.content.trim().is_empty() {
                    parts.push(text_item("assistant", &message.content));
                }
                let calls = message.tool_calls.iter().map(|call| {
                    let id = ids.assign_call_id(&call.id);
                    json!({ "type": "function_call", "call_id": id, "name": call.name, "arguments": call.arguments })
                });
                parts.extend(calls);
                out.items.extend(insert_sealed(parts, &message.sealed));
            }
            ChatRole::Tool => {
                let id = ids.take_result_id();
                let result =
                    json!({ "type": "function_call_output", "call_id": id, "output": message.content });
                out.items.push(result);
            }
        }
    }
    out
}

fn text_item(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": text })
}
