//! Goes through a run input by input, up to the state that is asked about.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::explanation::{
    ConditionRead, ConditionResult, EntryCause, OriginToolCall, PreviousStep, ReplacedValue, RewindNote,
    StepExplanation, TriedCondition, ValueOrigin, ValueOriginKind,
};
use super::provenance::ProvenanceLog;
use super::reads;
use super::state_path::{LocatedState, body_of_path, find_state};
use crate::effect::Effect;
use crate::event::RunEvent;
use crate::input::Input;
use crate::machine::Machine;
use crate::run_spec::RunSpec;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::script::{ScriptJob, ScriptOutcome, ScriptTask, WorkflowScript};
use synthdev_domain::tool::ASKED_BY;
use synthdev_domain::workflow::WorkflowProgram;

pub(super) struct RunTracer {
    machine: Machine,
    provenance: ProvenanceLog,
    /// The step that is asked about, and the last one that was entered.
    wanted_step: u32,
    step: u32,
    /// Scripts under way, with the state that asked.
    jobs: BTreeMap<CallId, ScriptJob>,
    /// In which state a model is asked; the last of each agent as well.
    calls: BTreeMap<CallId, String>,
    speakers: BTreeMap<String, String>,
    /// Ways into states that have not been entered yet.
    pending_entries: Vec<PendingEntry>,
    /// The state that a rewound run is about to enter.
    pending_rewind: Option<(String, RewindNote)>,
}

/// What is about to be entered.
enum EntryTarget {
    State(String),
    /// The first state whose path begins so.
    Body(String),
}

struct PendingEntry {
    entry_target: EntryTarget,
    explanation: StepExplanation,
}

impl PendingEntry {
    fn is_into(&self, state: &str) -> bool {
        match &self.entry_target {
            EntryTarget::State(name) => name == state,
            EntryTarget::Body(start) => state.starts_with(start.as_str()),
        }
    }
}

/// What the input at hand has decided.
struct EvaluatedGuards {
    job: ScriptJob,
    outcome: ScriptOutcome,
}

impl RunTracer {
    pub(super) fn new(spec: Arc<RunSpec>, wanted: u32) -> Self {
        Self {
            machine: Machine::new(spec),
            provenance: ProvenanceLog::default(),
            wanted_step: wanted,
            step: 0,
            jobs: BTreeMap::new(),
            calls: BTreeMap::new(),
            speakers: BTreeMap::new(),
            pending_entries: Vec::new(),
            pending_rewind: None,
        }
    }

    /// Takes one input; gives the answer when its state is entered. `next` is the input that will follow.
    pub(super) fn feed_input(
        &mut self,
        at: Timestamp,
        input: &Input,
        next: Option<&Input>,
    ) -> Option<StepExplanation> {
        if let Some(Input::Rewound(returned)) = next {
            self.machine.halt_before(returned.step);
        }
        let job = input.answered_call().and_then(|call| self.jobs.remove(&call));
        let judged = match (input, job) {
            (Input::Evaluated { outcome, .. }, Some(job)) => {
                Some(EvaluatedGuards { job, outcome: outcome.clone() })
            }
            _ => None,
        };
        let told = input.answered_call().and_then(|call| self.calls.get(&call).cloned());
        let data_before = matches!(input, Input::Rewound(_)).then(|| self.machine.data());
        let output = self.machine.handle_input(at, input.clone());
        for effect in output.effects {
            if let Effect::Evaluate { call, job } = effect {
                self.jobs.insert(call, job);
            }
        }
        let program = self.machine.spec().program.clone();
        let mut moment = TracedInput {
            program: &program,
            input,
            evaluated_guards: judged.as_ref(),
            replaced_values: data_before.map(|data| replaced_values(input, &data)).unwrap_or_default(),
            answered_state: told,
            tried_conditions: None,
        };
        // before anything that followed is noted: the `before` of a transition changes what its condition read
        let events: Vec<RunEvent> = output.events.into_iter().map(|event| event.event).collect();
        let left = events.iter().find_map(|event| {
            if let RunEvent::Transitioned { from, .. } = event { Some(from.as_str()) } else { None }
        });
        moment.tried_conditions =
            left.and_then(|from| Some((from.to_owned(), self.tried_conditions(&moment, from)?)));
        (0..events.len()).find_map(|at| self.apply_event(&moment, &events, at))
    }

