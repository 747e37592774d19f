//! Whether a run can continue from its present state: everything it is in the middle of must exist in the new program.

use super::migrate::same_catch;
use super::position_map::PositionMap;
use super::{BranchContinuation, PendingQuestion, WaitState, migrate_inputs};
use crate::agent_turn::AgentTurn;
use crate::branch::{AwaitedAgents, Branch, BreakSite};
use crate::call_frame::CallFrame;
use crate::conversation::LiveConversation;
use crate::parallel::{ParallelKind, ParallelProgress};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::ids::{AgentIx, ContextIx, WorkflowIx};
use synthdev_domain::workflow::{
    AgentFunction, StateBody, StateSpec, ValueSource, Workflow, WorkflowProgram,
};

pub(super) struct CompatibilityCheck<'a> {
    old_program: &'a WorkflowProgram,
    new_program: &'a WorkflowProgram,
    names: &'a PositionMap,
    pub(super) problems: Vec<String>,
}

#[derive(Clone, Copy)]
struct StateOfWorkflow<'a> {
    workflow: &'a Workflow,
    state: &'a StateSpec,
}

/// A state that the run is in, before and after, and its path name.
struct OccupiedState<'a> {
    workflow: WorkflowIx,
    old: StateOfWorkflow<'a>,
    new: StateOfWorkflow<'a>,
    path: String,
}

impl<'a> CompatibilityCheck<'a> {
    pub(super) fn new(old: &'a WorkflowProgram, new: &'a WorkflowProgram, names: &'a PositionMap) -> Self {
        Self { old_program: old, new_program: new, names, problems: Vec::new() }
    }

    fn add_problem(&mut self, text: String) {
        self.problems.push(text);
    }

    pub(super) fn check_branch(&mut self, branch: &Branch) {
        let top = branch.frames.len().saturating_sub(1);
        for (at, frame) in branch.frames.iter().enumerate() {
            let Some((was, now)) = self.workflows(frame) else { continue };
            if at > 0 {
                let of = format!(" of the child workflow `{}`", now.name);
                let found = self.new_program.workflows.iter().find(|one| one.name == now.name);
                if let Err(problems) = migrate_inputs::migrate_input_values(found, &frame.inputs, &of) {
                    self.problems.extend(problems);
                }
            }
            self.check_agents(frame, was, now);
            let entering = branch.next_state.filter(|_| at == top);
            let Some(here) = self.check_state(frame, was, now, entering.is_some(), branch) else { continue };
            if entering.is_some() {
                continue;
            }
            if at == top { self.check_work(branch, frame, &here) } else { self.check_child(&here) }
        }
    }

    fn workflows(&mut self, frame: &CallFrame) -> Option<(&'a Workflow, &'a Workflow)> {
        let was = self.old_program.workflows.get(frame.workflow.0)?;
        let now = self.names.workflow(frame.workflow).and_then(|at| self.new_program.workflows.get(at.0));
        if now.is_none() {
            self.add_problem(format!(
                "the workflow `{}`, in which the run stands, is not in the new file",
                was.name
            ));
        }
        now.map(|now| (&**was, &**now))
    }

