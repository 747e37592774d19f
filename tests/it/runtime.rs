//! The runtime with many threads of control: real sockets, a real database, real timers.

mod asides;
mod background_end;
mod control;
mod conversations;
mod ending;
mod executed_arguments;
mod risk_warnings;
mod server_runs;
mod sub_agents;
mod travel;
mod use_cases;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use synthdev::adapters::git::GitSnapshots;
use synthdev::adapters::javascript::ScriptWorkerPool;
use synthdev::adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::adapters::system_clock::{SystemClock, SystemIds};
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::cli::exit;
use synthdev::cli::headless::{self, HeadlessOutput};
use synthdev::domain::agent::AgentSpec;
use synthdev::domain::approval::ApprovalDecision;
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::context::{ContextSpec, ConversationSide};
use synthdev::domain::ids::{AgentIx, CallId, ContextIx, RunId, ScriptIx, StateIx};
use synthdev::domain::journal::RunStatus;
use synthdev::domain::model::ModelChoice;
use synthdev::domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev::domain::source_location::SourceLocation;
use synthdev::domain::system_context::SystemContext;
use synthdev::domain::tool::{ToolPreview, ToolRisk};
use synthdev::domain::workflow::{
    ActionExpectation, ActionSpec, AgentFunction, BranchErrors, BranchSpec, ForEachSpec, JoinPolicy,
    ParallelSpec, ParameterType, PauseKind, PauseSpec, SnapshotPolicy, StateBody, StateOutputSpec, StateSpec,
    Transition, ValueSource, WaitSpec, Workflow, WorkflowParameter, WorkflowProgram,
};
use synthdev::engine::effect::UserQuestion;
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::UserAnswer;
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev::ports::run_store::RunStore;
use synthdev::runtime::command::RunCommand;
use synthdev::runtime::handle::{EventReceiver, RuntimeHandle, RuntimeOptions, RuntimePorts};
use tempfile::TempDir;

use crate::support::model_server::{Behaviour, ModelServer};

const AGENTS: usize = 8;
const REPEATS: usize = 100;

/// A hang is a failure; nothing waits this long otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    handle: RuntimeHandle,
    /// What `handle` was made of.
    ports: RuntimePorts,
    events: EventReceiver,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        Self::with_store(|store| Arc::new(store))
    }

    fn with_store(watched: impl FnOnce(SqliteStore) -> Arc<dyn RunStore>) -> Self {
        let directory = crate::support::temporary::temp_directory();
        let (project, data) = (directory.path().join("project"), directory.path().join("data"));
        for path in [&project, &data] {
            std::fs::create_dir_all(path).unwrap();
        }
        let clock = Arc::new(SystemClock);
        let ports = RuntimePorts {
            models: Arc::new(ModelProviders::new(BTreeMap::new(), ModelTimeouts::default())),
            tools: Arc::new(ProjectTools::new(ToolSettings::new(&project))),
            scripts: Arc::new(ScriptWorkerPool::default()),
            snapshots: Arc::new(GitSnapshots::open(project, data.clone(), Vec::new(), clock.clone())),
            store: watched(SqliteStore::new(data.join("runs.sqlite"))),
            lock: None,
            clock,
            ids: Arc::new(SystemIds),
        };
        let handle = RuntimeHandle::new(ports.clone(), RuntimeOptions::default());
        let events = handle.subscribe(true);
        Self { handle, ports, events, directory }
    }

    fn start_run(&self, workflow: &Arc<Workflow>) -> RunId {
        self.handle.start(spec(workflow, true)).unwrap()
    }

    /// Everything up to an event that `last` wants, that one included.
    async fn events_until(&mut self, last: impl Fn(&RunEvent) -> bool) -> Vec<RunEvent> {
        let mut seen = Vec::new();
        loop {
            let event = match tokio::time::timeout(PATIENCE, self.events.recv()).await {
                Ok(Some(published)) => published.event,
                end => panic!("no further event ({end:?}) after {seen:#?}"),
            };
            let done = last(&event);
            seen.push(event);
            if done {
                return seen;
            }
        }
    }

    /// Everything up to the end of the run, and how it ended.
    async fn events_to_end(&mut self) -> (Vec<RunEvent>, RunStatus, Option<Value>) {
        let seen = self.events_until(|event| matches!(event, RunEvent::Finished { .. })).await;
        match seen.last() {
            Some(RunEvent::Finished { status, output, .. }) => (seen.clone(), *status, output.clone()),
            other => panic!("{other:?}"),
        }
    }
}

