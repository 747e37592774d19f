//! A run of real files, real scripts and scripted answers, performed in the order in which things are asked for, that
//! can be stopped before any of them.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::adapters::javascript::{ScriptIsolate, ScriptLimits};
use synthdev::bootstrap::wiring;
use synthdev::domain::approval::{ApprovalDecision, ApprovalPolicy, ToolPermission};
use synthdev::domain::ids::Timestamp;
use synthdev::domain::message::ToolCall;
use synthdev::domain::model::ModelReply;
use synthdev::domain::script::ScriptTask;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::tool::ToolOutcome;
use synthdev::domain::workflow::WorkflowProgram;
use synthdev::engine::effect::Effect;
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::{Input, ResumeInput, RewindInput, UserAnswer};
use synthdev::engine::machine::Machine;
use synthdev::engine::replay::replay_inputs;
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev::language::source::SourceFile;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev::settings::layers::read_layers::SettingOverrides;

use super::super::{effect_call, text_reply};

const SETTINGS: &str = include_str!("../../../../config/settings.json");
const MODELS: &str = include_str!("../../../../config/models.json");
const ROLES: &str = include_str!("../../../../roles/core.json");
const SHARED: &str = include_str!("../../../data/conformance/shared.json");

/// The first workflow with everything that it calls, read and checked as any file is.
pub fn program(workflows: &[Value]) -> WorkflowProgram {
    let built_in = |name: &str, text: &str| SourceFile::new(ConfigLayer::BuiltIn, name, text);
    let shared: Value = serde_json::from_str(SHARED).unwrap();
    let files = workflows.iter().enumerate().map(|(at, one)| {
        let text = serde_json::to_string_pretty(one).unwrap();
        SourceFile::new(ConfigLayer::User, format!("w{at}.json"), text)
    });
    let mut command_line = SettingOverrides::default();
    for level in ["base", "smart", "fast"] {
        command_line.set_override(&format!("levels.{level}.provider"), "scripted", "--replies");
    }
    let sources = ConfigSources {
        settings: vec![built_in("built-in:config/settings.json", SETTINGS)],
        models: vec![built_in("built-in:config/models.json", MODELS)],
        roles: vec![
            built_in("built-in:roles/core.json", ROLES),
            SourceFile::new(ConfigLayer::Project, "roles.json", shared["roles"].to_string()),
        ],
        workflows: files.collect(),
        command_line,
        ..ConfigSources::default()
    };
    let catalog = ConfigCatalog::load(sources, wiring::tool_specs(Path::new("/")));
    let name = workflows[0]["workflow_name"].as_str().unwrap();
    catalog.program(name).unwrap_or_else(|found| panic!("{found:#?}"))
}

pub struct Played {
    pub spec: Arc<RunSpec>,
    pub machine: Machine,
    pub inputs: Vec<(Timestamp, Input)>,
    pub events: Vec<RunEvent>,
    /// Asked for and not answered, in order.
    pub pending: VecDeque<Effect>,
    /// What is asked of models: agent and model.
    pub asked_models: Vec<String>,
    scripts: ScriptIsolate,
    replies: BTreeMap<String, VecDeque<Value>>,
    answers: VecDeque<UserAnswer>,
    clock: i64,
}

impl Played {
    /// `replies`: by agent, a text or `{tool: arguments}`.
    pub fn new(program: WorkflowProgram, inputs: Value, replies: Value, answers: &[UserAnswer]) -> Self {
        let policy =
            ApprovalPolicy { execute: ToolPermission::Ask, ..ApprovalPolicy::default().approving_all() };
        let spec = Arc::new(RunSpec {
            machine_version: MACHINE_VERSION,
            program,
            inputs: inputs.as_object().cloned().unwrap(),
            approvals: policy,
            brief: Default::default(),
            stops: Default::default(),
            interactive: true,
        });
        let mut played = Self {
            machine: Machine::new(Arc::clone(&spec)),
            spec,
            inputs: Vec::new(),
            events: Vec::new(),
            pending: VecDeque::new(),
            asked_models: Vec::new(),
            scripts: ScriptIsolate::new(ScriptLimits::default()),
            replies: queues(&replies),
            answers: answers.iter().cloned().collect(),
            clock: 1_000,
        };
        played.feed_input(Input::Started { seed: 7 });
        played
    }

