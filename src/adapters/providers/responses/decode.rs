//! One reply, put together from the events of a stream or from a whole response. Lenient in everything that does not
//! change what the model said; what is no reply becomes an error, never an empty text.
//!
//! A stream sends an item twice: in pieces, and whole when it is done. The pieces are shown as they come; the whole
//! item counts where pieces were lost or never sent.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::providers::errors;
use crate::providers::reply_builder::ReplyBuilder;
use crate::providers::reply_decoder::{
    ReplyDecoder, content_filter_error, provider_failure, wrong_protocol_error,
};
use synthdev_domain::message::OpaqueBlock;
use synthdev_domain::model::{FinishReason, ModelError};

#[derive(Default, Debug)]
pub struct ResponsesDecoder {
    reply_builder: ReplyBuilder,
    items: Vec<ResponsesItem>,
    opaque_blocks: Vec<OpaqueBlock>,
    refusal: String,
    /// The last status that the server reported: `completed`, `incomplete` …
    status: String,
    /// Why it is incomplete.
    reason: String,
}

/// One item of the reply.
#[derive(Debug)]
struct ResponsesItem {
    index: u64,
    kind: ResponsesItemKind,
    /// Readable parts before it.
    parts_before: usize,
    /// Pieces of it have come.
    has_streamed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResponsesItemKind {
    Text,
    Thought,
    Call,
    /// Nothing that was asked for.
    Other,
}

/// What almost every event is: a piece of text. Anything that does not fit takes the slow, lenient way.
#[derive(Deserialize)]
struct ResponsesTextEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    output_index: u64,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

impl ReplyDecoder for ResponsesDecoder {
    const KIND: &'static str = "a response of OpenAI's Responses";

    fn decode_text_event(&mut self, _: &str, data: &str) -> bool {
        let Ok(ResponsesTextEvent { kind, output_index, delta }) = serde_json::from_str(data) else {
            return false;
        };
        if kind != "response.output_text.delta" {
            return false;
        }
        self.add_text(output_index, &delta);
        true
    }

    fn mark_done(&mut self) {
        self.reply_builder.is_complete = self.reply_builder.has_begun;
    }

    fn decode_value(&mut self, name: &str, value: &Value, server_label: &str) -> Result<(), ModelError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(name);
        let response = value.get("response").unwrap_or(value);
        // a failure reports its usage, too
        let counts = response.get("usage").filter(|usage| usage.is_object());
        if let Some(usage) = counts {
            self.reply_builder.has_begun = true;
            self.reply_builder.usage.absorb_openai_usage(usage);
        }
        for holder in [value, response] {
            if let Some(error) = holder.get("error").filter(|error| !error.is_null()) {
                self.reply_builder.is_complete = counts.is_some();
                return Err(errors::from_error_object(&json!({ "error": error }), server_label));
            }
        }
        let index = value.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "error" => return Err(errors::from_error_object(value, server_label)),
            "response.failed" => {
                return Err(errors::from_error_object(
                    &json!("the server failed and does not say why"),
                    server_label,
                ));
            }
            "response.created" | "response.queued" | "response.in_progress" => self.decode_envelope(response),
            "response.output_item.added" => self.open_item(index, &value["item"]),
            "response.output_item.done" => self.close_item(index, &value["item"]),
            "response.output_text.delta" => self.add_text(index, text("delta")),
            "response.refusal.delta" => self.refusal.push_str(text("delta")),
            "response.reasoning_summary_part.added" => self.reply_builder.start_reasoning_part(),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add_thought(index, text("delta"));
            }
            "response.function_call_arguments.delta" => {
                let piece = json!({ "index": index, "arguments": text("delta") });
                self.reply_builder.calls.absorb_piece(&piece);
            }
            "response.function_call_arguments.done" => self.settle_arguments(index, value),
            "response.completed" | "response.incomplete" | "response.cancelled" => self.decode_end(response),
            _ if value.get("object").is_some_and(|object| object == "response") => self.decode_end(value),
            _ if value.get("choices").is_some() => return Err(wrong_protocol_error::<Self>(server_label)),
            // Ends of parts, tools of the server's own, and whatever the protocol will have tomorrow.
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
        self.items.len() + self.opaque_blocks.len()
    }

    fn finish_reason(&self) -> Result<FinishReason, ModelError> {
        if !self.refusal.trim().is_empty() {
            return Err(ModelError::Refused { detail: errors::short_line(&self.refusal) });
        }
        if self.reason == "content_filter" {
            return Err(content_filter_error(&self.reply_builder));
        }
        if matches!(self.status.as_str(), "failed" | "cancelled") {
            return Err(provider_failure(&self.reply_builder, &format!("status `{}`", self.status)));
        }
        Ok(match (self.status.as_str(), self.reason.as_str()) {
            (_, "max_output_tokens" | "max_tokens") => FinishReason::Length,
            _ if !self.reply_builder.calls.is_empty() => FinishReason::ToolCalls,
            ("incomplete", _) => FinishReason::Other,
            _ => FinishReason::Stop,
        })
    }

    fn take_opaque_blocks(&mut self) -> Vec<OpaqueBlock> {
        std::mem::take(&mut self.opaque_blocks)
    }
}

