//! Whether a run can go on where it stands: what it is in the middle of must be there in the new program.

use super::moving::same_catch;
use super::names::Names;
use super::{Asked, Phase, Then, inputs};
use crate::domain::agent::AgentSpec;
use crate::domain::ids::{AgentIx, ContextIx, WorkflowIx};
use crate::domain::workflow::{AgentFunction, Input, Program, State, Work, Workflow};
use crate::engine::fork::{Fork, ForkKind};
use crate::engine::frame::Frame;
use crate::engine::lane::{Lane, Place};
use crate::engine::thread::Thread;
use crate::engine::turn::Turn;

pub(super) struct Standing<'a> {
    old: &'a Program,
    new: &'a Program,
    names: &'a Names,
    pub(super) problems: Vec<String>,
}

/// A state where the run stands, before and after, and its path name.
struct At<'a> {
    workflow: WorkflowIx,
    was: (&'a Workflow, &'a State),
    now: (&'a Workflow, &'a State),
    path: String,
}

impl<'a> Standing<'a> {
    pub(super) fn new(old: &'a Program, new: &'a Program, names: &'a Names) -> Self {
        Self { old, new, names, problems: Vec::new() }
    }

    fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    pub(super) fn lane(&mut self, lane: &Lane) {
        let top = lane.frames.len().saturating_sub(1);
        for (at, frame) in lane.frames.iter().enumerate() {
            let Some((was, now)) = self.workflows(frame) else { continue };
            if at > 0 {
                let of = format!(" of the child workflow `{}`", now.name);
                let found = self.new.workflows.iter().find(|one| one.name == now.name);
                if let Err(problems) = inputs::carried(found, &frame.inputs, &of) {
                    self.problems.extend(problems);
                }
            }
            self.speakers(frame, was, now);
            let entering = lane.jump.filter(|_| at == top);
            let Some(here) = self.state(frame, (was, now), entering.is_some(), lane) else { continue };
            if entering.is_some() {
                continue;
            }
            if at == top { self.work(lane, frame, &here) } else { self.child(&here) }
        }
    }

    fn workflows(&mut self, frame: &Frame) -> Option<(&'a Workflow, &'a Workflow)> {
        let was = self.old.workflows.get(frame.workflow.0)?;
        let now = self.names.workflow(frame.workflow).and_then(|at| self.new.workflows.get(at.0));
        if now.is_none() {
            self.problem(format!(
                "the workflow `{}`, in which the run stands, is not in the new file",
                was.name
            ));
        }
        now.map(|now| (&**was, &**now))
    }

