//! Delegated tasks, the tasks of sub-agents: items of loops, or a whole run, whose work they do (`agent: "@task"`).
//!
//! The machine emits the same effects for a step with and without sub-agents; `task_for_call` says to which task a
//! call belongs, and the driver decides where it runs (`is_delegated` in `runtime/task_queue.rs`).
//! `runtime/task_queue/broker.rs` has the queue. A branch becomes a task in `spawn_branches.rs`. Approvals never
//! go to a sub-agent.

use serde_json::{Map, Value};

use super::{Branch, Machine, PendingQuestion, WaitState};
use crate::agent_turn::SummarizationState;
use crate::run_spec::{JUDGES_HELD_SINCE, WITHDRAWS_SINCE};
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::ids::{CallId, WorkflowIx};
use synthdev_domain::journal::OpenPause;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::LOOPS;
use synthdev_domain::tool::{ASKED_BY, ToolInvocation};
use synthdev_domain::workflow::{PauseKind, PauseSpec, StateBody};

/// Tools that a sub-agent runs itself, besides its model calls. All others are the run's own.
const THEIRS: [&str; 2] = ["shell", "mcp"];

/// The task of one sub-agent.
#[derive(Clone, PartialEq, Debug)]
pub struct DelegatedTask {
    /// Path name of the state with the loop; empty for a whole run.
    pub owner: String,
    /// What the work is called: the workflow that does it, or the loop whose item it is.
    pub name: String,
    /// What the loop says of it.
    pub description: String,
    /// Position of the item.
    pub index: Option<usize>,
    pub total: usize,
    pub item: Value,
    /// The kind of sub-agent that is to do it, if it is a certain one.
    pub sub_agent: Option<String>,
    /// The workflow that is called for the item, or in which its states are.
    pub workflow: WorkflowIx,
    /// What the names of its states begin with, in that workflow.
    pub scope: String,
    /// The data that the sub-agent may see. For an item: the item, its position and the total, the paths of
    /// `needs_state`, and what the task wrote so far. For a whole run: all of its data.
    pub data: Map<String, Value>,
}

/// Whether a sub-agent may answer: approvals are for the user.
pub(super) fn for_sub_agents(pause: &PauseSpec) -> bool {
    pause.kind != PauseKind::Approval
}

impl Machine {
    /// Drawn when the run started.
    pub fn random_seed(&self) -> u64 {
        self.core.seed
    }

    /// Sub-agents can be reached.
    pub fn has_sub_agents(&self) -> bool {
        self.sub_agents
    }

    /// Tasks that are not done, by their branches.
    pub fn open_tasks(&self) -> Vec<u64> {
        let own =
            |branch: &&Branch| branch.task_branch == Some(branch.id) && branch.wait_state != WaitState::Over;
        if self.sub_agents {
            self.core.branches.all().filter(own).map(|branch| branch.id).collect()
        } else {
            Vec::new()
        }
    }

    pub fn delegated_task(&self, branch: u64) -> Option<DelegatedTask> {
        let found = self.core.branches.all().find(|one| one.id == branch)?;
        let frame = found.frames.first()?;
        let Some((parent, index)) =
            found.parent.and_then(|(id, at)| Some((self.core.branches.by_id(id)?, at)))
        else {
            return Some(DelegatedTask {
                owner: String::new(),
                name: self
                    .core
                    .spec
                    .program
                    .workflows
                    .first()
                    .map(|root| root.name.clone())
                    .unwrap_or_default(),
                description: String::new(),
                index: None,
                total: 1,
                item: Value::Object((*frame.inputs).clone()),
                sub_agent: None,
                workflow: frame.workflow,
                scope: String::new(),
                data: (*frame.data).clone(),
            });
        };
        let above = parent.frames.last()?;
        let state = self.core.spec.program.workflows.get(above.workflow.0)?.state(above.state)?;
        let StateBody::ForEach(spec) = &state.work else { return None };
        let facts = frame.item.as_deref();
        let fact = |name: &str| facts.map(|facts| facts[name].clone()).unwrap_or_default();
        let shown = spec.handed_out.as_deref().unwrap_or_default();
        let may_see = |key: &str| {
            let named = shown.iter().any(|path| path == "*" || path.split('.').next() == Some(key));
            named || frame.written_keys.contains(key) || ["total", "is_first", "is_last"].contains(&key)
        };
        let own = frame.data.iter().filter(|(key, _)| key.as_str() != LOOPS);
        let own = own.filter(|(key, _)| may_see(key) || **key == spec.each || **key == spec.at);
        let mut data: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        data.insert("item".to_owned(), fact("item"));
        data.insert("index".to_owned(), index.into());
        let called = self.called_by(above.workflow, spec.start.0);
        let workflow = called.and_then(|called| self.core.spec.program.workflows.get(called.0));
        let local = state.name.rsplit('/').next().unwrap_or_default();
        Some(DelegatedTask {
            name: workflow.map_or(local, |workflow| &workflow.name).to_owned(),
            description: state.description.clone(),
            owner: self.core.state_path_in(parent, parent.frames.len().saturating_sub(1)),
            index: Some(index),
            total: fact("total").as_u64().and_then(|total| usize::try_from(total).ok()).unwrap_or(0),
            item: fact("item"),
            sub_agent: spec.sub_agent.clone(),
            workflow: called.unwrap_or(above.workflow),
            scope: if called.is_some() { String::new() } else { format!("{}/", state.name) },
            data,
        })
    }

