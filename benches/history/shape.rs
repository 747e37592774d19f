//! The runs that are measured.

use std::sync::Arc;

use serde_json::{Map, json};
use synthdev::domain::agent::{AgentSpec, MemoryPolicy, ToolLoop};
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::context::{ContextSpec, ConversationSide, DEFAULT_MAX_LENGTH};
use synthdev::domain::cost::TokenPrice;
use synthdev::domain::ids::{AgentIx, ContextIx, ScriptIx, StateIx};
use synthdev::domain::limits::WorkflowLimits;
use synthdev::domain::model::ModelChoice;
use synthdev::domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev::domain::tool::{ToolRisk, ToolSpec};
use synthdev::domain::workflow::{
    AgentFunction, SnapshotPolicy, StateBody, StateSpec, Transition, ValueSource, Workflow, WorkflowProgram,
};
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Two agents in turn; each transition has a condition and a `before`.
    Workflow,
    /// A person and an agent in turn.
    Chat,
    /// A chat in which each answer comes after a tool call: four messages a turn.
    Tools,
}

impl Shape {
    pub const ALL: [Self; 3] = [Self::Workflow, Self::Chat, Self::Tools];

    pub fn spec(self) -> Arc<RunSpec> {
        let workflow = match self {
            Self::Workflow => two_agents(),
            Self::Chat | Self::Tools => chat(),
        };
        let endless =
            WorkflowLimits { max_steps: u32::MAX, max_visits: u32::MAX, ..WorkflowLimits::default() };
        let workflow = Workflow { limits: endless, snapshot: SnapshotPolicy::Off, ..workflow };
        Arc::new(RunSpec {
            machine_version: MACHINE_VERSION,
            program: WorkflowProgram {
                workflows: vec![Arc::new(workflow)],
                hash: "0".repeat(64),
                start_warnings: Vec::new(),
            },
            inputs: Map::new(),
            approvals: ApprovalPolicy::default(),
            brief: Default::default(),
            stops: Default::default(),
            interactive: self != Self::Workflow,
        })
    }
}

fn two_agents() -> Workflow {
    let script = |kind, form, source: &str| WorkflowScript {
        kind,
        form,
        source: source.to_owned(),
        prepared: source.to_owned(),
        offers: Vec::new(),
        place: Default::default(),
    };
    let scripts = vec![
        script(ScriptKind::Condition, ScriptForm::Expression, "common_data.count < 1000000"),
        script(ScriptKind::Before, ScriptForm::Statements, "common_data.count += 1"),
    ];
    let state = |name: &str, agent, target| StateSpec {
        name: name.to_owned(),
        work: StateBody::Agent {
            agent: AgentIx(agent),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Absent,
        },
        transitions: vec![
            Transition { target: StateIx(target), condition: Some(ScriptIx(0)), before: Some(ScriptIx(1)) },
            Transition { target: StateIx(2), condition: None, before: None },
        ],
        ..StateSpec::default()
    };
    let stop = StateSpec { name: "stop".to_owned(), terminal: true, ..StateSpec::default() };
    Workflow {
        name: "two_agents".to_owned(),
        variables: Map::from_iter([("count".to_owned(), json!(0))]),
        contexts: vec![context()],
        agents: vec![agent("coder", ConversationSide::Assistant), agent("reviewer", ConversationSide::User)],
        states: vec![state("code", 0, 1), state("review", 1, 0), stop],
        stop: StateIx(2),
        scripts: Arc::new(scripts),
        ..Workflow::default()
    }
}

fn chat() -> Workflow {
    let work = StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Human,
    };
    let again = Transition { target: StateIx(0), condition: None, before: None };
    let talk = StateSpec { name: "talk".to_owned(), work, transitions: vec![again], ..StateSpec::default() };
    let stop = StateSpec { name: "stop".to_owned(), terminal: true, ..StateSpec::default() };
    Workflow {
        name: "chat".to_owned(),
        contexts: vec![context()],
        agents: vec![agent("coder", ConversationSide::Assistant)],
        states: vec![talk, stop],
        stop: StateIx(1),
        conversational: true,
        ..Workflow::default()
    }
}

fn context() -> ContextSpec {
    ContextSpec { name: "talk".to_owned(), max_length: DEFAULT_MAX_LENGTH, ..ContextSpec::default() }
}

fn agent(id: &str, side: ConversationSide) -> AgentSpec {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "Reads files of the project and gives their numbered lines.".to_owned(),
        parameters: json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "description": "relative to the project"},
            "from": {"type": "integer"}, "lines": {"type": "integer"}}}),
        risk: ToolRisk::Read,
        repeat: None,
    };
    AgentSpec {
        id: id.to_owned(),
        role: id.to_owned(),
        side,
        context: ContextIx(0),
        system_prompt: "You work with care and say what you did. ".repeat(40),
        examples: Vec::new(),
        choice: ModelChoice {
            model: "some-model".to_owned(),
            provider: "some-provider".to_owned(),
            price: Some(TokenPrice { input: 2.0, output: 10.0, cached: Some(0.5), ..TokenPrice::default() }),
            ..ModelChoice::default()
        },
        tools: ["read_files", "write_file", "execute_terminal", "search", "fetch", "list"]
            .map(tool)
            .to_vec()
            .into(),
        parsing_tools: Vec::new(),
        max_tool_rounds: 25,
        tool_loop: ToolLoop::Auto,
        input_visibility: None,
        memory: MemoryPolicy::None,
        budget: Default::default(),
        reminder: None,
        without: Default::default(),
        network: None,
        spawns: None,
        task_roles: Vec::new(),
    }
}
