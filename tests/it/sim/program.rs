//! Random small programs, as loading would have made them.

mod bodies;
mod remedies;
pub mod team;

use std::sync::Arc;

use serde_json::{Map, json};
use synthdev::domain::agent::{AgentSpec, InputVisibility, MemoryPolicy, ToolLoop};
use synthdev::domain::approval::{ApprovalPolicy, ToolPermission};
use synthdev::domain::context::{
    ContextEntry, ContextSpec, ConversationSide, MessageAuthor, ToolVisibility, TrimPolicy,
};
use synthdev::domain::cost::TokenPrice;
use synthdev::domain::ids::{AgentIx, ContextIx, ScriptIx, StateIx, WorkflowIx};
use synthdev::domain::message::ChatRole;
use synthdev::domain::model::ModelChoice;
use synthdev::domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev::domain::source_location::{ConfigLayer, SourceLocation};
use synthdev::domain::tool::{ParsingTool, ToolRisk, ToolSpec, multicall_tool};
use synthdev::domain::workflow::{
    AgentFunction, NoMatch, ParameterType, SnapshotPolicy, StateBody, StateSpec, Transition, ValueSource,
    Workflow, WorkflowLimits, WorkflowParameter, WorkflowProgram,
};
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};

use super::luck::Luck;

pub const DECISION: &str = "decide";

pub fn spec(luck: &mut Luck) -> RunSpec {
    let chat = luck.random_chance(15);
    let count = if chat { 1 } else { luck.random_between(1, 3) };
    let mut workflows: Vec<Workflow> = (0..count).map(|at| workflow(luck, at, count, chat)).collect();
    if luck.random_chance(35) {
        team::add_team(luck, &mut workflows);
    }
    let workflows = workflows.into_iter().map(Arc::new).collect();
    let rules = [ToolPermission::Allow, ToolPermission::Allow, ToolPermission::Ask, ToolPermission::Deny];
    RunSpec {
        machine_version: MACHINE_VERSION,
        program: WorkflowProgram { workflows, hash: "seeded".to_owned(), start_warnings: Vec::new() },
        inputs: Map::from_iter([("task".to_owned(), json!("the task"))]),
        approvals: ApprovalPolicy {
            read: luck.pick_item(&rules),
            write: luck.pick_item(&rules),
            execute: luck.pick_item(&rules),
            ..ApprovalPolicy::default()
        },
        brief: Default::default(),
        stops: Default::default(),
        interactive: chat || luck.random_chance(60),
    }
}

fn place() -> SourceLocation {
    SourceLocation { file: "w.json".to_owned(), line: 1, column: 1 }
}

/// One script per kind; the simulation answers for them.
fn scripts() -> Vec<WorkflowScript> {
    [ScriptKind::Condition, ScriptKind::Before, ScriptKind::Action, ScriptKind::Input]
        .map(|kind| WorkflowScript {
            kind,
            form: ScriptForm::Expression,
            source: "x".to_owned(),
            prepared: "x".to_owned(),
            offers: Vec::new(),
            place: place(),
        })
        .to_vec()
}