    fn apply_event(
        &mut self,
        moment: &TracedInput<'_>,
        events: &[RunEvent],
        at: usize,
    ) -> Option<StepExplanation> {
        let event = events.get(at)?;
        if let RunEvent::StateEntered { state, .. } = event {
            return self.record_state_entered(state);
        }
        self.trace_target_events(moment, events, at);
        self.trace_source_events(moment, events, at);
        None
    }

    fn record_state_entered(&mut self, state: &str) -> Option<StepExplanation> {
        self.step += 1;
        let way = self
            .pending_entries
            .iter()
            .rposition(|way| way.is_into(state))
            .map(|at| self.pending_entries.remove(at));
        self.provenance.record_state_entered(state, self.step);
        let why = way.map_or_else(|| self.explain_entry(EntryCause::Start, None), |way| way.explanation);
        let back = self.pending_rewind.take_if(|(name, _)| name == state).map(|(_, back)| back);
        (self.step == self.wanted_step).then(|| StepExplanation {
            step: self.step,
            state: state.to_owned(),
            back,
            ..why
        })
    }

    fn explain_entry(&self, how: EntryCause, from: Option<&str>) -> StepExplanation {
        let from = from.and_then(|state| match self.provenance.step_of_state(state) {
            Some(step) => Some(PreviousStep { step, state: state.to_owned() }),
            // a limit refused it: what led there led on
            None => self
                .pending_entries
                .iter()
                .rev()
                .find(|way| way.is_into(state))
                .and_then(|way| way.explanation.from.clone()),
        });
        StepExplanation {
            step: 0,
            state: String::new(),
            from,
            how,
            back: None,
            tried: Vec::new(),
            before: None,
        }
    }

    fn add_target(&mut self, into: EntryTarget, why: StepExplanation) {
        if let EntryTarget::State(name) = &into {
            self.pending_entries
                .retain(|way| !matches!(&way.entry_target, EntryTarget::State(other) if other == name));
        }
        self.pending_entries.push(PendingEntry { entry_target: into, explanation: why });
    }

    /// Events that lead somewhere.
    fn trace_target_events(&mut self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) {
        match events.get(at) {
            Some(RunEvent::Transitioned { from, to, guard, .. }) => {
                let why =
                    self.explain_transition(moment, events.get(..at).unwrap_or_default(), from, to, *guard);
                self.add_target(EntryTarget::State(to.clone()), why);
            }
            Some(RunEvent::ChildStarted { state, workflow, .. }) => {
                let why = self.explain_entry(EntryCause::Child { workflow: workflow.clone() }, Some(state));
                self.add_target(EntryTarget::Body(format!("{}{workflow}/", body_of_path(state))), why);
            }
            Some(RunEvent::BranchStarted { state, branch, .. }) => {
                let start = if branch.starts_with('[') {
                    format!("{state}{branch}/")
                } else {
                    format!("{state}.{branch}/")
                };
                let why = self.explain_entry(EntryCause::Branch { branch: branch.clone() }, Some(state));
                self.add_target(EntryTarget::Body(start), why);
            }
            Some(RunEvent::Rewound { state, fork_of, .. }) => {
                let replaced = moment.replaced_values.clone();
                self.pending_rewind =
                    Some((state.clone(), RewindNote { fork_of: fork_of.clone(), replaced }));
            }
            Some(_) | None => {}
        }
    }

    fn explain_transition(
        &self,
        moment: &TracedInput<'_>,
        before: &[RunEvent],
        from: &str,
        to: &str,
        guard: usize,
    ) -> StepExplanation {
        let caught = before.iter().rev().find_map(|event| {
            let RunEvent::Caught { state, error, by, target: Some(target) } = event else { return None };
            (state == from && target == to).then(|| EntryCause::Error {
                rule: by.clone(),
                error: error.code.clone(),
                detail: error.detail.clone(),
            })
        });
        if let Some(how) = caught {
            return self.explain_entry(how, Some(from));
        }
        let found = find_state(moment.program, from);
        let of = found.as_ref().map_or(0, |found| found.state.transitions.len());
        let own = moment.tried_conditions.as_ref().filter(|(state, _)| state == from);
        let tried = own.map(|(_, tried)| tried.clone()).unwrap_or_default();
        if guard >= of {
            let resumes = found.as_ref().and_then(|found| found.workflow.state(found.workflow.resume?));
            let resumes = resumes.is_some_and(|state| state.name == to);
            let how = if resumes { EntryCause::Resume } else { EntryCause::NoMatch };
            return StepExplanation { tried, ..self.explain_entry(how, Some(from)) };
        }
        let transition = found.as_ref().and_then(|found| found.state.transitions.get(guard));
        let unconditional = transition.is_some_and(|transition| transition.condition.is_none());
        let how = EntryCause::Transition { number: guard + 1, of, unconditional };
        let script = transition.and_then(|transition| transition.before).filter(|_| own.is_some());
        let script =
            moment.evaluated_guards.zip(script).and_then(|(judged, at)| judged.job.scripts.get(at.0));
        StepExplanation {
            tried,
            before: script.map(|script| script.source.clone()),
            ..self.explain_entry(how, Some(from))
        }
    }