fn spec(workflow: &Arc<Workflow>, interactive: bool) -> RunSpec {
    let program = WorkflowProgram {
        workflows: vec![Arc::clone(workflow)],
        hash: "test".into(),
        start_warnings: Vec::new(),
    };
    let (inputs, approvals) = (Map::new(), ApprovalPolicy::default());
    let (machine_version, brief) = (MACHINE_VERSION, SystemContext::default());
    RunSpec { machine_version, program, inputs, approvals, brief, stops: Default::default(), interactive }
}

fn agent(at: usize, base_url: &str) -> AgentSpec {
    let choice = ModelChoice {
        provider: "mock".into(),
        base_url: base_url.to_owned(),
        model: format!("m-{at}"),
        ..ModelChoice::default()
    };
    serde_json::from_value(json!({
        "id": format!("agent-{at}"), "role": "r", "side": ConversationSide::Assistant, "context": ContextIx(0),
        "system_prompt": "Say who you are.", "examples": [], "choice": choice, "tools": [],
        "parsing_tools": [], "max_tool_rounds": 5, "reminder": null,
    }))
    .unwrap()
}

fn transitions_to(target: usize) -> Vec<Transition> {
    vec![Transition { target: StateIx(target), condition: None, before: None }]
}

/// State 0 forks, state 1 ends; the bodies follow, each of a working and a terminal state.
fn workflow(
    kind: ParameterType,
    fork: StateBody,
    bodies: Vec<(String, StateBody)>,
    agents: Vec<AgentSpec>,
) -> Arc<Workflow> {
    let store = Some(StateOutputSpec { key: Some("all".into()), schema: None });
    let mut states = vec![
        StateSpec {
            name: "fork".into(),
            work: fork,
            store,
            transitions: transitions_to(1),
            ..StateSpec::default()
        },
        StateSpec { name: "stop".into(), terminal: true, ..StateSpec::default() },
    ];
    for (owner, work) in bodies {
        let end = states.len() + 1;
        let name = |state: &str| format!("{owner}/{state}");
        states.push(StateSpec {
            name: name("start"),
            work,
            transitions: transitions_to(end),
            ..StateSpec::default()
        });
        states.push(StateSpec { name: name("stop"), terminal: true, ..StateSpec::default() });
    }
    let context: ContextSpec =
        serde_json::from_value(json!({"name": "talk", "max_length": 50_000, "starting_messages": []}))
            .unwrap();
    Arc::new(Workflow {
        name: "many".into(),
        output: Some(result(kind)),
        contexts: vec![context],
        agents,
        states,
        start: StateIx(0),
        stop: StateIx(1),
        snapshot: SnapshotPolicy::Off,
        ..Workflow::default()
    })
}

fn result(kind: ParameterType) -> WorkflowParameter {
    serde_json::from_value(json!({"name": "all", "kind": kind, "description": "", "required": false}))
        .unwrap()
}

fn script(source: &str) -> WorkflowScript {
    serde_json::from_value(json!({
        "kind": ScriptKind::Input, "form": ScriptForm::Expression, "source": source, "prepared": source,
        "place": SourceLocation::default(),
    }))
    .unwrap()
}

fn eight_agents(base_url: &str) -> Arc<Workflow> {
    let branch = |at: usize| BranchSpec { name: format!("b{at}"), start: StateIx(2 + 2 * at) };
    let fork = StateBody::Parallel(ParallelSpec {
        branches: (0..AGENTS).map(branch).collect(),
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: BTreeMap::new(),
    });
    let asks = |at: usize| StateBody::Agent {
        agent: AgentIx(at),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Text("Who are you?".into()),
    };
    let bodies = (0..AGENTS).map(|at| (format!("fork.b{at}"), asks(at))).collect();
    workflow(ParameterType::Object, fork, bodies, (0..AGENTS).map(|at| agent(at, base_url)).collect())
}

