//! What a model has said so far in one answer, whatever the protocol: text, thoughts and tool calls.
//!
//! Refuses: deciding what an answer means; that is each protocol's.

use crate::domain::model::{DeltaKind, FinishReason, ModelError};
use crate::ports::model::DeltaSink;

use super::calls::Calls;

#[derive(Default, Debug)]
pub struct Spoken {
    pub text: String,
    pub reasoning: String,
    pub calls: Calls,
    told_text: usize,
    told_reasoning: usize,
}

impl Spoken {
    /// Hands the pieces since the last time to the screen, one per kind: called once per network read.
    pub fn tell(&mut self, sink: &dyn DeltaSink) {
        if self.told_reasoning < self.reasoning.len() {
            sink.delta(DeltaKind::Reasoning, &self.reasoning[self.told_reasoning..]);
            self.told_reasoning = self.reasoning.len();
        }
        if self.told_text < self.text.len() {
            sink.delta(DeltaKind::Text, &self.text[self.told_text..]);
            self.told_text = self.text.len();
        }
    }

    /// What had arrived, for the text of an error: ` after 120 characters`.
    pub fn had(&self) -> String {
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

    /// An answer that ends so must hold a text or a call (MODEL-14).
    ///
    /// # Errors
    /// It holds neither.
    pub fn checked(&self, finish: FinishReason) -> Result<(), ModelError> {
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
        Err(ModelError::Protocol { detail: detail.to_owned() })
    }
}
