//! Workflows, roles, tools and models: everything that the loader found, broken ones included.

use synthdev_domain::approval::ToolPermission;
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::tool::ToolRisk;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DefinitionRequest {
    /// For the completion of arguments.
    Names,
    Workflows,
    /// `/workflow NAME` without input: is one wanted?
    ChooseWorkflow(String),
    /// Of a group.
    Roles(String),
    /// `/role NAME`.
    Role(String),
    /// The tools that a role may use.
    Tools(String),
    /// Prices of models, for the parts of `/cost`.
    Prices(Vec<String>),
}

#[derive(Clone, Debug)]
pub enum DefinitionResponse {
    Names {
        workflows: Vec<WorkflowLine>,
        roles: Vec<RoleLine>,
    },
    Workflows(Vec<WorkflowLine>),
    WorkflowChosen {
        requested_name: String,
        workflows: Vec<WorkflowLine>,
    },
    Roles {
        group: String,
        roles: Vec<RoleLine>,
    },
    /// Or why none is chosen, and what to write instead.
    Role(Result<ChosenRole, String>),
    Tools {
        role: String,
        tools: Vec<ToolLine>,
    },
    /// Those of the catalogue; `None`: unknown, never guessed.
    Prices(Vec<(String, Option<TokenPrice>)>),
}

/// A line of `/workflows`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkflowLine {
    pub name: String,
    pub description: String,
    /// The input that it takes, as text for the user (`the coding task`); empty: it takes none.
    pub input: String,
    /// `start_condition: on_user_input`: without an input it waits for the next text.
    pub waits_for_input: bool,
    /// One of its inputs has no default.
    pub needs_input: bool,
    pub layer: ConfigLayer,
    /// Why it cannot be started: the first finding in one line.
    pub error: Option<String>,
}

/// A line of `/roles`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RoleLine {
    /// Empty for roles of plain files.
    pub group: String,
    pub name: String,
    /// base, smart or fast.
    pub level: String,
    pub model: String,
    /// How many tools the role may use.
    pub tools: usize,
    /// One of them reads files.
    pub reads_files: bool,
    pub description: String,
    pub layer: ConfigLayer,
}

/// The role that a name means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChosenRole {
    pub line: RoleLine,
    /// Others of the same plain name: full name and file.
    pub namesakes: Vec<(String, String)>,
}

/// A line of `/tools`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolLine {
    pub name: String,
    pub risk: ToolRisk,
    pub approval: ToolPermission,
    /// Parameter names, optional ones with `?`: `path, start_line?`.
    pub parameters: String,
    pub description: String,
}
