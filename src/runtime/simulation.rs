//! Drives one run without the world: what is asked is answered at once, in one fixed order, under a simulated clock.
//!
//! Owns the order of events: effects are performed as they come, their answers arrive by simulated time and then in
//! the order they were asked for. So the same script always makes the same run, parallel branches included, and
//! waiting takes no time. Refuses: journals, snapshots, people. Approvals are given.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::retry::RetryPolicy;
use crate::domain::approval::Decision;
use crate::domain::ids::{CallId, Timestamp};
use crate::domain::model::{DeltaKind, ModelError, ModelRequest};
use crate::domain::sample::sample;
use crate::domain::scripted::{Reaction, ScriptedAnswer};
use crate::domain::tool::ToolInvocation;
use crate::domain::workflow::{PauseKind, plain_text};
use crate::engine::effect::{Effect, Question};
use crate::engine::event::RunEvent;
use crate::engine::input::{Answer, Input};
use crate::engine::machine::Machine;
use crate::engine::spec::RunSpec;
use crate::ports::model::{DeltaSink, ModelPort};
use crate::ports::script::ScriptPort;
use crate::ports::tool::ToolPort;

/// Inputs of one run; limits end any sound run much earlier.
const MOST_INPUTS: usize = 1_000_000;

/// What a simulated run is played with.
pub struct Props<'a> {
    pub models: &'a dyn ModelPort,
    pub tools: &'a dyn ToolPort,
    pub scripts: &'a dyn ScriptPort,
    /// What `tools` had no scripted result for, if that has happened: the run is over then.
    pub missing: &'a (dyn Fn() -> Option<String> + Send + Sync),
    pub answers: Vec<ScriptedAnswer>,
    /// Questions without an answer get one that fits them.
    pub improvise: bool,
    /// What the simulated clock shows at the start.
    pub now: Timestamp,
}

/// What came of it.
#[derive(Debug)]
pub struct Played {
    /// Everything that happened, the end included.
    pub events: Vec<RunEvent>,
    /// Why the run could not be played to its end: the script does not say what is asked of it.
    pub gap: Option<String>,
    /// Questions that were asked and had no answer left; the run ended with them.
    pub unanswered: Vec<String>,
    /// Positions of answers that nobody asked for.
    pub unused_answers: Vec<usize>,
}

/// Plays a run to its end. The same arguments give the same events.
pub async fn play(spec: RunSpec, props: Props<'_>) -> Played {
    let now = props.now.0;
    let mut stage = Stage {
        machine: Machine::new(Arc::new(spec)),
        answers: props.answers.iter().map(|answer| Some(answer.clone())).collect(),
        props,
        now,
        asked: 0,
        due: BTreeMap::new(),
        improvised: BTreeMap::new(),
        played: Played { events: Vec::new(), gap: None, unanswered: Vec::new(), unused_answers: Vec::new() },
    };
    stage.run().await;
    let left = stage.answers.iter().enumerate().filter(|(_, answer)| answer.is_some());
    stage.played.unused_answers = left.map(|(at, _)| at).collect();
    stage.played
}

struct Stage<'a> {
    machine: Machine,
    props: Props<'a>,
    answers: Vec<Option<ScriptedAnswer>>,
    /// Milliseconds since 1970.
    now: i64,
    asked: u64,
    /// Answers on their way, by time and then by when they were asked for.
    due: BTreeMap<(i64, u64), Input>,
    /// How often each state was answered without a script.
    improvised: BTreeMap<String, usize>,
    played: Played,
}

