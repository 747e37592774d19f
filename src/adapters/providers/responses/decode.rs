//! One answer, put together from the events of a stream or from a whole response. Lenient in everything that does not
//! change what the model said; what is no answer becomes an error, never an empty text.
//!
//! An item is told twice: in pieces, and whole when it is done. The pieces are shown as they come; the whole counts
//! where pieces were lost or never sent.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::providers::errors;
use crate::providers::reply_builder::ReplyBuilder;
use crate::providers::reply_decoder::{ReplyDecoder, filtered, provider_failure, wrong_protocol_error};
use synthdev_domain::message::OpaqueBlock;
use synthdev_domain::model::{FinishReason, ModelError};

#[derive(Default, Debug)]
pub struct ResponsesDecoder {
    spoken: ReplyBuilder,
    items: Vec<ResponsesItem>,
    sealed: Vec<OpaqueBlock>,
    refusal: String,
    /// The last that the server said of itself: `completed`, `incomplete` …
    status: String,
    /// Why it is incomplete.
    reason: String,
}

/// One item of the answer.
#[derive(Debug)]
struct ResponsesItem {
    index: u64,
    kind: ResponsesItemKind,
    /// Readable parts before it.
    after: usize,
    /// Pieces of it have come.
    heard: bool,
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
        self.say(output_index, &delta);
        true
    }

    fn done(&mut self) {
        self.spoken.over = self.spoken.begun;
    }

    fn value(&mut self, name: &str, value: &Value, shown: &str) -> Result<(), ModelError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(name);
        let response = value.get("response").unwrap_or(value);
        // a failure tells what it used, too
        let counts = response.get("usage").filter(|usage| usage.is_object());
        if let Some(usage) = counts {
            self.spoken.begun = true;
            self.spoken.usage.absorb(usage);
        }
        for holder in [value, response] {
            if let Some(error) = holder.get("error").filter(|error| !error.is_null()) {
                self.spoken.over = counts.is_some();
                return Err(errors::from_error_object(&json!({ "error": error }), shown));
            }
        }
        let index = value.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "error" => return Err(errors::from_error_object(value, shown)),
            "response.failed" => {
                return Err(errors::from_error_object(
                    &json!("the server failed and does not say why"),
                    shown,
                ));
            }
            "response.created" | "response.queued" | "response.in_progress" => self.envelope(response),
            "response.output_item.added" => self.open(index, &value["item"]),
            "response.output_item.done" => self.close(index, &value["item"]),
            "response.output_text.delta" => self.say(index, text("delta")),
            "response.refusal.delta" => self.refusal.push_str(text("delta")),
            "response.reasoning_summary_part.added" => self.spoken.part_thoughts(),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think(index, text("delta"));
            }
            "response.function_call_arguments.delta" => {
                let piece = json!({ "index": index, "arguments": text("delta") });
                self.spoken.calls.absorb(&piece);
            }
            "response.function_call_arguments.done" => self.settle(index, value),
            "response.completed" | "response.incomplete" | "response.cancelled" => self.end(response),
            _ if value.get("object").is_some_and(|object| object == "response") => self.end(value),
            _ if value.get("choices").is_some() => return Err(wrong_protocol_error::<Self>(shown)),
            // Ends of parts, tools of the server's own, and whatever the protocol will have tomorrow.
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
        self.items.len() + self.sealed.len()
    }

    fn finish(&self) -> Result<FinishReason, ModelError> {
        if !self.refusal.trim().is_empty() {
            return Err(ModelError::Refused { detail: errors::one_line(&self.refusal) });
        }
        if self.reason == "content_filter" {
            return Err(filtered(&self.spoken));
        }
        if matches!(self.status.as_str(), "failed" | "cancelled") {
            return Err(provider_failure(&self.spoken, &format!("status `{}`", self.status)));
        }
        Ok(match (self.status.as_str(), self.reason.as_str()) {
            (_, "max_output_tokens" | "max_tokens") => FinishReason::Length,
            _ if !self.spoken.calls.is_empty() => FinishReason::ToolCalls,
            ("incomplete", _) => FinishReason::Other,
            _ => FinishReason::Stop,
        })
    }

    fn sealed(&mut self) -> Vec<OpaqueBlock> {
        std::mem::take(&mut self.sealed)
    }
}

