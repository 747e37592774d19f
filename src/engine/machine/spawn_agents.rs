//! Agents that an agent starts: each runs in a branch of its own, beside or below the one that started it, and that one
//! hears how it ended, whatever happened.
//!
//! In a workflow the turn of an agent ends only when it has heard of all the agents that it started. In a conversation
//! agents in the background outlive the turn.

use serde_json::{Map, Value};

use super::agent_team::SpawnedAgent;
use super::{Branch, CallFrame, CallId, Machine, NextHandler, RunEvent, WaitState};
use crate::agent_turn::TurnEntry;
use crate::branch::{AwaitedAgents, BranchResult, SpawnedBranch};
use crate::conversation::LiveConversation;
use synthdev_domain::agent_team::{
    AgentShare, ContextSharing, RETURN_RESULTS, SpawnArguments, SpawnRights, SpawnedAgentStatus,
    offers_budget,
};
use synthdev_domain::context::{ContextEntry, MessageAuthor};
use synthdev_domain::ids::WorkflowIx;
use synthdev_domain::message::ChatRole;
use synthdev_domain::model::ToolChoice;
use synthdev_domain::run_error::RunError;
use synthdev_domain::tool::ToolOutcome;
use synthdev_domain::workflow::Budget;

/// An agent that may be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedSpawn {
    workflow: WorkflowIx,
    budget: Budget,
}

/// Asked of an agent that ends its turn without a result.
const ASKS_FOR_RESULT: &str = "You have not handed in a result yet. Call return_results now, with everything that the \
    agent that started you needs to know.";

impl Machine {
    /// What the agent of the current turn may start.
    pub(super) fn spawn_rights(&self) -> Option<SpawnRights> {
        let workflow = self.core.workflow()?;
        workflow.agent(self.core.frame()?.agent_turn.as_ref()?.agent)?.spawns.clone()
    }

    /// `spawn_agent`: the agent begins, and in the foreground its end is awaited. `Err`: why it is not started.
    pub(super) fn spawn_agent(
        &mut self,
        call: CallId,
        by: &str,
        rights: &SpawnRights,
        arguments: SpawnArguments,
    ) -> Result<NextHandler, String> {
        let checked = self.check_spawn(rights, &arguments)?;
        let (role, background) = (arguments.role.clone(), arguments.background);
        let missing = || format!("the role `{role}` is not in this program");
        let number = self.begin_agent(call, by, checked, arguments).ok_or_else(missing)?;
        if background && let Some(agent) = self.team.get(number) {
            return Ok(finish_with(call, true, &agent.report(), format!("started {}", agent.name)));
        }
        self.start_concurrent_agents();
        Ok(self.await_agents(call, vec![number]))
    }

    /// A tool call waits until none of these agents runs any more.
    pub(super) fn await_agents(&mut self, call: CallId, numbers: Vec<u64>) -> NextHandler {
        self.core.branches.current.wait_state = WaitState::Agents(AwaitedAgents::Call(call, numbers));
        self.continue_after_agents()
    }

    /// Begins the branch of an agent; its number.
    pub(super) fn begin_agent(
        &mut self,
        call: CallId,
        by: &str,
        checked: CheckedSpawn,
        arguments: SpawnArguments,
    ) -> Option<u64> {
        let SpawnArguments { role, task, context: sharing, background, .. } = arguments;
        let CheckedSpawn { workflow: workflow_ix, budget } = checked;
        let number = self.team.next_number();
        let name = format!("{role}-{number}");
        let state = self.core.state_name();
        let (frame, inherited_count) = self.agent_frame(workflow_ix, &state, &name, &task, sharing)?;
        let start = frame.state;
        self.core.branches.last_id += 1;
        let (id, parent) = (self.core.branches.last_id, &self.core.branches.current);
        let mut branch = Branch::new(id, Some((parent.id, usize::MAX)), parent.depth + parent.frames.len());
        branch.task_branch = parent.task_branch;
        branch.spawned = Some(SpawnedBranch { number, name: name.clone(), budget });
        branch.frames.push(frame);
        branch.next_state = Some(start);
        let agent = SpawnedAgent {
            name: name.clone(),
            role: role.clone(),
            spawned_by: by.to_owned(),
            state: state.clone(),
            owner_branch: parent.id,
            owner_frame: parent.frames.last().map_or(0, |frame| frame.id),
            branch: id,
            depth: self.current_depth() + 1,
            background,
            sharing,
            budget,
            inherited_count,
            ..SpawnedAgent::default()
        };
        self.core.branches.others.insert(id, branch);
        self.core.branches.ready.push_back(id);
        self.core.emit_event(RunEvent::AgentSpawned {
            call,
            state,
            by: by.to_owned(),
            agent: name.clone(),
            role,
            task,
            context: sharing,
            background,
        });
        self.team.insert(number, agent);
        Some(number)
    }

