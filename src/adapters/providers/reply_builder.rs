//! One reply of a model so far, whatever the protocol: text, thoughts and tool calls.
//!
//! Refuses: deciding what a reply means; that is each protocol's.

use serde_json::Value;

use synthdev_domain::cost::TokenUsage;
use synthdev_domain::model::{DeltaKind, FinishReason, ModelError, ModelReply};
use synthdev_ports::model::DeltaSink;

use super::reported_usage::ReportedUsage;
use super::tool_call_assembler::ToolCallAssembler;

#[derive(Default, Debug)]
pub struct ReplyBuilder {
    /// The model that the server says is speaking.
    pub model: Option<String>,
    pub text: String,
    pub reasoning: String,
    pub calls: ToolCallAssembler,
    /// What the server has counted.
    pub usage: ReportedUsage,
    /// Something of the protocol has arrived.
    pub has_begun: bool,
    /// Why the model is finished, in the server's words.
    pub finish_text: Option<String>,
    /// The last event of the protocol has arrived.
    pub is_complete: bool,
    /// We have ended it, because it passed its limit.
    pub was_cut: bool,
    /// Bytes that are kept beside the readable parts: opaque reasoning blocks, refusals.
    pub extra_bytes: usize,
    /// Separate the next piece from the text or the reasoning before it.
    text_needs_gap: bool,
    thought_needs_gap: bool,
    streamed_text: usize,
    streamed_reasoning: usize,
}

impl ReplyBuilder {
    /// The model's name, where there is one.
    pub fn set_model(&mut self, model: Option<&Value>) {
        if let Some(model) = model.and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }

    /// A piece of the text.
    pub fn push_text(&mut self, text: &str) {
        append_piece(&mut self.text, &mut self.text_needs_gap, text);
    }

    /// A piece of the thoughts.
    pub fn push_reasoning(&mut self, text: &str) {
        append_piece(&mut self.reasoning, &mut self.thought_needs_gap, text);
    }

    /// The text to come is another part of the reply: a blank line goes before it.
    pub fn start_text_part(&mut self) {
        self.text_needs_gap = true;
    }

    /// As `start_text_part`, for thoughts.
    pub fn start_reasoning_part(&mut self) {
        self.thought_needs_gap = true;
    }

    /// Readable parts so far: the text, then each call.
    pub fn parts(&self) -> usize {
        usize::from(!self.text.is_empty()) + self.calls.len()
    }

    /// Hands the pieces since the last time to the screen, one per kind: called once per network read.
    pub fn flush_deltas(&mut self, sink: &dyn DeltaSink) {
        if self.streamed_reasoning < self.reasoning.len() {
            sink.delta(DeltaKind::Reasoning, &self.reasoning[self.streamed_reasoning..]);
            self.streamed_reasoning = self.reasoning.len();
        }
        if self.streamed_text < self.text.len() {
            sink.delta(DeltaKind::Text, &self.text[self.streamed_text..]);
            self.streamed_text = self.text.len();
        }
    }

    /// What had arrived, for the text of an error: ` after 120 characters`.
    pub fn received_note(&self) -> String {
        let characters = self.text.chars().count() + self.reasoning.chars().count();
        match (characters, self.calls.is_empty()) {
            (0, true) => " before anything of the answer had arrived".to_owned(),
            (0, false) => " in the middle of a tool call".to_owned(),
            (_, true) => format!(" after {characters} characters of the answer"),
            (_, false) => format!(" after {characters} characters, in the middle of a tool call"),
        }
    }

    /// Bytes of everything, for an estimate of tokens.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.reasoning.len() + self.calls.bytes()
    }

    /// Its tokens as far as they are known, and whether a part of them had to be estimated: a prompt of so many bytes.
    pub fn token_usage(&self, prompt_bytes: usize) -> (TokenUsage, bool) {
        self.usage.complete_with_estimates(prompt_bytes, self.bytes())
    }

    /// A reply that ends so must hold a text or a call.
    ///
    /// # Errors
    /// It holds neither.
    pub fn require_content(&self, finish: FinishReason) -> Result<(), ModelError> {
        if !self.text.trim().is_empty() || !self.calls.is_empty() {
            return Ok(());
        }
        let detail = match (finish, self.reasoning.is_empty()) {
            (FinishReason::Length, _) => {
                "the model answered nothing before it reached its output limit; raise max_output_tokens"
            }
            (_, false) => "the model answered nothing: it only thought",
            (_, true) => "the model answered nothing",
        };
        Err(ModelError::Empty { detail: detail.to_owned() })
    }

    /// The finished reply, but for what only its protocol knows. `message_count` makes ids of calls without any.
    ///
    /// # Errors
    /// A call of no function.
    pub fn into_reply(self, finish: FinishReason, message_count: usize) -> Result<ModelReply, ModelError> {
        Ok(ModelReply {
            model: self.model,
            text: self.text,
            reasoning: self.reasoning,
            tool_calls: self.calls.finish_calls(message_count)?,
            finish,
            ..ModelReply::default()
        })
    }
}

fn append_piece(whole: &mut String, apart: &mut bool, piece: &str) {
    if piece.is_empty() {
        return;
    }
    if std::mem::take(apart) && !whole.is_empty() {
        whole.push_str("\n\n");
    }
    whole.push_str(piece);
}