    /// What was judged to leave a state, if anything was.
    fn tried_conditions(&self, moment: &TracedInput<'_>, from: &str) -> Option<Vec<TriedCondition>> {
        let judged = moment.evaluated_guards?;
        let found = find_state(moment.program, from)?;
        let ScriptTask::Choose { guards, .. } = &judged.job.task else { return None };
        let tried = guards.iter().zip(&judged.outcome.tried).zip(&found.state.transitions);
        let tried = tried.map(|((guard, result), transition)| {
            let script = guard.condition.and_then(|at| judged.job.scripts.get(at.0));
            let target = found.workflow.state(transition.target).map_or("", |state| state.name.as_str());
            let gave = match (result.held, is_falsy(&result.value)) {
                (true, _) => ConditionResult::Truthy,
                (false, true) => ConditionResult::Falsy,
                (false, false) => ConditionResult::Thrown,
            };
            TriedCondition {
                condition: script.map(|script| script.source.clone()),
                place: script.map(script_location),
                target: sibling_path(from, &found, target),
                gave,
                value: result.value.clone(),
                reads: script.map(|script| self.condition_reads(moment, from, script)).unwrap_or_default(),
            }
        });
        Some(tried.collect())
    }

    fn condition_reads(
        &self,
        moment: &TracedInput<'_>,
        from: &str,
        script: &WorkflowScript,
    ) -> Vec<ConditionRead> {
        let Some(judged) = moment.evaluated_guards else { return Vec::new() };
        let named = reads::resolve_reads(&script.source, &judged.job.scope);
        let named = named.into_iter().map(|named| {
            let from = self.provenance.read_origin(moment.program, from, &named);
            ConditionRead { path: named.path, value: named.value, from }
        });
        named.collect()
    }

    /// Events that supply something.
    fn trace_source_events(&mut self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) {
        match events.get(at) {
            Some(RunEvent::RunStarted { inputs, .. }) => self.provenance.record_workflow_started(inputs),
            Some(RunEvent::ChildStarted { state, workflow, inputs }) => {
                self.provenance.record_workflow_called(state, workflow, inputs)
            }
            Some(RunEvent::ChildFinished { workflow, .. }) => {
                self.provenance.record_workflow_returned(moment.program, workflow)
            }
            Some(RunEvent::Forked { state, .. }) => self.provenance.record_branches_started(state),
            Some(RunEvent::ModelCalled { call, state, agent, .. }) => {
                self.calls.insert(*call, state.clone());
                self.speakers.insert(agent.clone(), state.clone());
            }
            Some(RunEvent::Replied { agent, .. }) => self.record_agent_reply(moment, agent, None),
            Some(RunEvent::Decided { agent, tool, arguments, .. }) => {
                let call = OriginToolCall { tool: tool.clone(), arguments: arguments.clone() };
                self.record_agent_reply(moment, agent, Some(call));
            }
            Some(RunEvent::ToolStarted { agent, tool, arguments, .. }) if agent == ASKED_BY => {
                self.provenance.record_tool_run(tool, arguments);
            }
            Some(RunEvent::DataChanged { state, set, removed }) => {
                let source = self.data_writer(moment, events, at, state);
                self.provenance.record_data_written(state, set, removed, &source);
            }
            Some(_) | None => {}
        }
    }

    fn record_agent_reply(&mut self, moment: &TracedInput<'_>, agent: &str, call: Option<OriginToolCall>) {
        let state = moment.answered_state.clone().or_else(|| self.speakers.get(agent).cloned());
        if let Some(state) = state {
            self.provenance.record_agent_reply(&state, agent, call);
        }
    }