    pub fn feed_input(&mut self, input: Input) {
        self.clock += 1;
        let at = Timestamp(self.clock);
        self.inputs.push((at, input.clone()));
        if matches!(input, Input::Resumed(_)) {
            // a resume asks the open questions anew
            let asks =
                |effect: &Effect| matches!(effect, Effect::AskPerson { .. } | Effect::AskApproval { .. });
            self.pending.retain(|effect| !asks(effect));
        }
        let output = self.machine.handle_input(at, input);
        self.events.extend(output.events.into_iter().map(|event| event.event));
        for effect in output.effects {
            match effect {
                Effect::Abort { call } => {
                    let before = self.pending.len();
                    self.pending.retain(|effect| effect_call(effect) != Some(call));
                    assert_eq!(self.pending.len() + 1, before, "stopped, and nobody had asked: {call}");
                }
                Effect::Finish => {}
                effect => self.pending.push_back(effect),
            }
        }
    }

    /// Goes on until the `nth` (from 1) thing that is called so is next, or to the end.
    pub fn play_until(&mut self, stop: &str, mut nth: usize) {
        while !self.machine.is_over_or_suspended() {
            if self.next_name() == stop {
                nth -= 1;
                if nth == 0 {
                    return;
                }
            }
            self.play_next();
        }
        assert_eq!(stop, "", "never came: {:#?}", self.events);
    }

    /// Somebody takes the run up, with another definition if one is given.
    pub fn resume_with(&mut self, program: Option<WorkflowProgram>) {
        self.feed_input(Input::Resumed(Box::new(ResumeInput {
            present: true,
            program,
            ..ResumeInput::default()
        })));
    }

    /// Goes back to the moment before a step, or begins a fork there.
    pub fn rewind_to(&mut self, returned: RewindInput, replies: &Value) {
        self.clock += 1;
        let kept = (0..self.inputs.len())
            .find(|at| {
                let told = replay_inputs(Arc::clone(&self.spec), self.inputs[..=*at].to_vec()).events;
                let entered =
                    told.iter().filter(|(_, event)| matches!(**event, RunEvent::StateEntered { .. }));
                entered.count() >= returned.step as usize
            })
            .unwrap();
        let returned = RewindInput { kept: kept + 1, ..returned };
        self.inputs.push((Timestamp(self.clock), Input::Rewound(Box::new(returned))));
        let replayed = replay_inputs(Arc::clone(&self.spec), self.inputs.clone());
        self.pending = replayed.pending().into_iter().map(|pending| pending.effect).collect();
        self.machine = replayed.machine;
        self.events = replayed.events.into_iter().map(|(_, event)| event.event).collect();
        self.replies = queues(replies);
        self.resume_with(None);
    }

    /// A replay of the inputs gives the same events.
    pub fn assert_replays(&self) {
        let told = replay_inputs(Arc::clone(&self.spec), self.inputs.clone());
        let told: Vec<RunEvent> = told.events.into_iter().map(|(_, event)| event.event).collect();
        assert_eq!(told, self.events);
    }

    /// Does what is next; timers run out only where nothing else is left.
    pub fn play_next(&mut self) {
        let at = self.input_count();
        let effect = self.pending.remove(at).expect("something is asked for");
        let input = self.perform_effect(effect);
        self.feed_input(input);
    }

    fn input_count(&self) -> usize {
        self.pending.iter().position(|effect| !matches!(effect, Effect::SetTimer { .. })).unwrap_or(0)
    }

    fn next_name(&self) -> String {
        self.pending.get(self.input_count()).map(effect_name).unwrap_or_default()
    }

    pub fn play_to_end(&mut self) {
        self.play_until("", 0);
    }

