//! What a workflow is resolved against: other files, roles, models, tools.

use super::super::source::SourceFile;
use crate::model_selector::ModelSelector;
use synthdev_domain::agent_team::AgentLimits;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::role::Role;
use synthdev_domain::tool::ToolSpec;

/// The model that a program states, for what is asked of it and the model that it was judged by.
pub type StatedModelLookup<'a> = dyn Fn(&ModelSelector, &ModelChoice) -> ModelChoice + 'a;

/// A failed look-up: what is wrong, and a hint.
pub type LookupFailure = (String, Option<String>);

/// The text file that a workflow file names by a relative path; `None` if there is none.
pub type TextFileLookup<'a> = dyn Fn(&SourceFile, &str) -> Result<Option<SourceFile>, LookupFailure> + 'a;

/// The tools that a role may use out of all, and the patterns of the role that match none.
pub type RoleToolsLookup<'a> = dyn Fn(&Role, &[ToolSpec]) -> (Vec<ToolSpec>, Vec<String>) + 'a;

/// What a workflow is resolved against.
pub struct LinkContext<'a> {
    /// Workflow files of all layers; a name in a later layer hides the same name in an earlier one.
    pub files: &'a [SourceFile],
    /// The error of a file in a higher layer that means to define a workflow of this name and cannot be read.
    pub unreadable_rival: &'a dyn Fn(&str) -> Option<Diagnostic>,
    pub role: &'a dyn Fn(&str) -> Result<Role, LookupFailure>,
    /// Full names of all usable roles, for agents that may start every role.
    pub role_names: &'a [String],
    /// How many agents agents may start.
    pub agent_limits: AgentLimits,
    /// The model for what a role and an agent's own options ask.
    pub choice: &'a dyn Fn(&ModelSelector) -> Result<ModelChoice, LookupFailure>,
    /// `None`: programs state the models that they are judged by.
    pub stated_model: Option<&'a StatedModelLookup<'a>>,
    pub tools: &'a [ToolSpec],
    /// Names of the configured MCP servers.
    pub mcp_servers: &'a [String],
    /// Unmatched patterns become W09.
    pub resolve_role_tools: &'a RoleToolsLookup<'a>,
    /// Script files and prompts beside workflow files.
    pub text: &'a TextFileLookup<'a>,
}
