//! The roles that agents may start, as parts of the program: each becomes a workflow with one agent, so that a run needs no
//! role file later and a replay finds what the run had.
//!
//! Every role is lowered once, however many agents may start it. A role that cannot be used is left out with a warning.

use std::collections::HashMap;

use super::link_context::LinkContext;
use crate::model_selector::ModelSelector;
use synthdev_domain::agent::{AgentSpec, DEFAULT_TOOL_ROUNDS};
use synthdev_domain::agent_team::{
    SpawnRights, SpawnableRole, board_tools, is_team_tool, return_results_tool, spawning_tools,
};
use synthdev_domain::context::{ContextSpec, ConversationSide, DEFAULT_MAX_LENGTH};
use synthdev_domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev_domain::role::Role;
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::tool::ToolSpec;
use synthdev_domain::workflow::{
    AgentFunction, StateBody, StateSpec, Transition, ValueSource, Workflow, WorkflowLimits,
};

/// Every role, in `enabled_agents`.
const ALL_ROLES: &str = "*";

const ABOUT_ITS_PLACE: &str = "Another agent has started you for a part of its work. Your first message is the task. When the \
    task is done, or cannot be done, call return_results with what that agent needs to know; nothing else of what you say \
    reaches it.";

/// What an agent asks for by its role's `enabled_agents`.
pub(super) struct SpawnRequest {
    pub(super) workflow: usize,
    pub(super) agent: usize,
    pub(super) role: String,
    pub(super) enabled: Vec<String>,
    /// The role's `can_create_tasks_for`.
    pub(super) task_roles: Vec<String>,
}

impl SpawnRequest {
    pub(super) fn of_role(role: &Role, workflow: usize, agent: usize) -> Self {
        Self {
            workflow,
            agent,
            role: role.name.clone(),
            enabled: role.enabled_agents.clone(),
            task_roles: role.can_create_tasks_for.clone(),
        }
    }
}

/// Adds the workflows of roles that agents may start, and gives these agents their rights and tools. Gives a warning for
/// each role that cannot be started.
pub(super) fn link_spawnable_roles(
    workflows: &mut Vec<Workflow>,
    requests: Vec<SpawnRequest>,
    surroundings: &LinkContext<'_>,
) -> Vec<String> {
    let mut linker = RoleLinker { surroundings, by_full_name: HashMap::new(), roles: Vec::new() };
    let mut warnings = Vec::new();
    let mut open = requests;
    while let Some(request) = open.pop() {
        let mut found: Vec<(SpawnableRole, String)> = Vec::new();
        for name in linker.requested_names(&request.enabled) {
            match linker.link_role(&name, workflows, &mut open) {
                Ok(role) if found.iter().any(|(known, _)| *known == role.0) => {}
                Ok(role) => found.push(role),
                Err(_) if request.enabled.iter().all(|one| *one != name) => {}
                Err(why) => warnings
                    .push(format!("agents of the role `{}` cannot start `{name}`: {why}", request.role)),
            }
        }
        found.sort_by(|(one, _), (other, _)| one.role.cmp(&other.role));
        let agent = workflows.get_mut(request.workflow).and_then(|one| one.agents.get_mut(request.agent));
        if let Some(agent) = agent.filter(|_| !found.is_empty()) {
            agent.task_roles = named_task_roles(&request.task_roles);
            give_rights(agent, found, surroundings);
        }
    }
    warnings.sort();
    warnings.dedup();
    warnings
}

/// The names without their groups, as agents have them; none if every role is named.
fn named_task_roles(names: &[String]) -> Vec<String> {
    if names.iter().any(|name| name == ALL_ROLES) {
        return Vec::new();
    }
    names.iter().map(|name| name.rsplit('.').next().unwrap_or(name).to_owned()).collect()
}

fn give_rights(agent: &mut AgentSpec, found: Vec<(SpawnableRole, String)>, surroundings: &LinkContext<'_>) {
    let described: Vec<(String, String)> =
        found.iter().map(|(role, description)| (role.role.clone(), description.clone())).collect();
    let own_tools: Vec<ToolSpec> =
        spawning_tools(&described).into_iter().chain(board_tools(&agent.task_roles)).collect();
    let others = agent.tools.iter().filter(|tool| own_tools.iter().all(|own| own.name != tool.name)).cloned();
    agent.tools = others.collect::<Vec<_>>().into_iter().chain(own_tools).collect();
    let roles = found.into_iter().map(|(role, _)| role).collect();
    agent.spawns = Some(SpawnRights { roles, limits: surroundings.agent_limits });
}