fn workflow(luck: &mut Luck, at: usize, count: usize, chat: bool) -> Workflow {
    let contexts: Vec<ContextSpec> = (0..luck.random_between(1, 2)).map(|name| context(luck, name)).collect();
    let agents: Vec<AgentSpec> =
        (0..luck.random_between(1, 3)).map(|name| agent(luck, name, contexts.len(), chat)).collect();
    let inner = if chat { 1 } else { luck.random_between(1, 5) };
    let mut states: Vec<StateSpec> =
        (0..inner).map(|name| state(luck, name, inner, &agents, (at, count), chat)).collect();
    states.push(stop(luck));
    if !chat {
        bodies::add_bodies(luck, &mut states, inner, &agents, (at, count));
    }
    let output = WorkflowParameter {
        name: "result".to_owned(),
        kind: if luck.random_chance(85) { ParameterType::String } else { ParameterType::Number },
        description: String::new(),
        required: luck.random_chance(10),
        default: None,
        schema: None,
    };
    let mut workflow = Workflow {
        name: format!("w{at}"),
        description: String::new(),
        inputs: Vec::new(),
        output: (!chat && luck.random_chance(70)).then_some(output),
        variables: Map::new(),
        contexts,
        agents,
        states,
        scripts: Arc::new(scripts()),
        start: StateIx(0),
        stop: StateIx(inner),
        limits: WorkflowLimits {
            max_steps: u32::try_from(luck.random_between(3, 40)).unwrap(),
            max_visits: u32::try_from(luck.random_between(1, 6)).unwrap(),
            max_depth: u32::try_from(luck.random_between(1, 4)).unwrap(),
            max_concurrency: u32::try_from(luck.random_between(1, 4)).unwrap(),
            ..WorkflowLimits::default()
        },
        no_match: luck.pick_item(&[NoMatch::Error, NoMatch::Go(StateIx(inner))]),
        condition_errors_are_false: luck.random_chance(20),
        snapshot: luck.pick_item(&[
            SnapshotPolicy::Auto,
            SnapshotPolicy::Auto,
            SnapshotPolicy::Required,
            SnapshotPolicy::Off,
        ]),
        conversational: chat,
        layer: ConfigLayer::Project,
        place: place(),
        ..Workflow::default()
    };
    if !chat {
        remedies::add_remedies(luck, &mut workflow);
    }
    workflow
}

fn context(luck: &mut Luck, name: usize) -> ContextSpec {
    let starting = [(ChatRole::User, "welcome"), (ChatRole::Assistant, "thank you")];
    ContextSpec {
        name: format!("c{name}"),
        starting_messages: (0..luck.random_below(3))
            .map(|at| ContextEntry {
                pinned: true,
                ..ContextEntry::text(MessageAuthor::Start, starting[at].0, starting[at].1)
            })
            .collect(),
        max_length: luck.pick_item(&[20, 90, 90, 400, 400, 50_000]),
        max_tokens: luck.pick_item(&[None, None, None, Some(30)]),
        trim: luck.pick_item(&[
            TrimPolicy::DropOldest,
            TrimPolicy::DropOldest,
            TrimPolicy::Summarize,
            TrimPolicy::Summarize,
            TrimPolicy::Error,
        ]),
        summary: None,
        pin_first: luck.pick_item(&[0, 0, 1, 3]),
        tool_visibility: luck.pick_item(&[
            ToolVisibility::Summary,
            ToolVisibility::None,
            ToolVisibility::Full,
        ]),
    }
}

fn agent(luck: &mut Luck, name: usize, contexts: usize, chat: bool) -> AgentSpec {
    let side =
        if luck.random_chance(60) || chat { ConversationSide::Assistant } else { ConversationSide::User };
    let decides = luck.random_chance(50);
    AgentSpec {
        id: format!("a{name}"),
        role: "role".to_owned(),
        side,
        context: ContextIx(luck.random_below(contexts)),
        system_prompt: luck.pick_item(&["You help.", ""]).to_owned(),
        examples: Vec::new(),
        choice: ModelChoice {
            level: "base".to_owned(),
            provider: "scripted".to_owned(),
            price: luck.random_chance(70).then_some(TokenPrice {
                input: 1_000_000.0,
                output: 1_000_000.0,
                ..TokenPrice::default()
            }),
            ..ModelChoice::default()
        },
        tools: own_tools(luck).into(),
        parsing_tools: decides.then(|| decision(luck.random_chance(20))).into_iter().collect(),
        max_tool_rounds: u32::try_from(luck.random_between(1, 4)).unwrap(),
        tool_loop: luck.pick_item(&[ToolLoop::Auto, ToolLoop::Auto, ToolLoop::Step]),
        input_visibility: luck.pick_item(&[
            None,
            None,
            Some(InputVisibility::Shared),
            Some(InputVisibility::Private),
        ]),
        memory: luck.pick_item(&[MemoryPolicy::None, MemoryPolicy::Private]),
        budget: Default::default(),
        reminder: None,
        network: None,
        spawns: None,
        task_roles: Vec::new(),
        without: Default::default(),
    }
}

