//! Goes through a run input by input, up to the state that is asked about.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::explanation::{
    ConditionRead, ConditionResult, EntryCause, OriginToolCall, PreviousStep, RewindNote, StepExplanation,
    TriedCondition, ValueOrigin, ValueOriginKind,
};
use super::provenance::ProvenanceLog;
use super::reads;
use super::state_path::{LocatedState, body, find};
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
    book: ProvenanceLog,
    /// The step that is asked about, and the last one that was entered.
    wanted: u32,
    step: u32,
    /// Scripts under way, with the state that asked.
    jobs: BTreeMap<CallId, ScriptJob>,
    /// In which state a model is asked; the last of each agent as well.
    calls: BTreeMap<CallId, String>,
    speakers: BTreeMap<String, String>,
    /// Ways into states that have not been entered yet.
    ways: Vec<PendingEntry>,
    /// The state that a run which went back is about to enter.
    back: Option<(String, RewindNote)>,
}

/// What is about to be entered.
enum EntryTarget {
    State(String),
    /// The first state whose path begins so.
    Body(String),
}

struct PendingEntry {
    into: EntryTarget,
    why: StepExplanation,
}

impl PendingEntry {
    fn is_into(&self, state: &str) -> bool {
        match &self.into {
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
            book: ProvenanceLog::default(),
            wanted,
            step: 0,
            jobs: BTreeMap::new(),
            calls: BTreeMap::new(),
            speakers: BTreeMap::new(),
            ways: Vec::new(),
            back: None,
        }
    }

