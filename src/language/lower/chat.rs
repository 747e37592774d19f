//! Single-agent mode as a workflow: one state that waits for the user, answers, and waits again.

use super::assemble_program;
use synthdev_domain::agent::{AgentSpec, DEFAULT_TOOL_ROUNDS};
use synthdev_domain::context::{ContextSpec, ConversationSide, DEFAULT_MAX_LENGTH};
use synthdev_domain::ids::{AgentIx, ContextIx, StateIx};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::role::Role;
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::tool::ToolSpec;
use synthdev_domain::workflow::{
    AgentFunction, CONVERSATION_WORKFLOW, StateBody, StateSpec, Transition, ValueSource, Workflow,
    WorkflowLimits, WorkflowProgram,
};

/// The built-in conversation with one role: workflow, context and state are called `chat`.
pub fn chat_program(role: Role, choice: ModelChoice, tools: Vec<ToolSpec>) -> WorkflowProgram {
    let place = SourceLocation { file: "built-in:chat".to_owned(), line: 1, column: 1 };
    let agent = AgentSpec {
        id: role.name.clone(),
        role: role.name,
        side: ConversationSide::Assistant,
        context: ContextIx(0),
        system_prompt: role.system_message,
        examples: role.examples,
        choice,
        tools: tools.into(),
        parsing_tools: role.parsing_tools,
        max_tool_rounds: DEFAULT_TOOL_ROUNDS,
        reminder: role.reminder,
        without: role.without,
        network: role.network,
        ..AgentSpec::default()
    };
    let state = |name: &str, work, transitions: Vec<Transition>| StateSpec {
        name: name.to_owned(),
        work,
        terminal: transitions.is_empty(),
        transitions,
        place: place.clone(),
        ..StateSpec::default()
    };
    let speak = StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Human,
    };
    let again = Transition { target: StateIx(0), condition: None, before: None };
    assemble_program(vec![Workflow {
        name: CONVERSATION_WORKFLOW.to_owned(),
        description: format!("Conversation with {}", agent.role),
        contexts: vec![ContextSpec {
            name: CONVERSATION_WORKFLOW.to_owned(),
            max_length: DEFAULT_MAX_LENGTH,
            ..ContextSpec::default()
        }],
        agents: vec![agent],
        states: vec![
            state(CONVERSATION_WORKFLOW, speak, vec![again]),
            state("stop", StateBody::None, Vec::new()),
        ],
        start: StateIx(0),
        stop: StateIx(1),
        // a conversation has no natural end: only the user ends it
        limits: WorkflowLimits { max_steps: u32::MAX, max_visits: u32::MAX, ..WorkflowLimits::default() },
        conversational: true,
        layer: ConfigLayer::BuiltIn,
        place: place.clone(),
        ..Workflow::default()
    }])
}