    pub(super) fn check_spawn(
        &self,
        rights: &SpawnRights,
        arguments: &SpawnArguments,
    ) -> Result<CheckedSpawn, String> {
        let SpawnArguments { role, task, .. } = arguments;
        let Some(workflow) = rights.workflow_for(role) else {
            let names = rights.role_names().join(", ");
            return Err(format!("the role `{role}` is not enabled for you; you may start: {names}"));
        };
        if task.trim().is_empty() {
            return Err("`task` is empty: say what the agent has to do".to_owned());
        }
        let depth = self.current_depth() + 1;
        if depth > rights.limits.max_depth {
            return Err(format!(
                "the agent would be at level {depth}, at most {} are allowed: do the work yourself",
                rights.limits.max_depth
            ));
        }
        let running = self.team.running_count();
        if running >= rights.limits.max_alive as usize {
            return Err(format!(
                "{running} agents are running, at most {} may: wait for one, or stop one",
                rights.limits.max_alive
            ));
        }
        let budget = self.requested_share(arguments)?;
        Ok(CheckedSpawn { workflow, budget })
    }

    /// What the agent may use, where the agent that starts it says so.
    fn requested_share(&self, arguments: &SpawnArguments) -> Result<Budget, String> {
        let offered = self.of_current_agent(|agent| offers_budget(&agent.tools));
        if !offered || arguments.budget.is_null() {
            return Ok(Budget::default());
        }
        let share: AgentShare = serde_json::from_value(arguments.budget.clone()).map_err(|error| {
            format!("`budget` does not fit: {error}; it is {{\"tokens\": …}} or {{\"cost_usd\": …}}")
        })?;
        self.budgets.share_budget(&self.core, share)
    }

    /// Levels of agents above the current branch.
    fn current_depth(&self) -> u32 {
        let mut branch = Some(&self.core.branches.current);
        while let Some(one) = branch {
            if let Some(agent) = self.team.of_branch(one) {
                return agent.depth;
            }
            branch = self.core.branches.parent_of(one);
        }
        0
    }

    /// The workflow of a role with its task as the first message, and the number of messages before that.
    fn agent_frame(
        &mut self,
        workflow_ix: WorkflowIx,
        state: &str,
        name: &str,
        task: &str,
        sharing: ContextSharing,
    ) -> Option<(CallFrame, usize)> {
        let workflow = self.core.spec.program.workflows.get(workflow_ix.0).cloned()?;
        self.core.last_frame_id += 1;
        let prefix = format!("{state}/{name}/");
        let id = self.core.last_frame_id;
        let mut frame = CallFrame::new(id, workflow_ix, &workflow, prefix, Map::new());
        let conversation = frame.conversations.first_mut()?;
        if sharing != ContextSharing::Own
            && let Some(inherited) = self.visible_conversation()
        {
            *conversation = inherited;
        }
        let inherited_count = conversation.length();
        conversation.push(ContextEntry::text(MessageAuthor::Workflow, ChatRole::User, task));
        Some((frame, inherited_count))
    }

    /// The conversation of the current turn, with what the turn has brought so far.
    fn visible_conversation(&self) -> Option<LiveConversation> {
        let (frame, workflow) = self.core.frame().zip(self.core.workflow())?;
        let turn = frame.agent_turn.as_ref()?;
        let agent = workflow.agent(turn.agent)?;
        let pin_first = workflow.contexts.get(agent.context.0)?.pin_first;
        let mut copy = frame.conversations.get(agent.context.0)?.copy_visible(turn.agent, pin_first);
        if let Some(entry) = turn.stored_input() {
            copy.push(entry);
        }
        for turn_entry in turn.entries.iter().filter(|entry| !entry.private) {
            copy.push(turn_entry.entry.clone());
        }
        Some(copy)
    }

