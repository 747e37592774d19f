//! A run from its journal: the same inputs give the same events; no script runs, no model is asked.

use std::sync::Arc;

use super::asked_approval::asked_approval;
use super::effect::Effect;
use super::event::StepEvent;
use super::input::Input;
use super::machine::Machine;
use super::pending_requests::{PendingEffect, PendingRequests};
use super::replay_skips::{ReplaySkips, SkippedCallKind};
use super::run_spec::RunSpec;
use synthdev_domain::agent_team::may_give_budget;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::workflow::WorkflowProgram;

/// What a journal led to.
#[derive(Debug)]
pub struct ReplayResult {
    pub machine: Machine,
    pub events: Vec<(Timestamp, StepEvent)>,
    pub pending_requests: PendingRequests,
}

impl ReplayResult {
    /// Effects that are still pending, in the order of their requests.
    pub fn pending(&self) -> Vec<PendingEffect> {
        self.pending_requests.pending(&self.machine)
    }
}

/// Drops the inputs that a rewind (`Input::Rewound`) discarded.
pub fn drop_rewound<T>(inputs: impl IntoIterator<Item = T>, input: impl Fn(&T) -> &Input) -> Vec<T> {
    let mut kept = Vec::new();
    for item in inputs {
        if let Input::Rewound(returned) = input(&item) {
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

/// The calls of models and scripts that these inputs answer, so that their requests need not be built. An answer that
/// came after a rewind and before the resume does not count. Where a budget is set, a pending call reserves what its
/// request may use: there, requests are needed.
fn skips_for_answered<'a>(spec: &RunSpec, inputs: impl IntoIterator<Item = &'a Input>) -> ReplaySkips {
    let mut skips = ReplaySkips::default();
    let mut is_bounded = is_program_bounded(&spec.program);
    let mut is_stopped_after_rewind = false;
    for input in inputs {
        is_bounded |= gives_agent_budget(input);
        if let Input::Rewound(returned) = input {
            is_stopped_after_rewind = true;
            is_bounded |= returned.program.as_ref().is_some_and(is_program_bounded);
        } else if let Input::Resumed(resumed) = input {
            is_stopped_after_rewind = false;
            is_bounded |= resumed.program.as_ref().is_some_and(is_program_bounded);
        } else if matches!(input, Input::Cancelled { .. }) {
            is_stopped_after_rewind = false;
        }
        if is_stopped_after_rewind {
            continue;
        }
        if let Input::Evaluated { call, .. } | Input::ScriptFailed { call, .. } = input {
            skips.add_call(*call, SkippedCallKind::Script);
        } else if let Input::Replied { call, .. } | Input::ModelFailed { call, .. } = input {
            skips.add_call(*call, SkippedCallKind::Model);
        }
    }
    if is_bounded { ReplaySkips::default() } else { skips }
}

/// Whether a budget begins with it: an agent gives one to an agent that it starts.
pub(super) fn gives_agent_budget(input: &Input) -> bool {
    let Input::Replied { reply, .. } = input else { return false };
    reply.tool_calls.iter().any(|call| may_give_budget(&call.name, &call.arguments))
}

/// Whether anything in it has a budget.
pub(super) fn is_program_bounded(program: &WorkflowProgram) -> bool {
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
    pub events: Vec<(Timestamp, StepEvent)>,
    pending_requests: PendingRequests,
    tells_approvals: bool,
}

impl StepwiseReplay {
    pub fn new(spec: Arc<RunSpec>) -> Self {
        let machine = Machine::new(spec);
        let pending_requests = PendingRequests::default();
        Self { machine, events: Vec::new(), pending_requests, tells_approvals: false }
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

    /// The same from a stored machine on: these inputs came after it was stored.
    pub fn from_state<'a>(
        mut machine: Machine,
        pending_requests: PendingRequests,
        inputs: impl IntoIterator<Item = &'a Input>,
    ) -> Self {
        let answered = skips_for_answered(machine.spec(), inputs);
        // an agent that runs may have been given a budget before
        machine.skip_calls(Arc::new(if machine.has_agent_budgets() {
            ReplaySkips::default()
        } else {
            answered
        }));
        Self { machine, events: Vec::new(), pending_requests, tells_approvals: false }
    }

    /// As `StreamingReplay::with_asked_approvals`.
    #[must_use]
    pub fn with_asked_approvals(self, wanted: bool) -> Self {
        Self { tells_approvals: wanted, ..self }
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
    ) -> &[(Timestamp, StepEvent)] {
        if let Some(Input::Rewound(returned)) = next {
            self.machine.halt_before(returned.step);
        }
        self.pending_requests.before_input(at, &input);
        let answered = input.answered_call();
        let output = self.machine.handle_input(at, input);
        self.pending_requests.after_input(answered, &self.machine);
        let from = self.events.len();
        self.events.extend(output.events.into_iter().map(|event| (at, event)));
        if self.tells_approvals {
            let asked = output.effects.iter().filter_map(|asked| asked_approval(asked, next));
            self.events.extend(asked.map(|event| (at, event.into())));
        }
        for effect in output.effects {
            self.pending_requests.add_effect(effect);
        }
        &self.events[from..]
    }

    /// Effects that are still pending.
    pub fn open_effects(&self) -> impl Iterator<Item = &Effect> {
        self.pending_requests.effects(&self.machine)
    }

    pub fn finish(mut self) -> ReplayResult {
        self.machine.skip_calls(Arc::default());
        let Self { machine, events, pending_requests, .. } = self;
        ReplayResult { machine, events, pending_requests }
    }
}
