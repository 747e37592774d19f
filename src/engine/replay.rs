//! A run from its journal: the same inputs give the same events; no script runs, no model is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::effect::Effect;
use super::event::RunEvent;
use super::input::Input;
use super::machine::Machine;
use super::replay_skips::{ReplaySkips, SkippedCallKind};
use super::run_spec::RunSpec;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::workflow::WorkflowProgram;

/// What a journal led to.
#[derive(Debug)]
pub struct ReplayResult {
    pub machine: Machine,
    pub events: Vec<(Timestamp, RunEvent)>,
    /// Effects that are still pending, in the order of their requests.
    pub pending: Vec<PendingEffect>,
}

#[derive(Clone, Debug)]
pub struct PendingEffect {
    pub effect: Effect,
    pub at: Timestamp,
    /// Milliseconds since then in which the run was driven.
    pub driven_ms: i64,
}

/// Drops the inputs that a rewind (`Input::Returned`) discarded.
pub fn drop_rewound<T>(inputs: impl IntoIterator<Item = T>, input: impl Fn(&T) -> &Input) -> Vec<T> {
    let mut kept = Vec::new();
    for item in inputs {
        if let Input::Returned(returned) = input(&item) {
            kept.truncate(returned.kept);
        }
        kept.push(item);
    }
    kept
}

/// Rows of a journal as inputs. Rows do not depend on each other: a long journal may be given in parts, to a thread
/// each.
///
/// # Errors
/// The first row that is not an input.
pub fn parse_inputs(rows: &[(Timestamp, &str)]) -> Result<Vec<(Timestamp, Input)>, serde_json::Error> {
    rows.iter().map(|(at, body)| serde_json::from_str(body).map(|input| (*at, input))).collect()
}

/// Feeds recorded inputs to a new machine.
pub fn replay_inputs(
    spec: Arc<RunSpec>,
    inputs: impl IntoIterator<Item = (Timestamp, Input)>,
) -> ReplayResult {
    let inputs = drop_rewound(inputs, |(_, input)| input);
    let mut tape = StepwiseReplay::skipping_answered(spec, inputs.iter().map(|(_, input)| input));
    tape.events.reserve(inputs.len().saturating_mul(EVENTS));
    let mut inputs = inputs.into_iter().peekable();
    while let Some((at, input)) = inputs.next() {
        tape.feed_input(at, input, inputs.peek().map(|(_, next)| next));
    }
    tape.finish()
}

/// Events of most inputs.
const EVENTS: usize = 3;

/// Calls of models and scripts whose answers are known, so that their requests need not be built. An answer that came
/// after a rewind and before the resume does not count. Where a budget is set, a pending call reserves what its request
/// may use: there, requests are needed.
#[derive(Clone, Debug, Default)]
pub struct ReplayAnswers {
    calls: ReplaySkips,
    /// The run was rewound and not resumed since.
    is_stopped_after_rewind: bool,
    bounded: bool,
}

impl ReplayAnswers {
    /// Before the first input.
    pub fn new(spec: &RunSpec) -> Self {
        Self { bounded: is_bounded(&spec.program), ..Self::default() }
    }

    /// A model answered a call, or failed to.
    pub fn record_model_reply(&mut self, call: CallId) {
        if !self.is_stopped_after_rewind {
            self.calls.add_call(call, SkippedCallKind::Model);
        }
    }

    /// A script did.
    pub fn record_script_result(&mut self, call: CallId) {
        if !self.is_stopped_after_rewind {
            self.calls.add_call(call, SkippedCallKind::Script);
        }
    }

    /// Takes the next input.
    pub fn record_input(&mut self, input: &Input) {
        match input {
            Input::Returned(returned) => {
                self.is_stopped_after_rewind = true;
                self.bounded |= returned.program.as_ref().is_some_and(is_bounded);
            }
            Input::Resumed(resumed) => {
                self.is_stopped_after_rewind = false;
                self.bounded |= resumed.program.as_ref().is_some_and(is_bounded);
            }
            Input::Cancelled { .. } => self.is_stopped_after_rewind = false,
            Input::Evaluated { call, .. } | Input::ScriptFailed { call, .. } => {
                self.record_script_result(*call)
            }
            Input::Replied { call, .. } | Input::ModelFailed { call, .. } => self.record_model_reply(*call),
            Input::Started { .. }
            | Input::Said { .. }
            | Input::Steered(_)
            | Input::SnapshotTaken { .. }
            | Input::SnapshotFailed { .. }
            | Input::Approved { .. }
            | Input::ToolDone { .. }
            | Input::Answered { .. }
            | Input::Stopped { .. }
            | Input::Elapsed { .. } => {}
        }
    }

    fn into_skips(self) -> ReplaySkips {
        if self.bounded { ReplaySkips::default() } else { self.calls }
    }
}

