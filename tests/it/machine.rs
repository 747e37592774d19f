//! The pure machine, driven by hand: what happens when something fails, takes too long, costs too much or needs a user.
//! A story is a list of inputs from outside; the expected result is a list of lines.

mod agents;
mod budgets;
mod checked_calls;
mod decisions;
mod errors;
mod kept;
mod limits;
mod loops;
mod pauses;
mod prefix;
mod reasons;
mod retries;
mod side_by_side;
mod steering;
mod steps;
mod times;
mod upgrade;
mod why;
mod withdrawn;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use synthdev::domain::agent::AgentSpec;
use synthdev::domain::agent_team::is_team_tool;
use synthdev::domain::approval::{ApprovalDecision, ApprovalPolicy, ToolPermission};
use synthdev::domain::context::{ContextSpec, ConversationSide};
use synthdev::domain::cost::{TokenPrice, TokenUsage};
use synthdev::domain::ids::{AgentIx, CallId, ContextIx, ScriptIx, StateIx, Timestamp, WorkflowIx};
use synthdev::domain::message::ToolCall;
use synthdev::domain::model::{FinishReason, ModelChoice, ModelError, ModelReply};
use synthdev::domain::script::{
    ScriptError, ScriptErrorKind, ScriptForm, ScriptKind, ScriptOutcome, WorkflowScript,
};
use synthdev::domain::source_location::SourceLocation;
use synthdev::domain::tool::{ToolInvocation, ToolOutcome};
use synthdev::domain::workflow::{
    AgentFunction, CatchRule, RecoveryPolicy, RetryBackoff, RetryRule, SnapshotPolicy, StateBody, StateSpec,
    Transition, ValueSource, Workflow, WorkflowProgram,
};
use synthdev::engine::effect::{Effect, UserQuestion};
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::{Input, UserAnswer};
use synthdev::engine::machine::Machine;
use synthdev::engine::replay::{ReplayResult, replay_inputs};
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev::engine::steering::SteeringAction;

use super::support;

