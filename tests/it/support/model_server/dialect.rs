//! The protocols that a server speaks, each with its words for the same things.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use synthdev::domain::model::ModelReply;
use synthdev::domain::protocol::ModelProtocol;

use super::{Behaviour, messages, responses, strict};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    #[default]
    Completions,
    Responses,
    Messages,
}

impl Dialect {
    pub const ALL: [Self; 3] = [Self::Completions, Self::Responses, Self::Messages];

    pub fn protocol(self) -> ModelProtocol {
        match self {
            Self::Completions => ModelProtocol::Chat,
            Self::Responses => ModelProtocol::Responses,
            Self::Messages => ModelProtocol::Anthropic,
        }
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::Completions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// Why a strict provider refuses a request.
    pub fn check_request(self, headers: &BTreeMap<String, String>, body: &Value) -> Result<(), String> {
        match self {
            Self::Completions => strict::check_body(body),
            Self::Responses => responses::check_body(body),
            Self::Messages => messages::check_headers(headers).and_then(|()| messages::check_body(body)),
        }
    }

    /// The body of an error.
    pub fn error(self, kind: &str, message: &str) -> String {
        let error = json!({"message": message, "type": kind, "code": kind});
        match self {
            Self::Completions | Self::Responses => json!({ "error": error }).to_string(),
            Self::Messages => {
                json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
            }
        }
    }

    /// A streamed text (10 prompt, 5 completion tokens).
    pub fn text(self, text: &str) -> Behaviour {
        match self {
            Self::Completions => Behaviour::text(text),
            Self::Responses => responses::text(text),
            Self::Messages => messages::text(text),
        }
    }

    /// Tool calls as (id, name, arguments), their arguments in pieces of three characters.
    pub fn calls(self, calls: &[(&str, &str, &str)]) -> Behaviour {
        match self {
            Self::Completions => Behaviour::calls(calls),
            Self::Responses => responses::calls(calls),
            Self::Messages => messages::calls(calls),
        }
    }

    /// Whatever a model may say: thoughts, a text, calls, each if there are any. Thoughts beside calls are sealed where
    /// the protocol seals them.
    pub fn render_reply(self, reply: &ModelReply) -> Behaviour {
        let calls = reply.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments));
        let (thought, text) = (&*reply.reasoning, &*reply.text);
        let mut parts: Vec<Value> = Vec::new();
        match self {
            Self::Completions => {
                parts.extend(some_text(thought).map(|text| json!({ "reasoning_content": text })));
                parts.extend(text.split_inclusive(' ').map(|word| json!({ "content": word })));
                parts.extend(Behaviour::call_chunks(&calls.collect::<Vec<_>>()));
                Behaviour::from_chunks(
                    &parts,
                    if reply.tool_calls.is_empty() { "stop" } else { "tool_calls" },
                )
            }
            Self::Responses => {
                parts.extend(some_text(thought).map(|text| responses::reasoning(text, "enc-1")));
                parts.extend(some_text(text).map(responses::message));
                parts.extend(calls.map(|(id, name, arguments)| responses::call(id, name, arguments)));
                responses::items(&parts)
            }
            Self::Messages => {
                parts.extend(some_text(thought).map(|text| messages::thinking_block(text, "sig-1")));
                parts.extend(some_text(text).map(messages::text_block));
                parts.extend(calls.map(|(id, name, arguments)| messages::call_block(id, name, arguments)));
                messages::blocks_answer(
                    &parts,
                    if reply.tool_calls.is_empty() { "end_turn" } else { "tool_use" },
                )
            }
        }
    }
}

fn some_text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
