//! Drives one run without side effects: answers every effect at once, in one fixed order, under a simulated clock.
//!
//! Owns the order of events: effects are performed as they come, their answers arrive by simulated time and then in
//! the order they were asked for. So the same script always makes the same run, parallel branches included, and
//! waiting takes no time. Refuses: journals, snapshots, users. Approvals are given.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::retry::RetryPolicy;
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::mock_results::{MockReaction, MockUserAnswer, MockUserMessage};
use synthdev_domain::model::{DeltaKind, ModelError, ModelRequest};
use synthdev_domain::schema_sample::sample_value;
use synthdev_domain::tool::ToolInvocation;
use synthdev_domain::workflow::{PauseKind, plain_text};
use synthdev_engine::effect::{Effect, UserQuestion};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::{Input, UserAnswer};
use synthdev_engine::machine::Machine;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::model::{DeltaSink, ModelPort};
use synthdev_ports::script::ScriptPort;
use synthdev_ports::tool::ToolPort;

/// Inputs of one run; limits end any sound run much earlier.
const MOST_INPUTS: usize = 1_000_000;

/// What a simulated run is played with.
pub struct SimulationSetup<'a> {
    pub models: &'a dyn ModelPort,
    pub tools: &'a dyn ToolPort,
    pub scripts: &'a dyn ScriptPort,
    /// What `tools` had no scripted result for, if that has happened: the run is over then.
    pub missing_tool_result: &'a (dyn Fn() -> Option<String> + Send + Sync),
    pub answers: Vec<MockUserAnswer>,
    /// What the user says without being asked.
    pub said: Vec<MockUserMessage>,
    /// Questions without an answer get one that fits them.
    pub improvises: bool,
    /// What the simulated clock shows at the start.
    pub now: Timestamp,
}

/// The outcome of a simulation.
#[derive(Debug)]
pub struct SimulationOutcome {
    /// Everything that happened, the end included.
    pub events: Vec<RunEvent>,
    /// Why the run could not be played to its end: the script lacks an answer.
    pub gap: Option<String>,
    /// Questions that were asked and had no answer left; the run ended with them.
    pub unanswered: Vec<String>,
    /// Positions of answers that no call asked for.
    pub unused_answers: Vec<usize>,
    /// Positions of messages whose state was not entered, or not often enough.
    pub unsaid: Vec<usize>,
}

/// Plays a run to its end. The same arguments give the same events.
pub async fn simulate_run(spec: RunSpec, props: SimulationSetup<'_>) -> SimulationOutcome {
    let now = props.now.0;
    let mut stage = RunSimulator {
        machine: Machine::new(Arc::new(spec)),
        answers: props.answers.iter().map(|answer| Some(answer.clone())).collect(),
        said: props.said.iter().map(|message| Some(message.clone())).collect(),
        setup: props,
        now,
        request_count: 0,
        scheduled_inputs: BTreeMap::new(),
        improvised_counts: BTreeMap::new(),
        outcome: SimulationOutcome {
            events: Vec::new(),
            gap: None,
            unanswered: Vec::new(),
            unused_answers: Vec::new(),
            unsaid: Vec::new(),
        },
    };
    stage.run_scenario().await;
    let left = stage.answers.iter().enumerate().filter(|(_, answer)| answer.is_some());
    stage.outcome.unused_answers = left.map(|(at, _)| at).collect();
    let unsaid = stage.said.iter().enumerate().filter(|(_, message)| message.is_some());
    stage.outcome.unsaid = unsaid.map(|(at, _)| at).collect();
    stage.outcome
}

struct RunSimulator<'a> {
    machine: Machine,
    setup: SimulationSetup<'a>,
    answers: Vec<Option<MockUserAnswer>>,
    said: Vec<Option<MockUserMessage>>,
    /// Milliseconds since 1970.
    now: i64,
    request_count: u64,
    /// Answers on their way, by time and then by when they were asked for.
    scheduled_inputs: BTreeMap<(i64, u64), Input>,
    /// How often each state was answered without a script.
    improvised_counts: BTreeMap<String, usize>,
    outcome: SimulationOutcome,
}

