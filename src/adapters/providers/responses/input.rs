//! A conversation as items: messages, calls, results of calls, and opaque reasoning blocks, all in one flat list.

use serde_json::{Value, json};

use crate::providers::attached_images::AttachedImages;
use crate::providers::opaque_reasoning::insert_sealed;
use crate::providers::tool_call_ids::CallIds;
use synthdev_domain::message::{ChatMessage, ChatRole};

/// The parts of a conversation that the protocol wants in separate fields.
#[derive(Default, Debug)]
pub struct ResponsesInput {
    /// The system text.
    pub instructions: Option<String>,
    pub items: Vec<Value>,
}

/// Arranges messages that are in valid order already (`normalize_messages`).
pub fn arrange_messages(messages: Vec<ChatMessage>, images: &AttachedImages) -> ResponsesInput {
    let mut out = ResponsesInput::default();
    let mut ids = CallIds::default();
    for message in messages {
        match message.role {
            ChatRole::System => out.instructions = Some(message.content),
            ChatRole::User => {
                let content = text_and_images(&message.content, images);
                out.items.push(json!({ "type": "message", "role": "user", "content": content }));
            }
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
                let output = text_and_images(&message.content, images);
                out.items.push(json!({ "type": "function_call_output", "call_id": id, "output": output }));
            }
        }
    }
    out
}

/// A text; a list of parts where it has images.
fn text_and_images(text: &str, images: &AttachedImages) -> Value {
    let sent = images.images_of(text);
    if sent.is_empty() {
        return text.into();
    }
    let image_parts =
        sent.into_iter().map(|image| json!({ "type": "input_image", "image_url": image.data_url() }));
    std::iter::once(json!({ "type": "input_text", "text": text })).chain(image_parts).collect()
}

fn text_item(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": text })
}