/// What an agent of a repeat says: many pieces, so that streams interleave.
fn words(at: usize, repeat: usize) -> String {
    (0..6).map(|word| format!("agent-{at}:{repeat}:{word}")).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_agents_at_once_a_hundred_times_and_nothing_mixes() {
    let names: Vec<String> = (0..AGENTS).map(|at| format!("m-{at}")).collect();
    let script = |at: usize| (0..REPEATS).map(|repeat| Behaviour::text(&words(at, repeat))).collect();
    let scripts = names.iter().enumerate().map(|(at, name)| (name.as_str(), script(at))).collect();
    let server = ModelServer::start_per_model(scripts).await;
    let workflow = eight_agents(&server.base_url);
    let mut world = World::new();
    for repeat in 0..REPEATS {
        world.start_run(&workflow);
        let (seen, status, output) = world.events_to_end().await;
        let expected: Map<String, Value> =
            (0..AGENTS).map(|at| (format!("b{at}"), words(at, repeat).into())).collect();
        assert_eq!((status, output), (RunStatus::Completed, Some(Value::Object(expected))), "{repeat}");
        let mut asked: BTreeMap<CallId, String> = BTreeMap::new();
        let mut streamed: BTreeMap<CallId, String> = BTreeMap::new();
        for event in seen {
            match event {
                RunEvent::ModelCalled { call, agent, state, .. } => {
                    assert_eq!(state, format!("fork.{}/start", agent.replace("agent-", "b")));
                    asked.insert(call, agent);
                }
                RunEvent::Delta { call, text, .. } => streamed.entry(call).or_default().push_str(&text),
                RunEvent::Replied { call, agent, text, .. } => {
                    assert_eq!(
                        (Some(&agent), Some(&text)),
                        (asked.get(&call), streamed.get(&call)),
                        "{repeat}"
                    );
                }
                _ => {}
            }
        }
        assert_eq!((asked.len(), streamed.len()), (AGENTS, AGENTS));
    }
    assert_eq!(server.requests().len(), AGENTS * REPEATS);
    assert!(server.requests().iter().all(|request| request.rejection.is_none()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_stops_every_call_and_keeps_what_each_had_said() {
    let names: Vec<String> = (0..AGENTS).map(|at| format!("m-{at}")).collect();
    let begun = |at: usize| {
        let delta = json!({"choices": [{"index": 0, "delta": {"content": format!("begun {at}")}}]});
        vec![Behaviour::raw_stream(&format!("data: {delta}\n\n")).with_stall()]
    };
    let scripts = names.iter().enumerate().map(|(at, name)| (name.as_str(), begun(at))).collect();
    let server = ModelServer::start_per_model(scripts).await;
    let mut world = World::new();
    world.start_run(&eight_agents(&server.base_url));
    let mut streaming = 0;
    while streaming < AGENTS {
        world.events_until(|event| matches!(event, RunEvent::Delta { .. })).await;
        streaming += 1;
    }
    let run = world.handle.running_runs().pop().unwrap();
    world.handle.send_command(&run, RunCommand::Cancel);
    let (_, status, _) = world.events_to_end().await;
    assert_eq!(status, RunStatus::Cancelled);
    server.wait_closed(AGENTS).await;
    let record = world.handle.load_record(run.as_str()).unwrap();
    assert_eq!(record.summary.progress.status, RunStatus::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_items_in_order_with_a_short_path() {
    const ITEMS: usize = 1_000;
    let fork = StateBody::ForEach(ForEachSpec {
        items: ValueSource::Script(ScriptIx(0)),
        each: "item".into(),
        at: "index".into(),
        start: StateIx(2),
        needs: Vec::new(),
        max_concurrency: Some(10),
        tolerated_failures: 0,
        tolerated_percent: 0.0,
        handed_out: None,
        sub_agent: None,
    });
    // each waits for a timer of its own
    let nap = StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(0.001))));
    let mut world = World::new();
    let mut looping = workflow(ParameterType::Array, fork, vec![("fork".into(), nap)], Vec::new());
    let source = format!("Array.from({{length: {ITEMS}}}, (_, at) => at)");
    Arc::get_mut(&mut looping).unwrap().scripts = Arc::new(vec![script(&source)]);
    world.start_run(&looping);
    let (seen, status, output) = world.events_to_end().await;
    assert_eq!(status, RunStatus::Completed);
    assert_eq!(output.and_then(|output| output.as_array().map(Vec::len)), Some(ITEMS));
    let Some(RunEvent::Finished { path, .. }) = seen.last() else { panic!("no end") };
    assert_eq!((path.len(), path.last().map(String::as_str)), (501, Some("…")));
    let ended = seen.iter().filter(|event| matches!(event, RunEvent::BranchFinished { error: None, .. }));
    assert_eq!(ended.count(), ITEMS);
}

fn pause_state(message: &str) -> StateBody {
    StateBody::Pause(PauseSpec {
        kind: PauseKind::Text,
        message: ValueSource::Text(message.into()),
        choices: Vec::new(),
        schema: None,
        required_outputs: Vec::new(),
        default: None,
        ttl_ms: None,
        on_timeout: None,
        request: None,
    })
}

fn two_branches(works: [StateBody; 2]) -> Arc<Workflow> {
    let branch = |(name, start): (&str, usize)| BranchSpec { name: name.into(), start: StateIx(start) };
    let fork = StateBody::Parallel(ParallelSpec {
        branches: [("left", 2), ("right", 4)].map(branch).to_vec(),
        join: JoinPolicy::All,
        on_error: BranchErrors::FailFast,
        max_concurrency: None,
        merge: BTreeMap::new(),
    });
    let [left, right] = works;
    let bodies = vec![("fork.left".to_owned(), left), ("fork.right".to_owned(), right)];
    workflow(ParameterType::Object, fork, bodies, Vec::new())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_branches_ask_and_each_gets_its_answer() {
    let mut world = World::new();
    let run = world.start_run(&two_branches([pause_state("Left?"), pause_state("Right?")]));
    let mut asked = BTreeMap::new();
    while asked.len() < 2 {
        for event in world.events_until(|event| matches!(event, RunEvent::PersonAsked { .. })).await {
            if let RunEvent::PersonAsked { call, question: UserQuestion::Pause { state, message, .. } } =
                event
            {
                asked.insert(state, (call, message));
            }
        }
    }
    for (state, text) in [("fork.right/start", "to the right"), ("fork.left/start", "to the left")] {
        let (call, message) = &asked[state];
        assert!(text.contains(&message.trim_end_matches('?').to_lowercase()), "{state}: {message}");
        let command = RunCommand::Answer { call: *call, answer: UserAnswer::Value { value: text.into() } };
        world.handle.send_command(&run, command.clone());
        // a second answer to the same question is nobody's
        world.handle.send_command(&run, command);
    }
    let (_, status, output) = world.events_to_end().await;
    let expected = json!({"left": "to the left", "right": "to the right"});
    assert_eq!((status, output), (RunStatus::Completed, Some(expected)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_early_answers_the_next_question() {
    let mut world = World::new();
    // a command that is asked for, then a question
    let mut workflow = two_branches([StateBody::None, pause_state("Well?")]);
    let changed = Arc::get_mut(&mut workflow).unwrap();
    changed.output = Some(result(ParameterType::String));
    changed.states[4].store = changed.states[0].store.take();
    changed.states[0].work = shell("true");
    changed.states[0].transitions = transitions_to(4);
    let run = world.start_run(&workflow);
    let asked = world.events_until(|event| matches!(event, RunEvent::ApprovalAsked { .. })).await;
    world.handle.send_command(&run, RunCommand::Say { text: "go on".into() });
    let queued = world.events_until(|event| matches!(event, RunEvent::Queued { .. })).await;
    assert_eq!(queued.last(), Some(&RunEvent::Queued { text: "go on".into() }));
    let Some(RunEvent::ApprovalAsked { call, .. }) = asked.last() else { panic!("{asked:?}") };
    world.handle.send_command(&run, RunCommand::Approve { call: *call, decision: ApprovalDecision::Allow });
    let (_, status, output) = world.events_to_end().await;
    assert_eq!((status, output), (RunStatus::Completed, Some(json!("go on"))));
    let record = world.handle.load_record(run.as_str()).unwrap();
    assert!(
        record.events.iter().any(|(_, event)| matches!(event.event, RunEvent::Queued { .. })),
        "it is kept"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_answer_allows_is_not_asked() {
    let mut world = World::new();
    // harmless if it ran: `rm` comes after `false`
    let mut workflow = two_branches([StateBody::None, StateBody::None]);
    let changed = Arc::get_mut(&mut workflow).unwrap();
    changed.output = Some(result(ParameterType::String));
    changed.states[0].work = shell("touch ran; false && rm -rf /");
    let run = world.start_run(&workflow);
    let (seen, status, output) = world.events_to_end().await;
    assert!(!seen.iter().any(|event| matches!(event, RunEvent::ApprovalAsked { .. })), "{seen:#?}");
    let told =
        "[sandbox] refused: removes / recursively. No setting allows this; the user can run it with /cmd";
    assert_eq!((status, output), (RunStatus::Completed, Some(json!(told))));
    assert!(!world.directory.path().join("project/ran").exists());
    assert!(world.handle.verify_replay(&run).is_ok_and(|verdict| format!("{verdict:?}").starts_with("Same")));
}

fn shell(line: &str) -> StateBody {
    let arguments = vec![(vec!["command".to_owned()], ValueSource::Text(line.to_owned()))];
    StateBody::Action(ActionSpec {
        tool: "shell".into(),
        risk: ToolRisk::Execute,
        arguments,
        expect: ActionExpectation::Any,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_branches_ask_say_where_and_give_their_results() {
    let mut world = World::new();
    let run = world.start_run(&two_branches([shell("echo left; exit 3"), shell("echo right")]));
    let mut states = Vec::new();
    while states.len() < 2 {
        for event in world.events_until(|event| matches!(event, RunEvent::ApprovalAsked { .. })).await {
            if let RunEvent::ApprovalAsked { call, state, preview, .. } = event {
                assert!(matches!(preview.as_deref(), Some(ToolPreview::Command { .. })), "{preview:?}");
                world
                    .handle
                    .send_command(&run, RunCommand::Approve { call, decision: ApprovalDecision::Allow });
                states.push(state);
            }
        }
    }
    states.sort();
    assert_eq!(states, ["fork.left/start", "fork.right/start"]);
    let (_, status, output) = world.events_to_end().await;
    let output = output.unwrap();
    assert_eq!(status, RunStatus::Completed);
    let of = |name: &str| (output[name]["exit_code"].clone(), output[name]["stdout"].clone());
    assert_eq!(of("left"), (json!(3), json!("left\n")));
    assert_eq!(of("right"), (json!(0), json!("right\n")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_nobody_there_a_question_pauses_the_run_and_is_told() {
    let world = World::new();
    let mut asks = two_branches([StateBody::None, StateBody::None]);
    Arc::get_mut(&mut asks).unwrap().states[0].work = pause_state("Ship it?");
    let (_interrupt, interrupts) = tokio::sync::mpsc::unbounded_channel();
    let events = world.handle.subscribe(false);
    let run = world.handle.start(spec(&asks, false)).unwrap();
    let report =
        headless::follow_run(&world.handle, run, events, HeadlessOutput::default(), interrupts, &Vec::new)
            .await
            .unwrap();
    assert_eq!(report.status, RunStatus::Paused);
    assert_eq!(exit::exit_code(report.status, report.error.as_ref()), exit::PAUSED);
    let told = headless::result_text(&report);
    assert!(told.contains("in state fork: state `fork` waits for an answer: Ship it?"), "{told}");
}