    /// Takes one input; gives the answer when its state is entered. `next` is the input that will follow.
    pub(super) fn feed_input(
        &mut self,
        at: Timestamp,
        input: &Input,
        next: Option<&Input>,
    ) -> Option<StepExplanation> {
        if let Some(Input::Returned(returned)) = next {
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
        let output = self.machine.handle(at, input.clone());
        for effect in output.effects {
            if let Effect::Evaluate { call, job } = effect {
                self.jobs.insert(call, job);
            }
        }
        let program = self.machine.spec().program.clone();
        let mut moment = TracedInput { program: &program, input, judged: judged.as_ref(), told, tried: None };
        // before anything that followed is noted: the `before` of a transition changes what its condition read
        let left = output.events.iter().find_map(|event| {
            if let RunEvent::Transitioned { from, .. } = event { Some(from.as_str()) } else { None }
        });
        moment.tried = left.and_then(|from| Some((from.to_owned(), self.tried(&moment, from)?)));
        (0..output.events.len()).find_map(|at| self.event(&moment, &output.events, at))
    }

    fn event(&mut self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) -> Option<StepExplanation> {
        let event = events.get(at)?;
        if let RunEvent::StateEntered { state, .. } = event {
            return self.entered(state);
        }
        self.way(moment, events, at);
        self.note(moment, events, at);
        None
    }

    fn entered(&mut self, state: &str) -> Option<StepExplanation> {
        self.step += 1;
        let way = self.ways.iter().rposition(|way| way.is_into(state)).map(|at| self.ways.remove(at));
        self.book.entered(state, self.step);
        let why = way.map_or_else(|| self.plain(EntryCause::Start, None), |way| way.why);
        let back = self.back.take_if(|(name, _)| name == state).map(|(_, back)| back);
        (self.step == self.wanted).then(|| StepExplanation {
            step: self.step,
            state: state.to_owned(),
            back,
            ..why
        })
    }

    fn plain(&self, how: EntryCause, from: Option<&str>) -> StepExplanation {
        let from = from.and_then(|state| match self.book.step(state) {
            Some(step) => Some(PreviousStep { step, state: state.to_owned() }),
            // a limit refused it: what led there led on
            None => {
                self.ways.iter().rev().find(|way| way.is_into(state)).and_then(|way| way.why.from.clone())
            }
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

    fn leads(&mut self, into: EntryTarget, why: StepExplanation) {
        if let EntryTarget::State(name) = &into {
            self.ways.retain(|way| !matches!(&way.into, EntryTarget::State(other) if other == name));
        }
        self.ways.push(PendingEntry { into, why });
    }

    /// Events that lead somewhere.
    fn way(&mut self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) {
        match events.get(at) {
            Some(RunEvent::Transitioned { from, to, guard, .. }) => {
                let why = self.transition(moment, events.get(..at).unwrap_or_default(), (from, to, *guard));
                self.leads(EntryTarget::State(to.clone()), why);
            }
            Some(RunEvent::ChildStarted { state, workflow, .. }) => {
                let why = self.plain(EntryCause::Child { workflow: workflow.clone() }, Some(state));
                self.leads(EntryTarget::Body(format!("{}{workflow}/", body(state))), why);
            }
            Some(RunEvent::BranchStarted { state, branch, .. }) => {
                let start = if branch.starts_with('[') {
                    format!("{state}{branch}/")
                } else {
                    format!("{state}.{branch}/")
                };
                let why = self.plain(EntryCause::Branch { branch: branch.clone() }, Some(state));
                self.leads(EntryTarget::Body(start), why);
            }
            Some(RunEvent::Returned { state, fork_of, .. }) => {
                self.back = Some((state.clone(), RewindNote { fork_of: fork_of.clone() }));
            }
            Some(_) | None => {}
        }
    }

    fn transition(
        &self,
        moment: &TracedInput<'_>,
        before: &[RunEvent],
        (from, to, guard): (&str, &str, usize),
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
            return self.plain(how, Some(from));
        }
        let found = find(moment.program, from);
        let of = found.as_ref().map_or(0, |found| found.state.transitions.len());
        let own = moment.tried.as_ref().filter(|(state, _)| state == from);
        let tried = own.map(|(_, tried)| tried.clone()).unwrap_or_default();
        if guard >= of {
            let resumes = found.as_ref().and_then(|found| found.workflow.state(found.workflow.resume?));
            let resumes = resumes.is_some_and(|state| state.name == to);
            let how = if resumes { EntryCause::Resume } else { EntryCause::NoMatch };
            return StepExplanation { tried, ..self.plain(how, Some(from)) };
        }
        let transition = found.as_ref().and_then(|found| found.state.transitions.get(guard));
        let unconditional = transition.is_some_and(|transition| transition.condition.is_none());
        let how = EntryCause::Transition { number: guard + 1, of, unconditional };
        let script = transition.and_then(|transition| transition.before).filter(|_| own.is_some());
        let script = moment.judged.zip(script).and_then(|(judged, at)| judged.job.scripts.get(at.0));
        StepExplanation {
            tried,
            before: script.map(|script| script.source.clone()),
            ..self.plain(how, Some(from))
        }
    }

    /// What was judged to leave a state, if anything was.
    fn tried(&self, moment: &TracedInput<'_>, from: &str) -> Option<Vec<TriedCondition>> {
        let judged = moment.judged?;
        let found = find(moment.program, from)?;
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
                place: script.map(place),
                target: beside(from, &found, target),
                gave,
                value: result.value.clone(),
                reads: script.map(|script| self.reads(moment, from, script)).unwrap_or_default(),
            }
        });
        Some(tried.collect())
    }

    fn reads(&self, moment: &TracedInput<'_>, from: &str, script: &WorkflowScript) -> Vec<ConditionRead> {
        let Some(judged) = moment.judged else { return Vec::new() };
        let named = reads::resolve_reads(&script.source, &judged.job.scope);
        let named = named.into_iter().map(|named| {
            let from = self.book.origin_of_read(moment.program, from, &named);
            ConditionRead { path: named.path, value: named.value, from }
        });
        named.collect()
    }