    /// The branch of an agent is over.
    pub(super) fn on_agent_ended(&mut self, number: u64, ended: BranchResult) -> NextHandler {
        let shares = self.team.get(number).is_some_and(|agent| agent.sharing == ContextSharing::Shared);
        let inherited = self.team.get(number).map_or(0, |agent| agent.inherited_count);
        let entries = if shares { self.brought_entries(inherited) } else { Vec::new() };
        // its own agents have ended before it, unless it failed
        self.stop_agents(
            self.team.running_below(self.core.branches.current.id, None),
            SpawnedAgentStatus::Cancelled,
        );
        let Some(agent) = self.team.get_mut(number) else { return NextHandler::Wait };
        agent.shared_entries = entries;
        match ended {
            Ok(output) => {
                agent.status = SpawnedAgentStatus::Completed;
                if !agent.has_returned {
                    agent.result = output;
                }
            }
            Err(failure) => {
                agent.status = SpawnedAgentStatus::from_error(&failure.code);
                agent.failure = Some(format!("{} [{}]: {}", failure.title, failure.code, failure.detail));
            }
        }
        let Some((parent, _)) = self.core.branches.current.parent else { return NextHandler::Wait };
        self.team.emit_agent_ended(&mut self.core, number);
        let Some(finished) = self.core.branches.replace_current(parent) else { return NextHandler::Wait };
        self.core.record_files_touched(finished.frames.iter().any(|frame| frame.files_touched));
        self.continue_after_agents()
    }

    /// What an agent with a shared conversation has said, under its own name.
    fn brought_entries(&self, inherited: usize) -> Vec<ContextEntry> {
        let branch = &self.core.branches.current;
        let name = branch.spawned.as_ref().map(|spawned| spawned.name.clone()).unwrap_or_default();
        let Some(conversation) = branch.frames.first().and_then(|frame| frame.conversations.first()) else {
            return Vec::new();
        };
        let own = conversation.log.entries.iter().skip(inherited.saturating_sub(conversation.dropped_count));
        own.cloned()
            .map(|mut entry| {
                if matches!(entry.author, MessageAuthor::Agent(_)) {
                    entry.author = MessageAuthor::Agent(name.clone());
                    entry.sealed.clear();
                }
                entry.to = None;
                entry
            })
            .collect()
    }

    /// The current branch goes on if it waited for agents of which none runs any more.
    pub(super) fn continue_after_agents(&mut self) -> NextHandler {
        let WaitState::Agents(awaited) = &self.core.branches.current.wait_state else {
            return NextHandler::Wait;
        };
        match awaited.clone() {
            AwaitedAgents::Call(call, numbers) => {
                let runs = |number: &u64| self.team.get(*number).is_some_and(SpawnedAgent::is_running);
                if numbers.iter().any(runs) {
                    return NextHandler::Wait;
                }
                self.core.branches.current.wait_state = WaitState::New;
                self.report_to_call(call, &numbers)
            }
            AwaitedAgents::TurnEnd => {
                if self.team.owned_by_current(&self.core).any(|(_, agent)| agent.is_running()) {
                    return NextHandler::Wait;
                }
                self.core.branches.current.wait_state = WaitState::New;
                NextHandler::CallModel
            }
        }
    }

    /// The result of the tool call that waited: one report, or a list of them.
    pub(super) fn report_to_call(&mut self, call: CallId, numbers: &[u64]) -> NextHandler {
        let (mut reports, mut names, mut is_sound) = (Vec::new(), Vec::new(), true);
        for number in numbers {
            let Some(agent) = self.team.get_mut(*number) else { continue };
            agent.is_reported = true;
            is_sound &= agent.status == SpawnedAgentStatus::Completed;
            names.push(format!("{} {}", agent.name, agent.status.as_str()));
            reports.push(agent.report());
        }
        let spawned = self.core.current_invocation();
        let is_single = spawned.is_some_and(|(it, _)| it.tool == synthdev_domain::agent_team::SPAWN_AGENT);
        let content = match reports.pop() {
            Some(only) if is_single => only,
            last => Value::Array(reports.into_iter().chain(last).collect()),
        };
        finish_with(call, is_sound || !is_single, &content, names.join(", "))
    }

