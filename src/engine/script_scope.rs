//! Between the machine and scripts: the world a script sees, and the changes it returns.

use std::sync::Arc;

use super::call_frame::{CallFrame, WorkResult};
use synthdev_domain::context::{ContextEntry, MessageAuthor};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::message::ChatRole;
use synthdev_domain::script::{AgentView, ContextView, ScopeView, ScriptMessage};
use synthdev_domain::workflow::Workflow;

/// The scope of one job. Cheap: data and conversations are shared, not copied.
pub fn build_scope(
    frame: &mut CallFrame,
    workflow: &Workflow,
    seed: u64,
    call: CallId,
    now: Timestamp,
) -> ScopeView {
    let contexts = context_views(frame, workflow);
    ScopeView {
        frame: frame.id,
        version: frame.version,
        workflow: workflow.name.clone(),
        state: workflow.state(frame.state).map(|state| state.name.clone()).unwrap_or_default(),
        common_data: Arc::clone(&frame.data),
        variables: Arc::clone(&frame.variables),
        inputs: Arc::clone(&frame.inputs),
        looping: frame.item.clone(),
        agents: agent_views(frame, workflow),
        contexts,
        sub_workflow_result: frame.child_result.clone(),
        last_agent_response: frame.last_response.as_deref().map(str::to_owned),
        last_tool_calls: frame.last_tool_calls.clone(),
        last_parsing_tool_calls: frame.last_parsing_calls.clone(),
        result: frame.result.as_ref().map(WorkResult::value),
        // the machine knows it
        said: Vec::new(),
        now_ms: now.0,
        seed: seed ^ call.0.wrapping_mul(0x9E37_79B9_7F4A_7C15),
    }
}

fn agent_views(frame: &CallFrame, workflow: &Workflow) -> Vec<AgentView> {
    let context = |at: usize| workflow.contexts.get(at).map(|spec| spec.name.clone()).unwrap_or_default();
    workflow
        .agents
        .iter()
        .zip(&frame.agents)
        .map(|(spec, memory)| AgentView {
            id: spec.id.clone(),
            role: spec.role.clone(),
            context: context(spec.context.0),
            side: Some(spec.side),
            last_response: memory.last_response.as_deref().map(str::to_owned),
            tool_calls: memory.last_tool_calls.clone(),
            parsing_tool_calls: memory.last_parsing_calls.clone(),
        })
        .collect()
}

fn context_views(frame: &mut CallFrame, workflow: &Workflow) -> Vec<ContextView> {
    workflow
        .contexts
        .iter()
        .zip(&mut frame.conversations)
        .enumerate()
        .map(|(at, (spec, conversation))| ContextView {
            name: spec.name.clone(),
            agents: workflow.agents.iter().filter(|a| a.context.0 == at).map(|a| a.id.clone()).collect(),
            messages: conversation.messages(),
        })
        .collect()
}

/// Rebuilds a context from what a script left of it: untouched entries keep their calls and author.
///
/// # Errors
/// A message has no known role.
pub fn entries_from(messages: &[ScriptMessage], old: &[ContextEntry]) -> Result<Vec<ContextEntry>, String> {
    messages
        .iter()
        .map(|message| {
            let role = match message.role.as_str() {
                "user" => ChatRole::User,
                "assistant" => ChatRole::Assistant,
                "system" => ChatRole::System,
                other => return Err(format!("a message cannot have the role `{other}`")),
            };
            let kept = message.origin.and_then(|at| old.get(at)).filter(|entry| entry.role == role);
            Ok(kept.map_or_else(
                || ContextEntry::text(MessageAuthor::Script, role, message.content.clone()),
                |entry| ContextEntry { text: message.content.clone(), ..entry.clone() },
            ))
        })
        .collect()
}