    /// The task that the answer to a call belongs to, where sub-agents can be reached.
    pub fn task_for_call(&self, call: CallId) -> Option<u64> {
        let branch = self.core.branches.all().find(|branch| branch.pending_call() == Some(call))?;
        branch.task_branch.filter(|_| self.sub_agents)
    }

    /// The path name of the state that waits for the answer to a call.
    pub fn state_for_call(&self, call: CallId) -> Option<String> {
        let branch = self.core.branches.all().find(|branch| branch.pending_call() == Some(call))?;
        Some(self.core.state_path_in(branch, branch.frames.len().checked_sub(1)?))
    }

    /// What the state that waits for the answer to a call takes for its result (`output.schema`).
    pub fn output_schema_for_call(&self, call: CallId) -> Option<Value> {
        let branch = self.core.branches.all().find(|branch| branch.pending_call() == Some(call))?;
        let frame = branch.frames.last()?;
        let state = self.core.spec.program.workflows.get(frame.workflow.0)?.state(frame.state)?;
        state.store.as_ref()?.schema.clone()
    }

    /// The schema of the answer to a model call: that of the state's result, where the answer itself is the result. A
    /// summary is none, and neither is the answer of an agent that decides.
    pub fn answer_schema_for_call(&self, call: CallId) -> Option<Value> {
        let branch = self.core.branches.all().find(|branch| branch.pending_call() == Some(call))?;
        let frame = branch.frames.last()?;
        let turn = frame.agent_turn.as_ref()?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        let is_answer = turn.summarization == SummarizationState::Free
            && workflow.agent(turn.agent)?.parsing_tools.is_empty()
            && matches!(workflow.state(frame.state)?.work, StateBody::Agent { .. });
        self.output_schema_for_call(call).filter(|_| is_answer)
    }

    /// Whether a sub-agent does it, instead of the run.
    pub fn delegates_tool(&self, call: CallId, invocation: &ToolInvocation) -> bool {
        let branch = self.core.branches.all().find(|branch| branch.pending_call() == Some(call));
        invocation.agent == ASKED_BY
            && THEIRS.contains(&invocation.tool.as_str())
            && self.task_for_call(call).is_some()
            && !branch.is_some_and(|branch| self.runs_here(branch))
    }

    /// The state of the branch keeps its command from sub-agents.
    fn runs_here(&self, branch: &Branch) -> bool {
        let state = branch
            .frames
            .last()
            .and_then(|frame| self.core.spec.program.workflows.get(frame.workflow.0)?.state(frame.state));
        state.is_some_and(|state| state.runs_here)
    }

    /// Questions that sub-agents put to their users, by task.
    pub fn delegated_prompts(&self) -> Vec<(u64, OpenPause)> {
        let asked = self.core.branches.all().filter(|branch| self.is_prompt(branch));
        asked.filter_map(|branch| Some((branch.task_branch?, self.open_pause_for(branch)?))).collect()
    }

    pub fn prompts_sub_agents(&self) -> bool {
        self.sub_agents && self.core.branches.all().any(|branch| self.is_prompt(branch))
    }

    pub(super) fn is_task_branch(&self, branch: &Branch) -> bool {
        self.sub_agents && branch.task_branch.is_some()
    }

    /// A sub-agent can put the question to its user although no user is present in this process.
    pub(super) fn is_prompt(&self, branch: &Branch) -> bool {
        let asks = || {
            let frame = branch.frames.last()?;
            let state = self.core.spec.program.workflows.get(frame.workflow.0)?.state(frame.state)?;
            let StateBody::Pause(pause) = &state.work else { return None };
            Some(for_sub_agents(pause))
        };
        let open = matches!(branch.wait_state, WaitState::Person(_, PendingQuestion::Pause));
        let wanted = !self.core.can_show_question() && !self.withdraws_delegation();
        open && wanted && self.is_task_branch(branch) && asks() == Some(true)
    }