    fn state(
        &mut self,
        frame: &Frame,
        (was, now): (&'a Workflow, &'a Workflow),
        enters: bool,
        lane: &Lane,
    ) -> Option<At<'a>> {
        let target = lane.jump.filter(|_| enters).unwrap_or(frame.state);
        let state = was.state(target)?;
        let path = frame.path_name(state);
        let found = self.names.state(frame.workflow, target).and_then(|at| now.state(at));
        if found.is_none() {
            let how = if enters { "which the run is about to enter" } else { "where the run stands" };
            self.problem(format!("state `{path}`, {how}, is not in the new file"));
        }
        Some(At { workflow: frame.workflow, was: (was, state), now: (now, found?), path })
    }

    /// What an agent said and heard stands in its context: it cannot leave that behind.
    fn speakers(&mut self, frame: &Frame, was: &Workflow, now: &Workflow) {
        for (at, spec) in was.agents.iter().enumerate() {
            let spoke = frame.agents.get(at).is_some_and(|memory| memory.replies > 0)
                || frame.turn.as_ref().is_some_and(|turn| turn.agent.0 == at);
            let moved = self.names.agent(frame.workflow, AgentIx(at)).and_then(|at| now.agent(at));
            let Some(moved) = moved.filter(|_| spoke) else { continue };
            if self.names.context(frame.workflow, spec.context) != Some(moved.context) {
                let (from, to) = (context(was, spec), context(now, moved));
                self.problem(format!(
                    "agent `{}` has moved to another context (`{from}` → `{to}`): what it said and heard is in \
                     `{from}`",
                    spec.id
                ));
            }
        }
    }

    /// A child workflow lies on this state.
    fn child(&mut self, at: &At<'_>) {
        let called = |(program, state): (&'a Program, &State)| {
            let Work::Child { workflow, .. } = &state.work else { return None };
            program.workflows.get(workflow.0)
        };
        let (was, now) = (called((self.old, at.was.1)), called((self.new, at.now.1)));
        let same = was.zip(now).is_some_and(|(was, now)| was.name == now.name);
        if !same {
            let name = was.map(|was| was.name.as_str()).unwrap_or_default();
            self.problem(format!(
                "state `{}` no longer calls the workflow `{name}`, in which the run stands",
                at.path
            ));
        }
    }

    fn work(&mut self, lane: &Lane, frame: &Frame, at: &At<'_>) {
        if let Some(fork) = &lane.fork {
            return self.fork(fork, at);
        }
        let in_tool = match lane.phase {
            Phase::Approval(_) | Phase::Tool(_) | Phase::ToolHeld => true,
            Phase::Person(_, asked) => !matches!(
                asked,
                Asked::Message
                    | Asked::Steps
                    | Asked::Visits(_)
                    | Asked::ToolRounds
                    | Asked::ModelCalls
                    | Asked::Budget(..)
                    | Asked::Pause
                    | Asked::Failed
                    | Asked::Break(Place::State | Place::Model)
            ),
            Phase::New
            | Phase::Script(_)
            | Phase::Values(_)
            | Phase::Choice(_)
            | Phase::Model(_)
            | Phase::Held
            | Phase::Fork
            | Phase::Timer(_)
            | Phase::Ending
            | Phase::Over => false,
        };
        if let Some(turn) = &frame.turn {
            return self.turn(turn, in_tool, at);
        }
        if in_tool {
            return self.step(at);
        }
        match (&lane.phase, lane.then) {
            (Phase::Person(_, Asked::Pause), _) | (Phase::Timer(_), Then::Unanswered) => self.pause(at),
            (Phase::Timer(_), Then::Done) if !matches!(at.now.1.work, Work::Wait(_)) => {
                self.problem(format!("state `{}` waits for a time, and does not in the new file", at.path));
            }
            (Phase::Script(_), Then::Catch(rule))
                if same_catch(self.names, at.workflow, (at.was.1, at.now.1), rule).is_none() =>
            {
                self.problem(format!(
                    "the `catch` of state `{}` that the run is following is not in the new file",
                    at.path
                ));
            }
            _ => {}
        }
    }

    fn fork(&mut self, fork: &Fork, at: &At<'_>) {
        let path = &at.path;
        match (&fork.kind, &at.was.1.work, &at.now.1.work) {
            (ForkKind::Branches, Work::Parallel(was), Work::Parallel(now)) => {
                let names = |spec: &crate::domain::workflow::Parallel| {
                    spec.branches.iter().map(|branch| branch.name.clone()).collect::<Vec<_>>()
                };
                let (was, now) = (names(was), names(now));
                if was != now {
                    self.problem(format!(
                        "the branches of state `{path}` run, and are others in the new file ({} → {})",
                        was.join(", "),
                        now.join(", ")
                    ));
                }
            }
            (ForkKind::Items(items), Work::ForEach(_), Work::ForEach(now)) => {
                if let Input::Value(listed) = &now.items
                    && let Some(listed) = listed.as_array()
                    && listed.len() != items.len()
                {
                    self.problem(format!(
                        "the loop of state `{path}` runs over {} items, in the new file over {}",
                        items.len(),
                        listed.len()
                    ));
                }
            }
            (ForkKind::Branches, ..) => {
                self.problem(format!("the branches of state `{path}` run, and it has none in the new file"));
            }
            (ForkKind::Items(_), ..) => {
                self.problem(format!("the loop of state `{path}` runs, and it is none in the new file"));
            }
        }
    }

    /// An agent is speaking: its visit is finished by the same agent in the same seat.
    fn turn(&mut self, turn: &Turn, in_tool: bool, at: &At<'_>) {
        let (id, path) = (&turn.agent_id, &at.path);
        let now = self.names.agent(at.workflow, turn.agent).and_then(|agent| at.now.0.agent(agent));
        let Some(now) = now else {
            return self.problem(format!(
                "agent `{id}`, which is speaking in state `{path}`, is not in the new file"
            ));
        };
        if speaker(at.was) != speaker(at.now) {
            self.problem(format!(
                "agent `{id}` is speaking in state `{path}`, which the new file uses differently"
            ));
        }
        if now.side != turn.side {
            self.problem(format!(
                "agent `{id}` is speaking in state `{path}` and has changed its seat (\"role\")"
            ));
        }
        let open = turn.open.as_ref().filter(|_| in_tool);
        let call = open.and_then(|open| Some(&open.calls.get(*open.waiting.front()?)?.call.name));
        if let Some(tool) = call.filter(|tool| !now.tools.iter().any(|spec| spec.name == **tool)) {
            self.problem(format!("agent `{id}` is using `{tool}` in state `{path}` and may no longer"));
        }
    }

    fn step(&mut self, at: &At<'_>) {
        let tool = |state: &State| match &state.work {
            Work::Step(step) => Some(step.tool.clone()),
            Work::None
            | Work::Agent { .. }
            | Work::Child { .. }
            | Work::Parallel(_)
            | Work::ForEach(_)
            | Work::Pause(_)
            | Work::Wait(_)
            | Work::Fail { .. } => None,
        };
        let (was, now) = (tool(at.was.1), tool(at.now.1));
        if was != now {
            let name = was.unwrap_or_default();
            self.problem(format!("state `{}` is running `{name}`, and does not in the new file", at.path));
        }
    }

    fn pause(&mut self, at: &At<'_>) {
        let same = match (&at.was.1.work, &at.now.1.work) {
            (Work::Pause(was), Work::Pause(now)) => was.kind == now.kind,
            _ => false,
        };
        if !same {
            self.problem(format!(
                "state `{}` waits for an answer, and asks for something else in the new file",
                at.path
            ));
        }
    }
}

