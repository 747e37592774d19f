//! One reply, put together from the events of a stream or from a whole message. Lenient in everything that does not
//! change what the model said; what is no reply becomes an error, never an empty text.

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
    reply_builder: ReplyBuilder,
    thinking_blocks: Vec<AnthropicThinkingBlock>,
    /// The blocks so far, by their index.
    blocks: Vec<(u64, AnthropicBlockKind)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnthropicBlockKind {
    Text,
    /// Its place among the opaque reasoning blocks.
    Thought(usize),
    Call,
    /// Nothing that was asked for.
    Other,
}

/// An opaque reasoning block as the provider wants it back.
#[derive(Debug)]
struct AnthropicThinkingBlock {
    /// Readable parts before it.
    parts_before: usize,
    text: String,
    /// `None`: never signed, and so nothing to send back.
    signature: Option<String>,
    /// A `redacted_thinking` block, which arrives whole and encrypted.
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
            || self.block_kind(index) != AnthropicBlockKind::Text
        {
            return false;
        }
        self.reply_builder.push_text(&delta.text);
        true
    }

    /// Not of this protocol; some servers send it all the same.
    fn mark_done(&mut self) {}

    fn decode_value(&mut self, name: &str, value: &Value, server_label: &str) -> Result<(), ModelError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(name);
        if kind == "error" || value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(errors::from_error_object(value, server_label));
        }
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "message_start" => self.decode_message(&value["message"]),
            "message" => self.decode_message(value),
            "content_block_start" => self.open_block(index, &value["content_block"]),
            "content_block_delta" => self.apply_delta(index, &value["delta"]),
            "message_delta" => {
                self.note_stop_reason(&value["delta"]);
                self.reply_builder.usage.absorb_anthropic_usage(&value["usage"]);
            }
            "message_stop" => self.reply_builder.is_complete = true,
            _ if value.get("choices").is_some() => return Err(wrong_protocol_error::<Self>(server_label)),
            // Pings, ends of blocks, and whatever the protocol will have tomorrow.
            _ => {}
        }
        Ok(())
    }

    fn reply(&self) -> &ReplyBuilder {
        &self.reply_builder
    }

    fn reply_mut(&mut self) -> &mut ReplyBuilder {
        &mut self.reply_builder
    }

    fn pieces(&self) -> usize {
        self.blocks.len()
    }

    fn finish_reason(&self) -> Result<FinishReason, ModelError> {
        let said = self.reply_builder.finish_text.as_deref().unwrap_or_default();
        if said == "refusal" {
            let detail =
                format!("it stopped itself for reasons of safety{}", self.reply_builder.received_note());
            return Err(ModelError::Refused { detail });
        }
        Ok(finish_reason(said, self.reply_builder.calls.is_empty()))
    }

    fn take_opaque_blocks(&mut self) -> Vec<OpaqueBlock> {
        std::mem::take(&mut self.thinking_blocks)
            .into_iter()
            .filter_map(AnthropicThinkingBlock::into_opaque)
            .collect()
    }
}

impl AnthropicReplyDecoder {
    /// A message, of which the start of a stream holds the beginning.
    fn decode_message(&mut self, message: &Value) {
        self.reply_builder.has_begun = true;
        self.reply_builder.set_model(message.get("model"));
        self.reply_builder.usage.absorb_anthropic_usage(&message["usage"]);
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
            self.open_block(index, block);
        }
        self.note_stop_reason(message);
    }

    fn note_stop_reason(&mut self, holder: &Value) {
        if let Some(reason) =
            holder.get("stop_reason").and_then(Value::as_str).filter(|text| !text.is_empty())
        {
            self.reply_builder.finish_text = Some(reason.to_owned());
        }
    }

    fn open_block(&mut self, index: u64, block: &Value) {
        self.reply_builder.has_begun = true;
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = match text("type") {
            "text" => AnthropicBlockKind::Text,
            "thinking" | "redacted_thinking" => AnthropicBlockKind::Thought(self.thinking_blocks.len()),
            "tool_use" => AnthropicBlockKind::Call,
            _ => AnthropicBlockKind::Other,
        };
        if kind != AnthropicBlockKind::Text {
            self.reply_builder.start_text_part();
        }
        self.blocks.push((index, kind));
        match kind {
            AnthropicBlockKind::Text => self.reply_builder.push_text(text("text")),
            AnthropicBlockKind::Thought(at) => {
                let redacted = (text("type") == "redacted_thinking").then(|| block.clone());
                self.reply_builder.extra_bytes += text("data").len() + text("signature").len();
                let signature = block.get("signature").and_then(Value::as_str).map(str::to_owned);
                let after = self.reply_builder.parts();
                self.reply_builder.start_reasoning_part();
                self.thinking_blocks.push(AnthropicThinkingBlock {
                    parts_before: after,
                    text: String::new(),
                    signature,
                    redacted,
                });
                self.add_thinking(at, text("thinking"));
            }
            AnthropicBlockKind::Call => {
                let input =
                    block.get("input").filter(|input| input.as_object().is_none_or(|map| !map.is_empty()));
                let piece = json!({ "index": index, "id": block.get("id"), "name": text("name"), "arguments": input });
                self.reply_builder.calls.absorb_piece(&piece);
            }
            AnthropicBlockKind::Other => {}
        }
    }

    fn apply_delta(&mut self, index: u64, delta: &Value) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), self.block_kind(index)) {
            ("text_delta", _) => self.reply_builder.push_text(text("text")),
            ("input_json_delta", _) => {
                let piece = json!({ "index": index, "arguments": text("partial_json") });
                self.reply_builder.calls.absorb_piece(&piece);
            }
            ("thinking_delta", AnthropicBlockKind::Thought(at)) => self.add_thinking(at, text("thinking")),
            ("thinking_delta", _) => self.reply_builder.push_reasoning(text("thinking")),
            ("signature_delta", AnthropicBlockKind::Thought(at)) => {
                self.reply_builder.extra_bytes += text("signature").len();
                self.thinking_blocks[at].signature.get_or_insert_default().push_str(text("signature"));
            }
            _ => {}
        }
    }

    /// What the newest block of an index is.
    fn block_kind(&self, index: u64) -> AnthropicBlockKind {
        self.blocks
            .iter()
            .rev()
            .find(|(at, _)| *at == index)
            .map_or(AnthropicBlockKind::Other, |(_, kind)| *kind)
    }

    fn add_thinking(&mut self, at: usize, text: &str) {
        self.thinking_blocks[at].text.push_str(text);
        self.reply_builder.push_reasoning(text);
    }
}

impl AnthropicThinkingBlock {
    fn into_opaque(self) -> Option<OpaqueBlock> {
        let signed = |signature| json!({ "type": "thinking", "thinking": self.text, "signature": signature });
        let block = self.redacted.or_else(|| self.signature.map(signed))?;
        Some(OpaqueBlock { after: self.parts_before, block })
    }
}

fn finish_reason(said: &str, no_calls: bool) -> FinishReason {
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