/// What the world does next.
#[derive(Clone, Debug)]
enum Act {
    /// The oldest model call is answered with these words.
    Says(&'static str),
    /// Answered, and it took so many tokens.
    Costs(u64),
    /// The oldest model call is answered with a call of this tool.
    Calls(&'static str),
    /// Answered with these calls.
    CallsAll(Vec<(&'static str, Value)>),
    Breaks(ModelError),
    /// The oldest script ends well: these are its values, or the guard that holds.
    Values(Vec<Option<Value>>),
    Chooses(usize),
    Ran,
    Throws(ScriptIx),
    Tool(ToolOutcome),
    Approves(ApprovalDecision),
    Answers(UserAnswer),
    Said(&'static str),
    Steers(SteeringAction),
    /// The next timer expires, and the clock is set to its time.
    Time,
    /// The clock goes on, and nothing happens.
    Passes(i64),
}

struct Play {
    spec: Arc<RunSpec>,
    machine: Machine,
    clock: i64,
    pending: Vec<Effect>,
    timers: Vec<(i64, CallId)>,
    inputs: Vec<(Timestamp, Input)>,
    lines: Vec<String>,
    /// Ends of budgets that were moved: whose, which, and where to.
    raised: Vec<(String, String, f64)>,
    /// So many first inputs are given to a machine that was restored from its stored state.
    restored_inputs: usize,
}

const RESTORED_INPUTS: usize = 12;

impl Play {
    fn new(workflows: Vec<Workflow>, interactive: bool) -> Self {
        Self::from_spec(spec(workflows, interactive))
    }

    fn from_spec(spec: RunSpec) -> Self {
        let spec = Arc::new(spec);
        let mut play = Self {
            machine: Machine::new(Arc::clone(&spec)),
            spec,
            clock: 1_000,
            pending: Vec::new(),
            timers: Vec::new(),
            inputs: Vec::new(),
            lines: Vec::new(),
            raised: Vec::new(),
            restored_inputs: RESTORED_INPUTS,
        };
        play.feed_input(Input::Started { seed: 7 });
        play
    }

    fn feed_input(&mut self, input: Input) {
        let at = Timestamp(self.clock);
        self.inputs.push((at, input.clone()));
        // the simulator does so before every input of every world
        if self.inputs.len() <= self.restored_inputs {
            self.machine = support::restored_machine(&self.machine);
        }
        let output = self.machine.handle_input(at, input);
        self.lines.extend(output.events.iter().filter_map(|event| line(event)));
        for event in output.events {
            if let RunEvent::BudgetRaised { scope, what, hard } = event.event {
                self.raised.push((scope, what, hard));
            }
        }
        let mut checked = Vec::new();
        for effect in output.effects {
            match effect {
                Effect::CheckTool { call, invocation, .. } => checked.push((call, refusal_of(&invocation))),
                Effect::AskApproval { call, ref invocation, is_checked: true, .. }
                    if refusal_of(invocation).is_some() =>
                {
                    checked.push((call, refusal_of(invocation)));
                }
                Effect::SetTimer { call, delay_ms, .. } => {
                    self.timers.push((self.clock + i64::try_from(delay_ms).unwrap(), call));
                }
                Effect::Abort { call } => {
                    let before = self.pending.len() + self.timers.len();
                    self.pending.retain(|effect| effect_call(effect) != Some(call));
                    self.timers.retain(|(_, timer)| *timer != call);
                    assert_eq!(self.pending.len() + self.timers.len() + 1, before, "stopped twice: {call}");
                }
                Effect::Finish => {}
                Effect::AskApproval { ref invocation, .. } => {
                    self.lines.push(format!("approve {} {}", invocation.tool, invocation.arguments));
                    self.pending.push(effect);
                }
                effect => self.pending.push(effect),
            }
        }
        for (call, refusal) in checked {
            self.feed_input(Input::ToolChecked { call, refusal });
        }
    }

    /// Takes the oldest effect that `wanted` knows.
    fn take_effect(&mut self, wanted: impl Fn(&Effect) -> bool) -> Effect {
        let at = self.pending.iter().position(wanted);
        let at = at.unwrap_or_else(|| panic!("not asked for; {:#?} after {:#?}", self.pending, self.lines));
        self.pending.remove(at)
    }

    fn take_call(&mut self, wanted: impl Fn(&Effect) -> bool) -> CallId {
        effect_call(&self.take_effect(wanted)).unwrap()
    }

    #[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
    fn perform_act(&mut self, act: Act) {
        let model = |effect: &Effect| matches!(effect, Effect::CallModel { .. });
        let script = |effect: &Effect| matches!(effect, Effect::Evaluate { .. });
        let input = match act {
            Act::Says(text) => Input::Replied { call: self.take_call(model), reply: text_reply(text, 10) },
            Act::Costs(tokens) => {
                Input::Replied { call: self.take_call(model), reply: text_reply("words", tokens) }
            }
            Act::Calls(tool) => {
                let (id, name, arguments) = ("c".to_owned(), tool.to_owned(), "{}".to_owned());
                let tool_calls = vec![ToolCall { id, name, arguments, original: None }];
                let reply = ModelReply { tool_calls, ..text_reply("", 10) };
                Input::Replied { call: self.take_call(model), reply }
            }
            Act::CallsAll(calls) => {
                let calls = calls.into_iter().enumerate().map(|(at, (name, arguments))| ToolCall {
                    id: format!("c{at}"),
                    name: name.to_owned(),
                    arguments: arguments.to_string(),
                    original: None,
                });
                let reply = ModelReply { tool_calls: calls.collect(), ..text_reply("", 10) };
                Input::Replied { call: self.take_call(model), reply }
            }
            Act::Breaks(error) => Input::ModelFailed {
                call: self.take_call(model),
                error,
                attempts: 1,
                used: Vec::new(),
                again: false,
            },
            Act::Ran => Input::Evaluated { call: self.take_call(script), outcome: ScriptOutcome::default() },
            Act::Values(values) => {
                let outcome = ScriptOutcome { values, ..ScriptOutcome::default() };
                Input::Evaluated { call: self.take_call(script), outcome }
            }
            Act::Chooses(chosen) => {
                let outcome = ScriptOutcome { chosen: Some(chosen), ..ScriptOutcome::default() };
                Input::Evaluated { call: self.take_call(script), outcome }
            }
            Act::Throws(at) => {
                let (kind, message) = (ScriptErrorKind::Thrown, "it broke".to_owned());
                let error = ScriptError { kind, message, script: at, library: None, line: 1, column: 1 };
                Input::ScriptFailed { call: self.take_call(script), error }
            }
            Act::Tool(outcome) => {
                let call = self.take_call(|effect| matches!(effect, Effect::RunTool { .. }));
                Input::ToolDone { call, outcome }
            }
            Act::Approves(decision) => {
                let call = self.take_call(|effect| matches!(effect, Effect::AskApproval { .. }));
                Input::Approved { call, decision }
            }
            Act::Answers(answer) => {
                let call = self.take_call(|effect| matches!(effect, Effect::AskPerson { .. }));
                Input::Answered { call, answer }
            }
            Act::Steers(steering) => Input::Steered(Box::new(steering)),
            Act::Said(text) => Input::Said { text: text.to_owned() },
            Act::Time => {
                let next = *self.timers.iter().min().expect("a timer runs");
                self.timers.retain(|timer| *timer != next);
                self.clock = next.0;
                Input::Elapsed { call: next.1 }
            }
            Act::Passes(ms) => {
                self.clock += ms;
                return;
            }
        };
        self.clock += 1;
        self.feed_input(input);
    }

    /// A replay gives the same lines, and nothing is left open at the end.
    fn finish_and_replay(self) -> Vec<String> {
        let ReplayResult { machine, events, .. } = replay_inputs(Arc::clone(&self.spec), self.inputs.clone());
        let told: Vec<String> = events.iter().filter_map(|(_, event)| line(event)).collect();
        let own: Vec<String> =
            self.lines.iter().filter(|line| !line.starts_with("approve ")).cloned().collect();
        assert_eq!(told, own, "replay");
        assert_eq!(machine.progress(), self.machine.progress());
        if self.machine.is_over_or_suspended() {
            assert!(
                self.pending.is_empty() && self.timers.is_empty(),
                "{:?} {:?}",
                self.pending,
                self.timers
            );
        }
        self.lines
    }
}

/// Plays a story and compares its lines; lines that begin with `set` only where they are expected.
fn check_story(about: &str, workflows: Vec<Workflow>, interactive: bool, acts: Vec<Act>, expected: &[&str]) {
    let mut play = Play::new(workflows, interactive);
    for act in acts {
        play.perform_act(act);
    }
    let sets = expected.iter().any(|line| line.starts_with("set "));
    let told: Vec<String> =
        play.finish_and_replay().into_iter().filter(|line| sets || !line.starts_with("set ")).collect();
    assert_eq!(told, expected, "{about}");
}

fn line(event: &RunEvent) -> Option<String> {
    let code = |error: &synthdev::domain::run_error::RunError| error.code.clone();
    Some(match event {
        RunEvent::StateEntered { state, visit, .. } if *visit > 1 => format!("enter {state} {visit}"),
        RunEvent::StateEntered { state, .. } => format!("enter {state}"),
        RunEvent::ModelCalled { .. } => "model".to_owned(),
        RunEvent::ToolStarted { tool, .. } if is_team_tool(tool) => return None,
        RunEvent::ToolStarted { tool, arguments, .. } => format!("run {tool} {arguments}"),
        RunEvent::AgentSpawned { by, agent, .. } => format!("{by} spawns {agent}"),
        RunEvent::AgentEnded { agent, status, result, error, .. } => {
            let result = result.as_ref().map_or_else(String::new, |result| format!(" {result}"));
            let error = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
            format!("{agent} {}{result}{error}", status.as_str())
        }
        RunEvent::TeamNote { by, key, text } => format!("note {key} by {by}: {text}"),
        RunEvent::TeamTask { by, id, status, .. } => format!("task {id} {} by {by}", status.as_str()),
        RunEvent::AgentMessaged { from, to, text } => format!("{from} to {to}: {text}"),
        RunEvent::ToolFinished { tool, content, .. } if is_team_tool(tool) => {
            format!("{tool} gives {content}")
        }
        RunEvent::Retrying { attempt, max_attempts, delay_ms, error, .. } => {
            format!("retry {attempt}/{max_attempts} in {delay_ms} after {}", error.code)
        }
        RunEvent::Caught { error, by, target, .. } => {
            format!("{by} takes {} to {}", error.code, target.as_deref().unwrap_or("-"))
        }
        RunEvent::Warning { code, .. } => format!("warning {code}"),
        RunEvent::BudgetWarning { scope, what, spent, .. } => format!("budget {scope} {what} {spent}"),
        RunEvent::Waiting { until, .. } => format!("waits until {}", until.0),
        RunEvent::Queued { text } => format!("queued {text}"),
        RunEvent::Breakpoints { step, points } => {
            let points: Vec<String> = points.iter().map(ToString::to_string).collect();
            format!("breaks {}{}", if *step { "step " } else { "" }, points.join(", "))
        }
        RunEvent::Heard { text } => format!("heard {text}"),
        RunEvent::TakenBack { text } => format!("taken back {text}"),
        RunEvent::DataChanged { set, .. } => format!("set {}", Value::Object(set.clone())),
        RunEvent::PersonAsked { question, .. } => match question {
            UserQuestion::Failed { failure } => format!("ask failed {}", failure.code),
            UserQuestion::Limit { limit, .. } => format!("ask {limit}"),
            UserQuestion::Pause { message, problem: None, .. } => format!("ask {message}"),
            UserQuestion::Pause { problem: Some(problem), .. } => format!("ask again: {problem}"),
            UserQuestion::Uncertain { tool, .. } => format!("ask uncertain {tool}"),
            UserQuestion::Break { state, point: None } => format!("stands before {state}"),
            UserQuestion::Break { state, point: Some(point) } => format!("stands at {state}: {point}"),
            UserQuestion::Message | UserQuestion::NoSnapshot { .. } => "ask".to_owned(),
        },
        RunEvent::Finished { status, error, output, .. } => {
            let error = error.as_ref().map_or_else(String::new, |error| format!(" {}", code(error)));
            let output = output.as_ref().map_or_else(String::new, |output| format!(" {output}"));
            format!("end {}{error}{output}", status.as_str())
        }
        _ => return None,
    })
}

/// A call whose arguments say that they are wrong is refused.
fn refusal_of(invocation: &ToolInvocation) -> Option<Box<ToolOutcome>> {
    let content = invocation.arguments["wrong"].as_str()?.to_owned();
    Some(Box::new(ToolOutcome { summary: content.clone(), content, ..ToolOutcome::default() }))
}

fn effect_call(effect: &Effect) -> Option<CallId> {
    match effect {
        Effect::Evaluate { call, .. }
        | Effect::CallModel { call, .. }
        | Effect::CheckTool { call, .. }
        | Effect::AskApproval { call, .. }
        | Effect::RunTool { call, .. }
        | Effect::AskPerson { call, .. }
        | Effect::TakeSnapshot { call, .. }
        | Effect::SetTimer { call, .. }
        | Effect::Abort { call } => Some(*call),
        Effect::Finish => None,
    }
}

fn text_reply(text: &str, tokens: u64) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        reasoning: String::new(),
        tool_calls: Vec::new(),
        sealed: Vec::new(),
        usage: TokenUsage { prompt: tokens - tokens / 2, completion: tokens / 2, ..TokenUsage::default() },
        usage_estimated: false,
        model: None,
        finish: FinishReason::Stop,
        duration_ms: 1,
        ..ModelReply::default()
    }
}

fn broken_model() -> Act {
    Act::Breaks(ModelError::Transport { detail: "no line".to_owned() })
}

fn spec(workflows: Vec<Workflow>, interactive: bool) -> RunSpec {
    RunSpec {
        machine_version: MACHINE_VERSION,
        program: WorkflowProgram {
            workflows: workflows.into_iter().map(Arc::new).collect(),
            hash: "h".to_owned(),
            start_warnings: Vec::new(),
        },
        inputs: Map::new(),
        approvals: ApprovalPolicy {
            write: ToolPermission::Allow,
            execute: ToolPermission::Ask,
            ..ApprovalPolicy::default()
        },
        brief: Default::default(),
        stops: Default::default(),
        interactive,
    }
}

/// States in order; the last one ends the workflow. One agent, without tools, at a dollar a token.
fn workflow(states: Vec<StateSpec>) -> Workflow {
    let script = |kind| WorkflowScript {
        kind,
        form: ScriptForm::Expression,
        source: "x".to_owned(),
        prepared: "x".to_owned(),
        offers: Vec::new(),
        place: SourceLocation::default(),
    };
    let price = TokenPrice { input: 1_000_000.0, output: 1_000_000.0, ..TokenPrice::default() };
    let agent = AgentSpec {
        id: "writer".to_owned(),
        side: ConversationSide::Assistant,
        context: ContextIx(0),
        choice: ModelChoice { price: Some(price), ..ModelChoice::default() },
        max_tool_rounds: 2,
        ..agent_spec()
    };
    let stop = StateIx(states.len());
    let mut states = states;
    states.push(StateSpec { name: "stop".to_owned(), terminal: true, ..StateSpec::default() });
    Workflow {
        name: "w".to_owned(),
        contexts: vec![ContextSpec { name: "talk".to_owned(), ..context_spec() }],
        agents: vec![agent],
        states,
        scripts: Arc::new(
            [ScriptKind::Condition, ScriptKind::Before, ScriptKind::Action, ScriptKind::Input]
                .map(script)
                .to_vec(),
        ),
        start: StateIx(0),
        stop,
        snapshot: SnapshotPolicy::Off,
        ..Workflow::default()
    }
}

const CONDITION: ScriptIx = ScriptIx(0);
const BEFORE: ScriptIx = ScriptIx(1);
const ACTION: ScriptIx = ScriptIx(2);
const INPUT: ScriptIx = ScriptIx(3);

fn agent_spec() -> AgentSpec {
    serde_json::from_value(json!({
        "id": "writer", "role": "writer", "side": "assistant", "context": 0, "system_prompt": "", "examples": [],
        "choice": ModelChoice::default(), "tools": [], "parsing_tools": [], "max_tool_rounds": 2, "reminder": null
    }))
    .unwrap()
}

fn context_spec() -> ContextSpec {
    serde_json::from_value(json!({"name": "talk", "starting_messages": [], "max_length": 50_000})).unwrap()
}

fn state(name: &str, work: StateBody, target: usize) -> StateSpec {
    StateSpec {
        name: name.to_owned(),
        work,
        transitions: vec![Transition { target: StateIx(target), condition: None, before: None }],
        ..StateSpec::default()
    }
}

fn agent_state() -> StateBody {
    StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Text("do it".to_owned()),
    }
}

fn child() -> StateBody {
    StateBody::Child { workflow: WorkflowIx(1), inputs: Vec::new() }
}

fn owned_names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn retry_rule(errors: &[&str], max_attempts: u32, delay_ms: u64) -> RetryRule {
    let backoff = RetryBackoff { delay_ms, factor: 2.0, max_delay_ms: 60_000, jitter: false };
    RetryRule { errors: owned_names(errors), max_attempts, backoff }
}

fn catch_rule(errors: &[&str], target: usize) -> CatchRule {
    CatchRule { errors: owned_names(errors), key: None, before: None, target: StateIx(target) }
}

fn with_recovery(state: StateSpec, recovery: RecoveryPolicy) -> StateSpec {
    StateSpec { recovery, ..state }
}
