//! The model call that a run delegates to its client, in the form that clients expect.

use serde_json::{Map, Value, json};

use super::super::timestamp::to_rfc3339;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunSummary;
use synthdev_domain::message::{BEGIN, ChatMessage, ChatRole};
use synthdev_domain::model::{ModelRequest, ToolChoice};
use synthdev_domain::tool::ParsingTool;
use synthdev_service::delegated_work::delegated_calls::{DelegatedCall, PROVIDER};

pub(super) const PENDING: &str = "pending_agent_llm_action";

/// What the result of a state is called, which has no name of its own.
const RESULT: &str = "result";

const MESSAGE: &str = "The workflow requires an LLM call from the agent. Details provided in llmRequestForAgent. Agent \
    must call agent_llm with this interactionId in response.";
const INSTRUCTIONS: &str = "Agent, please perform the LLM call using llmRequestForAgent and then invoke the 'agent_llm' \
    tool with your response, including this interactionId.";

/// The parsing tool that must be called: the answer is its arguments, an object of that schema.
pub(crate) fn required_decision(request: &ModelRequest) -> Option<&ParsingTool> {
    let ToolChoice::Named(name) = &request.tool_choice else { return None };
    request.parsing_tools.iter().find(|tool| tool.name == *name)
}

/// The object that the whole answer must be: the arguments of a decision, or the result of the state.
struct WantedObject<'r> {
    name: &'r str,
    schema: &'r Value,
}

/// `None`: words, or calls of tools. With tools on offer the schema of the result holds for the last answer only.
fn wanted_object(request: &ModelRequest) -> Option<WantedObject<'_>> {
    if let Some(tool) = required_decision(request) {
        return Some(WantedObject { name: &tool.name, schema: &tool.parameters });
    }
    let schema = request.answer_schema.as_ref().filter(|_| request.tools.is_empty())?;
    Some(WantedObject { name: RESULT, schema })
}

pub(super) fn add_directive_fields(
    run: &RunSummary,
    open: &[DelegatedCall],
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let first = open.first()?;
    let mut fields = directive_fields(run, first, now);
    if open.len() > 1 {
        let all: Vec<Value> =
            open.iter().map(|interaction| Value::Object(directive_fields(run, interaction, now))).collect();
        fields.insert("pendingInteractions".to_owned(), Value::Array(all));
    }
    Some(fields)
}

fn directive_fields(run: &RunSummary, interaction: &DelegatedCall, now: Timestamp) -> Map<String, Value> {
    let id = &interaction.id;
    let left = interaction.expires_at.0.saturating_sub(now.0).max(0).unsigned_abs().div_ceil(1_000);
    let fields = json!({
        "toolResponseSource": "taskmaster_to_agent",
        "status": PENDING,
        "message": MESSAGE,
        "llmRequestForAgent": llm_request_json(
            &interaction.request,
            &run.workflow,
            &conversation_id(&interaction.request, &interaction.run),
        ),
        "interactionId": id,
        "pendingInteractionSignalToAgent": {
            "type": "agent_must_respond_via_agent_llm",
            "interactionId": id,
            "instructions": INSTRUCTIONS,
        },
        "expiresAt": to_rfc3339(interaction.expires_at),
        "expiresInSeconds": left,
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// A model call as the client gets it.
pub(crate) fn llm_request_json(request: &ModelRequest, command: &str, conversation: &str) -> Value {
    let choice = &request.choice;
    let model = Some(&choice.model).filter(|model| !model.is_empty() && *model != PROVIDER);
    let wanted = wanted_object(request);
    let mut asked = json!({
        "apiKey": null,
        "modelId": model,
        "messages": opened_messages(request).iter().map(message_json).collect::<Vec<_>>(),
        "maxTokens": choice.parameters.max_output_tokens,
        "temperature": choice.parameters.temperature,
        "originalCommand": command,
        "role": request.agent,
        "serviceType": if wanted.is_some() { "generateObject" } else { "generateText" },
        "conversationId": conversation,
    });
    if let Some(WantedObject { name, schema }) = wanted {
        asked["objectName"] = json!(name);
        asked["schema"] = schema.clone();
        return asked;
    }
    let tool = |name: &str, description: &str, parameters: &Value| json!({"name": name, "description": description, "parameters": parameters});
    let tools = request.tools.iter().map(|one| tool(&one.name, &one.description, &one.parameters));
    let decisions =
        request.parsing_tools.iter().map(|one| tool(&one.name, &one.description, &one.parameters));
    let tools: Vec<Value> = tools.chain(decisions).collect();
    if !tools.is_empty() {
        asked["tools"] = json!(tools);
        asked["toolChoice"] = match &request.tool_choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::Required => json!("required"),
            ToolChoice::Named(name) => json!({"name": name}),
            ToolChoice::Structured(_) | ToolChoice::StructuredOneOf(_) => json!("none"),
        };
    }
    asked
}

/// The conversation, begun by the user: some servers refuse one that the assistant begins.
pub(crate) fn opened_messages(request: &ModelRequest) -> Vec<ChatMessage> {
    let mut messages = request.messages.clone();
    let first = messages.iter().position(|message| message.role != ChatRole::System);
    if first.is_none_or(|at| messages[at].role == ChatRole::Assistant) {
        messages.insert(first.unwrap_or(messages.len()), ChatMessage::text(ChatRole::User, BEGIN));
    }
    messages
}

/// Branches talk to the same agent at the same time, each in a conversation of its own.
fn conversation_id(request: &ModelRequest, run: &RunId) -> String {
    match request.state.rsplit_once('/') {
        Some((branch, _)) => format!("{run}/{branch}/{}", request.agent),
        None => format!("{run}/{}", request.agent),
    }
}

fn message_json(message: &ChatMessage) -> Value {
    let mut told = json!({"role": message.role.as_str(), "content": message.content});
    if !message.tool_calls.is_empty() {
        told["toolCalls"] = json!(message.tool_calls);
    }
    if let Some(id) = &message.tool_call_id {
        told["toolCallId"] = json!(id);
    }
    told
}
