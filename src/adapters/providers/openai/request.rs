//! The body of a chat completions request: strict in what is sent, nothing in it that was not asked for.
//!
//! Messages, tools and tool choice are made of async-openai's types, so that their shape is OpenAI's own;
//! numbers are written as they are configured (its `f32` would turn 0.7 into 0.699999988).

use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionNamedToolChoice,
    ChatCompletionRequestAssistantMessage, ChatCompletionRequestAssistantMessageContent,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, ChatCompletionTool,
    ChatCompletionToolChoiceOption, ChatCompletionTools, FunctionCall, FunctionName, FunctionObject,
    ToolChoiceOptions,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::providers::attached_images::{AttachedImages, SentImage};
use crate::providers::conversation::normalize_messages;
use crate::providers::offered_tools::{ToolChoiceBinding, tools_with_binding};
use crate::providers::strict_schema::is_strict;
use synthdev_domain::message::{ChatMessage, ChatRole, ToolCall};
use synthdev_domain::model::{ModelChoice, ModelError, ModelParameters, ModelRequest};

/// The body of a request, without the content of its images.
///
/// # Errors
/// A value that JSON cannot hold; no input of a user leads there.
pub fn build_request(request: &ModelRequest) -> Result<Value, ModelError> {
    build_with_images(request, &AttachedImages::placeholders(request))
}

/// The body of a request with these images.
///
/// # Errors
/// A value that JSON cannot hold; no input of a user leads there.
pub fn build_with_images(request: &ModelRequest, images: &AttachedImages) -> Result<Value, ModelError> {
    let messages = message_values(normalize_messages(&images.annotate(&request.messages)), images)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), Value::String(request.choice.model.clone()));
    body.insert("messages".to_owned(), Value::Array(messages));
    let (offered, choice, format) = tools_and_choice(request);
    if !offered.is_empty() {
        body.insert("tools".to_owned(), to_value(&offered)?);
        body.insert("tool_choice".to_owned(), to_value(&choice)?);
    }
    body.extend(format.map(|format| ("response_format".to_owned(), format)));
    add_parameters(&mut body, &request.choice);
    body.insert("stream".to_owned(), Value::Bool(true));
    let options = ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None };
    body.insert("stream_options".to_owned(), to_value(&options)?);
    Ok(Value::Object(body))
}

fn to_value<T: Serialize>(value: &T) -> Result<Value, ModelError> {
    serde_json::to_value(value)
        .map_err(|error| ModelError::Protocol { detail: format!("the request cannot be written: {error}") })
}

/// The result of a tool cannot hold an image here: the user's next message does.
fn message_values(messages: Vec<ChatMessage>, images: &AttachedImages) -> Result<Vec<Value>, ModelError> {
    let mut values = Vec::with_capacity(messages.len());
    let mut of_results: Vec<Value> = Vec::new();
    for message in messages {
        let own = images.images_of(&message.content).into_iter().map(image_part);
        match message.role {
            ChatRole::Tool => of_results.extend(own),
            ChatRole::User => {
                let mut parts = result_images(std::mem::take(&mut of_results));
                let mut own = own.peekable();
                if !parts.is_empty() || own.peek().is_some() {
                    parts.push(text_part(&message.content));
                    parts.extend(own);
                    values.push(json!({ "role": "user", "content": parts }));
                    continue;
                }
            }
            ChatRole::System | ChatRole::Assistant if !of_results.is_empty() => {
                let parts = result_images(std::mem::take(&mut of_results));
                values.push(json!({ "role": "user", "content": parts }));
            }
            ChatRole::System | ChatRole::Assistant => {}
        }
        values.push(to_value(&chat_message(message))?);
    }
    if !of_results.is_empty() {
        values.push(json!({ "role": "user", "content": result_images(of_results) }));
    }
    Ok(values)
}