impl ResponsesDecoder {
    /// What a response says of itself beside its items.
    fn decode_envelope(&mut self, response: &Value) {
        self.reply_builder.has_begun = true;
        let text =
            |path: &str| response.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        self.reply_builder.set_model(response.get("model"));
        text("/status").unwrap_or_default().clone_into(&mut self.status);
        text("/incomplete_details/reason").unwrap_or_default().clone_into(&mut self.reason);
        self.reply_builder.usage.absorb_openai_usage(&response["usage"]);
    }

    /// The last event, or a whole response: its items count if the stream sent none before.
    fn decode_end(&mut self, response: &Value) {
        self.decode_envelope(response);
        if self.items.is_empty() && self.reply_builder.calls.is_empty() {
            let items = response.get("output").and_then(Value::as_array);
            for (index, item) in (0..).zip(items.into_iter().flatten()) {
                self.close_item(index, item);
            }
        }
        self.reply_builder.is_complete = true;
    }

    fn open_item(&mut self, index: u64, item: &Value) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let kind = match text("type") {
            Some("message") => ResponsesItemKind::Text,
            Some("reasoning") => ResponsesItemKind::Thought,
            Some("function_call") => ResponsesItemKind::Call,
            _ => ResponsesItemKind::Other,
        };
        self.item_mut(index, kind);
        if kind == ResponsesItemKind::Call {
            let id = text("call_id").or_else(|| text("id"));
            let piece =
                json!({ "index": index, "id": id, "name": text("name"), "arguments": text("arguments") });
            self.reply_builder.calls.absorb_piece(&piece);
        }
    }

    /// An item that is done: the event has it whole.
    fn close_item(&mut self, index: u64, item: &Value) {
        let known = self.items.iter().rposition(|one| one.index == index);
        let at = known.unwrap_or_else(|| {
            self.open_item(index, item);
            self.items.len() - 1
        });
        let ResponsesItem { kind, parts_before: after, has_streamed: heard, .. } = self.items[at];
        match kind {
            ResponsesItemKind::Text if !heard => {
                self.add_text(index, &joined_texts(&item["content"], "text"));
                if self.refusal.is_empty() {
                    self.refusal = joined_texts(&item["content"], "refusal");
                }
            }
            ResponsesItemKind::Thought => {
                if !heard {
                    let summary = joined_texts(&item["summary"], "text");
                    self.add_thought(index, &summary);
                }
                if let Some(sealed) = opaque_reasoning_item(after, item) {
                    self.reply_builder.extra_bytes += sealed.block.to_string().len();
                    self.opaque_blocks.push(sealed);
                }
            }
            ResponsesItemKind::Call => self.settle_arguments(index, item),
            ResponsesItemKind::Text | ResponsesItemKind::Other => {}
        }
    }

    /// The arguments of a call as a whole.
    fn settle_arguments(&mut self, index: u64, holder: &Value) {
        let whole = holder.get("arguments").and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(arguments) = whole {
            self.reply_builder.calls.set_arguments(index, arguments);
        }
    }

    /// The newest item of an index, made where none is known: a piece may come before its beginning.
    fn item_mut(&mut self, index: u64, kind: ResponsesItemKind) -> &mut ResponsesItem {
        self.reply_builder.has_begun = true;
        let at = self.items.iter().rposition(|one| one.index == index && one.kind == kind);
        let at = at.unwrap_or_else(|| {
            match kind {
                ResponsesItemKind::Thought => self.reply_builder.start_reasoning_part(),
                ResponsesItemKind::Text | ResponsesItemKind::Call | ResponsesItemKind::Other => {
                    self.reply_builder.start_text_part()
                }
            }
            self.items.push(ResponsesItem {
                index,
                kind,
                parts_before: self.reply_builder.parts(),
                has_streamed: false,
            });
            self.items.len() - 1
        });
        &mut self.items[at]
    }

    fn add_text(&mut self, index: u64, text: &str) {
        self.item_mut(index, ResponsesItemKind::Text).has_streamed |= !text.is_empty();
        self.reply_builder.push_text(text);
    }

    fn add_thought(&mut self, index: u64, text: &str) {
        self.item_mut(index, ResponsesItemKind::Thought).has_streamed |= !text.is_empty();
        self.reply_builder.push_reasoning(text);
    }
}

/// Everything of one kind in a list of parts.
fn joined_texts(parts: &Value, key: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part.get(key)?.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// A reasoning item for sending back: without its id, which the server would look up among its stored items. An item
/// without encrypted content is left out: the server would have to look it up.
fn opaque_reasoning_item(after: usize, item: &Value) -> Option<OpaqueBlock> {
    let content = item.get("encrypted_content").and_then(Value::as_str).filter(|text| !text.is_empty())?;
    let summary = item.get("summary").filter(|summary| summary.is_array()).cloned();
    let summary = summary.unwrap_or_else(|| json!([]));
    let block = json!({ "type": "reasoning", "summary": summary, "encrypted_content": content });
    Some(OpaqueBlock { after, block })
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
