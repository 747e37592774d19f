//! Goes through a run input by input, up to the state that is asked about.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{Back, By, Call, Came, Gave, How, Read, Source, Tried, Why};
use super::reads;
use super::sources::Book;
use super::whereabouts::{Whereabouts, body, find};
use crate::domain::ids::{CallId, Timestamp};
use crate::domain::script::{Script, ScriptJob, ScriptOutcome, ScriptTask};
use crate::domain::tool::ASKED_BY;
use crate::domain::workflow::Program;
use crate::engine::effect::Effect;
use crate::engine::event::RunEvent;
use crate::engine::input::Input;
use crate::engine::machine::Machine;
use crate::engine::spec::RunSpec;

pub(super) struct Walk {
    machine: Machine,
    book: Book,
    /// The step that is asked about, and the last one that was entered.
    wanted: u32,
    step: u32,
    /// Scripts under way, with the state that asked.
    jobs: BTreeMap<CallId, ScriptJob>,
    /// In which state a model is asked; the last of each agent as well.
    calls: BTreeMap<CallId, String>,
    speakers: BTreeMap<String, String>,
    /// Ways into states that have not been entered yet.
    ways: Vec<Way>,
    /// The state that a run which went back is about to enter.
    back: Option<(String, Back)>,
}

/// What is about to be entered.
enum Into {
    State(String),
    /// The first state whose path begins so.
    Body(String),
}

struct Way {
    into: Into,
    why: Why,
}

impl Way {
    fn is_into(&self, state: &str) -> bool {
        match &self.into {
            Into::State(name) => name == state,
            Into::Body(start) => state.starts_with(start.as_str()),
        }
    }
}

/// What the input at hand has decided.
struct Judged {
    job: ScriptJob,
    outcome: ScriptOutcome,
}

