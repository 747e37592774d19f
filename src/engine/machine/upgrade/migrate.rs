//! The move itself: positions of the old program become positions of the new one. Whether they can has been judged.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::position_map::PositionMap;
use super::{BranchContinuation, PendingQuestion, UserQuestion, WaitState, migrate_inputs};
use crate::agent_turn::AgentTurn;
use crate::branch::Branch;
use crate::call_frame::{AgentMemory, CallFrame};
use crate::conversation::LiveConversation;
use crate::parallel::ParallelProgress;
use synthdev_domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev_domain::model::ToolChoice;
use synthdev_domain::workflow::{StateBody, StateSpec, ValueSource, Workflow, WorkflowProgram};

pub(super) struct ProgramMigration<'a> {
    pub(super) old_program: &'a WorkflowProgram,
    pub(super) new_program: &'a WorkflowProgram,
    pub(super) names: &'a PositionMap,
}

impl ProgramMigration<'_> {
    /// Adds the new defaults to the data of the branch's outermost workflow. `is_parallel`: it is a branch of a `parallel` state.
    pub(super) fn migrate_branch(&self, branch: &mut Branch, is_parallel: bool) -> Map<String, Value> {
        let top = branch.frames.len().saturating_sub(1);
        if let Some(frame) = branch.frames.last() {
            let (workflow, state) = (frame.workflow, frame.state);
            branch.next_state = branch.next_state.and_then(|target| self.names.state(workflow, target));
            branch.continuation = self.migrate_continuation(branch.continuation, workflow, state);
            if let WaitState::Person(call, PendingQuestion::Visits(target)) = branch.wait_state
                && let Some(target) = self.names.state(workflow, target)
            {
                branch.wait_state = WaitState::Person(call, PendingQuestion::Visits(target));
            }
            if let Some((now, question)) = self.state(workflow, state).zip(branch.question.as_mut()) {
                refresh_pause_question(question, now);
            }
            if let Some(fork) = &mut branch.fork {
                self.migrate_parallel(fork, workflow);
            }
        }
        let mut added = Map::new();
        for (at, frame) in branch.frames.iter_mut().enumerate() {
            let entering = branch.next_state.filter(|_| at == top);
            let more = self.migrate_frame(frame, entering, is_parallel && at == 0);
            if at == 0 && !is_parallel {
                added = more;
            }
        }
        added
    }

    fn migrate_continuation(
        &self,
        then: BranchContinuation,
        workflow: WorkflowIx,
        state: StateIx,
    ) -> BranchContinuation {
        let BranchContinuation::Catch(at) = then else { return then };
        let was = self.old_program.workflows.get(workflow.0).and_then(|one| one.state(state));
        let states = was.zip(self.state(workflow, state));
        let found = states.and_then(|(was, now)| same_catch(self.names, workflow, was, now, at));
        found.map_or(then, BranchContinuation::Catch)
    }

    /// The new form of an old state.
    fn state(&self, workflow: WorkflowIx, state: StateIx) -> Option<&StateSpec> {
        let now = self.new_program.workflows.get(self.names.workflow(workflow)?.0)?;
        now.state(self.names.state(workflow, state)?)
    }

    fn migrate_frame(
        &self,
        frame: &mut CallFrame,
        entering: Option<StateIx>,
        branch: bool,
    ) -> Map<String, Value> {
        let old = frame.workflow;
        let Some(at) = self.names.workflow(old) else { return Map::new() };
        let Some(workflow) = self.new_program.workflows.get(at.0) else { return Map::new() };
        let was = self.old_program.workflows.get(old.0).and_then(|one| one.state(frame.state));
        let now = self.names.state(old, frame.state).or(entering);
        frame.workflow = at;
        frame.conversations =
            self.migrate_conversations(old, workflow, std::mem::take(&mut frame.conversations), branch);
        frame.agents = self.migrate_agents(old, workflow, std::mem::take(&mut frame.agents));
        frame.visits = self.migrate_visit_counts(old, workflow, &frame.visits);
        frame.extra_visits = self.migrate_visit_counts(old, workflow, &frame.extra_visits);
        frame.taken_limit_exits = frame
            .taken_limit_exits
            .iter()
            .filter_map(|passed| self.migrate_limit_exit_key(old, passed))
            .collect();
        if let Some(turn) = &mut frame.agent_turn {
            self.migrate_agent_turn(turn, old, workflow);
        }
        if let Some(now) = now {
            frame.state = now;
        }
        if let Some((was, now)) = was.zip(workflow.state(frame.state)) {
            if was.recovery.retry != now.recovery.retry {
                frame.visit.attempts.clear();
            }
            if let Some(question) = &mut frame.visit.question {
                refresh_pause_question(question, now);
            }
        }
        add_data(frame, workflow)
    }

    fn migrate_parallel(&self, fork: &mut ParallelProgress, workflow: WorkflowIx) {
        let now = self.names.workflow(workflow).and_then(|at| self.new_program.workflows.get(at.0));
        let Some(now) = now else { return };
        for leaving in fork.branch_writes.values_mut() {
            leaving.conversations =
                self.migrate_conversations(workflow, now, std::mem::take(&mut leaving.conversations), true);
            leaving.agents = self.migrate_agents(workflow, now, std::mem::take(&mut leaving.agents));
        }
    }

    fn migrate_agent_turn(&self, turn: &mut AgentTurn, old: WorkflowIx, workflow: &Workflow) {
        let was = self.old_program.workflows.get(old.0).and_then(|one| one.agent(turn.agent));
        let Some(ix) = self.names.agent(old, turn.agent) else { return };
        let Some((was, now)) = was.zip(workflow.agent(ix)) else { return };
        turn.agent = ix;
        turn.allowed = turn.allowed.saturating_sub(was.max_tool_rounds).saturating_add(now.max_tool_rounds);
        let offered = |name: &String| now.parsing_tools.iter().any(|tool| tool.name == *name);
        let is_offered = match &turn.choice {
            ToolChoice::Auto | ToolChoice::Required => true,
            ToolChoice::Named(name) | ToolChoice::Structured(name) => offered(name),
            ToolChoice::StructuredOneOf(names) => names.iter().all(offered),
        };
        if !is_offered {
            turn.choice = ToolChoice::Auto;
        }
    }

    fn migrate_conversations(
        &self,
        old: WorkflowIx,
        workflow: &Workflow,
        conversations: Vec<LiveConversation>,
        branch: bool,
    ) -> Vec<LiveConversation> {
        let mut kept: Vec<Option<LiveConversation>> = vec![None; workflow.contexts.len()];
        for (at, mut conversation) in conversations.into_iter().enumerate() {
            let Some(slot) = self.names.context(old, ContextIx(at)).and_then(|at| kept.get_mut(at.0)) else {
                continue;
            };
            conversation.private_messages.retain_mut(|aside| match self.names.agent(old, aside.agent) {
                Some(agent) => {
                    aside.agent = agent;
                    true
                }
                None => false,
            });
            // agents of the new definition read the whole conversation
            conversation.restore_compressed();
            conversation.context_indexes.clear();
            *slot = Some(conversation);
        }
        let begin = |spec| {
            if branch {
                LiveConversation::from_spec(spec).branch()
            } else {
                LiveConversation::from_spec(spec)
            }
        };
        let pairs = kept.into_iter().zip(&workflow.contexts);
        pairs.map(|(kept, spec)| kept.unwrap_or_else(|| begin(spec))).collect()
    }

    fn migrate_agents(
        &self,
        old: WorkflowIx,
        workflow: &Workflow,
        memories: Vec<AgentMemory>,
    ) -> Vec<AgentMemory> {
        let mut kept = vec![AgentMemory::default(); workflow.agents.len()];
        for (at, memory) in memories.into_iter().enumerate() {
            if let Some(slot) = self.names.agent(old, AgentIx(at)).and_then(|at| kept.get_mut(at.0)) {
                *slot = memory;
            }
        }
        kept
    }

    fn migrate_visit_counts(&self, old: WorkflowIx, workflow: &Workflow, counts: &[u32]) -> Vec<u32> {
        let mut kept = vec![0; workflow.states.len()];
        for (at, count) in counts.iter().enumerate() {
            if let Some(slot) = self.names.state(old, StateIx(at)).and_then(|at| kept.get_mut(at.0)) {
                *slot = *count;
            }
        }
        kept
    }

    /// `max_visits of 3`: the number is a state's.
    fn migrate_limit_exit_key(&self, old: WorkflowIx, passed: &str) -> Option<String> {
        let Some((limit, state)) = passed.rsplit_once(" of ") else { return Some(passed.to_owned()) };
        let Ok(at) = state.parse() else { return Some(passed.to_owned()) };
        self.names.state(old, StateIx(at)).map(|at| format!("{limit} of {}", at.0))
    }
}

