//! One answer, put together from the events of a stream or from a whole message. Lenient in everything that does not
//! change what the model said; what is no answer becomes an error, never an empty text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::providers::errors;
use crate::providers::reply_builder::ReplyBuilder;
use crate::providers::reply_decoder::{ReplyDecoder, wrong_protocol_error};
use synthdev_domain::message::OpaqueBlock;
use synthdev_domain::model::{FinishReason, ModelError};

#[derive(Default, Debug)]
pub struct AnthropicReplyDecoder {
    spoken: ReplyBuilder,
    thoughts: Vec<AnthropicThinkingBlock>,
    /// The blocks so far, by their index.
    blocks: Vec<(u64, AnthropicBlockKind)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnthropicBlockKind {
    Text,
    /// Its place among the thoughts.
    Thought(usize),
    Call,
    /// Nothing that was asked for.
    Other,
}

/// A thought as the provider wants it back.
#[derive(Debug)]
struct AnthropicThinkingBlock {
    /// Readable parts before it.
    after: usize,
    text: String,
    /// `None`: never signed, and so nothing to send back.
    signature: Option<String>,
    /// A thought that only the provider can read, whole.
    redacted: Option<Value>,
}

/// What almost every event is: a piece of text. Anything that does not fit takes the slow, lenient way.
#[derive(Deserialize)]
struct AnthropicTextEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    index: u64,
    #[serde(borrow)]
    delta: AnthropicTextDelta<'a>,
}

#[derive(Deserialize)]
struct AnthropicTextDelta<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl ReplyDecoder for AnthropicReplyDecoder {
    const KIND: &'static str = "a message of Anthropic's protocol";

    fn decode_text_event(&mut self, _: &str, data: &str) -> bool {
        let Ok(AnthropicTextEvent { kind, index, delta }) = serde_json::from_str(data) else { return false };
        if kind != "content_block_delta"
            || delta.kind != "text_delta"
            || self.kind_of(index) != AnthropicBlockKind::Text
        {
            return false;
        }
        self.spoken.push_text(&delta.text);
        true
    }

    /// Not of this protocol; some servers send it all the same.
    fn done(&mut self) {}

    fn value(&mut self, name: &str, value: &Value, shown: &str) -> Result<(), ModelError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(name);
        if kind == "error" || value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(errors::from_error_object(value, shown));
        }
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "message_start" => self.message(&value["message"]),
            "message" => self.message(value),
            "content_block_start" => self.open(index, &value["content_block"]),
            "content_block_delta" => self.delta(index, &value["delta"]),
            "message_delta" => {
                self.stopped(&value["delta"]);
                self.spoken.usage.absorb_apart(&value["usage"]);
            }
            "message_stop" => self.spoken.over = true,
            _ if value.get("choices").is_some() => return Err(wrong_protocol_error::<Self>(shown)),
            // Pings, ends of blocks, and whatever the protocol will have tomorrow.
            _ => {}
        }
        Ok(())
    }

    fn reply(&self) -> &ReplyBuilder {
        &self.spoken
    }

    fn reply_mut(&mut self) -> &mut ReplyBuilder {
        &mut self.spoken
    }

    fn pieces(&self) -> usize {
        self.blocks.len()
    }

    fn finish(&self) -> Result<FinishReason, ModelError> {
        let said = self.spoken.ended.as_deref().unwrap_or_default();
        if said == "refusal" {
            let detail = format!("it stopped itself for reasons of safety{}", self.spoken.received_note());
            return Err(ModelError::Refused { detail });
        }
        Ok(reason(said, self.spoken.calls.is_empty()))
    }

    fn sealed(&mut self) -> Vec<OpaqueBlock> {
        std::mem::take(&mut self.thoughts).into_iter().filter_map(AnthropicThinkingBlock::seal).collect()
    }
}

impl AnthropicReplyDecoder {
    /// A message, of which the start of a stream holds the beginning.
    fn message(&mut self, message: &Value) {
        self.spoken.begun = true;
        self.spoken.set_model(message.get("model"));
        self.spoken.usage.absorb_apart(&message["usage"]);
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
            self.open(index, block);
        }
        self.stopped(message);
    }

    fn stopped(&mut self, holder: &Value) {
        if let Some(reason) =
            holder.get("stop_reason").and_then(Value::as_str).filter(|text| !text.is_empty())
        {
            self.spoken.ended = Some(reason.to_owned());
        }
    }

    fn open(&mut self, index: u64, block: &Value) {
        self.spoken.begun = true;
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = match text("type") {
            "text" => AnthropicBlockKind::Text,
            "thinking" | "redacted_thinking" => AnthropicBlockKind::Thought(self.thoughts.len()),
            "tool_use" => AnthropicBlockKind::Call,
            _ => AnthropicBlockKind::Other,
        };
        if kind != AnthropicBlockKind::Text {
            self.spoken.part_text();
        }
        self.blocks.push((index, kind));
        match kind {
            AnthropicBlockKind::Text => self.spoken.push_text(text("text")),
            AnthropicBlockKind::Thought(at) => {
                let redacted = (text("type") == "redacted_thinking").then(|| block.clone());
                self.spoken.beside += text("data").len() + text("signature").len();
                let signature = block.get("signature").and_then(Value::as_str).map(str::to_owned);
                let after = self.spoken.parts();
                self.spoken.part_thoughts();
                self.thoughts.push(AnthropicThinkingBlock {
                    after,
                    text: String::new(),
                    signature,
                    redacted,
                });
                self.think(at, text("thinking"));
            }
            AnthropicBlockKind::Call => {
                let input =
                    block.get("input").filter(|input| input.as_object().is_none_or(|map| !map.is_empty()));
                let piece = json!({ "index": index, "id": block.get("id"), "name": text("name"), "arguments": input });
                self.spoken.calls.absorb(&piece);
            }
            AnthropicBlockKind::Other => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Value) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), self.kind_of(index)) {
            ("text_delta", _) => self.spoken.push_text(text("text")),
            ("input_json_delta", _) => {
                let piece = json!({ "index": index, "arguments": text("partial_json") });
                self.spoken.calls.absorb(&piece);
            }
            ("thinking_delta", AnthropicBlockKind::Thought(at)) => self.think(at, text("thinking")),
            ("thinking_delta", _) => self.spoken.push_reasoning(text("thinking")),
            ("signature_delta", AnthropicBlockKind::Thought(at)) => {
                self.spoken.beside += text("signature").len();
                self.thoughts[at].signature.get_or_insert_default().push_str(text("signature"));
            }
            _ => {}
        }
    }

    /// What the newest block of an index is.
    fn kind_of(&self, index: u64) -> AnthropicBlockKind {
        self.blocks
            .iter()
            .rev()
            .find(|(at, _)| *at == index)
            .map_or(AnthropicBlockKind::Other, |(_, kind)| *kind)
    }

    fn think(&mut self, at: usize, text: &str) {
        self.thoughts[at].text.push_str(text);
        self.spoken.push_reasoning(text);
    }
}

impl AnthropicThinkingBlock {
    fn seal(self) -> Option<OpaqueBlock> {
        let signed = |signature| json!({ "type": "thinking", "thinking": self.text, "signature": signature });
        let block = self.redacted.or_else(|| self.signature.map(signed))?;
        Some(OpaqueBlock { after: self.after, block })
    }
}

fn reason(said: &str, no_calls: bool) -> FinishReason {
    match said {
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        _ if !no_calls => FinishReason::ToolCalls,
        "" | "end_turn" | "stop_sequence" | "tool_use" => FinishReason::Stop,
        _ => FinishReason::Other,
    }
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