fn own_tools(luck: &mut Luck) -> Vec<ToolSpec> {
    let tools = [("write", ToolRisk::Write), ("look", ToolRisk::Read), ("execute", ToolRisk::Execute)];
    let tool = |(name, risk): &(&str, ToolRisk)| ToolSpec {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        risk: *risk,
        repeat: None,
    };
    let mut own: Vec<ToolSpec> = tools[..luck.random_below(4)].iter().map(tool).collect();
    if !own.is_empty() && luck.random_chance(50) {
        own.push(multicall_tool());
    }
    own
}

fn decision(only: bool) -> ParsingTool {
    ParsingTool {
        name: DECISION.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}),
        parsing_only: only,
    }
}

fn state(
    luck: &mut Luck,
    name: usize,
    count: usize,
    agents: &[AgentSpec],
    (own, workflows): (usize, usize),
    chat: bool,
) -> StateSpec {
    let input = luck.pick_item(&[
        ValueSource::Absent,
        ValueSource::Text("do it".to_owned()),
        ValueSource::Script(ScriptIx(3)),
    ]);
    let agent = luck.random_below(agents.len());
    let work = match luck.random_below(10) {
        _ if chat => StateBody::Agent {
            agent: AgentIx(0),
            function: AgentFunction::SendUserMessage,
            input: ValueSource::Human,
        },
        0 => StateBody::None,
        1 => StateBody::Agent {
            agent: AgentIx(agent),
            function: AgentFunction::ClearConversation,
            input: ValueSource::Absent,
        },
        // Without an input this is refused while loading
        2 if input != ValueSource::Absent => {
            StateBody::Agent { agent: AgentIx(agent), function: AgentFunction::AddUserMessage, input }
        }
        3 | 4 if workflows > 1 => StateBody::Child {
            // mostly a later one, sometimes itself or an earlier one: max_depth ends that
            workflow: WorkflowIx(if luck.random_chance(90) {
                (own + 1) % workflows
            } else {
                luck.random_below(workflows)
            }),
            inputs: vec![(
                "task".to_owned(),
                luck.pick_item(&[ValueSource::Text("sub".to_owned()), ValueSource::Script(ScriptIx(3))]),
            )],
        },
        _ => StateBody::Agent { agent: AgentIx(agent), function: AgentFunction::SendUserMessage, input },
    };
    let decides = matches!(work, StateBody::Agent { function: AgentFunction::SendUserMessage, .. })
        && !agents[agent].parsing_tools.is_empty()
        && luck.random_chance(50);
    let transitions = if chat {
        vec![Transition { target: StateIx(0), condition: None, before: None }]
    } else {
        (0..luck.random_between(1, 3)).map(|_| transition(luck, count)).collect()
    };
    StateSpec {
        name: format!("s{name}"),
        script: (!chat && luck.random_chance(25)).then_some(ScriptIx(2)),
        work,
        transitions,
        terminal: false,
        output: ValueSource::Absent,
        expects: if decides { vec![DECISION.to_owned()] } else { Vec::new() },
        place: place(),
        ..StateSpec::default()
    }
}

fn transition(luck: &mut Luck, count: usize) -> Transition {
    Transition {
        target: StateIx(luck.random_below(count + 1)),
        condition: luck.random_chance(60).then_some(ScriptIx(0)),
        before: luck.random_chance(30).then_some(ScriptIx(1)),
    }
}

fn stop(luck: &mut Luck) -> StateSpec {
    StateSpec {
        name: "stop".to_owned(),
        script: None,
        work: StateBody::None,
        transitions: Vec::new(),
        terminal: true,
        output: luck.pick_item(&[
            ValueSource::Absent,
            ValueSource::Text("end".to_owned()),
            ValueSource::Script(ScriptIx(3)),
        ]),
        place: place(),
        ..StateSpec::default()
    }
}