    /// Events that supply something.
    fn note(&mut self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) {
        match events.get(at) {
            Some(RunEvent::RunStarted { inputs, .. }) => self.book.started(inputs),
            Some(RunEvent::ChildStarted { state, workflow, inputs }) => {
                self.book.called(state, workflow, inputs)
            }
            Some(RunEvent::ChildFinished { workflow, .. }) => self.book.returned(moment.program, workflow),
            Some(RunEvent::Forked { state, .. }) => self.book.forked(state),
            Some(RunEvent::ModelCalled { call, state, agent, .. }) => {
                self.calls.insert(*call, state.clone());
                self.speakers.insert(agent.clone(), state.clone());
            }
            Some(RunEvent::Replied { agent, .. }) => self.spoke(moment, agent, None),
            Some(RunEvent::Decided { agent, tool, arguments }) => {
                let call = OriginToolCall { tool: tool.clone(), arguments: arguments.clone() };
                self.spoke(moment, agent, Some(call));
            }
            Some(RunEvent::ToolStarted { agent, tool, arguments, .. }) if agent == ASKED_BY => {
                self.book.ran(tool, arguments);
            }
            Some(RunEvent::DataChanged { state, set, removed }) => {
                let source = self.writer(moment, events, at, state);
                self.book.wrote(state, set, removed, &source);
            }
            Some(_) | None => {}
        }
    }

    fn spoke(&mut self, moment: &TracedInput<'_>, agent: &str, call: Option<OriginToolCall>) {
        let state = moment.told.clone().or_else(|| self.speakers.get(agent).cloned());
        if let Some(state) = state {
            self.book.spoke(&state, agent, call);
        }
    }

    /// Who set keys of `common_data`: the event stands at `at`.
    fn writer(&self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize, state: &str) -> ValueOrigin {
        let before = at.checked_sub(1).and_then(|at| events.get(at));
        if matches!(before, Some(RunEvent::Stored { state: stored, .. }) if stored == state) {
            return self.book.work(moment.program, state);
        }
        if let Some(RunEvent::Caught { state: caught, by, .. }) = events.get(at + 1)
            && caught == state
            && by == "catch"
        {
            return self.book.source(ValueOriginKind::Error, state);
        }
        if self.is_resume(moment, events, at) {
            return self.book.source(ValueOriginKind::Person, state);
        }
        let judged = moment.judged.map(|judged| &judged.job.task);
        // a run that is moved to another definition tells afterwards that it has been taken up
        let resumed = |event: &RunEvent| matches!(event, RunEvent::Resumed { .. });
        let moved = matches!(moment.input, Input::Resumed(_)) && events.iter().skip(at).any(resumed);
        let by = if moved || matches!(moment.input, Input::Returned(_)) {
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
        self.book.source(by, state)
    }

    /// Whether the event keeps what a person had said unasked, on the way to the state `resume`.
    fn is_resume(&self, moment: &TracedInput<'_>, events: &[RunEvent], at: usize) -> bool {
        let Some(RunEvent::DataChanged { state, set, .. }) = events.get(at) else { return false };
        let left = events.iter().skip(at).find_map(|event| {
            let RunEvent::Transitioned { from, to, .. } = event else { return None };
            (from == state).then_some(to)
        });
        let found = find(moment.program, state);
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
    judged: Option<&'m EvaluatedGuards>,
    /// The state whose model has answered.
    told: Option<String>,
    /// A state that was left, with what was tried for that.
    tried: Option<(String, Vec<TriedCondition>)>,
}

fn place(script: &WorkflowScript) -> String {
    format!("{}:{}", script.place.file, script.place.line)
}

/// The path name of another state of the same workflow: in the same body it has the same item.
fn beside(from: &str, found: &LocatedState<'_>, name: &str) -> String {
    let own = body(&found.state.name);
    match name.strip_prefix(own) {
        Some(rest) if !rest.contains('/') => format!("{}{rest}", body(from)),
        Some(_) | None => format!("{}{name}", found.prefix),
    }
}

/// As the script host writes values that count as false.
fn is_falsy(value: &str) -> bool {
    ["false", "undefined", "null", "0", "-0", "0n", "NaN", "", "\"\"", "''"].contains(&value)
}