/// What a lane holds that nobody uses under the new definition.
pub(super) fn left_behind(lane: &Lane, old: &Program, new: &Program, names: &Names) -> Vec<String> {
    let mut notes = Vec::new();
    for frame in &lane.frames {
        let now = names.workflow(frame.workflow).and_then(|at| new.workflows.get(at.0));
        let Some((was, now)) = old.workflows.get(frame.workflow.0).zip(now) else { continue };
        for (at, spec) in was.contexts.iter().enumerate() {
            let said = frame.threads.get(at).map_or(0, Thread::said);
            if said == 0 {
                continue;
            }
            let messages = if said == 1 { "1 message".to_owned() } else { format!("{said} messages") };
            match names.context(frame.workflow, ContextIx(at)) {
                None => notes.push(format!(
                    "context `{}` is not in the new file: its conversation ({messages}) is left behind",
                    spec.name
                )),
                Some(now_at) if used(was, ContextIx(at)) && !used(now, now_at) => notes.push(format!(
                    "no agent uses context `{}` any more: its conversation ({messages}) stays",
                    spec.name
                )),
                Some(_) => {}
            }
        }
    }
    notes
}

fn used(workflow: &Workflow, context: ContextIx) -> bool {
    workflow.agents.iter().any(|agent| agent.context == context)
}

fn context<'w>(workflow: &'w Workflow, agent: &AgentSpec) -> &'w str {
    workflow.contexts.get(agent.context.0).map_or("", |context| context.name.as_str())
}

/// Who speaks in a state, and how.
fn speaker<'w>((workflow, state): (&'w Workflow, &State)) -> Option<(&'w str, AgentFunction)> {
    let Work::Agent { agent, function, .. } = &state.work else { return None };
    workflow.agent(*agent).map(|agent| (agent.id.as_str(), *function))
}
