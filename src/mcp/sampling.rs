//! Model calls that the client makes at once, where it offers that (`sampling/createMessage`); what it does not answer is
//! left open and comes to it as the result of its request.
//!
//! Messages are made and read as JSON: the protocol has sampling on its way out, and its types with it.

use std::collections::HashSet;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rmcp::RoleServer;
use rmcp::model::ServerRequest;
use rmcp::service::Peer;
use serde_json::{Map, Value, json};

use super::arguments::check_size;
use super::llm_reply;
use super::response::{opened_messages, required_decision};
use synthdev_domain::ids::RunId;
use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::model::{ModelRequest, ToolChoice};
use synthdev_domain::tool::ParsingTool;
use synthdev_service::delegated_work::delegated_calls::{DelegatedCallClaim, DelegatedCalls, PROVIDER, TTL};

/// What the client is asked for during one of its requests.
pub(super) struct ClientSampling<'i> {
    interactions: &'i DelegatedCalls,
    client: Option<SamplingClient>,
    open_requests: FuturesUnordered<BoxFuture<'i, Option<String>>>,
    /// What the client did not answer.
    refused_ids: HashSet<String>,
}

#[derive(Clone)]
struct SamplingClient {
    peer: Peer<RoleServer>,
    /// It takes tools.
    tools: bool,
}

impl<'i> ClientSampling<'i> {
    pub(super) fn new(interactions: &'i DelegatedCalls, peer: &Peer<RoleServer>) -> Self {
        let offered = peer.peer_info().and_then(|info| serde_json::to_value(&info.capabilities).ok());
        let offered = offered.unwrap_or_default();
        let tools = offered["sampling"]["tools"].is_object();
        let client = offered["sampling"].is_object().then(|| SamplingClient { peer: peer.clone(), tools });
        Self { interactions, client, open_requests: FuturesUnordered::new(), refused_ids: HashSet::new() }
    }

    /// Whether the client is asked for nothing just now.
    pub(super) fn is_idle(&self) -> bool {
        self.open_requests.is_empty()
    }

    /// Sends the client all open calls of a run that no request has claimed.
    pub(super) fn send_open_requests(&mut self, run: &RunId) {
        let Some(client) = &self.client else { return };
        for interaction in self.interactions.open_calls(run) {
            if self.refused_ids.contains(&interaction.id) {
                continue;
            }
            let Some(request) = sampling_request(&interaction.request, client.tools) else {
                self.refused_ids.insert(interaction.id);
                continue;
            };
            if let Some(claim) = self.interactions.claim(&interaction.id) {
                self.open_requests.push(Box::pin(ask_client(
                    client.clone(),
                    self.interactions,
                    claim,
                    request,
                )));
            }
        }
    }

    /// The client answered one, or did not.
    pub(super) async fn next_result(&mut self) {
        if let Some(Some(refused)) = self.open_requests.next().await {
            self.refused_ids.insert(refused);
        }
    }
}

/// The id of the unanswered call.
async fn ask_client(
    client: SamplingClient,
    interactions: &DelegatedCalls,
    claim: DelegatedCallClaim<'_>,
    request: ServerRequest,
) -> Option<String> {
    let id = claim.call.id.clone();
    let answered = match tokio::time::timeout(TTL, client.peer.send_request(request)).await {
        Ok(Ok(answer)) => serde_json::to_value(answer).unwrap_or_default(),
        Ok(Err(error)) => {
            tracing::info!(%error, "the client does not make a model call");
            return Some(id);
        }
        Err(_) => return Some(id),
    };
    let read = reply_data(&answered, required_decision(&claim.call.request));
    let reply = check_size("answer", &read)
        .map_err(|_| "it is too large".to_owned())
        .and_then(|()| llm_reply::parse_reply(&id, &claim.call.request, &read));
    match reply {
        Ok(reply) => {
            interactions.answer(&id, &answered, Ok(reply));
            None
        }
        Err(why) => {
            tracing::info!(why, "the answer of the client's model does not fit");
            Some(id)
        }
    }
}

