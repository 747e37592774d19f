//! Arranges messages as the turns of a request. User and model alternate; tool results and the user's text after them
//! share one user turn.

use serde_json::{Value, json};

use crate::providers::attached_images::AttachedImages;
use crate::providers::opaque_reasoning::insert_sealed;
use crate::providers::tool_call_ids::CallIds;
use synthdev_domain::message::{ChatMessage, ChatRole};

/// The parts of a conversation that the protocol wants in separate fields.
#[derive(Default, Debug)]
pub struct AnthropicConversation {
    /// Blocks of the system text; none or one.
    pub system: Vec<Value>,
    pub turns: Vec<AnthropicTurn>,
    /// Names of the tools that were used, each once, in order.
    pub used_tools: Vec<String>,
}

/// What one side says before the other does.
#[derive(Debug)]
pub struct AnthropicTurn {
    pub user: bool,
    pub blocks: Vec<Value>,
}

/// Arranges messages that are in valid order already (`normalize_messages`). `thoughts`: whether opaque reasoning
/// blocks are sent, too.
pub fn arrange_messages(
    messages: Vec<ChatMessage>,
    thoughts: bool,
    images: &AttachedImages,
) -> AnthropicConversation {
    let mut out = AnthropicConversation::default();
    let mut ids = CallIds::default();
    for message in messages {
        match message.role {
            ChatRole::System => out.system.push(text_block(&message.content)),
            ChatRole::User => out.add_blocks(true, text_and_images(&message.content, images)),
            ChatRole::Assistant => {
                let mut parts = Vec::with_capacity(1 + message.tool_calls.len());
                if !message.content.trim().is_empty() {
                    parts.push(text_block(&message.content));
                }
                for call in &message.tool_calls {
                    let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
                    let id = ids.assign_call_id(&call.id);
                    parts.push(json!({ "type": "tool_use", "id": id, "name": call.name, "input": input }));
                    if !out.used_tools.contains(&call.name) {
                        out.used_tools.push(call.name.clone());
                    }
                }
                let sealed = if thoughts { &message.sealed[..] } else { &[] };
                out.add_blocks(false, insert_sealed(parts, sealed));
            }
            ChatRole::Tool => {
                let mut blocks = text_and_images(&message.content, images);
                let content =
                    if blocks.len() > 1 { Value::Array(blocks) } else { blocks.remove(0)["text"].take() };
                let result =
                    json!({ "type": "tool_result", "tool_use_id": ids.take_result_id(), "content": content });
                out.add_blocks(true, vec![result]);
            }
        }
    }
    out
}

/// Whether the last turn of the model calls tools and did not begin with an opaque reasoning block: a model that thinks
/// with a budget of tokens refuses thinking in the middle of such a turn.
pub fn lacks_signed_thought(messages: &[ChatMessage]) -> bool {
    let Some(mut at) = messages.iter().rposition(|message| message.role == ChatRole::Assistant) else {
        return false;
    };
    if messages[at].tool_calls.is_empty() {
        return false;
    }
    // Calls that follow directly on results belong to the same turn of the model.
    while at > 0 && messages[at - 1].role == ChatRole::Tool {
        let before = messages[..at].iter().rposition(|message| message.role == ChatRole::Assistant);
        let Some(before) = before else { break };
        at = before;
    }
    !messages[at].sealed.iter().any(|sealed| sealed.after == 0)
}

impl AnthropicConversation {
    /// Adds blocks to the current turn, or starts a turn of the other side.
    fn add_blocks(&mut self, user: bool, blocks: Vec<Value>) {
        match self.turns.last_mut() {
            Some(last) if last.user == user => last.blocks.extend(blocks),
            Some(_) | None => self.turns.push(AnthropicTurn { user, blocks }),
        }
    }
}

/// The text, then its images.
fn text_and_images(text: &str, images: &AttachedImages) -> Vec<Value> {
    let image_blocks = images.images_of(text).into_iter().map(|image| {
        let source = json!({ "type": "base64", "media_type": image.media_type, "data": image.data });
        json!({ "type": "image", "source": source })
    });
    std::iter::once(text_block(text)).chain(image_blocks).collect()
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[cfg(test)]
#[path = "conversation/tests.rs"]
mod tests;
