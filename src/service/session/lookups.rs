//! What the user asks or does beside the runs: pages, shell commands, tasks, the index of the project.

use synthdev_domain::cost::CostEntry;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::project_index::SizeLimit;
use synthdev_domain::project_index::report::IndexReport;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};
use synthdev_runtime::indexing::IndexingProgress;

use crate::mcp_configuration::McpServerChange;
use crate::mcp_texts::McpCompletions;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupRequest {
    Page(LookupPage),
    /// A shell command of the user in the project's directory; `true`: also one that looks dangerous.
    Shell(String, bool),
    /// Asks a model for a shell command that does this; nothing is run. With the number of the query.
    Suggest(u64, String),
    /// A command on the user's tasks of this project.
    Task(TaskListCommand),
    /// About the index of the project, with the number of the query; one that the user has just confirmed has none yet.
    Index(u64, IndexingRequest),
    /// A text with the files and the resources of MCP servers that it names.
    WithResources(String),
    /// The message that a prompt of an MCP server (`server:prompt`) makes of these words.
    McpPrompt {
        name: String,
        words: String,
    },
    /// What MCP servers have listed, for completion.
    McpNames,
    /// Answered when the servers that were never asked before have been asked for their tools.
    McpServersAsked,
    /// Cancels the pending query outside of the runs.
    StopSideQuery,
}

#[derive(Clone, Debug)]
pub enum LookupResponse {
    /// A title and a text, or why there is no such text.
    Page(Result<(String, String), String>),
    /// The same about MCP servers: there may be other tools now.
    McpPage(Result<(String, String), String>),
    Shell {
        command: String,
        /// Or why it was not run.
        outcome: Result<ShellOutcome, String>,
    },
    /// A suggested shell command, or why there is none; with the number of the query.
    Suggested(u64, ShellSuggestionResponse, Timestamp),
    /// All tasks as they are now, and the one that the command was about.
    Tasks {
        command: TaskListCommand,
        outcome: Result<(TaskList, Option<TaskListItem>), String>,
    },
    /// With the number of the query.
    Index(u64, IndexingResponse, Timestamp),
    /// A text for the conversation, or why there is none; with what was typed.
    Message {
        typed: String,
        text: Result<String, String>,
        /// Files that it seems to name, and that the project does not have.
        missing_files: Vec<String>,
    },
    McpNames(McpCompletions),
    McpServersAsked,
}

/// The reply to a lookup: its title and text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupPage {
    /// The present definition of a workflow.
    Graph(String),
    /// A run's workflow, with where the run has been.
    RunGraph(RunId),
    /// How much is in the conversations of a run; its id may be a unique prefix, without one the shown run is meant.
    Contexts(Option<String>),
    /// What one run has cost; its id may be a unique prefix.
    Costs(String),
    /// Of one provider, or of all.
    Models(Option<String>),
    /// Where a setting is from, or all of them.
    Config(Option<String>),
    /// What commands of agents can reach, or what they may do with one path.
    Sandbox(Option<String>),
    /// All MCP servers, or one that is started and lists its tools.
    McpServers(Option<String>),
    /// A server is added to the user's settings, or taken out.
    McpChange(McpServerChange),
    /// A workflow, walked through without models: with the replies of a file and this input, else with its tests or
    /// made-up answers.
    Simulation { workflow: String, replies: Option<String>, input: Option<String> },
    /// A run is written into a file; its id may be a unique prefix, without one the shown run is meant.
    Export { run: Option<String>, file: Option<String> },
}

/// The outcome of a shell command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShellOutcome {
    /// It was not run: it looks dangerous, and why.
    Risky(String),
    Done {
        succeeded: bool,
        summary: String,
        text: String,
        /// It is added to the next text, because the user has set this.
        goes_with_next_text: bool,
    },
}

/// A command that a model wrote; nothing was run.
#[derive(Clone, PartialEq, Debug)]
pub struct ShellSuggestionResponse {
    /// Why there is none, in one line.
    pub suggestion: Result<ShellSuggestion, String>,
    /// The cost of the request, even if it gave no command.
    pub costs: Vec<CostEntry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShellSuggestion {
    /// One line without anything hidden.
    pub command: String,
    /// It looks dangerous, and why.
    pub warning: Option<String>,
    /// The model that wrote it.
    pub model: String,
}

/// About the index of the project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexingRequest {
    /// What there is to do, and what it will cost.
    Look(SizeLimit),
    /// Executes the plan that was shown.
    Go,
    /// Requests the next progress.
    More,
}

#[derive(Clone, PartialEq, Debug)]
pub enum IndexingResponse {
    /// Why nothing can be done.
    Refused(String),
    /// Asks the user, with these lines.
    Proposal(Vec<String>),
    At(IndexingProgress),
    Done(Box<IndexReport>),
}
