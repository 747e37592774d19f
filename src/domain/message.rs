//! What goes to a model and what comes back, independent of any provider's wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::protocol::ModelProtocol;
use super::secret::SecretText;

/// User message for a conversation that would start with the assistant.
pub const BEGIN: &str = "Begin.";

/// The role a message has in a request. (A persona is a `Role`, a place in a context is a `ConversationSide`.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    System,
    User,
    Assistant,
    Tool,
}

impl ChatRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A call that a model asked for. `arguments` is the text as the model sent it: it may be invalid JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
    /// The arguments as the model sent them, where a key in `arguments` is hidden. They are what is executed. Kept in
    /// memory only: a run that is resumed from its record does not have them.
    #[serde(skip)]
    pub original: Option<SecretText>,
}

/// An opaque reasoning block: encrypted or signed reasoning that only its provider can decrypt or verify. Some
/// providers want it back, unchanged, as long as the calls beside it are in the conversation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpaqueBlock {
    /// How many readable parts come before it: the text, then each call.
    #[serde(default)]
    pub after: usize,
    /// As the provider sent it.
    pub block: Value,
}

impl OpaqueBlock {
    /// Whether it is sent back to servers of this protocol.
    pub fn is_for(&self, protocol: ModelProtocol) -> bool {
        self.block["type"].as_str().is_some_and(|kind| protocol.opaque_block_types().contains(&kind))
    }

    /// Every text in it that is sent, and whether it is readable: signed reasoning is, encrypted reasoning is not.
    pub fn for_each_text(&self, tell: &mut dyn FnMut(&str, bool)) {
        each_text(&self.block, "", tell);
    }

    /// Characters of all that.
    pub fn length(&self) -> usize {
        let mut length = 0;
        self.for_each_text(&mut |text, _| length += text.chars().count());
        length
    }
}

/// `key`: the member that the value is.
fn each_text(value: &Value, key: &str, tell: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(_) if key == "type" => {}
        Value::String(text) => tell(text, ["thinking", "text"].contains(&key)),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, key, tell)),
        Value::Object(members) => members.iter().for_each(|(key, value)| each_text(value, key, tell)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// One message of a request. Invariants (kept by `engine::prompt`): a `Tool` message follows the assistant
/// message that holds its call, in order; `content` is never empty unless calls are present.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: ChatRole,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For `Tool`: the call whose result this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Opaque reasoning blocks that the provider wants back with the assistant's calls. `sealed` is an older name;
    /// stored runs use it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<OpaqueBlock>,
}

impl ChatMessage {
    pub fn text(role: ChatRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None, sealed: Vec::new() }
    }

    pub fn tool_result(id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Tool,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: Some(id.into()),
            sealed: Vec::new(),
        }
    }
}