    /// Whether the turn of the current agent must not end yet: it waits until it has heard of every agent that it
    /// started. `None`: it may end.
    pub(super) fn await_own_agents(&mut self) -> Option<NextHandler> {
        if self.core.workflow()?.conversational || !self.team.concerns_current(&self.core) {
            return None;
        }
        self.core.branches.current.wait_state = WaitState::Agents(AwaitedAgents::TurnEnd);
        Some(self.continue_after_agents())
    }

    /// A started agent that ends its turn without a result is asked for it, once.
    pub(super) fn ask_for_result(&mut self) -> bool {
        let Some(agent) = self.team.current_mut(&self.core) else { return false };
        if agent.has_returned || std::mem::replace(&mut agent.was_asked, true) {
            return false;
        }
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else {
            return false;
        };
        turn.choice = ToolChoice::Named(RETURN_RESULTS.to_owned());
        turn.push_private_note(ASKS_FOR_RESULT);
        true
    }

    /// What the agent said last, where it was asked for its result and answers nothing.
    pub(super) fn last_words_of_agent(&self) -> Option<String> {
        let agent = self.team.of_branch(&self.core.branches.current)?;
        let turn = self.core.frame()?.agent_turn.as_ref()?;
        let own = turn.entries.iter().rev().filter(|entry| entry.is_own());
        let mut words = own.map(|entry| entry.entry.text.clone());
        words.find(|text| !text.trim().is_empty()).filter(|_| agent.was_asked)
    }

    /// The agent of the current branch has handed in its result.
    pub(super) fn has_returned_results(&self) -> bool {
        self.team.of_branch(&self.core.branches.current).is_some_and(|agent| agent.has_returned)
    }

    /// Before a model call: messages to the agent, and reports of agents that it started and has not heard of.
    pub(super) fn deliver_team_messages(&mut self) {
        if self.core.frame().is_none_or(|frame| frame.agent_turn.is_none()) {
            return;
        }
        let mut entries: Vec<TurnEntry> = Vec::new();
        let note = |text: String| TurnEntry {
            entry: ContextEntry::text(MessageAuthor::Workflow, ChatRole::User, text),
            private: false,
            is_foreign: false,
        };
        if let Some(agent) = self.team.current_mut(&self.core) {
            let by = agent.spawned_by.clone();
            entries.extend(agent.inbox.drain(..).map(|text| note(format!("[message of {by}] {text}"))));
        }
        let ended: Vec<u64> = self
            .team
            .owned_by_current(&self.core)
            .filter(|(_, agent)| !agent.is_running())
            .filter(|(_, agent)| !agent.is_reported || !agent.shared_entries.is_empty())
            .map(|(number, _)| number)
            .collect();
        for number in ended {
            let Some(agent) = self.team.get_mut(number) else { continue };
            let brought = std::mem::take(&mut agent.shared_entries).into_iter();
            entries.extend(brought.map(|entry| TurnEntry { entry, private: false, is_foreign: true }));
            if !std::mem::replace(&mut agent.is_reported, true) {
                entries.push(note(format!("[agent {} has ended] {}", agent.name, agent.report())));
            }
        }
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
            turn.entries.extend(entries);
        }
    }

    /// The user leaves a question of a started agent open in a conversation: the agent ends, and the one that started it
    /// hears so.
    pub(super) fn fail_for_user(&mut self) -> NextHandler {
        NextHandler::fail(RunError::new(
            "tool.denied",
            "The user stopped the agent",
            "a question was left open",
        ))
    }
}

/// The end of a team tool's call, with JSON as its content.
pub(super) fn finish_with(call: CallId, ok: bool, content: &Value, summary: String) -> NextHandler {
    let content = content.to_string();
    NextHandler::finish_tool(call, ToolOutcome { ok, content, summary, ..ToolOutcome::default() })
}