    fn check_state(
        &mut self,
        frame: &CallFrame,
        was: &'a Workflow,
        now: &'a Workflow,
        enters: bool,
        branch: &Branch,
    ) -> Option<OccupiedState<'a>> {
        let target = branch.next_state.filter(|_| enters).unwrap_or(frame.state);
        let state = was.state(target)?;
        let path = frame.path_name(state);
        let found = self.names.state(frame.workflow, target).and_then(|at| now.state(at));
        if found.is_none() {
            let how = if enters { "which the run is about to enter" } else { "where the run stands" };
            self.add_problem(format!("state `{path}`, {how}, is not in the new file"));
        }
        Some(OccupiedState {
            workflow: frame.workflow,
            old: StateOfWorkflow { workflow: was, state },
            new: StateOfWorkflow { workflow: now, state: found? },
            path,
        })
    }

    /// The context of an agent holds its messages: an upgrade cannot move the agent to another context.
    fn check_agents(&mut self, frame: &CallFrame, was: &Workflow, now: &Workflow) {
        for (at, spec) in was.agents.iter().enumerate() {
            let spoke = frame.agents.get(at).is_some_and(|memory| memory.replies > 0)
                || frame.agent_turn.as_ref().is_some_and(|turn| turn.agent.0 == at);
            let moved = self.names.agent(frame.workflow, AgentIx(at)).and_then(|at| now.agent(at));
            let Some(moved) = moved.filter(|_| spoke) else { continue };
            if self.names.context(frame.workflow, spec.context) != Some(moved.context) {
                let (from, to) = (context_name(was, spec), context_name(now, moved));
                self.add_problem(format!(
                    "agent `{}` has moved to another context (`{from}` → `{to}`): what it said and heard is in \
                     `{from}`",
                    spec.id
                ));
            }
        }
    }

    /// This state runs a child workflow.
    fn check_child(&mut self, at: &OccupiedState<'_>) {
        let called = |program: &'a WorkflowProgram, state: &StateSpec| {
            let StateBody::Child { workflow, .. } = &state.work else { return None };
            program.workflows.get(workflow.0)
        };
        let (was, now) = (called(self.old_program, at.old.state), called(self.new_program, at.new.state));
        let same = was.zip(now).is_some_and(|(was, now)| was.name == now.name);
        if !same {
            let name = was.map(|was| was.name.as_str()).unwrap_or_default();
            self.add_problem(format!(
                "state `{}` no longer calls the workflow `{name}`, in which the run stands",
                at.path
            ));
        }
    }

    fn check_work(&mut self, branch: &Branch, frame: &CallFrame, at: &OccupiedState<'_>) {
        if let Some(fork) = &branch.fork {
            return self.check_parallel(fork, at);
        }
        let in_tool = match branch.wait_state {
            WaitState::ToolCheck(_)
            | WaitState::Approval(_)
            | WaitState::Tool(_)
            | WaitState::ToolHeld
            | WaitState::Agents(AwaitedAgents::Call(..)) => true,
            WaitState::Person(_, asked) => !matches!(
                asked,
                PendingQuestion::Message
                    | PendingQuestion::Steps
                    | PendingQuestion::Visits(_)
                    | PendingQuestion::ToolRounds
                    | PendingQuestion::ModelCalls
                    | PendingQuestion::Budget(..)
                    | PendingQuestion::Pause
                    | PendingQuestion::Failed
                    | PendingQuestion::Break(BreakSite::State | BreakSite::Model)
            ),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::Model(_)
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Agents(AwaitedAgents::TurnEnd)
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => false,
        };
        if let Some(turn) = &frame.agent_turn {
            return self.check_agent_turn(turn, in_tool, at);
        }
        if in_tool {
            return self.check_action(at);
        }
        match (&branch.wait_state, branch.continuation) {
            (WaitState::Person(_, PendingQuestion::Pause), _)
            | (WaitState::Timer(_), BranchContinuation::Unanswered) => self.check_pause(at),
            (WaitState::Timer(_), BranchContinuation::Done)
                if !matches!(at.new.state.work, StateBody::Wait(_)) =>
            {
                self.add_problem(format!(
                    "state `{}` waits for a time, and does not in the new file",
                    at.path
                ));
            }
            (WaitState::Script(_), BranchContinuation::Catch(rule))
                if same_catch(self.names, at.workflow, at.old.state, at.new.state, rule).is_none() =>
            {
                self.add_problem(format!(
                    "the `catch` of state `{}` that the run is following is not in the new file",
                    at.path
                ));
            }
            _ => {}
        }
    }

    fn check_parallel(&mut self, fork: &ParallelProgress, at: &OccupiedState<'_>) {
        let path = &at.path;
        match (&fork.kind, &at.old.state.work, &at.new.state.work) {
            (ParallelKind::Branches, StateBody::Parallel(was), StateBody::Parallel(now)) => {
                let names = |spec: &synthdev_domain::workflow::ParallelSpec| {
                    spec.branches.iter().map(|branch| branch.name.clone()).collect::<Vec<_>>()
                };
                let (was, now) = (names(was), names(now));
                if was != now {
                    self.add_problem(format!(
                        "the branches of state `{path}` run, and are others in the new file ({} → {})",
                        was.join(", "),
                        now.join(", ")
                    ));
                }
            }
            (ParallelKind::Items(items), StateBody::ForEach(_), StateBody::ForEach(now)) => {
                if let ValueSource::Value(listed) = &now.items
                    && let Some(listed) = listed.as_array()
                    && listed.len() != items.len()
                {
                    self.add_problem(format!(
                        "the loop of state `{path}` runs over {} items, in the new file over {}",
                        items.len(),
                        listed.len()
                    ));
                }
            }
            (ParallelKind::Branches, ..) => {
                self.add_problem(format!(
                    "the branches of state `{path}` run, and it has none in the new file"
                ));
            }
            (ParallelKind::Items(_), ..) => {
                self.add_problem(format!("the loop of state `{path}` runs, and it is none in the new file"));
            }
        }
    }

    /// An agent is speaking: its visit is finished by the same agent in the same seat.
    fn check_agent_turn(&mut self, turn: &AgentTurn, in_tool: bool, at: &OccupiedState<'_>) {
        let (id, path) = (&turn.agent_id, &at.path);
        let now = self.names.agent(at.workflow, turn.agent).and_then(|agent| at.new.workflow.agent(agent));
        let Some(now) = now else {
            return self.add_problem(format!(
                "agent `{id}`, which is speaking in state `{path}`, is not in the new file"
            ));
        };
        if state_speaker(at.old) != state_speaker(at.new) {
            self.add_problem(format!(
                "agent `{id}` is speaking in state `{path}`, which the new file uses differently"
            ));
        }
        if now.side != turn.side {
            self.add_problem(format!(
                "agent `{id}` is speaking in state `{path}` and has changed its seat (\"role\")"
            ));
        }
        let open = turn.open_reply.as_ref().filter(|_| in_tool);
        let call = open.and_then(|open| Some(&open.calls.get(*open.pending_calls.front()?)?.call.name));
        if let Some(tool) = call.filter(|tool| !now.tools.iter().any(|spec| spec.name == **tool)) {
            self.add_problem(format!("agent `{id}` is using `{tool}` in state `{path}` and may no longer"));
        }
    }

    fn check_action(&mut self, at: &OccupiedState<'_>) {
        let tool = |state: &StateSpec| match &state.work {
            StateBody::Action(step) => Some(step.tool.clone()),
            StateBody::None
            | StateBody::Agent { .. }
            | StateBody::Child { .. }
            | StateBody::Parallel(_)
            | StateBody::ForEach(_)
            | StateBody::Pause(_)
            | StateBody::Wait(_)
            | StateBody::Fail { .. } => None,
        };
        let (was, now) = (tool(at.old.state), tool(at.new.state));
        if was != now {
            let name = was.unwrap_or_default();
            self.add_problem(format!(
                "state `{}` is running `{name}`, and does not in the new file",
                at.path
            ));
        }
    }

    fn check_pause(&mut self, at: &OccupiedState<'_>) {
        let same = match (&at.old.state.work, &at.new.state.work) {
            (StateBody::Pause(was), StateBody::Pause(now)) => was.kind == now.kind,
            _ => false,
        };
        if !same {
            self.add_problem(format!(
                "state `{}` waits for an answer, and asks for something else in the new file",
                at.path
            ));
        }
    }
}

