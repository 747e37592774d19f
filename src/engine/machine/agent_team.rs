//! The agents that agents of the run have started: their state, their results, and which agent still gets a report.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::machine_core::MachineCore;
use super::team_board::{TeamBoard, TeamTask};
use crate::branch::Branch;
use crate::event::RunEvent;
use synthdev_domain::agent_team::{ContextSharing, SpawnedAgentStatus};
use synthdev_domain::context::ContextEntry;
use synthdev_domain::workflow::Budget;

/// An agent that another agent has started. It runs in a branch of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SpawnedAgent {
    pub(super) name: String,
    pub(super) role: String,
    /// The agent that started it, and the path name of the state in which it did.
    pub(super) spawned_by: String,
    pub(super) state: String,
    /// Branch and frame of that agent.
    pub(super) owner_branch: u64,
    pub(super) owner_frame: u64,
    pub(super) branch: u64,
    /// 1: started by an agent of the workflow itself.
    pub(super) depth: u32,
    pub(super) background: bool,
    pub(super) sharing: ContextSharing,
    /// What it may use.
    #[serde(default, skip_serializing_if = "Budget::is_unbounded")]
    pub(super) budget: Budget,
    /// Entries of its conversation that were there before its task.
    pub(super) inherited_count: usize,
    pub(super) status: SpawnedAgentStatus,
    /// What it handed in, or its last words.
    #[serde(with = "crate::optional_value")]
    pub(super) result: Option<Value>,
    /// It has called `return_results`.
    pub(super) has_returned: bool,
    pub(super) files: Vec<String>,
    /// Why it ended without a result.
    pub(super) failure: Option<String>,
    /// It was asked for its result once, because it ended its turn without one.
    pub(super) was_asked: bool,
    /// The agent that started it knows how it ended.
    pub(super) is_reported: bool,
    /// Messages that it has not read yet.
    pub(super) inbox: Vec<String>,
    /// What it brings into a shared conversation.
    pub(super) shared_entries: Vec<ContextEntry>,
}

impl SpawnedAgent {
    pub(super) fn is_running(&self) -> bool {
        self.status == SpawnedAgentStatus::Running
    }

    /// What the agent that started it learns.
    pub(super) fn report(&self) -> Value {
        let mut report = Map::new();
        report.insert("agent".to_owned(), json!(self.name));
        report.insert("status".to_owned(), json!(self.status.as_str()));
        if !self.budget.is_unbounded() {
            report.insert("budget".to_owned(), self.budget_report());
        }
        if let Some(failure) = &self.failure {
            report.insert("error".to_owned(), json!(failure));
        }
        if let Some(result) = &self.result {
            let key = if self.failure.is_some() { "last_words" } else { "result" };
            report.insert(key.to_owned(), result.clone());
        }
        if !self.files.is_empty() {
            report.insert("files".to_owned(), json!(self.files));
        }
        if !self.is_running() && !self.inbox.is_empty() {
            let note = format!("it ended before it read {} of your messages", self.inbox.len());
            report.insert("note".to_owned(), json!(note));
        }
        Value::Object(report)
    }

    /// What it may use: it can be less than was asked for.
    fn budget_report(&self) -> Value {
        let mut ends = Map::new();
        if let Some(tokens) = self.budget.tokens.hard {
            ends.insert("tokens".to_owned(), json!(tokens));
        }
        if let Some(cost_usd) = self.budget.cost_usd.hard {
            ends.insert("cost_usd".to_owned(), json!(cost_usd));
        }
        Value::Object(ends)
    }
}

/// All agents that were started in the run, by number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AgentTeam {
    agents: BTreeMap<u64, SpawnedAgent>,
    last_number: u64,
    /// What all agents of the run share.
    pub(super) board: TeamBoard,
}

