//! Single-agent mode as a workflow: one state that waits for the person, speaks, and waits again.

use super::program;
use crate::domain::agent::{AgentSpec, DEFAULT_TOOL_ROUNDS, Memory, ToolLoop};
use crate::domain::context::{ContextSpec, DEFAULT_MAX_LENGTH, Side};
use crate::domain::ids::{AgentIx, ContextIx, StateIx};
use crate::domain::model::ModelChoice;
use crate::domain::place::{Layer, Place};
use crate::domain::role::Role;
use crate::domain::tool::ToolSpec;
use crate::domain::workflow::{
    AgentFunction, Budget, Input, Limits, Program, State, Transition, Work, Workflow,
};
const NAME: &str = "chat";

/// The built-in conversation with one role: workflow, context and state are called `chat`.
pub fn chat(role: Role, choice: ModelChoice, tools: Vec<ToolSpec>) -> Program {
    let place = Place { file: "built-in:chat".to_owned(), line: 1, column: 1 };
    let agent = AgentSpec {
        id: role.name.clone(),
        role: role.name,
        side: Side::Assistant,
        context: ContextIx(0),
        system_prompt: role.system_message,
        examples: role.examples,
        choice,
        tools,
        parsing_tools: role.parsing_tools,
        max_tool_rounds: DEFAULT_TOOL_ROUNDS,
        tool_loop: ToolLoop::Auto,
        input_visibility: None,
        memory: Memory::None,
        budget: Budget::default(),
        reminder: role.reminder,
        without: role.without,
        network: role.network,
    };
    let state = |name: &str, work, transitions: Vec<Transition>| State {
        name: name.to_owned(),
        work,
        terminal: transitions.is_empty(),
        transitions,
        place: place.clone(),
        ..State::default()
    };
    let speak =
        Work::Agent { agent: AgentIx(0), function: AgentFunction::SendUserMessage, input: Input::Human };
    let again = Transition { target: StateIx(0), condition: None, before: None };
    program(vec![Workflow {
        name: NAME.to_owned(),
        description: format!("Conversation with {}", agent.role),
        contexts: vec![ContextSpec {
            name: NAME.to_owned(),
            starting_messages: Vec::new(),
            max_length: DEFAULT_MAX_LENGTH,
            ..ContextSpec::default()
        }],
        agents: vec![agent],
        states: vec![state(NAME, speak, vec![again]), state("stop", Work::None, Vec::new())],
        start: StateIx(0),
        stop: StateIx(1),
        // a conversation has no natural end: only the person ends it
        limits: Limits { max_steps: u32::MAX, max_visits: u32::MAX, ..Limits::default() },
        conversational: true,
        layer: Layer::BuiltIn,
        place: place.clone(),
        ..Workflow::default()
    }])
}