impl Stage<'_> {
    async fn run(&mut self) {
        self.push(0, Input::Started { seed: 0 });
        for _ in 0..MOST_INPUTS {
            if self.machine.is_over() {
                return;
            }
            let Some(((at, _), input)) = self.due.pop_first() else {
                self.gap("the run waits for something that never comes".to_owned());
                break;
            };
            self.now = self.now.max(at);
            let output = self.machine.handle(Timestamp(self.now), input);
            self.played.events.extend(output.events);
            for effect in output.effects {
                self.perform(effect).await;
            }
            if self.played.gap.is_some() {
                break;
            }
        }
        if !self.machine.is_over() {
            let end = Input::Cancelled { partial: Vec::new(), end: true, used: Vec::new() };
            self.played.events.extend(self.machine.handle(Timestamp(self.now), end).events);
        }
    }

    fn gap(&mut self, what: String) {
        self.played.gap.get_or_insert(what);
    }

    fn push(&mut self, delay_ms: u64, input: Input) {
        self.asked += 1;
        let at = self.now.saturating_add(i64::try_from(delay_ms).unwrap_or(i64::MAX));
        self.due.insert((at, self.asked), input);
    }

    async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::TakeSnapshot { call, .. } => {
                self.push(0, Input::SnapshotFailed { call, reason: "a simulation takes none".to_owned() });
            }
            Effect::Evaluate { call, job } => {
                let input = match self.props.scripts.evaluate(job).await {
                    Ok(outcome) => Input::Evaluated { call, outcome },
                    Err(error) => Input::ScriptFailed { call, error },
                };
                self.push(0, input);
            }
            Effect::CallModel { call, request } => self.call_model(call, &request).await,
            Effect::RunTool { call, invocation, .. } => self.run_tool(call, &invocation).await,
            Effect::AskApproval { call, .. } => {
                self.push(0, Input::Approved { call, decision: Decision::Allow })
            }
            Effect::AskPerson { call, question } => self.answer(call, &question),
            Effect::SetTimer { call, delay_ms, .. } => self.push(delay_ms, Input::Elapsed { call }),
            Effect::Abort { call } => self.due.retain(|_, input| input.answers() != Some(call)),
            Effect::Finish => {}
        }
    }

    /// As the runtime does it, but the waits between the attempts are simulated.
    async fn call_model(&mut self, call: CallId, request: &ModelRequest) {
        let policy = RetryPolicy::default();
        let (mut attempts, mut waited) = (1, 0_u64);
        let error = loop {
            let error = match self.props.models.call(request, &Deaf).await {
                Ok(reply) => {
                    let delay = waited.saturating_add(reply.duration_ms);
                    return self.push(delay, Input::Replied { call, reply });
                }
                Err(error) => error,
            };
            let Some(delay) = policy.delay(attempts + 1, &error, 0) else { break error };
            attempts += 1;
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            waited = waited.saturating_add(delay_ms);
            self.played.events.push(RunEvent::ModelRetry {
                call,
                agent: request.agent.clone(),
                attempt: attempts,
                delay_ms,
                reason: error.to_string(),
            });
        };
        if let ModelError::Drift { detail } = &error {
            self.gap(detail.clone());
        }
        self.push(waited, Input::ModelFailed { call, error, attempts, used: Vec::new(), again: false });
    }

    async fn run_tool(&mut self, call: CallId, invocation: &ToolInvocation) {
        let outcome = self.props.tools.run(invocation).await;
        if let Some(missing) = (self.props.missing)() {
            self.gap(missing);
        }
        self.push(outcome.duration_ms, Input::ToolDone { call, outcome });
    }

    fn answer(&mut self, call: CallId, question: &Question) {
        let answer = match question {
            Question::NoSnapshot { .. } | Question::Break { .. } => Some(Answer::Continue),
            Question::Limit { .. } | Question::Failed { .. } | Question::Uncertain { .. } => {
                Some(Answer::Stop)
            }
            Question::Message => Some(match self.next_answer("", "") {
                Some(Reaction::Value(value)) => Answer::Text { text: plain_text(&value) },
                None if self.props.improvise && self.turn("") == 0 => {
                    Answer::Text { text: "(simulated answer)".to_owned() }
                }
                Some(Reaction::Silence) | None => Answer::Stop,
            }),
            Question::Pause { problem: None, .. } if self.props.improvise => self.improvise(question),
            Question::Pause { state, message, default, until, problem, .. } => {
                let reaction = self.next_answer(state, message);
                self.react(state, message, problem.as_deref(), reaction, default.as_deref(), until.is_some())
            }
        };
        if let Some(answer) = answer {
            self.push(0, Input::Answered { call, answer });
        }
    }

    /// How often this was asked for before.
    fn turn(&mut self, state: &str) -> usize {
        let times = self.improvised.entry(state.to_owned()).or_default();
        *times += 1;
        *times - 1
    }

    /// An answer that fits a pause: yes at first, then no; of several choices each in its turn.
    fn improvise(&mut self, question: &Question) -> Option<Answer> {
        let Question::Pause { state, kind, choices, schema, required_outputs, .. } = question else {
            return None;
        };
        let turn = self.turn(state);
        let value = match (schema, kind) {
            (Some(schema), _) => sample(schema, "answer", turn),
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
        Some(Answer::Value { value })
    }

    /// What a pause is told; `None` lets its time run out.
    fn react(
        &mut self,
        state: &str,
        message: &str,
        problem: Option<&str>,
        reaction: Option<Reaction>,
        default: Option<&Value>,
        limited: bool,
    ) -> Option<Answer> {
        match (reaction, default) {
            (Some(Reaction::Value(value)), _) => Some(Answer::Value { value }),
            (Some(Reaction::Silence) | None, Some(default)) if !limited => {
                Some(Answer::Value { value: default.clone() })
            }
            (Some(Reaction::Silence), _) if !limited => {
                self.gap(format!(
                    "the answer of state `{state}` shall time out, but the state waits for ever"
                ));
                None
            }
            (Some(Reaction::Silence), _) => None,
            (None, Some(_)) if problem.is_none() => None,
            (None, _) => {
                let why = problem.map(|problem| format!("; before: {problem}")).unwrap_or_default();
                self.played.unanswered.push(format!("state `{state}`, which asks: {message}{why}"));
                Some(Answer::Stop)
            }
        }
    }

    /// The first answer left that is for this question.
    fn next_answer(&mut self, state: &str, question: &str) -> Option<Reaction> {
        let fits = |answer: &&mut Option<ScriptedAnswer>| {
            answer.as_ref().is_some_and(|answer| answer.is_for(state, question))
        };
        let answer = self.answers.iter_mut().find(fits)?.take()?;
        Some(answer.reaction)
    }
}

/// Nobody listens to a simulated stream.
struct Deaf;

impl DeltaSink for Deaf {
    fn delta(&self, _: DeltaKind, _: &str) {}
}
