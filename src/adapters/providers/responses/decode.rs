//! One answer, put together from the events of a stream or from a whole response. Lenient in everything that does not
//! change what the model said; what is no answer becomes an error, never an empty text (MODEL-14).
//!
//! An item is told twice: in pieces, and whole when it is done. The pieces are shown as they come; the whole counts
//! where pieces were lost or never sent.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::adapters::providers::answer::{Answer, filtered, given_up, speaks_chat};
use crate::adapters::providers::errors;
use crate::adapters::providers::spoken::Spoken;
use crate::domain::message::Sealed;
use crate::domain::model::{FinishReason, ModelError};

#[derive(Default, Debug)]
pub struct Response {
    spoken: Spoken,
    items: Vec<Item>,
    sealed: Vec<Sealed>,
    refusal: String,
    /// The last that the server said of itself: `completed`, `incomplete` …
    status: String,
    /// Why it is incomplete.
    reason: String,
}

/// One item of the answer.
#[derive(Debug)]
struct Item {
    index: u64,
    kind: Kind,
    /// Readable parts before it.
    after: usize,
    /// Pieces of it have come.
    heard: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Text,
    Thought,
    Call,
    /// Nothing that was asked for.
    Other,
}

/// What almost every event is: a piece of text. Anything that does not fit takes the slow, lenient way.
#[derive(Deserialize)]
struct Quick<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    output_index: u64,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

impl Answer for Response {
    const KIND: &'static str = "a response of OpenAI's Responses";

    fn quick(&mut self, _: &str, data: &str) -> bool {
        let Ok(Quick { kind, output_index, delta }) = serde_json::from_str(data) else { return false };
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
                return Err(errors::of_object(&json!({ "error": error }), shown));
            }
        }
        let index = value.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "error" => return Err(errors::of_object(value, shown)),
            "response.failed" => {
                return Err(errors::of_object(&json!("the server failed and does not say why"), shown));
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
            _ if value.get("choices").is_some() => return Err(speaks_chat::<Self>(shown)),
            // Ends of parts, tools of the server's own, and whatever the protocol will have tomorrow.
            _ => {}
        }
        Ok(())
    }

    fn spoken(&self) -> &Spoken {
        &self.spoken
    }

    fn spoken_mut(&mut self) -> &mut Spoken {
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
            return Err(given_up(&self.spoken, &format!("status `{}`", self.status)));
        }
        Ok(match (self.status.as_str(), self.reason.as_str()) {
            (_, "max_output_tokens" | "max_tokens") => FinishReason::Length,
            _ if !self.spoken.calls.is_empty() => FinishReason::ToolCalls,
            ("incomplete", _) => FinishReason::Other,
            _ => FinishReason::Stop,
        })
    }

    fn sealed(&mut self) -> Vec<Sealed> {
        std::mem::take(&mut self.sealed)
    }
}

impl Response {
    /// What a response says of itself beside its items.
    fn envelope(&mut self, response: &Value) {
        self.spoken.begun = true;
        let text =
            |path: &str| response.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        self.spoken.by(response.get("model"));
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
            Some("message") => Kind::Text,
            Some("reasoning") => Kind::Thought,
            Some("function_call") => Kind::Call,
            _ => Kind::Other,
        };
        self.item(index, kind);
        if kind == Kind::Call {
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
        let Item { kind, after, heard, .. } = self.items[at];
        match kind {
            Kind::Text if !heard => {
                self.say(index, &texts(&item["content"], "text"));
                if self.refusal.is_empty() {
                    self.refusal = texts(&item["content"], "refusal");
                }
            }
            Kind::Thought => {
                if !heard {
                    let summary = texts(&item["summary"], "text");
                    self.think(index, &summary);
                }
                if let Some(sealed) = seal(after, item) {
                    self.spoken.beside += sealed.block.to_string().len();
                    self.sealed.push(sealed);
                }
            }
            Kind::Call => self.settle(index, item),
            Kind::Text | Kind::Other => {}
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
    fn item(&mut self, index: u64, kind: Kind) -> &mut Item {
        self.spoken.begun = true;
        let at = self.items.iter().rposition(|one| one.index == index && one.kind == kind);
        let at = at.unwrap_or_else(|| {
            match kind {
                Kind::Thought => self.spoken.part_thoughts(),
                Kind::Text | Kind::Call | Kind::Other => self.spoken.part_text(),
            }
            self.items.push(Item { index, kind, after: self.spoken.parts(), heard: false });
            self.items.len() - 1
        });
        &mut self.items[at]
    }

    fn say(&mut self, index: u64, text: &str) {
        self.item(index, Kind::Text).heard |= !text.is_empty();
        self.spoken.say(text);
    }

    fn think(&mut self, index: u64, text: &str) {
        self.item(index, Kind::Thought).heard |= !text.is_empty();
        self.spoken.think(text);
    }
}

/// Everything of one kind in a list of parts.
fn texts(parts: &Value, key: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part.get(key)?.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// A thought as it goes back: without its id, which the server would look up among what it keeps. One that came
/// unsealed can only be looked up.
fn seal(after: usize, item: &Value) -> Option<Sealed> {
    let content = item.get("encrypted_content").and_then(Value::as_str).filter(|text| !text.is_empty())?;
    let summary = item.get("summary").filter(|summary| summary.is_array()).cloned();
    let summary = summary.unwrap_or_else(|| json!([]));
    let block = json!({ "type": "reasoning", "summary": summary, "encrypted_content": content });
    Some(Sealed { after, block })
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