    fn perform_effect(&mut self, effect: Effect) -> Input {
        match effect {
            Effect::Evaluate { call, job } => match self.scripts.evaluate_job(job) {
                Ok(outcome) => Input::Evaluated { call, outcome },
                Err(error) => Input::ScriptFailed { call, error },
            },
            Effect::CallModel { call, request } => {
                self.asked_models.push(format!("{} {}", request.agent, request.choice.model));
                let said = self.replies.get_mut(&request.agent).and_then(VecDeque::pop_front);
                let said = said.unwrap_or_else(|| panic!("`{}` has no reply left", request.agent));
                Input::Replied { call, reply: parse_reply(&said) }
            }
            Effect::CheckTool { call, .. } => Input::ToolChecked { call, refusal: None },
            Effect::AskApproval { call, .. } => Input::Approved { call, decision: ApprovalDecision::Allow },
            Effect::RunTool { call, invocation, .. } => {
                let data = Some(json!({"exit_code": 0, "stdout": "done", "stderr": ""}));
                let content = format!("{} ran", invocation.tool);
                Input::ToolDone {
                    call,
                    outcome: ToolOutcome { ok: true, content, data, ..ToolOutcome::default() },
                }
            }
            Effect::AskPerson { call, question } => {
                let answer =
                    self.answers.pop_front().unwrap_or_else(|| panic!("no answer left: {question:?}"));
                Input::Answered { call, answer }
            }
            Effect::SetTimer { call, .. } => Input::Elapsed { call },
            Effect::TakeSnapshot { call, .. } => {
                Input::SnapshotFailed { call, reason: "there is no repository".to_owned() }
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn path(&self) -> String {
        let names = self.events.iter().filter_map(|event| match event {
            RunEvent::StateEntered { state, .. } => Some(state.as_str()),
            _ => None,
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// Status, error code, output.
    pub fn end_text(&self) -> String {
        let progress = self.machine.progress();
        let error = progress.error.map_or_else(String::new, |error| format!(" {}", error.code));
        let output = progress.output.map_or_else(String::new, |output| format!(" {output}"));
        format!("{}{error}{output}", progress.status.as_str())
    }
}

fn queues(replies: &Value) -> BTreeMap<String, VecDeque<Value>> {
    let list = |list: &Value| list.as_array().unwrap().iter().cloned().collect();
    replies.as_object().unwrap().iter().map(|(agent, said)| (agent.clone(), list(said))).collect()
}

fn parse_reply(said: &Value) -> ModelReply {
    let Some(call) = said.as_object().and_then(|calls| calls.iter().next()) else {
        return text_reply(said.as_str().unwrap(), 10);
    };
    let (name, arguments) = (call.0.clone(), call.1.to_string());
    ModelReply {
        tool_calls: vec![ToolCall { id: "c".to_owned(), name, arguments, original: None }],
        ..text_reply("", 10)
    }
}

/// `model coder in code`, `choose review`, `script start`, `values code`, `approve shell`, `tool shell`, `ask`, `timer`.
fn effect_name(effect: &Effect) -> String {
    match effect {
        Effect::CallModel { request, .. } => format!("model {} in {}", request.agent, request.state),
        Effect::Evaluate { job, .. } => {
            let what = match job.task {
                ScriptTask::Run { .. } => "script",
                ScriptTask::Values { .. } => "values",
                ScriptTask::Choose { .. } => "choose",
            };
            format!("{what} {}", job.scope.state)
        }
        Effect::CheckTool { invocation, .. } => format!("check {}", invocation.tool),
        Effect::AskApproval { invocation, .. } => format!("approve {}", invocation.tool),
        Effect::RunTool { invocation, .. } => format!("tool {}", invocation.tool),
        Effect::AskPerson { .. } => "ask".to_owned(),
        Effect::SetTimer { .. } => "timer".to_owned(),
        Effect::TakeSnapshot { .. } => "snapshot".to_owned(),
        Effect::Abort { .. } | Effect::Finish => String::new(),
    }
}
