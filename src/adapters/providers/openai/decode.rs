//! One reply, put together from the chunks of a stream or from a whole completion. Lenient in everything that
//! does not change what the model said; a body that is not a reply is an error, never an empty text.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::providers::errors;
use crate::providers::reply_builder::ReplyBuilder;
use crate::providers::reply_decoder::{ReplyDecoder, content_filter_error, provider_failure};
use synthdev_domain::model::{FinishReason, ModelError};

#[derive(Default, Debug)]
pub struct ChatCompletionDecoder {
    reply_builder: ReplyBuilder,
    refusal: String,
}

/// What almost every chunk of a stream is: a piece of text and nothing else. Anything that does not fit
/// takes the slow, lenient way; so this one may be as strict as it likes.
#[derive(Deserialize)]
struct ChatTextChunk {
    choices: [ChatTextChoice; 1],
    #[serde(default)]
    usage: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ChatTextChoice {
    delta: ChatTextDelta,
    #[serde(default)]
    finish_reason: Option<IgnoredAny>,
    #[serde(default)]
    usage: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ChatTextDelta {
    content: String,
    #[serde(default)]
    tool_calls: Option<IgnoredAny>,
    #[serde(default)]
    reasoning_content: Option<IgnoredAny>,
    #[serde(default)]
    reasoning: Option<IgnoredAny>,
    #[serde(default)]
    refusal: Option<IgnoredAny>,
}

impl ReplyDecoder for ChatCompletionDecoder {
    const KIND: &'static str = "a chat completion";

    fn decode_text_event(&mut self, name: &str, data: &str) -> bool {
        // The first chunk is decoded in full: it names the model.
        if !self.reply_builder.has_begun || !name.is_empty() {
            return false;
        }
        let Ok(ChatTextChunk { choices: [choice], usage: None, error: None }) = serde_json::from_str(data)
        else {
            return false;
        };
        let ChatTextChoice { delta, finish_reason: None, usage: None, error: None } = choice else {
            return false;
        };
        let ChatTextDelta {
            content,
            tool_calls: None,
            reasoning_content: None,
            reasoning: None,
            refusal: None,
        } = delta
        else {
            return false;
        };
        self.reply_builder.text.push_str(&content);
        true
    }

    fn mark_done(&mut self) {
        self.reply_builder.is_complete = true;
    }

    fn decode_value(&mut self, name: &str, value: &Value, server_label: &str) -> Result<(), ModelError> {
        let usages = [value.get("usage"), value.pointer("/x_groq/usage"), value.pointer("/choices/0/usage")];
        let usages = usages.into_iter().flatten().filter(|usage| usage.is_object());
        let mut known = false;
        for usage in usages {
            known = true;
            self.reply_builder.usage.absorb_openai_usage(usage);
        }
        self.reply_builder.has_begun |= known;
        if is_error(name, value) {
            return Err(errors::from_error_object(value, server_label));
        }
        self.reply_builder.set_model(value.get("model"));
        let choices = value.get("choices");
        self.reply_builder.has_begun |= choices.is_some();
        if let Some(choice) = choices.and_then(|choices| choices.get(0)) {
            self.decode_choice(choice, server_label)?;
        }
        Ok(())
    }

    fn reply(&self) -> &ReplyBuilder {
        &self.reply_builder
    }

    fn reply_mut(&mut self) -> &mut ReplyBuilder {
        &mut self.reply_builder
    }

    fn finish_reason(&self) -> Result<FinishReason, ModelError> {
        let said = self.reply_builder.finish_text.as_deref().unwrap_or_default();
        let finish = finish_reason(said, self.reply_builder.calls.is_empty());
        if !self.refusal.trim().is_empty() {
            return Err(ModelError::Refused { detail: errors::short_line(&self.refusal) });
        }
        if finish == FinishReason::ContentFilter {
            return Err(content_filter_error(&self.reply_builder));
        }
        if matches!(said, "error" | "insufficient_system_resource") {
            return Err(provider_failure(&self.reply_builder, &format!("finish reason `{said}`")));
        }
        Ok(finish)
    }
}

impl ChatCompletionDecoder {
    fn decode_choice(&mut self, choice: &Value, server_label: &str) -> Result<(), ModelError> {
        if choice.get("error").is_some_and(|error| !error.is_null()) {
            return Err(errors::from_error_object(choice, server_label));
        }
        let body = ["delta", "message"].iter().find_map(|key| choice.get(*key).filter(|v| v.is_object()));
        if let Some(body) = body {
            let reasoning =
                ["reasoning_content", "reasoning"].iter().find_map(|key| body.get(*key)?.as_str());
            self.reply_builder.reasoning.push_str(reasoning.unwrap_or_default());
            self.decode_content(body.get("content").unwrap_or(&Value::Null));
            let refusal = body.get("refusal").and_then(Value::as_str).unwrap_or_default();
            self.reply_builder.extra_bytes += refusal.len();
            self.refusal.push_str(refusal);
            for piece in body.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                self.reply_builder.calls.absorb_piece(piece);
            }
        } else if let Some(Value::String(text)) = choice.get("text") {
            self.reply_builder.text.push_str(text);
        }
        if let Some(Value::String(reason)) = choice.get("finish_reason")
            && !reason.is_empty()
        {
            self.reply_builder.finish_text = Some(reason.to_ascii_lowercase());
        }
        Ok(())
    }

    /// Content as a text, or as parts of text and thinking.
    fn decode_content(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.reply_builder.text.push_str(text),
            Value::Array(parts) => {
                for part in parts {
                    match part.get("thinking") {
                        Some(thinking) => collect_texts(thinking, &mut self.reply_builder.reasoning),
                        None => collect_texts(part, &mut self.reply_builder.text),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Every `text` in a tree of parts.
fn collect_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(parts) => parts.iter().for_each(|part| collect_texts(part, out)),
        Value::Object(part) => part.get("text").into_iter().for_each(|text| collect_texts(text, out)),
        _ => {}
    }
}

fn is_error(name: &str, value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some_and(|found| !found.is_null());
    let wordy = !has("choices") && !has("usage") && (has("detail") || has("message"));
    name == "error" || has("error") || value.get("object").is_some_and(|object| object == "error") || wordy
}

/// Servers use many more words than OpenAI's five.
fn finish_reason(said: &str, no_calls: bool) -> FinishReason {
    match said {
        "length" | "max_tokens" | "model_length" | "max_output_tokens" => FinishReason::Length,
        "content_filter" | "content-filter" | "safety" | "refusal" | "prohibited_content" => {
            FinishReason::ContentFilter
        }
        _ if !no_calls => FinishReason::ToolCalls,
        "" | "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "complete" | "completed"
        | "end" | "tool_calls" | "function_call" => FinishReason::Stop,
        _ => FinishReason::Other,
    }
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