/// Data of a branch that the new definition does not use.
pub(super) fn unused_branch_data(
    branch: &Branch,
    old: &WorkflowProgram,
    new: &WorkflowProgram,
    names: &PositionMap,
) -> Vec<String> {
    let mut notes = Vec::new();
    for frame in &branch.frames {
        let now = names.workflow(frame.workflow).and_then(|at| new.workflows.get(at.0));
        let Some((was, now)) = old.workflows.get(frame.workflow.0).zip(now) else { continue };
        for (at, spec) in was.contexts.iter().enumerate() {
            let said = frame.conversations.get(at).map_or(0, LiveConversation::unpinned_count);
            if said == 0 {
                continue;
            }
            let messages = if said == 1 { "1 message".to_owned() } else { format!("{said} messages") };
            match names.context(frame.workflow, ContextIx(at)) {
                None => notes.push(format!(
                    "context `{}` is not in the new file: its conversation ({messages}) is left behind",
                    spec.name
                )),
                Some(now_at) if uses_context(was, ContextIx(at)) && !uses_context(now, now_at) => {
                    notes.push(format!(
                        "no agent uses context `{}` any more: its conversation ({messages}) stays",
                        spec.name
                    ))
                }
                Some(_) => {}
            }
        }
    }
    notes
}

fn uses_context(workflow: &Workflow, context: ContextIx) -> bool {
    workflow.agents.iter().any(|agent| agent.context == context)
}

fn context_name<'w>(workflow: &'w Workflow, agent: &AgentSpec) -> &'w str {
    workflow.contexts.get(agent.context.0).map_or("", |context| context.name.as_str())
}

/// The agent of a state, and its function.
fn state_speaker(at: StateOfWorkflow<'_>) -> Option<(&str, AgentFunction)> {
    let StateBody::Agent { agent, function, .. } = &at.state.work else { return None };
    at.workflow.agent(*agent).map(|agent| (agent.id.as_str(), *function))
}
