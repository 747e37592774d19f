//! What scripts can read besides `common_data`, as JSON for the prelude.
//!
//! Refuses: building anything before a script asks for it; most conditions never do.

use serde_json::{Map, Value, json};

use synthdev_domain::message::ToolCall;
use synthdev_domain::script::{AgentView, ContextView, ScopeView};

/// The JSON text of one part of the scope.
pub(super) fn scope_part_json(scope: &ScopeView, what: &str) -> String {
    match what {
        "agents" => Value::Array(scope.agents.iter().map(agent_json).collect()),
        "contexts" => Value::Array(scope.contexts.iter().map(context_json).collect()),
        "inputs" => return serde_json::to_string(scope.inputs.as_ref()).unwrap_or_default(),
        _ => last_value(scope),
    }
    .to_string()
}

fn last_value(scope: &ScopeView) -> Value {
    let mut all = Map::new();
    // An absent key reads as `undefined` in JavaScript, which is what "no child yet" means.
    if let Some(result) = &scope.sub_workflow_result {
        all.insert("sub_workflow_result".to_owned(), result.clone());
    }
    if let Some(result) = &scope.result {
        all.insert("context".to_owned(), result.clone());
    }
    if let Some(looping) = &scope.looping {
        all.insert("loop".to_owned(), looping.as_ref().clone());
    }
    if !scope.said.is_empty() {
        all.insert("said".to_owned(), json!(scope.said));
    }
    all.insert("last_agent_response".to_owned(), json!(scope.last_agent_response));
    all.insert("last_tool_calls".to_owned(), calls_json(&scope.last_tool_calls));
    all.insert("last_parsing_tool_calls".to_owned(), calls_json(&scope.last_parsing_tool_calls));
    Value::Object(all)
}

fn agent_json(agent: &AgentView) -> Value {
    json!({
        "id": agent.id,
        "role": agent.role,
        "context": agent.context,
        "side": agent.side.map(synthdev_domain::context::ConversationSide::as_str),
        "last_response": agent.last_response,
        "tool_calls": calls_json(&agent.tool_calls),
        "parsing_tool_calls": calls_json(&agent.parsing_tool_calls),
    })
}

fn context_json(context: &ContextView) -> Value {
    let messages: Vec<Value> = context
        .messages
        .iter()
        .map(|message| json!({"role": message.role, "content": message.content, "origin": message.origin}))
        .collect();
    json!({"name": context.name, "agents": context.agents, "messages": messages})
}

/// Calls in the shape that OpenAI's API made familiar, with the arguments parsed where they are JSON.
fn calls_json(calls: &[ToolCall]) -> Value {
    let one = |call: &ToolCall| {
        let arguments =
            serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
        json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
    };
    Value::Array(calls.iter().map(one).collect())
}
