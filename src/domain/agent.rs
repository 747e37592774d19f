//! An agent: a role seated in a context, with its model and tools resolved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::agent_team::SpawnRights;
use super::context::ConversationSide;
use super::ids::ContextIx;
use super::limits::Budget;
use super::message::ChatMessage;
use super::model::ModelChoice;
use super::sandbox::RoleNetwork;
use super::system_context::SystemContextExclusions;
use super::tool::{ParsingTool, ToolSpec};

/// Everything the engine needs to run an agent. Resolved once while loading; two agents of one role differ by `id`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AgentSpec {
    pub id: String,
    pub role: String,
    pub side: ConversationSide,
    pub context: ContextIx,
    /// Role prompt and the system entries of the context's starting messages.
    pub system_prompt: String,
    pub examples: Vec<ChatMessage>,
    pub choice: ModelChoice,
    /// Exactly the tools this agent may call; anything else is refused at execution too.
    pub tools: Arc<[ToolSpec]>,
    pub parsing_tools: Vec<ParsingTool>,
    /// Model rounds with tools per visit before the user is asked to continue.
    pub max_tool_rounds: u32,
    #[serde(default)]
    pub tool_loop: ToolLoop,
    /// `None`: as the seat has it, see [`AgentSpec::receives_input_privately`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_visibility: Option<InputVisibility>,
    #[serde(default)]
    pub memory: MemoryPolicy,
    /// What its calls may use in one run, wherever it is asked.
    #[serde(default, skip_serializing_if = "Budget::is_unbounded")]
    pub budget: Budget,
    /// Sent to the agent after every round of tools.
    pub reminder: Option<String>,
    /// Parts of the run's system context that this agent does not get.
    #[serde(default, skip_serializing_if = "SystemContextExclusions::is_empty")]
    pub without: SystemContextExclusions,
    /// Whether its commands reach the network; absent: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<RoleNetwork>,
    /// The agents that it may start; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawns: Option<SpawnRights>,
    /// Roles that it may hand tasks of the shared list to; empty: every role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_roles: Vec<String>,
}

impl AgentSpec {
    /// Whether a state's input is a directive to this agent alone instead of an entry of the conversation:
    /// so it is for the user seat and not for the assistant seat, unless the file says otherwise.
    pub fn receives_input_privately(&self) -> bool {
        match self.input_visibility {
            Some(visibility) => visibility == InputVisibility::Private,
            None => self.side == ConversationSide::User,
        }
    }
}

/// How far one visit goes when the model calls tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolLoop {
    /// Model and tools take turns until the model has answered.
    #[default]
    Auto,
    /// One answer per visit, with its calls executed: the workflow decides whether the agent continues.
    Step,
}

/// Which agents see the `input` of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputVisibility {
    /// A message of the conversation, from the workflow.
    Shared,
    /// The last message of the agent's own prompt; never stored in the conversation.
    Private,
}

/// What an agent keeps of what only it was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPolicy {
    /// A directive and a private decision are gone with the visit.
    #[default]
    None,
    /// They stay in the agent's own prompts, where they happened, until the conversation is cleared.
    Private,
}

pub const DEFAULT_TOOL_ROUNDS: u32 = 25;
