//! The tools of agents that work together: the engine answers the calls itself.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::agent_team::{AgentTeam, SpawnedAgent};
use super::spawn_agents::finish_with;
use super::{CallId, Machine, NextHandler, RunEvent};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::agent_team::{
    DESPAWN_AGENT, GET_AGENTS, NOTES_READ, NOTES_WRITE, RETURN_RESULTS, ReturnArguments, SPAWN_AGENT,
    SPEAK_TO_AGENT, SpawnArguments, SpawnedAgentStatus, TASK_ADD, TASK_DONE, TASK_TAKE, WAIT_FOR_AGENTS,
    is_team_tool,
};
use synthdev_domain::tool::{ToolInvocation, ToolOutcome, ToolRisk};

impl Machine {
    /// Whether the engine answers this call: the agent may start others, or was started itself.
    pub(super) fn answers_itself(&self, tool: &str) -> bool {
        is_team_tool(tool)
            && !self.core.has_pending_action()
            && (self.core.branches.current.spawned.is_some() || self.spawn_rights().is_some())
    }

    pub(super) fn run_team_tool(&mut self, invocation: ToolInvocation) -> NextHandler {
        let (call, now) = (self.core.next_call(), self.core.now);
        if let Some(open) = self.core.open_reply_mut() {
            open.running_since = Some((now, ToolRisk::Read));
        }
        self.core.emit_tool_started(call, &invocation);
        let ToolInvocation { agent, tool, arguments, .. } = invocation;
        match self.answer_team_tool(call, &agent, &tool, arguments) {
            Ok(next) => next,
            Err(reason) => {
                let (content, summary) = (format!("not executed: {reason}"), reason);
                NextHandler::finish_tool(call, ToolOutcome { content, summary, ..ToolOutcome::default() })
            }
        }
    }

