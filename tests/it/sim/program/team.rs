//! Agents that start agents: roles as workflows with one agent, rights and tools as loading gives them.

use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::domain::agent::AgentSpec;
use synthdev::domain::agent_team::{
    AgentLimits, DESPAWN_AGENT, GET_AGENTS, NOTES_READ, NOTES_WRITE, RETURN_RESULTS, SPAWN_AGENT,
    SPEAK_TO_AGENT, SpawnRights, SpawnableRole, TASK_ADD, TASK_DONE, TASK_TAKE, WAIT_FOR_AGENTS, board_tools,
    return_results_tool, spawning_tools,
};
use synthdev::domain::context::{ContextSpec, ConversationSide};
use synthdev::domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev::domain::model::ModelRequest;
use synthdev::domain::workflow::{
    AgentFunction, StateBody, StateSpec, Transition, ValueSource, Workflow, WorkflowLimits,
};

use super::super::luck::Luck;
use super::{context, place};

const HELPER: &str = "helper";
const LEAD: &str = "lead";

/// Roles that can be started are the last workflows of the program: one that works, and one that starts others itself.
pub fn add_team(luck: &mut Luck, workflows: &mut Vec<Workflow>) {
    let helper = WorkflowIx(workflows.len());
    let lead = WorkflowIx(workflows.len() + 1);
    let limits = AgentLimits {
        max_depth: u32::try_from(luck.random_between(1, 3)).unwrap(),
        max_alive: u32::try_from(luck.random_between(1, 4)).unwrap(),
    };
    let roles = [(HELPER, helper), (LEAD, lead)]
        .map(|(role, workflow)| SpawnableRole { role: role.to_owned(), workflow })
        .to_vec();
    let rights = SpawnRights { roles, limits };
    let described = [(HELPER.to_owned(), String::new()), (LEAD.to_owned(), String::new())];
    let may_start = |agent: &mut AgentSpec| {
        let team = spawning_tools(&described).into_iter().chain(board_tools(&[]));
        agent.tools = agent.tools.iter().cloned().chain(team).collect();
        agent.spawns = Some(rights.clone());
    };
    for agent in workflows.iter_mut().flat_map(|workflow| &mut workflow.agents) {
        if luck.random_chance(70) {
            may_start(agent);
        }
    }
    for name in [HELPER, LEAD] {
        let mut role = role_workflow(luck, name);
        if name == LEAD {
            role.agents.iter_mut().for_each(may_start);
        }
        workflows.push(role);
    }
}

fn role_workflow(luck: &mut Luck, name: &str) -> Workflow {
    let mut agent = super::agent(luck, 0, 1, true);
    agent.id = name.to_owned();
    agent.side = ConversationSide::Assistant;
    agent.context = ContextIx(0);
    agent.parsing_tools.clear();
    let mut tools = agent.tools.to_vec();
    tools.push(return_results_tool());
    tools.extend(board_tools(&[]));
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools.dedup_by(|one, other| one.name == other.name);
    agent.tools = tools.into();
    let state = |name: &str, work, transitions: Vec<Transition>| StateSpec {
        name: name.to_owned(),
        work,
        terminal: transitions.is_empty(),
        transitions,
        place: place(),
        ..StateSpec::default()
    };
    let work = StateBody::Agent {
        agent: AgentIx(0),
        function: AgentFunction::SendUserMessage,
        input: ValueSource::Absent,
    };
    let done = Transition { target: StateIx(1), condition: None, before: None };
    Workflow {
        name: format!("agent:{name}"),
        contexts: vec![ContextSpec { starting_messages: Vec::new(), ..context(luck, 0) }],
        agents: vec![agent],
        states: vec![state("work", work, vec![done]), state("stop", StateBody::None, Vec::new())],
        scripts: Arc::new(super::scripts()),
        start: StateIx(0),
        stop: StateIx(1),
        limits: WorkflowLimits::default(),
        place: place(),
        ..Workflow::default()
    }
}

/// One of the tools of teams, for an agent that may start others or was started.
pub fn team_tool<'r>(luck: &mut Luck, request: &'r ModelRequest) -> Option<&'r str> {
    let wanted = luck.pick_item(&[
        SPAWN_AGENT,
        SPAWN_AGENT,
        SPAWN_AGENT,
        SPEAK_TO_AGENT,
        SPEAK_TO_AGENT,
        WAIT_FOR_AGENTS,
        DESPAWN_AGENT,
        DESPAWN_AGENT,
        RETURN_RESULTS,
    ]);
    let offered = request.tools.iter().find(|tool| tool.name == wanted);
    offered.filter(|_| luck.random_chance(80)).map(|tool| tool.name.as_str())
}

/// Arguments for a tool of teams, mostly ones that fit. `None`: it is none of them.
pub fn team_arguments(luck: &mut Luck, tool: &str) -> Option<Value> {
    let role = luck.pick_item(&[HELPER, HELPER, LEAD, "nobody"]);
    let agent =
        luck.pick_item(&["helper-1", "helper-1", "helper-1", "lead-1", "lead-1", "helper-2", "nobody"]);
    let number = luck.random_between(0, 3);
    Some(match tool {
        SPAWN_AGENT => {
            let context = luck.pick_item(&["own", "copy", "shared"]);
            let mut spawn = json!({"role": role, "task": "a part", "context": context, "background": luck.random_chance(50)});
            // few: one that is used up ends an agent before it does anything else
            let budgets = [
                json!({"tokens": 9_000}),
                json!({"tokens": 1_000_000, "cost_usd": 0.5}),
                json!({"tokens": 0}),
                Value::Null,
            ];
            if agent == "nobody" {
                spawn["budget"] = budgets[number].clone();
            }
            spawn
        }
        RETURN_RESULTS => json!({"result": luck.pick_item(&[json!("done"), json!({"a": 1})])}),
        SPEAK_TO_AGENT => {
            json!({"agent": agent, "message": luck.pick_item(&["listen", "listen", "listen", " "])})
        }
        WAIT_FOR_AGENTS => luck.pick_item(&[json!({}), json!({"agents": [agent]}), json!({"agents": 3})]),
        DESPAWN_AGENT => json!({"agent": agent}),
        NOTES_WRITE => json!({"key": "plan", "text": "first this"}),
        TASK_ADD => luck.pick_item(&[json!({"title": "a task"}), json!({"title": "a task", "role": role})]),
        TASK_TAKE | TASK_DONE => json!({"id": number}),
        GET_AGENTS | NOTES_READ => json!({}),
        _ => return None,
    })
}
