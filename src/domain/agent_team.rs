//! Agents that start agents: which roles an agent may start, the tools for it, and what a report says.
//!
//! The engine answers these tools itself; no program runs. Only an agent whose role names `enabled_agents`, or one that
//! was started by such an agent, has them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids::WorkflowIx;
use super::tool::{MULTICALL, ToolRisk, ToolSpec};

pub const SPAWN_AGENT: &str = "spawn_agent";
pub const SPEAK_TO_AGENT: &str = "speak_to_agent";
pub const WAIT_FOR_AGENTS: &str = "wait_for_agents";
pub const GET_AGENTS: &str = "get_agents";
pub const DESPAWN_AGENT: &str = "despawn_agent";
pub const RETURN_RESULTS: &str = "return_results";
pub const NOTES_WRITE: &str = "notes_write";
pub const NOTES_READ: &str = "notes_read";
pub const TASK_ADD: &str = "task_add";
pub const TASK_TAKE: &str = "task_take";
pub const TASK_DONE: &str = "task_done";

/// Every tool of this file.
pub const TEAM_TOOLS: [&str; 11] = [
    SPAWN_AGENT,
    SPEAK_TO_AGENT,
    WAIT_FOR_AGENTS,
    GET_AGENTS,
    DESPAWN_AGENT,
    RETURN_RESULTS,
    NOTES_WRITE,
    NOTES_READ,
    TASK_ADD,
    TASK_TAKE,
    TASK_DONE,
];

pub fn is_team_tool(name: &str) -> bool {
    TEAM_TOOLS.contains(&name)
}

/// How many agents may be started, and how deep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AgentLimits {
    /// Levels of agents below the first one.
    pub max_depth: u32,
    /// Started agents of a run that work at the same time.
    pub max_alive: u32,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { max_depth: 3, max_alive: 16 }
    }
}

/// Which agents an agent may start.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SpawnRights {
    pub roles: Vec<SpawnableRole>,
    pub limits: AgentLimits,
}

/// A role that may be started: a workflow of the program, with one agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpawnableRole {
    pub role: String,
    pub workflow: WorkflowIx,
}

impl SpawnRights {
    pub fn workflow_for(&self, role: &str) -> Option<WorkflowIx> {
        self.roles.iter().find(|one| one.role == role).map(|one| one.workflow)
    }

    pub fn role_names(&self) -> Vec<&str> {
        self.roles.iter().map(|one| one.role.as_str()).collect()
    }
}

/// What a started agent knows of the conversation of the agent that started it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextSharing {
    /// Only its task.
    #[default]
    Own,
    /// A copy of the conversation as it is now.
    Copy,
    /// A copy, and what it says becomes part of the conversation when it ends.
    Shared,
}

/// Where a started agent stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnedAgentStatus {
    #[default]
    Running,
    Completed,
    Failed,
    /// It needed an approval that it could not get.
    Denied,
    /// A limit or budget was reached.
    Limit,
    /// The user or the end of the work that it belongs to stopped it.
    Cancelled,
    /// The agent that started it stopped it.
    Despawned,
}

impl SpawnedAgentStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Despawned => "despawned",
        }
    }

    /// The status that the code of an error means.
    pub fn from_error(code: &str) -> Self {
        match code {
            "limit" | "budget_exceeded" => Self::Limit,
            "tool.denied" => Self::Denied,
            _ => Self::Failed,
        }
    }
}

/// Where a task that agents share stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamTaskStatus {
    Open,
    Taken,
    Done,
}

impl TeamTaskStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Taken => "taken",
            Self::Done => "done",
        }
    }
}

/// The arguments of `spawn_agent`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct SpawnArguments {
    pub role: String,
    pub task: String,
    #[serde(default)]
    pub context: ContextSharing,
    #[serde(default)]
    pub background: bool,
    /// An `AgentShare`, or null. Read only where the tool offers it: older runs ignore what a model put there.
    #[serde(default)]
    pub budget: Value,
}

/// What a started agent may use, with all that it starts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentShare {
    /// Tokens of its prompts and answers together.
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

/// Whether these tools let an agent give others a budget.
pub fn offers_budget(tools: &[ToolSpec]) -> bool {
    let spawning = tools.iter().find(|tool| tool.name == SPAWN_AGENT);
    spawning.is_some_and(|tool| tool.parameters["properties"]["budget"].is_object())
}

/// Whether a call may give an agent a budget, judged by its text alone. True too often does no harm.
pub fn may_give_budget(tool: &str, arguments: &str) -> bool {
    matches!(tool, SPAWN_AGENT | MULTICALL) && (arguments.contains("budget") || arguments.contains("\\u"))
}

/// The arguments of `return_results`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ReturnArguments {
    pub result: Value,
    #[serde(default)]
    pub files: Vec<String>,
}