/// The request, as the protocol has it; `None`: it needs tools, and the client takes none.
fn sampling_request(request: &ModelRequest, takes_tools: bool) -> Option<ServerRequest> {
    let wanted = required_decision(request);
    let has_tools = !(request.tools.is_empty() && request.parsing_tools.is_empty());
    if has_tools && wanted.is_none() && !takes_tools {
        return None;
    }
    let opened = opened_messages(request);
    let (system, others): (Vec<_>, Vec<_>) =
        opened.iter().partition(|message| message.role == ChatRole::System);
    let mut messages = sampling_messages(&others, takes_tools);
    let mut params = json!({"maxTokens": request.choice.answer_tokens()});
    if takes_tools && has_tools {
        let (tools, mode) = sampling_tools(request);
        params["tools"] = tools;
        params["toolChoice"] = json!({"mode": mode});
    } else if let Some(tool) = wanted {
        let text = format!(
            "Answer with nothing but one JSON object that fits this JSON Schema ({}): {}",
            tool.description, tool.parameters
        );
        messages.push(json!({"role": "user", "content": {"type": "text", "text": text}}));
    } else if let Some(schema) = request.answer_schema.as_ref().filter(|_| !has_tools) {
        let text = format!("Answer with nothing but one JSON value that fits this JSON Schema: {schema}");
        messages.push(json!({"role": "user", "content": {"type": "text", "text": text}}));
    }
    params["messages"] = Value::Array(messages);
    if !system.is_empty() {
        let texts: Vec<&str> = system.iter().map(|message| message.content.as_str()).collect();
        params["systemPrompt"] = json!(texts.join("\n\n"));
    }
    if let Some(temperature) = request.choice.parameters.temperature {
        params["temperature"] = json!(temperature);
    }
    params["modelPreferences"] = model_preferences(request);
    serde_json::from_value(json!({"method": "sampling/createMessage", "params": params})).ok()
}

/// What kind of model the level is for, and its name if one is set.
fn model_preferences(request: &ModelRequest) -> Value {
    let mut preferences = match request.choice.level.as_str() {
        "smart" => json!({"intelligencePriority": 1.0}),
        "fast" => json!({"speedPriority": 1.0, "costPriority": 1.0}),
        _ => json!({}),
    };
    let model = &request.choice.model;
    if !model.is_empty() && model != PROVIDER {
        preferences["hints"] = json!([{"name": model}]);
    }
    preferences
}

fn sampling_tools(request: &ModelRequest) -> (Value, &'static str) {
    let named = match &request.tool_choice {
        ToolChoice::Named(name) => Some(name),
        ToolChoice::Auto
        | ToolChoice::Required
        | ToolChoice::Structured(_)
        | ToolChoice::StructuredOneOf(_) => None,
    };
    let tool = |name: &String, description: &String, parameters: &Value| {
        let mut schema = parameters.clone();
        if let Some(schema) = schema.as_object_mut() {
            schema.entry("type").or_insert_with(|| json!("object"));
        }
        let said = json!({"name": name, "description": description, "inputSchema": schema});
        named.is_none_or(|named| named == name).then_some(said)
    };
    let own = request.tools.iter().filter_map(|one| tool(&one.name, &one.description, &one.parameters));
    let decisions =
        request.parsing_tools.iter().filter_map(|one| tool(&one.name, &one.description, &one.parameters));
    let mode = match request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required | ToolChoice::Named(_) => "required",
        // the last message says what is wanted
        ToolChoice::Structured(_) | ToolChoice::StructuredOneOf(_) => "none",
    };
    (own.chain(decisions).collect(), mode)
}

/// Results of tools that belong together are one message. Clients without tools get all of it as text.
fn sampling_messages(told: &[&ChatMessage], tools: bool) -> Vec<Value> {
    let mut messages: Vec<(&str, bool, Vec<Value>)> = Vec::new();
    let text = |text: String| json!({"type": "text", "text": text});
    for message in told {
        let mut blocks = Vec::new();
        let result = message.role == ChatRole::Tool;
        if result && tools {
            blocks.push(json!({"type": "tool_result", "toolUseId": message.tool_call_id,
                "content": [text(message.content.clone())]}));
        } else if result {
            blocks.push(text(format!("(the result of a tool) {}", message.content)));
        } else if !message.content.is_empty() {
            blocks.push(text(message.content.clone()));
        }
        for call in &message.tool_calls {
            blocks.push(if tools {
                let input: Map<String, Value> = serde_json::from_str(&call.arguments).unwrap_or_default();
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
            } else {
                text(format!("(a call of the tool {}) {}", call.name, call.arguments))
            });
        }
        let role = if message.role == ChatRole::Assistant { "assistant" } else { "user" };
        match messages.last_mut() {
            Some((_, true, before)) if result && tools => before.extend(blocks),
            _ if tools => messages.push((role, result, blocks)),
            _ => messages.extend(blocks.into_iter().map(|block| (role, false, vec![block]))),
        }
    }
    let message = |(role, _, mut blocks): (&str, bool, Vec<Value>)| {
        let content = if blocks.len() == 1 { blocks.remove(0) } else { Value::Array(blocks) };
        json!({"role": role, "content": content})
    };
    messages.into_iter().map(message).collect()
}

