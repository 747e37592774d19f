//! What the screen asks of the rest of the program. `app` implements it over catalog, runtime and snapshots;
//! tests over nothing. Object safe, cheap to call: synchronous functions answer from memory.

use futures_util::future::BoxFuture;

use crate::domain::approval::Permission;
use crate::domain::cost::Price;
use crate::domain::ids::RunId;
use crate::domain::journal::RunSummary;
use crate::domain::place::Layer;
use crate::domain::tool::ToolRisk;
use crate::runtime::command::Command;

/// A line of `/workflows` (REPL-5).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkflowLine {
    pub name: String,
    pub description: String,
    /// What it wants as input, for people (`the coding task`); empty: it takes none.
    pub input: String,
    /// `start_condition: on_user_input`: without an input it waits for the next text.
    pub waits_for_input: bool,
    /// One of its inputs has no default.
    pub needs_input: bool,
    pub layer: Layer,
    /// Why it cannot be started: the first finding in one line.
    pub broken: Option<String>,
}

/// A line of `/roles` (REPL-6).
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
    pub description: String,
    pub layer: Layer,
}

/// A line of `/tools` (REPL-7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolLine {
    pub name: String,
    pub risk: ToolRisk,
    pub approval: Permission,
    /// Parameter names, optional ones with `?`: `path, start_line?`.
    pub parameters: String,
    pub description: String,
}

/// Facts of the start line and the status line (REPL-16).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatusFacts {
    /// The role that plain text talks to at first.
    pub role: String,
    pub model: String,
    pub tools_available: usize,
    pub tools_total: usize,
    pub branch: Option<String>,
    /// Something the person should know at once: no key found, offline model in use.
    pub notice: Option<String>,
}

/// `/snapshot …` (SNAP-5). Ids may be unique prefixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotCommand {
    List,
    Create { label: String },
    Show { id: String },
    Diff { id: String },
    Restore { id: String },
    Delete { id: String },
}

/// Texts of errors are ready for people: what happened, where, what to do next; several lines are fine.
pub trait Backend: Send + Sync {
    /// Everything the loader found, broken ones included.
    fn workflows(&self) -> Vec<WorkflowLine>;

    fn roles(&self) -> Vec<RoleLine>;

    /// The tools that a role may use.
    fn tools(&self, role: &str) -> Vec<ToolLine>;

    /// The catalogue's price of a model, for the parts of `/cost`; `None`: unknown, never guessed (MODEL-9).
    fn price(&self, _model: &str) -> Option<Price> {
        None
    }

    /// # Errors
    /// Rendered diagnostics: unknown or broken workflow, input that does not fit.
    fn start_workflow(&self, name: &str, input: &str) -> Result<RunId, String>;

    /// Starts single-agent mode; the run asks `Question::Message` when it is ready for text.
    /// # Errors
    /// Unknown role, no model for its level.
    fn start_chat(&self, role: &str) -> Result<RunId, String>;

    fn send(&self, run: &RunId, command: Command);

    /// Newest first.
    fn runs(&self, limit: usize) -> BoxFuture<'static, Result<Vec<RunSummary>, String>>;

    fn snapshot(&self, command: SnapshotCommand) -> BoxFuture<'static, Result<String, String>>;

    /// Answers the trust question; yes loads the project's own definitions and tells what is wrong with them.
    /// # Errors
    /// They do not load, or the answer could not be stored.
    fn trust(&self, yes: bool) -> Result<Vec<String>, String>;

    fn status_line(&self) -> StatusFacts;
}
