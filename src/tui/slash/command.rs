//! What the slash commands are made of: what a line asks for, and how a command is described.

use super::argument_kind::SlashArgument;
use super::arguments::EditArgument;
use super::cmd::ShellLine;
use super::steering::SteerAction;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::project_index::SizeLimit;
use synthdev_domain::task_list::TaskListCommand;
use synthdev_service::named_step::NamedStep;
use synthdev_service::run_start::FileSharingMode;
use synthdev_service::session::{LookupPage, SnapshotOperation, TimeTravelRequest};

/// What a line asks for, understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlashAction {
    Help(Option<String>),
    Workflow {
        name: String,
        input: String,
        /// Although another one works on the same files.
        sharing_mode: Option<FileSharingMode>,
    },
    Workflows,
    Role(String),
    Roles(String),
    Tools,
    Cost,
    /// The last request of this agent, or of any.
    Review(Option<String>),
    Runs {
        statuses: Vec<RunStatus>,
        search_words: Option<String>,
    },
    Search(String),
    Resume(Option<String>),
    /// Steps of a run, for rewinds.
    Steps(Option<String>),
    Travel(TimeTravelRequest),
    /// `travel` to the state `word`, if it is one; else the steps of the run that it names.
    TravelOrSteps {
        word: String,
        travel: TimeTravelRequest,
    },
    /// Why a step of a run was taken; without a step: the steps.
    Why {
        run: Option<String>,
        step: Option<NamedStep>,
    },
    Snapshot(SnapshotOperation),
    /// A level: base, smart or fast.
    Configure(String),
    Keys,
    /// A name; without one: which is used, and which there are.
    Theme(Option<String>),
    /// On, off, or the other way.
    Mouse(Option<bool>),
    /// Of the run in front.
    Steer(SteerAction),
    /// The run that the panes show, by its id or workflow.
    Watch(Option<String>),
    /// A workflow, role or file; without one: the list of files.
    Edit {
        name: Option<String>,
        in_external_editor: bool,
    },
    /// A new workflow or role, with its name if one is wanted.
    EditNew(Option<String>),
    /// Opens the history of runs, to inspect and rewind them.
    History,
    Clear,
    /// What the summary of the conversation must keep; may be empty.
    Compact(String),
    /// The name of the conversation.
    Rename(String),
    Quit,
    Agents,
    Agent(String),
    /// A workflow; without one: the graph of the run that is shown.
    Graph(Option<String>),
    /// By its name in the table of keys.
    Pane(String),
    Page(LookupPage),
    /// A prompt of an MCP server, `server:prompt`, and words for its arguments.
    McpPrompt {
        name: String,
        words: String,
    },
    Budget,
    /// Yes, no; without either: what is asked, or what is so.
    Trust(Option<bool>),
    /// About commands for the shell.
    Shell(ShellLine),
    Task(TaskListCommand),
    /// The project's files are described.
    Index(SizeLimit),
    Vim(Option<bool>),
    /// Another one; without one: which is in force.
    Verbosity(Option<u8>),
}

impl SlashAction {
    pub(super) fn edit_action(wanted: EditArgument) -> Self {
        match wanted {
            EditArgument { name, is_new: true, .. } => Self::EditNew(name),
            EditArgument { name, in_external_editor: external, .. } => {
                Self::Edit { name, in_external_editor: external }
            }
        }
    }
}

pub struct SlashCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// The arguments, as help shows them.
    pub usage: &'static str,
    pub description: &'static str,
    /// More, for `/help NAME`.
    pub long_help: &'static str,
    pub argument: SlashArgument,
    pub(super) parse_arguments: fn(&str) -> Result<SlashAction, String>,
}

impl SlashCommand {
    pub(super) const fn new(
        name: &'static str,
        usage: &'static str,
        about: &'static str,
        more: &'static str,
        argument: SlashArgument,
        parse: fn(&str) -> Result<SlashAction, String>,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            usage,
            description: about,
            long_help: more,
            argument,
            parse_arguments: parse,
        }
    }
}