    /// `Err`: why it does nothing.
    fn answer_team_tool(
        &mut self,
        call: CallId,
        by: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<NextHandler, String> {
        match tool {
            SPAWN_AGENT => {
                let rights = self.spawn_rights().ok_or("your role may not start agents")?;
                self.spawn_agent(call, by, &rights, read_arguments::<SpawnArguments>(arguments)?)
            }
            RETURN_RESULTS => self.take_results(call, read_arguments(arguments)?),
            SPEAK_TO_AGENT => self.speak_to_agent(call, by, &arguments),
            WAIT_FOR_AGENTS => self.wait_for_agents(call, &arguments),
            GET_AGENTS => Ok(self.list_agents(call)),
            DESPAWN_AGENT => self.despawn_agent(call, &arguments),
            NOTES_WRITE | NOTES_READ => self.answer_note_tool(call, by, tool, &arguments),
            TASK_ADD | TASK_TAKE | TASK_DONE => self.answer_task_tool(call, by, tool, &arguments),
            other => Err(format!("there is no tool `{other}`")),
        }
    }

    fn take_results(&mut self, call: CallId, arguments: ReturnArguments) -> Result<NextHandler, String> {
        let agent = self.team.current_mut(&self.core).ok_or("no agent started you: answer in words")?;
        agent.result = Some(arguments.result);
        agent.files = arguments.files;
        agent.has_returned = true;
        let content = "recorded".to_owned();
        Ok(NextHandler::finish_tool(
            call,
            ToolOutcome { ok: true, summary: content.clone(), content, ..ToolOutcome::default() },
        ))
    }

    fn answer_note_tool(
        &mut self,
        call: CallId,
        by: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<NextHandler, String> {
        let key = text_argument(arguments, "key");
        if tool == NOTES_READ {
            let notes = self.team.board.read_notes(key)?;
            return Ok(finish_with(call, true, &notes, key.unwrap_or("all notes").to_owned()));
        }
        let key = key.ok_or("`key` is missing: name the note")?.to_owned();
        let text = arguments["text"].as_str().ok_or("`text` is missing")?.to_owned();
        self.team.board.write_note(&key, &text)?;
        let content = json!({"written": key});
        let summary = format!("note {key}");
        self.core.emit_event(RunEvent::TeamNote { by: by.to_owned(), key, text });
        Ok(finish_with(call, true, &content, summary))
    }

    fn answer_task_tool(
        &mut self,
        call: CallId,
        by: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<NextHandler, String> {
        let id = arguments["id"].as_u64();
        let own_role = self.role_of_current_agent();
        let for_role = text_argument(arguments, "role").filter(|_| tool == TASK_ADD);
        for_role.map_or(Ok(()), |role| self.check_task_role(role))?;
        let board = &mut self.team.board;
        let task = match tool {
            TASK_ADD => {
                board.add_task(text_argument(arguments, "title").ok_or("`title` is missing")?, for_role)?
            }
            TASK_TAKE => board.take_task(id, by, &own_role)?,
            _ => {
                let id = id.ok_or("`id` is missing: give the number of the task")?;
                board.finish_task(id, by, text_argument(arguments, "result"))?
            }
        };
        let summary = format!("task {} {}", task.id, task.status.as_str());
        let content = json!({"task": task.id, "tasks": self.team.board.task_summaries()});
        AgentTeam::emit_task(&mut self.core, by, task);
        Ok(finish_with(call, true, &content, summary))
    }

    fn role_of_current_agent(&self) -> String {
        self.of_current_agent(|agent| agent.role.clone())
    }

    pub(super) fn of_current_agent<T: Default>(&self, look: impl FnOnce(&AgentSpec) -> T) -> T {
        let (workflow, frame) = (self.core.workflow(), self.core.frame());
        let turn = frame.and_then(|frame| frame.agent_turn.as_ref());
        let both = workflow.as_ref().zip(turn);
        both.and_then(|(workflow, turn)| workflow.agent(turn.agent)).map(look).unwrap_or_default()
    }

    /// Whether the current agent may hand a task to this role: one that it names, or else any role of the run.
    fn check_task_role(&self, role: &str) -> Result<(), String> {
        let named = self.of_current_agent(|agent| agent.task_roles.clone());
        if !named.is_empty() {
            let list = named.join(", ");
            let refusal = || format!("you may not add tasks for the role `{role}`; you may for: {list}");
            return named.iter().any(|one| one == role).then_some(()).ok_or_else(refusal);
        }
        let agents = self.core.spec.program.workflows.iter().flat_map(|workflow| &workflow.agents);
        let known: BTreeSet<&str> = agents.map(|agent| agent.role.as_str()).collect();
        let list = || known.iter().copied().collect::<Vec<_>>().join(", ");
        known
            .contains(role)
            .then_some(())
            .ok_or_else(|| format!("no agent of this run has the role `{role}`; roles: {}", list()))
    }

    /// An agent that the current one started, by the name in `agent`.
    fn named_agent(&self, arguments: &Value) -> Result<u64, String> {
        let name = arguments["agent"].as_str().ok_or("`agent` is missing: name the agent")?;
        self.team.find_owned(&self.core, name).ok_or_else(|| self.unknown_agent(name))
    }

    fn unknown_agent(&self, name: &str) -> String {
        let own = self.team.owned_by_current(&self.core).map(|(_, agent)| agent.name.clone());
        let names: Vec<String> = own.collect();
        let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("you have started no agent `{name}`; yours: {list}")
    }

    fn speak_to_agent(&mut self, call: CallId, by: &str, arguments: &Value) -> Result<NextHandler, String> {
        let number = self.named_agent(arguments)?;
        let text = arguments["message"].as_str().map(str::trim).filter(|text| !text.is_empty());
        let text = text.ok_or("`message` is missing: say what the agent has to know")?.to_owned();
        let agent = self.team.get_mut(number).ok_or("the agent is gone")?;
        if !agent.is_running() {
            return Err(format!("`{}` has ended: {}", agent.name, agent.status.as_str()));
        }
        agent.inbox.push(text.clone());
        let to = agent.name.clone();
        self.core.emit_event(RunEvent::AgentMessaged { from: by.to_owned(), to: to.clone(), text });
        let content = json!({"agent": to, "status": "running", "message": "it is read before the next step"});
        Ok(finish_with(call, true, &content, format!("message to {to}")))
    }

    fn wait_for_agents(&mut self, call: CallId, arguments: &Value) -> Result<NextHandler, String> {
        let numbers = match &arguments["agents"] {
            Value::Null => {
                let own = self.team.owned_by_current(&self.core);
                let open = own.filter(|(_, agent)| agent.is_running() || !agent.is_reported);
                open.map(|(number, _)| number).collect::<Vec<_>>()
            }
            Value::Array(names) => {
                let find = |name: &Value| {
                    let name = name.as_str().ok_or("`agents` must be a list of names")?;
                    self.team.find_owned(&self.core, name).ok_or_else(|| self.unknown_agent(name))
                };
                names.iter().map(find).collect::<Result<Vec<_>, String>>()?
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err("`agents` must be a list of names".to_owned());
            }
        };
        Ok(self.await_agents(call, numbers))
    }

    fn list_agents(&self, call: CallId) -> NextHandler {
        let describe = |agent: &SpawnedAgent| {
            json!({
                "agent": agent.name, "role": agent.role, "status": agent.status.as_str(),
                "background": agent.background
            })
        };
        let own = self.team.owned_by_current(&self.core);
        let list: Vec<Value> = own.map(|(_, agent)| describe(agent)).collect();
        let summary = format!("{} agents", list.len());
        finish_with(call, true, &Value::Array(list), summary)
    }

    fn despawn_agent(&mut self, call: CallId, arguments: &Value) -> Result<NextHandler, String> {
        let number = self.named_agent(arguments)?;
        let agent = self.team.get(number).ok_or("the agent is gone")?;
        if !agent.is_running() {
            return Err(format!("`{}` has ended: {}", agent.name, agent.status.as_str()));
        }
        self.stop_agents(vec![number], SpawnedAgentStatus::Despawned);
        let agent = self.team.get_mut(number).ok_or("the agent is gone")?;
        agent.is_reported = true;
        let (report, summary) = (agent.report(), format!("stopped {}", agent.name));
        Ok(finish_with(call, true, &report, summary))
    }
}

/// A text that is not blank.
fn text_argument<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments[name].as_str().map(str::trim).filter(|text| !text.is_empty())
}

fn read_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("the arguments do not fit: {error}"))
}