impl ResponsesDecoder {
    /// What a response says of itself beside its items.
    fn envelope(&mut self, response: &Value) {
        self.spoken.begun = true;
        let text =
            |path: &str| response.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        self.spoken.set_model(response.get("model"));
        text("/status").unwrap_or_default().clone_into(&mut self.status);
        text("/incomplete_details/reason").unwrap_or_default().clone_into(&mut self.reason);
        self.spoken.usage.absorb(&response["usage"]);
    }

    /// The last event, or a whole response: its items count where none was told before.
    fn end(&mut self, response: &Value) {
        self.envelope(response);
        if self.items.is_empty() && self.spoken.calls.is_empty() {
            let items = response.get("output").and_then(Value::as_array);
            for (index, item) in (0..).zip(items.into_iter().flatten()) {
                self.close(index, item);
            }
        }
        self.spoken.over = true;
    }

    fn open(&mut self, index: u64, item: &Value) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let kind = match text("type") {
            Some("message") => ResponsesItemKind::Text,
            Some("reasoning") => ResponsesItemKind::Thought,
            Some("function_call") => ResponsesItemKind::Call,
            _ => ResponsesItemKind::Other,
        };
        self.item(index, kind);
        if kind == ResponsesItemKind::Call {
            let id = text("call_id").or_else(|| text("id"));
            let piece =
                json!({ "index": index, "id": id, "name": text("name"), "arguments": text("arguments") });
            self.spoken.calls.absorb(&piece);
        }
    }

    /// An item that is done: it stands here whole.
    fn close(&mut self, index: u64, item: &Value) {
        let known = self.items.iter().rposition(|one| one.index == index);
        let at = known.unwrap_or_else(|| {
            self.open(index, item);
            self.items.len() - 1
        });
        let ResponsesItem { kind, after, heard, .. } = self.items[at];
        match kind {
            ResponsesItemKind::Text if !heard => {
                self.say(index, &texts(&item["content"], "text"));
                if self.refusal.is_empty() {
                    self.refusal = texts(&item["content"], "refusal");
                }
            }
            ResponsesItemKind::Thought => {
                if !heard {
                    let summary = texts(&item["summary"], "text");
                    self.think(index, &summary);
                }
                if let Some(sealed) = seal(after, item) {
                    self.spoken.beside += sealed.block.to_string().len();
                    self.sealed.push(sealed);
                }
            }
            ResponsesItemKind::Call => self.settle(index, item),
            ResponsesItemKind::Text | ResponsesItemKind::Other => {}
        }
    }

    /// The arguments of a call as a whole.
    fn settle(&mut self, index: u64, holder: &Value) {
        let whole = holder.get("arguments").and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(arguments) = whole {
            self.spoken.calls.settle(index, arguments);
        }
    }

    /// The newest item of an index, made where none is known: a piece may come before its beginning.
    fn item(&mut self, index: u64, kind: ResponsesItemKind) -> &mut ResponsesItem {
        self.spoken.begun = true;
        let at = self.items.iter().rposition(|one| one.index == index && one.kind == kind);
        let at = at.unwrap_or_else(|| {
            match kind {
                ResponsesItemKind::Thought => self.spoken.part_thoughts(),
                ResponsesItemKind::Text | ResponsesItemKind::Call | ResponsesItemKind::Other => {
                    self.spoken.part_text()
                }
            }
            self.items.push(ResponsesItem { index, kind, after: self.spoken.parts(), heard: false });
            self.items.len() - 1
        });
        &mut self.items[at]
    }

    fn say(&mut self, index: u64, text: &str) {
        self.item(index, ResponsesItemKind::Text).heard |= !text.is_empty();
        self.spoken.push_text(text);
    }

    fn think(&mut self, index: u64, text: &str) {
        self.item(index, ResponsesItemKind::Thought).heard |= !text.is_empty();
        self.spoken.push_reasoning(text);
    }
}

/// Everything of one kind in a list of parts.
fn texts(parts: &Value, key: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part.get(key)?.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// A thought as it goes back: without its id, which the server would look up among what it keeps. One that came
/// unsealed can only be looked up.
fn seal(after: usize, item: &Value) -> Option<OpaqueBlock> {
    let content = item.get("encrypted_content").and_then(Value::as_str).filter(|text| !text.is_empty())?;
    let summary = item.get("summary").filter(|summary| summary.is_array()).cloned();
    let summary = summary.unwrap_or_else(|| json!([]));
    let block = json!({ "type": "reasoning", "summary": summary, "encrypted_content": content });
    Some(OpaqueBlock { after, block })
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