impl AgentTeam {
    /// The number of the next agent, for its name.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn insert(&mut self, number: u64, agent: SpawnedAgent) {
        self.agents.insert(number, agent);
    }

    pub(super) fn get(&self, number: u64) -> Option<&SpawnedAgent> {
        self.agents.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut SpawnedAgent> {
        self.agents.get_mut(&number)
    }

    pub(super) fn running_count(&self) -> usize {
        self.agents.values().filter(|agent| agent.is_running()).count()
    }

    /// The agent of a branch.
    pub(super) fn of_branch(&self, branch: &Branch) -> Option<&SpawnedAgent> {
        self.get(branch.spawned.as_ref()?.number)
    }

    /// The agent of the current branch.
    pub(super) fn current_mut(&mut self, core: &MachineCore) -> Option<&mut SpawnedAgent> {
        self.get_mut(core.branches.current.spawned.as_ref()?.number)
    }

    /// Those that were started from the innermost frame of the current branch, in their order.
    pub(super) fn owned_by_current<'a>(
        &'a self,
        core: &MachineCore,
    ) -> impl Iterator<Item = (u64, &'a SpawnedAgent)> + use<'a> {
        let branch = core.branches.current.id;
        let frame = core.frame().map(|frame| frame.id);
        self.agents
            .iter()
            .filter(move |(_, agent)| agent.owner_branch == branch && Some(agent.owner_frame) == frame)
            .map(|(number, agent)| (*number, agent))
    }

    /// One of these by its name.
    pub(super) fn find_owned(&self, core: &MachineCore, name: &str) -> Option<u64> {
        self.owned_by_current(core).find(|(_, agent)| agent.name == name).map(|(number, _)| number)
    }

    /// Whether the agent of the current frame has to wait for others, or to hear of them, before its turn ends.
    pub(super) fn concerns_current(&self, core: &MachineCore) -> bool {
        self.owned_by_current(core).any(|(_, agent)| agent.is_running() || !agent.is_reported)
    }

    /// Running agents that were started from a branch, in any of its frames or only in one.
    pub(super) fn running_below(&self, branch: u64, frame: Option<u64>) -> Vec<u64> {
        let owned = |agent: &SpawnedAgent| {
            agent.owner_branch == branch && frame.is_none_or(|frame| frame == agent.owner_frame)
        };
        let running = self.agents.iter().filter(|(_, agent)| agent.is_running() && owned(agent));
        running.map(|(number, _)| *number).collect()
    }

    pub(super) fn running(&self) -> Vec<u64> {
        let running = self.agents.iter().filter(|(_, agent)| agent.is_running());
        running.map(|(number, _)| *number).collect()
    }

    /// An agent has ended: its tasks are open again.
    pub(super) fn emit_agent_ended(&mut self, core: &mut MachineCore, number: u64) {
        let Some(agent) = self.agents.get(&number) else { return };
        core.emit_event(RunEvent::AgentEnded {
            state: agent.state.clone(),
            by: agent.spawned_by.clone(),
            agent: agent.name.clone(),
            status: agent.status,
            result: agent.result.clone().map(Box::new),
            error: agent.failure.clone(),
        });
        for task in self.board.release_tasks_of(&agent.name) {
            Self::emit_task(core, &agent.name, task);
        }
    }

    pub(super) fn emit_task(core: &mut MachineCore, by: &str, task: TeamTask) {
        let TeamTask { id, title, status, result, .. } = task;
        core.emit_event(RunEvent::TeamTask { by: by.to_owned(), id, title, status, result });
    }

    /// The branch of an agent was stopped.
    pub(super) fn end_agent(&mut self, core: &mut MachineCore, number: u64, status: SpawnedAgentStatus) {
        let Some(agent) = self.agents.get_mut(&number) else { return };
        agent.status = status;
        let is_own = status == SpawnedAgentStatus::Despawned;
        let why = if is_own { "you stopped it" } else { "it was stopped before it ended" };
        agent.failure = Some(why.to_owned());
        self.emit_agent_ended(core, number);
    }

    /// The branches of all agents are gone: the run, or what it was doing, has been stopped.
    pub(super) fn end_all_agents(&mut self, core: &mut MachineCore) {
        for number in self.running() {
            self.end_agent(core, number, SpawnedAgentStatus::Cancelled);
        }
    }
}