fn result_images(images: Vec<Value>) -> Vec<Value> {
    if images.is_empty() {
        return images;
    }
    let mut parts = vec![text_part("The images of the tool results above:")];
    parts.extend(images);
    parts
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image_part(image: &SentImage) -> Value {
    json!({ "type": "image_url", "image_url": { "url": image.data_url() } })
}

fn chat_message(message: ChatMessage) -> ChatCompletionRequestMessage {
    let content = message.content;
    match message.role {
        ChatRole::System => ChatCompletionRequestSystemMessage { content: content.into(), name: None }.into(),
        ChatRole::User => ChatCompletionRequestUserMessage { content: content.into(), name: None }.into(),
        ChatRole::Assistant => {
            let calls: Vec<_> = message.tool_calls.into_iter().map(tool_call_message).collect();
            ChatCompletionRequestAssistantMessage {
                content: (!content.is_empty())
                    .then_some(ChatCompletionRequestAssistantMessageContent::Text(content)),
                tool_calls: (!calls.is_empty()).then_some(calls),
                ..ChatCompletionRequestAssistantMessage::default()
            }
            .into()
        }
        ChatRole::Tool => ChatCompletionRequestToolMessage {
            content: content.into(),
            tool_call_id: message.tool_call_id.unwrap_or_default(),
        }
        .into(),
    }
}

fn tool_call_message(call: ToolCall) -> ChatCompletionMessageToolCalls {
    ChatCompletionMessageToolCalls::Function(ChatCompletionMessageToolCall {
        id: call.id,
        function: FunctionCall { name: call.name, arguments: call.arguments },
    })
}

/// The tools of the request, and its `tool_choice`.
fn tools_and_choice(
    request: &ModelRequest,
) -> (Vec<ChatCompletionTools>, ChatCompletionToolChoiceOption, Option<Value>) {
    let (offered, binding) = tools_with_binding(request);
    let mut format = None;
    let choice = match binding {
        ToolChoiceBinding::Auto => ChatCompletionToolChoiceOption::Mode(ToolChoiceOptions::Auto),
        ToolChoiceBinding::Required => ChatCompletionToolChoiceOption::Mode(ToolChoiceOptions::Required),
        ToolChoiceBinding::Named(name) => {
            ChatCompletionToolChoiceOption::Function(ChatCompletionNamedToolChoice {
                function: FunctionName { name: name.to_owned() },
            })
        }
        ToolChoiceBinding::Structured { name, schema } => {
            let asked = json!({"name": name, "schema": schema, "strict": is_strict(&schema)});
            format = Some(json!({"type": "json_schema", "json_schema": asked}));
            ChatCompletionToolChoiceOption::Mode(ToolChoiceOptions::None)
        }
    };
    let offered = offered.into_iter().map(|tool| {
        ChatCompletionTools::Function(ChatCompletionTool {
            function: FunctionObject {
                name: tool.name.to_owned(),
                description: (!tool.description.is_empty()).then(|| tool.description.to_owned()),
                parameters: Some(tool.schema()),
                strict: None,
            },
        })
    });
    (offered.collect(), choice, format)
}

fn add_parameters(body: &mut Map<String, Value>, choice: &ModelChoice) {
    let ModelParameters {
        temperature,
        top_p,
        top_k,
        frequency_penalty,
        presence_penalty,
        repetition_penalty,
        max_output_tokens,
        reasoning_effort,
    } = &choice.parameters;
    let rows: [(&str, Option<Value>); 8] = [
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        ("top_k", top_k.map(Value::from)),
        ("frequency_penalty", frequency_penalty.map(Value::from)),
        ("presence_penalty", presence_penalty.map(Value::from)),
        ("repetition_penalty", repetition_penalty.map(Value::from)),
        (limit_name(choice), max_output_tokens.map(Value::from)),
        ("reasoning_effort", reasoning_effort.clone().map(Value::from)),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    }
}

/// OpenAI's newer models refuse `max_tokens`; most others know nothing else.
fn limit_name(choice: &ModelChoice) -> &'static str {
    let url = choice.base_url.as_str();
    let theirs = url.contains("api.openai.com") || url.contains(".openai.azure.com");
    if theirs { "max_completion_tokens" } else { "max_tokens" }
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