fn skips_for_answered<'a>(spec: &RunSpec, inputs: impl IntoIterator<Item = &'a Input>) -> ReplaySkips {
    let mut answered = ReplayAnswers::new(spec);
    inputs.into_iter().for_each(|input| answered.record_input(input));
    answered.into_skips()
}

/// Whether anything in it has a budget.
pub(super) fn is_bounded(program: &WorkflowProgram) -> bool {
    program.workflows.iter().any(|workflow| {
        !workflow.budget.is_unbounded()
            || workflow.states.iter().any(|state| !state.budget.is_unbounded())
            || workflow.agents.iter().any(|agent| !agent.budget.is_unbounded())
    })
}

/// A replay step by step.
#[derive(Debug)]
pub struct StepwiseReplay {
    pub machine: Machine,
    pub events: Vec<(Timestamp, RunEvent)>,
    pending_requests: BTreeMap<CallId, (Effect, Timestamp, i64)>,
    driven_ms: i64,
    last_time: Option<Timestamp>,
}

impl StepwiseReplay {
    pub fn new(spec: Arc<RunSpec>) -> Self {
        let machine = Machine::new(spec);
        Self { machine, events: Vec::new(), pending_requests: BTreeMap::new(), driven_ms: 0, last_time: None }
    }

    /// A replay that will be fed exactly these inputs, to the last: it skips building the requests that models and
    /// scripts answer among them, which is most of the work. Until all of them are fed, `finish` may miss pending
    /// effects.
    pub fn skipping_answered<'a>(spec: Arc<RunSpec>, inputs: impl IntoIterator<Item = &'a Input>) -> Self {
        let answered = skips_for_answered(&spec, inputs);
        let mut tape = Self::new(spec);
        tape.machine.skip_calls(Arc::new(answered));
        tape
    }

    /// The same for a journal that is read in parts: what it answers is known already.
    pub fn with_answers(spec: Arc<RunSpec>, answered: ReplayAnswers) -> Self {
        let mut tape = Self::new(spec);
        tape.machine.skip_calls(Arc::new(answered.into_skips()));
        tape
    }

    /// The same, but for one call, which is put together to be looked at.
    pub fn skipping_all_but<'a>(
        spec: Arc<RunSpec>,
        inputs: impl IntoIterator<Item = &'a Input>,
        call: CallId,
    ) -> Self {
        let mut answered = skips_for_answered(&spec, inputs);
        answered.unskip(call);
        let mut tape = Self::new(spec);
        tape.machine.skip_calls(Arc::new(answered));
        tape
    }

    /// Feeds one input; `next` is the one that will follow: a rewind stops the run in the middle of the input before
    /// it. Returns the events of this input.
    pub fn feed_input(
        &mut self,
        at: Timestamp,
        input: Input,
        next: Option<&Input>,
    ) -> &[(Timestamp, RunEvent)] {
        if let Some(Input::Returned(returned)) = next {
            self.machine.halt_before(returned.step);
        }
        let closed = matches!(input, Input::Resumed(_) | Input::Returned(_));
        let passed = self.last_time.map_or(0, |last| at.0.saturating_sub(last.0).max(0));
        self.driven_ms += if closed { 0 } else { passed };
        self.last_time = Some(at);
        if matches!(input, Input::Resumed(_)) {
            // a present user is asked again
            self.pending_requests.retain(|_, (effect, ..)| {
                !matches!(effect, Effect::AskPerson { .. } | Effect::AskApproval { .. })
            });
        }
        let answered = input.answered_call();
        let output = self.machine.handle_input(at, input);
        if let Some(call) = answered.filter(|call| !self.machine.awaits_call(*call)) {
            self.pending_requests.remove(&call);
        }
        for effect in output.effects {
            if let Effect::Abort { call } = effect {
                self.pending_requests.remove(&call);
            } else if let Some(call) = effect.call() {
                self.pending_requests.insert(call, (effect, at, self.driven_ms));
            }
        }
        let from = self.events.len();
        self.events.extend(output.events.into_iter().map(|event| (at, event)));
        &self.events[from..]
    }

    /// Effects that are still pending.
    pub fn open_effects(&self) -> impl Iterator<Item = &Effect> {
        let open = self.pending_requests.iter().filter(|(call, _)| self.machine.awaits_call(**call));
        open.map(|(_, (effect, ..))| effect)
    }

    pub fn finish(mut self) -> ReplayResult {
        self.machine.skip_calls(Arc::default());
        let Self { machine, events, pending_requests: asked, driven_ms, .. } = self;
        let pending = asked
            .into_iter()
            .filter(|(call, _)| machine.awaits_call(*call))
            .map(|(_, (effect, at, began))| PendingEffect { effect, at, driven_ms: driven_ms - began })
            .collect();
        ReplayResult { machine, events, pending }
    }
}
