//! What the reader of a body needs to know of a protocol.

use serde_json::Value;

use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::message::OpaqueBlock;
use synthdev_domain::model::{FinishReason, ModelError, ModelReply};

use super::errors;
use super::reply_builder::ReplyBuilder;
use super::token_estimate::estimate_tokens;

/// One reply of some protocol, put together piece by piece.
pub trait ReplyDecoder: Default + Send {
    /// What a whole reply is called, for the text of an error: `a chat completion`.
    const KIND: &'static str;

    /// Takes one event of a stream. `server_label`: the server as error texts name it.
    ///
    /// # Errors
    /// An error that the server reports; data that is no JSON.
    fn decode_event(&mut self, name: &str, data: &str, server_label: &str) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || self.decode_text_event(name, data) {
            return Ok(());
        }
        if data == "[DONE]" {
            self.mark_done();
            return Ok(());
        }
        self.decode_value(name, &parse_event_data(name, data, server_label)?, server_label)
    }

    /// Takes what almost every event is, a piece of text; whether it was one.
    fn decode_text_event(&mut self, name: &str, data: &str) -> bool;

    /// `[DONE]` has arrived, which ends a stream where the protocol has it.
    fn mark_done(&mut self);

    /// Takes one event that has been parsed, or a whole reply.
    ///
    /// # Errors
    /// An error that the server reports.
    fn decode_value(&mut self, name: &str, value: &Value, server_label: &str) -> Result<(), ModelError>;

    fn reply(&self) -> &ReplyBuilder;

    fn reply_mut(&mut self) -> &mut ReplyBuilder;

    /// Something of the protocol has arrived.
    fn has_begun(&self) -> bool {
        self.reply().has_begun
    }

    /// The server has reported the end of the model's reply; only bookkeeping may follow.
    fn is_complete(&self) -> bool {
        self.has_ended() || self.reply().finish_text.is_some()
    }

    /// The last event of the protocol has arrived.
    fn has_ended(&self) -> bool {
        self.reply().is_complete
    }

    /// Things that are kept of it one by one: calls, and what else its protocol is made of.
    fn pieces(&self) -> usize {
        self.reply().calls.len()
    }

    /// How it ended.
    ///
    /// # Errors
    /// A refusal, a failure in place of an end.
    fn finish_reason(&self) -> Result<FinishReason, ModelError>;

    /// Opaque reasoning blocks that have to be sent back with its calls.
    fn take_opaque_blocks(&mut self) -> Vec<OpaqueBlock> {
        Vec::new()
    }

    /// What it has used by now; `None` before it has begun.
    fn usage_so_far(&self, prompt_bytes: usize) -> Option<AttemptUsage> {
        let (mut usage, mut estimated) = self.reply().token_usage(prompt_bytes);
        let streamed = estimate_tokens(self.reply().bytes());
        if !self.is_complete() && usage.completion < streamed {
            // what a server counts before the end is only how it began
            (usage.completion, estimated) = (streamed, true);
        }
        let model = self.reply().model.clone();
        self.has_begun().then_some(AttemptUsage { usage, estimated, model, price: None })
    }

    /// The finished reply. `prompt_bytes` serve an estimate of usage, `message_count` the ids of calls without any.
    ///
    /// # Errors
    /// As [`Self::finish_reason`]; an empty reply.
    fn into_reply(mut self, prompt_bytes: usize, message_count: usize) -> Result<ModelReply, ModelError> {
        let cut = self.reply().was_cut;
        let finish = if cut { FinishReason::Length } else { self.finish_reason()? };
        self.reply().require_content(finish)?;
        let told = || self.reply().token_usage(prompt_bytes);
        let so_far = self.usage_so_far(prompt_bytes).filter(|_| cut).map(|used| (used.usage, used.estimated));
        let (usage, usage_estimated) = so_far.unwrap_or_else(told);
        // Opaque reasoning blocks have to be sent back only with calls.
        let sealed = if self.reply().calls.is_empty() { Vec::new() } else { self.take_opaque_blocks() };
        let spoken = std::mem::take(self.reply_mut());
        Ok(ModelReply { usage, usage_estimated, sealed, ..spoken.into_reply(finish, message_count)? })
    }
}

/// The data of one event.
///
/// # Errors
/// It is no JSON.
fn parse_event_data(name: &str, data: &str, server_label: &str) -> Result<Value, ModelError> {
    serde_json::from_str(data).map_err(|_| {
        let text = errors::short_line(data);
        match name {
            "error" => errors::from_error_object(&Value::String(text), server_label),
            _ => ModelError::Protocol {
                detail: format!("{server_label} sent something in its stream that is not JSON: {text}"),
            },
        }
    })
}

/// The provider's filter has ended it.
pub fn content_filter_error(spoken: &ReplyBuilder) -> ModelError {
    let detail = format!("the provider's content filter stopped the answer{}", spoken.received_note());
    ModelError::Refused { detail }
}

/// The provider has ended the answer with a failure; `said` is its message.
pub fn provider_failure(spoken: &ReplyBuilder, said: &str) -> ModelError {
    let detail = format!("the provider gave up{} ({said})", spoken.received_note());
    ModelError::Overloaded { retry_after_ms: None, detail }
}

/// The server answers in another protocol than the one it was asked in.
pub fn wrong_protocol_error<A: ReplyDecoder>(server_label: &str) -> ModelError {
    ModelError::Protocol {
        detail: format!(
            "{server_label} answered with chat completions, not with {}: set `\"protocol\": \"chat\"` for its \
             provider in models.json",
            A::KIND
        ),
    }
}