impl RunSimulator<'_> {
    async fn run_scenario(&mut self) {
        self.push(0, Input::Started { seed: 0 });
        for _ in 0..MOST_INPUTS {
            if self.machine.is_over_or_suspended() {
                return;
            }
            let Some(((at, _), input)) = self.scheduled_inputs.pop_first() else {
                self.report_gap("the run waits for something that never comes".to_owned());
                break;
            };
            self.now = self.now.max(at);
            let output = self.machine.handle_input(Timestamp(self.now), input);
            for event in output.events {
                if let RunEvent::StateEntered { state, .. } = &event.event {
                    self.say_in_state(state);
                }
                self.outcome.events.push(event.event);
            }
            for effect in output.effects {
                self.perform_effect(effect).await;
            }
            if self.outcome.gap.is_some() {
                break;
            }
        }
        if !self.machine.is_over_or_suspended() {
            let end = Input::Cancelled { partial: Vec::new(), end: true, used: Vec::new() };
            let output = self.machine.handle_input(Timestamp(self.now), end);
            self.outcome.events.extend(output.events.into_iter().map(|event| event.event));
        }
    }

    /// The first message left that belongs to the state; it comes before anything that the state asks for.
    fn say_in_state(&mut self, state: &str) {
        let fits = |one: &&mut Option<MockUserMessage>| one.as_ref().is_some_and(|one| one.state == state);
        if let Some(message) = self.said.iter_mut().find(fits).and_then(Option::take) {
            self.push(0, Input::Said { text: message.text });
        }
    }

    fn report_gap(&mut self, what: String) {
        self.outcome.gap.get_or_insert(what);
    }

    fn push(&mut self, delay_ms: u64, input: Input) {
        self.request_count += 1;
        let at = self.now.saturating_add(i64::try_from(delay_ms).unwrap_or(i64::MAX));
        self.scheduled_inputs.insert((at, self.request_count), input);
    }

    async fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::TakeSnapshot { call, .. } => {
                self.push(0, Input::SnapshotFailed { call, reason: "a simulation takes none".to_owned() });
            }
            Effect::Evaluate { call, job } => {
                let input = match self.setup.scripts.evaluate(job).await {
                    Ok(outcome) => Input::Evaluated { call, outcome },
                    Err(error) => Input::ScriptFailed { call, error },
                };
                self.push(0, input);
            }
            Effect::CallModel { call, request } => self.call_model(call, &request).await,
            Effect::RunTool { call, invocation, .. } => self.run_tool(call, &invocation).await,
            Effect::CheckTool { call, .. } => self.push(0, Input::ToolChecked { call, refusal: None }),
            Effect::AskApproval { call, .. } => {
                self.push(0, Input::Approved { call, decision: ApprovalDecision::Allow })
            }
            Effect::AskPerson { call, question } => self.answer_question(call, &question),
            Effect::SetTimer { call, delay_ms, .. } => self.push(delay_ms, Input::Elapsed { call }),
            Effect::Abort { call } => {
                self.scheduled_inputs.retain(|_, input| input.answered_call() != Some(call))
            }
            Effect::Finish => {}
        }
    }

    /// As the runtime does it, but the waits between the attempts are simulated.
    async fn call_model(&mut self, call: CallId, request: &ModelRequest) {
        let policy = RetryPolicy::default();
        let (mut attempts, mut waited) = (1, 0_u64);
        let error = loop {
            let error = match self.setup.models.call(request, &SimulatedDeltaSink).await {
                Ok(reply) => {
                    let delay = waited.saturating_add(reply.duration_ms);
                    return self.push(delay, Input::Replied { call, reply });
                }
                Err(error) => error,
            };
            let Some(delay) = policy.delay_before(attempts + 1, &error, 0) else { break error };
            attempts += 1;
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            waited = waited.saturating_add(delay_ms);
            self.outcome.events.push(RunEvent::ModelRetry {
                call,
                agent: request.agent.clone(),
                attempt: attempts,
                delay_ms,
                reason: error.to_string(),
            });
        };
        if let ModelError::Drift { detail } = &error {
            self.report_gap(detail.clone());
        }
        self.push(waited, Input::ModelFailed { call, error, attempts, used: Vec::new(), again: false });
    }

    async fn run_tool(&mut self, call: CallId, invocation: &ToolInvocation) {
        let outcome = self.setup.tools.run(invocation).await;
        if let Some(missing) = (self.setup.missing_tool_result)() {
            self.report_gap(missing);
        }
        self.push(outcome.duration_ms, Input::ToolDone { call, outcome });
    }

    fn answer_question(&mut self, call: CallId, question: &UserQuestion) {
        let answer = match question {
            UserQuestion::NoSnapshot { .. } | UserQuestion::Break { .. } => Some(UserAnswer::Continue),
            UserQuestion::Limit { .. } | UserQuestion::Failed { .. } | UserQuestion::Uncertain { .. } => {
                Some(UserAnswer::Stop)
            }
            UserQuestion::Message => Some(match self.next_answer("", "") {
                Some(MockReaction::Value(value)) => UserAnswer::Text { text: plain_text(&value) },
                None if self.setup.improvises && self.count_asked_before("") == 0 => {
                    UserAnswer::Text { text: "(simulated answer)".to_owned() }
                }
                Some(MockReaction::Silence) | None => UserAnswer::Stop,
            }),
            UserQuestion::Pause { problem: None, .. } if self.setup.improvises => {
                self.improvise_answer(question)
            }
            UserQuestion::Pause { state, message, default, until, problem, .. } => {
                let reaction = self.next_answer(state, message);
                self.apply_reaction(
                    state,
                    message,
                    problem.as_deref(),
                    reaction,
                    default.as_deref(),
                    until.is_some(),
                )
            }
        };
        if let Some(answer) = answer {
            self.push(0, Input::Answered { call, answer });
        }
    }

    /// How often this was asked for before.
    fn count_asked_before(&mut self, state: &str) -> usize {
        let times = self.improvised_counts.entry(state.to_owned()).or_default();
        *times += 1;
        *times - 1
    }

    /// An answer that fits a pause: yes at first, then no; of several choices each in its turn.
    fn improvise_answer(&mut self, question: &UserQuestion) -> Option<UserAnswer> {
        let UserQuestion::Pause { state, kind, choices, schema, required_outputs, .. } = question else {
            return None;
        };
        let turn = self.count_asked_before(state);
        let value = match (schema, kind) {
            (Some(schema), _) => sample_value(schema, "answer", turn),
            (None, PauseKind::Approval | PauseKind::Boolean) => Value::Bool(turn.is_multiple_of(2)),
            (None, PauseKind::Text) => Value::from("(simulated answer)"),
            (None, PauseKind::Number) => Value::from(1),
            (None, PauseKind::Choice) => choices
                .get(turn % choices.len().max(1))
                .map_or(Value::Null, |choice| Value::from(choice.as_str())),
            (None, PauseKind::Outputs) => required_outputs
                .iter()
                .map(|name| (name.clone(), Value::from(format!("(simulated {name})"))))
                .collect(),
        };
        Some(UserAnswer::Value { value })
    }

    /// Answers a pause; `None` lets its time run out.
    fn apply_reaction(
        &mut self,
        state: &str,
        message: &str,
        problem: Option<&str>,
        reaction: Option<MockReaction>,
        default: Option<&Value>,
        limited: bool,
    ) -> Option<UserAnswer> {
        match (reaction, default) {
            (Some(MockReaction::Value(value)), _) => Some(UserAnswer::Value { value }),
            (Some(MockReaction::Silence) | None, Some(default)) if !limited => {
                Some(UserAnswer::Value { value: default.clone() })
            }
            (Some(MockReaction::Silence), _) if !limited => {
                self.report_gap(format!(
                    "the answer of state `{state}` shall time out, but the state waits for ever"
                ));
                None
            }
            (Some(MockReaction::Silence), _) => None,
            (None, Some(_)) if problem.is_none() => None,
            (None, _) => {
                let why = problem.map(|problem| format!("; before: {problem}")).unwrap_or_default();
                self.outcome.unanswered.push(format!("state `{state}`, which asks: {message}{why}"));
                Some(UserAnswer::Stop)
            }
        }
    }

    /// The first answer left that is for this question.
    fn next_answer(&mut self, state: &str, question: &str) -> Option<MockReaction> {
        let fits = |answer: &&mut Option<MockUserAnswer>| {
            answer.as_ref().is_some_and(|answer| answer.is_for(state, question))
        };
        let answer = self.answers.iter_mut().find(fits)?.take()?;
        Some(answer.reaction)
    }
}

/// A simulated stream has no reader.
struct SimulatedDeltaSink;

impl DeltaSink for SimulatedDeltaSink {
    fn delta(&self, _: DeltaKind, _: &str) {}
}