    /// An unhandled failure ends the run for now: sub-agents get no further steps, and steps that they have not handed
    /// in are requested again when the run resumes. The run does not wait for them, because a sub-agent may come late
    /// or never.
    pub(super) fn withdraws_delegation(&self) -> bool {
        let withdraws = self.core.spec.machine_version >= WITHDRAWS_SINCE;
        withdraws && self.sub_agents && !self.core.user_present && self.core.branches.first_failed().is_some()
    }

    /// Why sub-agents are given nothing more, although the run may still work.
    pub fn withdrawal_reason(&self) -> Option<RunError> {
        self.core
            .branches
            .first_failed()
            .filter(|_| self.withdraws_delegation())
            .and_then(|branch| self.wait_reason(branch))
    }

    /// What the branch waits for is a step of a sub-agent.
    pub(super) fn waits_for_sub_agent_result(&self, branch: &Branch) -> bool {
        let tool = || {
            self.core
                .pending_invocation(branch)
                .is_some_and(|(it, _)| self.needs_task_delegation(branch, &it))
        };
        match branch.wait_state {
            WaitState::Model(_) => self.is_task_branch(branch),
            WaitState::Tool(_) | WaitState::ToolHeld => tool(),
            WaitState::New
            | WaitState::Script(_)
            | WaitState::Values(_)
            | WaitState::Choice(_)
            | WaitState::ToolCheck(_)
            | WaitState::Approval(_)
            | WaitState::Person(..)
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Agents(_)
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => false,
        }
    }

    fn needs_task_delegation(&self, branch: &Branch, invocation: &ToolInvocation) -> bool {
        let theirs = invocation.agent == ASKED_BY && THEIRS.contains(&invocation.tool.as_str());
        theirs && self.is_task_branch(branch) && !self.runs_here(branch)
    }

    pub(super) fn is_delegated_call(&self, invocation: &ToolInvocation) -> bool {
        let branch = &self.core.branches.current;
        self.is_task_branch(branch) && !self.runs_here(branch) && THEIRS.contains(&invocation.tool.as_str())
    }

    /// Asks the user about tools that sub-agents would have run without a question where the sub-agents are gone, and
    /// about tools that were allowed elsewhere where the run has `arrived`.
    pub(super) fn set_sub_agents(&mut self, sub_agents: bool, arrived: bool) {
        let left = std::mem::replace(&mut self.sub_agents, sub_agents) && !sub_agents;
        let judges_held = self.core.spec.machine_version >= JUDGES_HELD_SINCE;
        let foreign = |branch: &Branch| arrived && judges_held && branch.wait_state == WaitState::ToolHeld;
        let handed: Vec<u64> = self
            .core
            .branches
            .all()
            .filter(|branch| left && branch.task_branch.is_some() || foreign(branch))
            .map(|branch| branch.id)
            .collect();
        for id in handed {
            if !self.core.branches.switch_to(id) {
                continue;
            }
            let held = judges_held && self.core.branches.current.wait_state == WaitState::ToolHeld;
            let theirs = self.core.has_pending_action()
                && (held || matches!(self.core.branches.current.wait_state, WaitState::Tool(_)));
            if !theirs && !foreign(&self.core.branches.current) {
                continue;
            }
            let Some((invocation, risk)) = self.core.current_invocation() else { continue };
            let own = self.approvals.tools.get(&self.core.approval_name(&invocation.tool)).copied();
            let rule = own.unwrap_or_else(|| self.approvals.permission_for(&invocation.tool, risk));
            if self.guarded_permission(rule, &invocation, risk) != ToolPermission::Allow {
                let call = self.core.next_call();
                (
                    self.core.branches.current.wait_state,
                    self.core.branches.current.waiting_since,
                    self.core.branches.current.was_shown,
                ) = (WaitState::Approval(call), self.core.now, false);
            }
        }
    }

    /// The workflow that the only state of a body calls.
    fn called_by(&self, workflow: WorkflowIx, start: usize) -> Option<WorkflowIx> {
        let states = &self.core.spec.program.workflows.get(workflow.0)?.states;
        let StateBody::Child { workflow, .. } = states.get(start)?.work else { return None };
        Some(workflow)
    }
}