/// A client's answer in the form of `agent_llm`.
fn reply_data(answer: &Value, wanted: Option<&ParsingTool>) -> Value {
    let blocks = match &answer["content"] {
        Value::Array(blocks) => blocks.as_slice(),
        one => std::slice::from_ref(one),
    };
    let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let texts: Vec<&str> = of("text").filter_map(|block| block["text"].as_str()).collect();
    let calls: Vec<Value> = of("tool_use")
        .map(|call| json!({"id": call["id"], "name": call["name"], "arguments": call["input"]}))
        .collect();
    if let Some(tool) = wanted {
        let called = calls.iter().find(|call| call["name"] == tool.name.as_str());
        let object =
            called.map(|call| call["arguments"].clone()).or_else(|| find_json_object(&texts.concat()));
        return json!({"object": object});
    }
    if calls.is_empty() && texts.is_empty() {
        return Value::Null;
    }
    json!({"text": texts.join("\n"), "toolCalls": calls})
}

/// The JSON object in a text: models like to put words and fences around it.
fn find_json_object(text: &str) -> Option<Value> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(start..=end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::message::ToolCall;

    #[test]
    fn a_conversation_with_tools_is_told_in_blocks_or_in_words() {
        let mut call = ChatMessage::text(ChatRole::Assistant, "I look.");
        let arguments = "{\"path\": \"a\"}".to_owned();
        call.tool_calls =
            vec![ToolCall { id: "c1".to_owned(), name: "read".to_owned(), arguments, original: None }];
        let user = ChatMessage::text(ChatRole::User, "What is in it?");
        let results = [ChatMessage::tool_result("c1", "plum"), ChatMessage::tool_result("c2", "pear")];
        let told = [&user, &call, &results[0], &results[1]];
        let text = |text: &str| json!({"type": "text", "text": text});
        let result =
            |id: &str, said: &str| json!({"type": "tool_result", "toolUseId": id, "content": [text(said)]});
        assert_eq!(
            sampling_messages(&told, true),
            [
                json!({"role": "user", "content": text("What is in it?")}),
                json!({"role": "assistant", "content": [text("I look."),
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}]}),
                json!({"role": "user", "content": [result("c1", "plum"), result("c2", "pear")]}),
            ]
        );
        let words = sampling_messages(&told, false);
        assert!(words.iter().all(|message| message["content"]["type"] == "text"), "{words:?}");
        assert_eq!(words.len(), 5);
    }

    #[test]
    fn answers_are_words_calls_or_the_object_that_was_wanted() {
        let tool = ParsingTool {
            name: "verdict".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            parsing_only: true,
        };
        let text = |text: &str| json!({"role": "assistant", "content": {"type": "text", "text": text}});
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "verdict",
            "input": {"ok": true}}]});
        for (answer, wants, expected) in [
            (text("Bonjour"), false, json!({"text": "Bonjour", "toolCalls": []})),
            (
                call.clone(),
                false,
                json!({"text": "", "toolCalls": [{"id": "1", "name": "verdict", "arguments": {"ok": true}}]}),
            ),
            (call, true, json!({"object": {"ok": true}})),
            (text("Sure:\n```json\n{\"ok\": false}\n```"), true, json!({"object": {"ok": false}})),
            (text("no idea"), true, json!({"object": null})),
            (json!({}), false, Value::Null),
        ] {
            assert_eq!(reply_data(&answer, wants.then_some(&tool)), expected, "{answer}");
        }
    }
}