/// The rule of the new state that is the `at`-th of the old one.
pub(super) fn same_catch(
    names: &PositionMap,
    workflow: WorkflowIx,
    was: &StateSpec,
    now: &StateSpec,
    at: usize,
) -> Option<usize> {
    let rule = was.recovery.catch.get(at)?;
    let target = names.state(workflow, rule.target)?;
    let rules = &now.recovery.catch;
    rules.iter().position(|other| other.target == target && other.errors == rule.errors)
}

/// Variables and inputs that are new, with what they begin as. The body of a loop has only what it was given.
fn add_data(frame: &mut CallFrame, workflow: &Arc<Workflow>) -> Map<String, Value> {
    let Ok(given) = migrate_inputs::migrate_input_values(Some(workflow), &frame.inputs, "") else {
        return Map::new();
    };
    let new = |(name, _): &(&String, &Value)| !frame.data.contains_key(*name);
    let begun =
        workflow.variables.iter().chain(given.iter().filter(|(name, _)| !frame.inputs.contains_key(*name)));
    let added: Map<String, Value> =
        begun.filter(new).map(|(name, value)| (name.clone(), value.clone())).collect();
    if given != *frame.inputs {
        frame.inputs = Arc::new(given);
    }
    if frame.item.is_some() {
        return Map::new();
    }
    frame.variables = Arc::new(workflow.variables.keys().cloned().collect());
    if !added.is_empty() {
        // not `set_data`: a branch has not written what all of them have
        Arc::make_mut(&mut frame.data).extend(added.clone());
        frame.version += 1;
    }
    added
}

/// An open question of a `pause` state asks for what the state asks for now.
pub(super) fn refresh_pause_question(question: &mut UserQuestion, state: &StateSpec) {
    let StateBody::Pause(pause) = &state.work else { return };
    let UserQuestion::Pause { message, choices, schema, required_outputs, default, .. } = question else {
        return;
    };
    if let ValueSource::Text(text) = &pause.message {
        message.clone_from(text);
    }
    choices.clone_from(&pause.choices);
    *schema = pause.schema.clone().map(Box::new);
    required_outputs.clone_from(&pause.required_outputs);
    *default = pause.default.clone().map(Box::new);
}