impl Walk {
    pub(super) fn new(spec: Arc<RunSpec>, wanted: u32) -> Self {
        Self {
            machine: Machine::new(spec),
            book: Book::default(),
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
    pub(super) fn take(&mut self, at: Timestamp, input: &Input, next: Option<&Input>) -> Option<Why> {
        if let Some(Input::Returned(returned)) = next {
            self.machine.halt_before(returned.step);
        }
        let job = input.answers().and_then(|call| self.jobs.remove(&call));
        let judged = match (input, job) {
            (Input::Evaluated { outcome, .. }, Some(job)) => Some(Judged { job, outcome: outcome.clone() }),
            _ => None,
        };
        let told = input.answers().and_then(|call| self.calls.get(&call).cloned());
        let output = self.machine.handle(at, input.clone());
        for effect in output.effects {
            if let Effect::Evaluate { call, job } = effect {
                self.jobs.insert(call, job);
            }
        }
        let program = self.machine.spec().program.clone();
        let mut moment = Moment { program: &program, input, judged: judged.as_ref(), told, tried: None };
        // before anything that followed is noted: the `before` of a transition changes what its condition read
        let left = output.events.iter().find_map(|event| {
            if let RunEvent::Transitioned { from, .. } = event { Some(from.as_str()) } else { None }
        });
        moment.tried = left.and_then(|from| Some((from.to_owned(), self.tried(&moment, from)?)));
        (0..output.events.len()).find_map(|at| self.event(&moment, &output.events, at))
    }

    fn event(&mut self, moment: &Moment<'_>, events: &[RunEvent], at: usize) -> Option<Why> {
        let event = events.get(at)?;
        if let RunEvent::StateEntered { state, .. } = event {
            return self.entered(state);
        }
        self.way(moment, events, at);
        self.note(moment, events, at);
        None
    }

    fn entered(&mut self, state: &str) -> Option<Why> {
        self.step += 1;
        let way = self.ways.iter().rposition(|way| way.is_into(state)).map(|at| self.ways.remove(at));
        self.book.entered(state, self.step);
        let why = way.map_or_else(|| self.plain(How::Start, None), |way| way.why);
        let back = self.back.take_if(|(name, _)| name == state).map(|(_, back)| back);
        (self.step == self.wanted).then(|| Why { step: self.step, state: state.to_owned(), back, ..why })
    }

    fn plain(&self, how: How, from: Option<&str>) -> Why {
        let from = from.and_then(|state| match self.book.step(state) {
            Some(step) => Some(Came { step, state: state.to_owned() }),
            // a limit refused it: what led there led on
            None => {
                self.ways.iter().rev().find(|way| way.is_into(state)).and_then(|way| way.why.from.clone())
            }
        });
        Why { step: 0, state: String::new(), from, how, back: None, tried: Vec::new(), before: None }
    }

    fn leads(&mut self, into: Into, why: Why) {
        if let Into::State(name) = &into {
            self.ways.retain(|way| !matches!(&way.into, Into::State(other) if other == name));
        }
        self.ways.push(Way { into, why });
    }

    /// Events that lead somewhere.
    fn way(&mut self, moment: &Moment<'_>, events: &[RunEvent], at: usize) {
        match events.get(at) {
            Some(RunEvent::Transitioned { from, to, guard, .. }) => {
                let why = self.transition(moment, events.get(..at).unwrap_or_default(), (from, to, *guard));
                self.leads(Into::State(to.clone()), why);
            }
            Some(RunEvent::ChildStarted { state, workflow, .. }) => {
                let why = self.plain(How::Child { workflow: workflow.clone() }, Some(state));
                self.leads(Into::Body(format!("{}{workflow}/", body(state))), why);
            }
            Some(RunEvent::BranchStarted { state, branch, .. }) => {
                let start = if branch.starts_with('[') {
                    format!("{state}{branch}/")
                } else {
                    format!("{state}.{branch}/")
                };
                let why = self.plain(How::Branch { branch: branch.clone() }, Some(state));
                self.leads(Into::Body(start), why);
            }
            Some(RunEvent::Returned { state, fork_of, .. }) => {
                self.back = Some((state.clone(), Back { fork_of: fork_of.clone() }));
            }
            Some(_) | None => {}
        }
    }

    fn transition(
        &self,
        moment: &Moment<'_>,
        before: &[RunEvent],
        (from, to, guard): (&str, &str, usize),
    ) -> Why {
        let caught = before.iter().rev().find_map(|event| {
            let RunEvent::Caught { state, error, by, target: Some(target) } = event else { return None };
            (state == from && target == to).then(|| How::Error {
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
            let how = if resumes { How::Resume } else { How::NoMatch };
            return Why { tried, ..self.plain(how, Some(from)) };
        }
        let transition = found.as_ref().and_then(|found| found.state.transitions.get(guard));
        let unconditional = transition.is_some_and(|transition| transition.condition.is_none());
        let how = How::Transition { number: guard + 1, of, unconditional };
        let script = transition.and_then(|transition| transition.before).filter(|_| own.is_some());
        let script = moment.judged.zip(script).and_then(|(judged, at)| judged.job.scripts.get(at.0));
        Why { tried, before: script.map(|script| script.source.clone()), ..self.plain(how, Some(from)) }
    }

    /// What was judged to leave a state, if anything was.
    fn tried(&self, moment: &Moment<'_>, from: &str) -> Option<Vec<Tried>> {
        let judged = moment.judged?;
        let found = find(moment.program, from)?;
        let ScriptTask::Choose { guards, .. } = &judged.job.task else { return None };
        let tried = guards.iter().zip(&judged.outcome.tried).zip(&found.state.transitions);
        let tried = tried.map(|((guard, result), transition)| {
            let script = guard.condition.and_then(|at| judged.job.scripts.get(at.0));
            let target = found.workflow.state(transition.target).map_or("", |state| state.name.as_str());
            let gave = match (result.held, is_falsy(&result.value)) {
                (true, _) => Gave::Truthy,
                (false, true) => Gave::Falsy,
                (false, false) => Gave::Thrown,
            };
            Tried {
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

    fn reads(&self, moment: &Moment<'_>, from: &str, script: &Script) -> Vec<Read> {
        let Some(judged) = moment.judged else { return Vec::new() };
        let named = reads::of(&script.source, &judged.job.scope);
        let named = named.into_iter().map(|named| {
            let from = self.book.of(moment.program, from, &named);
            Read { path: named.path, value: named.value, from }
        });
        named.collect()
    }

    /// Events that supply something.
    fn note(&mut self, moment: &Moment<'_>, events: &[RunEvent], at: usize) {
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
                let call = Call { tool: tool.clone(), arguments: arguments.clone() };
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

    fn spoke(&mut self, moment: &Moment<'_>, agent: &str, call: Option<Call>) {
        let state = moment.told.clone().or_else(|| self.speakers.get(agent).cloned());
        if let Some(state) = state {
            self.book.spoke(&state, agent, call);
        }
    }

    /// Who set keys of `common_data`: the event stands at `at`.
    fn writer(&self, moment: &Moment<'_>, events: &[RunEvent], at: usize, state: &str) -> Source {
        let before = at.checked_sub(1).and_then(|at| events.get(at));
        if matches!(before, Some(RunEvent::Stored { state: stored, .. }) if stored == state) {
            return self.book.work(moment.program, state);
        }
        if let Some(RunEvent::Caught { state: caught, by, .. }) = events.get(at + 1)
            && caught == state
            && by == "catch"
        {
            return self.book.source(By::Error, state);
        }
        if self.is_resume(moment, events, at) {
            return self.book.source(By::Person, state);
        }
        let judged = moment.judged.map(|judged| &judged.job.task);
        // a run that is moved to another definition tells afterwards that it has been taken up
        let resumed = |event: &RunEvent| matches!(event, RunEvent::Resumed { .. });
        let moved = matches!(moment.input, Input::Resumed(_)) && events.iter().skip(at).any(resumed);
        let by = if moved || matches!(moment.input, Input::Returned(_)) {
            By::Outside
        } else if matches!(judged, Some(ScriptTask::Choose { .. })) {
            By::Before
        } else if judged.is_some() {
            By::Script
        } else if matches!(
            moment.input,
            Input::Answered { .. } | Input::Said { .. } | Input::Steered(_) | Input::Resumed(_)
        ) {
            By::Person
        } else {
            By::Workflow
        };
        self.book.source(by, state)
    }

    /// Whether the event keeps what a person had said unasked, on the way to the state `resume` (A62).
    fn is_resume(&self, moment: &Moment<'_>, events: &[RunEvent], at: usize) -> bool {
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
struct Moment<'m> {
    program: &'m Program,
    input: &'m Input,
    judged: Option<&'m Judged>,
    /// The state whose model has answered.
    told: Option<String>,
    /// A state that was left, with what was tried for that.
    tried: Option<(String, Vec<Tried>)>,
}

fn place(script: &Script) -> String {
    format!("{}:{}", script.place.file, script.place.line)
}

/// The path name of another state of the same workflow: in the same body it has the same item.
fn beside(from: &str, found: &Whereabouts<'_>, name: &str) -> String {
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