fn team_tool(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        }),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

fn budget_schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "description": "What the agent may use, with all that it starts: it ends when this is used up. Never more than you \
                        have left; without it, as much as you have left",
        "properties": {
            "tokens": {"type": "integer", "minimum": 1, "description": "Tokens of prompts and answers"},
            "cost_usd": {"type": "number", "minimum": 0, "description": "US dollars"}
        }
    })
}

/// The tools of an agent that may start agents of these roles, each with its description.
pub fn spawning_tools(roles: &[(String, String)]) -> Vec<ToolSpec> {
    let names: Vec<&str> = roles.iter().map(|(name, _)| name.as_str()).collect();
    let described = roles.iter().filter(|(_, text)| !text.is_empty());
    let described: Vec<String> = described.map(|(name, text)| format!("{name}: {text}")).collect();
    let about_roles = if described.is_empty() {
        "Role of the agent".to_owned()
    } else {
        format!("Role of the agent. {}", described.join("; "))
    };
    let agent = json!({"type": "string", "description": "Name of the agent, as spawn_agent returned it"});
    vec![
        team_tool(
            SPAWN_AGENT,
            "Start another agent for a part of the work. It gets the task, works with its own tools and returns a result. \
             Without background this call waits for the result. With background the call returns at once; the result \
             comes as a message, or by wait_for_agents.",
            json!({
                "role": {"type": "string", "enum": names, "description": about_roles},
                "task": {"type": "string", "description": "Everything that the agent needs to know about its task"},
                "context": {
                    "type": "string", "enum": ["own", "copy", "shared"],
                    "description": "own (default): the agent sees only the task. copy: it also sees a copy of this \
                                    conversation. shared: as copy, and its messages join this conversation at its end"
                },
                "background": {"type": "boolean", "description": "Do not wait for the result"},
                "budget": budget_schema()
            }),
            &["role", "task"],
        ),
        team_tool(
            SPEAK_TO_AGENT,
            "Send a message to a running agent that you started. The agent reads it before its next step.",
            json!({"agent": agent, "message": {"type": "string", "description": "The message"}}),
            &["agent", "message"],
        ),
        team_tool(
            WAIT_FOR_AGENTS,
            "Wait until agents that you started have ended, and get their results.",
            json!({
                "agents": {
                    "type": "array", "items": {"type": "string"},
                    "description": "Names of agents; without it, all that you started"
                }
            }),
            &[],
        ),
        team_tool(GET_AGENTS, "List the agents that you started, each with its status.", json!({}), &[]),
        team_tool(
            DESPAWN_AGENT,
            "Stop an agent that you started, with everything that it started.",
            json!({"agent": agent}),
            &["agent"],
        ),
    ]
}

/// Notes and tasks that all agents of a run share, for an agent that may hand tasks to these roles; none: to every role.
pub fn board_tools(task_roles: &[String]) -> Vec<ToolSpec> {
    let role = match task_roles {
        [] => "Role of the agents that may take it; without it, every agent may".to_owned(),
        roles => format!(
            "Role of the agents that may take it, of {}; without it, every agent may",
            roles.join(", ")
        ),
    };
    let id = json!({"type": "integer", "description": "Number of the task"});
    let key = json!({"type": "string", "description": "Name of the note"});
    let text = |about: &str| json!({"type": "string", "description": about});
    vec![
        team_tool(
            NOTES_WRITE,
            "Write a note that every agent of this run can read; replaces a note of the same name.",
            json!({"key": key, "text": text("The note")}),
            &["key", "text"],
        ),
        team_tool(
            NOTES_READ,
            "Read a note that agents of this run have written, or all notes.",
            json!({"key": key}),
            &[],
        ),
        team_tool(
            TASK_ADD,
            "Add a task to the list that the agents of this run share.",
            json!({"title": text("What is to be done"), "role": text(&role)}),
            &["title"],
        ),
        team_tool(
            TASK_TAKE,
            "Take an open task of the shared list, so that no other agent does it. Without a number: the first open one \
             that is for your role or for no role.",
            json!({"id": id}),
            &[],
        ),
        team_tool(
            TASK_DONE,
            "Report a task that you have taken as done.",
            json!({"id": id, "result": text("What came of it")}),
            &["id"],
        ),
    ]
}

/// How a started agent hands in its result.
pub fn return_results_tool() -> ToolSpec {
    team_tool(
        RETURN_RESULTS,
        "Hand in the result of your task and end. Call it once, when the task is done or cannot be done.",
        json!({
            "result": {"description": "The result: text, or a JSON value"},
            "files": {
                "type": "array", "items": {"type": "string"},
                "description": "Files that you created or changed"
            }
        }),
        &["result"],
    )
}
