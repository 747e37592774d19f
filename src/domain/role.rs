//! A persona from a role file: prompt, level, tools it may use.

use serde::{Deserialize, Serialize};

use super::message::ChatMessage;
use super::sandbox::RoleNetwork;
use super::source_location::{ConfigLayer, SourceLocation};
use super::system_context::SystemContextExclusions;
use super::tool::ParsingTool;

/// A checked role. Fields that a later layer leaves out keep the earlier layer's value.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Role {
    pub name: String,
    /// From `name.group.json`; empty for plain files.
    pub group: String,
    /// base, smart or fast.
    pub level: String,
    /// The provider that serves its model; absent: the one that the level is configured with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub system_message: String,
    pub description: String,
    pub reminder: Option<String>,
    /// Whether its commands reach the network; absent: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<RoleNetwork>,
    /// Parts of the system context that the role leaves out.
    #[serde(default, skip_serializing_if = "SystemContextExclusions::is_empty")]
    pub without: SystemContextExclusions,
    /// Patterns: exact, `*` wildcards, `/regex/flags`.
    pub included_tools: Option<Vec<String>>,
    pub excluded_tools: Option<Vec<String>>,
    pub parsing_tools: Vec<ParsingTool>,
    /// Few-shot examples, placed after the system message.
    pub examples: Vec<ChatMessage>,
    /// Roles of the agents that its agents may start; `*`: every role.
    pub enabled_agents: Vec<String>,
    pub can_create_tasks_for: Vec<String>,
    pub layer: ConfigLayer,
    /// Every file that contributed, lowest layer first.
    pub places: Vec<SourceLocation>,
}

impl Role {
    /// `group.name`, or the plain name.
    pub fn full_name(&self) -> String {
        if self.group.is_empty() { self.name.clone() } else { format!("{}.{}", self.group, self.name) }
    }
}