    /// Which source wrote keys of `common_data`; `at` is the index of the event.
    fn data_writer(
        &self,
        moment: &TracedInput<'_>,
        events: &[RunEvent],
        at: usize,
        state: &str,
    ) -> ValueOrigin {
        let before = at.checked_sub(1).and_then(|at| events.get(at));
        if matches!(before, Some(RunEvent::Stored { state: stored, .. }) if stored == state) {
            return self.provenance.result_origin(moment.program, state);
        }
        if let Some(RunEvent::Caught { state: caught, by, .. }) = events.get(at + 1)
            && caught == state
            && by == "catch"
        {
            return self.provenance.source(ValueOriginKind::Error, state);
        }
        if self.is_resume(moment, events, at) {
            return self.provenance.source(ValueOriginKind::Person, state);
        }
        let judged = moment.evaluated_guards.map(|judged| &judged.job.task);
        // a run that moves to another definition emits `Resumed` after these events
        let resumed = |event: &RunEvent| matches!(event, RunEvent::Resumed { .. });
        let moved = matches!(moment.input, Input::Resumed(_)) && events.iter().skip(at).any(resumed);
        let by = if moved || matches!(moment.input, Input::Rewound(_)) {
            ValueOriginKind::Outside
        } else if matches!(judged, Some(ScriptTask::Choose { .. })) {
            ValueOriginKind::Before
        } else if judged.is_some() {
            ValueOriginKind::Script
        } else if matches!(
            moment.input,
            Input::Answered { .. } | Input::Said { .. } | Input::Steered(_) | Input::Resumed(_)
        ) {
            ValueOriginKind::Person
        } else {
            ValueOriginKind::Workflow
        };
        self.provenance.source(by, state)
    }

    /// Whether the event stores a queued user message on the way to the state `resume`.
    fn is_resume(&self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) -> bool {
        let Some(RunEvent::DataChanged { state, set, .. }) = events.get(at) else { return false };
        let left = events.iter().skip(at).find_map(|event| {
            let RunEvent::Transitioned { from, to, .. } = event else { return None };
            (from == state).then_some(to)
        });
        let found = find_state(moment.program, state);
        let resume = found.and_then(|found| found.workflow.state(found.workflow.resume?));
        set.len() == 1
            && set.contains_key("resume_input")
            && left.zip(resume).is_some_and(|(to, resume)| *to == resume.name)
    }
}

/// One input with what was known before it.
struct TracedInput<'m> {
    program: &'m WorkflowProgram,
    input: &'m Input,
    evaluated_guards: Option<&'m EvaluatedGuards>,
    /// What a rewind or a fork set.
    replaced_values: Vec<ReplacedValue>,
    /// The state whose model has answered.
    answered_state: Option<String>,
    /// A state that was left, with what was tried for that.
    tried_conditions: Option<(String, Vec<TriedCondition>)>,
}

/// What a rewind or a fork sets, beside what was there in `data`.
pub fn replaced_values(input: &Input, data: &Map<String, Value>) -> Vec<ReplacedValue> {
    let Input::Rewound(returned) = input else { return Vec::new() };
    let values = returned.set.iter().map(|(path, new)| ReplacedValue {
        path: path.join("."),
        old: value_at_path(data, path).cloned(),
        new: new.clone(),
    });
    values.collect()
}

fn value_at_path<'v>(data: &'v Map<String, Value>, path: &[String]) -> Option<&'v Value> {
    let (key, rest) = path.split_first()?;
    rest.iter().try_fold(data.get(key)?, |value, key| match value.as_array() {
        Some(items) => items.get(key.parse::<usize>().ok()?),
        None => value.get(key),
    })
}

fn script_location(script: &WorkflowScript) -> String {
    format!("{}:{}", script.place.file, script.place.line)
}

/// The path name of another state of the same workflow: in the same body it has the same item.
fn sibling_path(from: &str, found: &LocatedState<'_>, name: &str) -> String {
    let own = body_of_path(&found.state.name);
    match name.strip_prefix(own) {
        Some(rest) if !rest.contains('/') => format!("{}{rest}", body_of_path(from)),
        Some(_) | None => format!("{}{name}", found.prefix),
    }
}

/// As the script host writes values that count as false.
fn is_falsy(value: &str) -> bool {
    ["false", "undefined", "null", "0", "-0", "0n", "NaN", "", "\"\"", "''"].contains(&value)
}