struct RoleLinker<'a> {
    surroundings: &'a LinkContext<'a>,
    /// Positions in `roles`.
    by_full_name: HashMap<String, usize>,
    roles: Vec<(SpawnableRole, String)>,
}

impl RoleLinker<'_> {
    fn requested_names(&self, enabled: &[String]) -> Vec<String> {
        let all = enabled.iter().any(|name| name == ALL_ROLES);
        let listed = enabled.iter().filter(|name| *name != ALL_ROLES).cloned();
        let known = self.surroundings.role_names.iter().filter(|_| all).cloned();
        listed.chain(known).collect()
    }

    /// The role with its description; its workflow is added if it is new.
    fn link_role(
        &mut self,
        name: &str,
        workflows: &mut Vec<Workflow>,
        open: &mut Vec<SpawnRequest>,
    ) -> Result<(SpawnableRole, String), String> {
        let text = |(message, hint): (String, Option<String>)| match hint {
            Some(hint) => format!("{message} ({hint})"),
            None => message,
        };
        let role = (self.surroundings.role)(name).map_err(text)?;
        let full_name = role.full_name();
        if let Some(known) = self.by_full_name.get(&full_name).and_then(|at| self.roles.get(*at)) {
            return Ok(known.clone());
        }
        let selector = ModelSelector::for_role(&role);
        let judged = (self.surroundings.choice)(&selector).map_err(text)?;
        let choice =
            self.surroundings.stated_model.map_or(judged.clone(), |stated| stated(&selector, &judged));
        let is_taken = self.roles.iter().any(|(known, _)| known.role == role.name);
        let shown = if is_taken { full_name.clone() } else { role.name.clone() };
        let at = workflows.len();
        let (tools, _) = (self.surroundings.resolve_role_tools)(&role, self.surroundings.tools);
        if !role.enabled_agents.is_empty() {
            open.push(SpawnRequest::of_role(&role, at, 0));
        }
        let linked =
            (SpawnableRole { role: shown.clone(), workflow: WorkflowIx(at) }, role.description.clone());
        self.by_full_name.insert(full_name, self.roles.len());
        self.roles.push(linked.clone());
        workflows.push(role_workflow(&shown, role, choice, tools));
        Ok(linked)
    }
}

/// One state in which the agent works on its task, which is the first message of its conversation.
fn role_workflow(
    name: &str,
    role: Role,
    choice: synthdev_domain::model::ModelChoice,
    tools: Vec<ToolSpec>,
) -> Workflow {
    let place = SourceLocation { file: "built-in:agents".to_owned(), line: 1, column: 1 };
    let parts = [role.system_message.as_str(), ABOUT_ITS_PLACE];
    let system_prompt = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let own_tools = tools.into_iter().filter(|tool| !is_team_tool(&tool.name));
    let task_roles = named_task_roles(&role.can_create_tasks_for);
    let agent = AgentSpec {
        id: name.to_owned(),
        role: role.name,
        side: ConversationSide::Assistant,
        context: ContextIx(0),
        system_prompt,
        examples: role.examples,
        choice,
        tools: own_tools.chain([return_results_tool()]).chain(board_tools(&task_roles)).collect(),
        task_roles,
        max_tool_rounds: DEFAULT_TOOL_ROUNDS,
        reminder: role.reminder,
        without: role.without,
        network: role.network,
        ..AgentSpec::default()
    };
    let state = |name: &str, work, transitions: Vec<Transition>| StateSpec {
        name: name.to_owned(),
        work,
        terminal: transitions.is_empty(),
        transitions,
        place: place.clone(),
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
        description: role.description,
        contexts: vec![ContextSpec {
            name: name.to_owned(),
            max_length: DEFAULT_MAX_LENGTH,
            ..ContextSpec::default()
        }],
        agents: vec![agent],
        states: vec![state("work", work, vec![done]), state("stop", StateBody::None, Vec::new())],
        start: StateIx(0),
        stop: StateIx(1),
        limits: WorkflowLimits::default(),
        layer: ConfigLayer::BuiltIn,
        place: place.clone(),
        ..Workflow::default()
    }
}
