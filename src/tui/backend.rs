//! What the screen asks of the rest of the program. `app` implements it over catalog, runtime and snapshots;
//! tests over nothing. Object safe, cheap to call: synchronous functions answer from memory.

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};

use crate::editor::{EditorReply, EditorRequest};
use crate::history_browser::{HistoryReply, HistoryRequest};
use crate::past_run::PastRun;
use crate::run_view::run_graph::RunDefinitionView;
use crate::setup::{SetupReply, SetupRequest};
use crate::theme::{self, ColorTheme};
pub use crate::time_travel::{TimeTravelOutcome, TimeTravelPreview, TimeTravelRequest};
use crate::transcript::item::TranscriptItem;
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::cost::{CostEntry, TokenPrice};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::project_index::SizeLimit;
use synthdev_domain::project_index::report::IndexReport;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};
use synthdev_domain::tool::ToolRisk;
use synthdev_engine::steering::BreakpointSet;
use synthdev_runtime::command::{ControlAction, RunCommand};
use synthdev_runtime::indexing::IndexingProgress;

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
    pub description: String,
    pub layer: ConfigLayer,
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

/// Facts of the start line and the status line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatusFacts {
    /// The role that plain text talks to at first.
    pub role: String,
    pub model: String,
    pub tools_available: usize,
    pub tools_total: usize,
    pub branch: Option<String>,
    /// The `.env` files that are read, by their names in findings.
    pub environment: Vec<String>,
    /// A notice to show at once: no key found, offline model in use.
    pub notice: Option<String>,
}

/// `/snapshot …`. Ids may be unique prefixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotOperation {
    List,
    Create { label: String },
    Show { id: String },
    Diff { id: String },
    Restore { id: String },
    Delete { id: String },
}

/// Which runs are listed, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunFilter {
    /// Of this project only.
    pub this_project_only: bool,
    /// Empty means any.
    pub statuses: Vec<RunStatus>,
    /// A part of the id, the workflow's name or the input.
    pub search_words: Option<String>,
    /// 0 means all.
    pub limit: usize,
}

/// An occurrence of the words of `/search`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchHitLine {
    pub run: RunId,
    pub workflow: String,
    pub at: Timestamp,
    /// `message`, `result of a tool`.
    pub location: String,
    pub text: String,
}

/// The reply to a lookup: its title and text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupPage {
    /// The present definition of a workflow.
    Graph(String),
    /// A run's workflow, with where the run has been.
    RunGraph(RunId),
    /// Of one provider, or of all.
    Models(Option<String>),
    /// Where a setting is from, or all of them.
    Config(Option<String>),
    /// What commands of agents can reach, or what they may do with one path.
    Sandbox(Option<String>),
    /// A workflow, walked through without models.
    Simulation(String),
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
pub struct ShellSuggestionReply {
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
pub enum IndexingReply {
    /// Why nothing can be done.
    Refused(String),
    /// Asks the user, with these lines.
    Proposal(Vec<String>),
    At(IndexingProgress),
    Done(Box<IndexReport>),
}

/// The steps of a run, for a rewind or fork.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStepList {
    pub run: RunId,
    pub workflow: String,
    /// Number, state, and whether the files of then are stored.
    pub steps: Vec<(u32, String, bool)>,
}

/// Files of the configuration were changed since they were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigReload {
    /// New errors in the files, one line each.
    pub problems: Vec<String>,
    /// Another program has changed the project's own files: does the user trust them?
    pub question: Option<UntrustedDefinitions>,
}

/// A project's own definitions that the user has not trusted yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UntrustedDefinitions {
    pub files: Vec<String>,
    /// The changes since the user trusted them last.
    pub changes: String,
}

/// The input of earlier sessions in this project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecalledInput {
    /// The oldest first.
    pub texts: Vec<String>,
    /// Why it is incomplete.
    pub note: Option<String>,
}

/// What the user allows once for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StandingPermission {
    /// Calls of this tool.
    Tool(String),
    /// The network for commands.
    Network,
}

/// A workflow or a conversation on its way.
pub enum WorkflowStart {
    Running(RunId),
    /// It is prepared first.
    Later(StartPreparation, DeferredStart),
}

/// The run, and what to say about where it works.
pub type DeferredStart = BoxFuture<'static, Result<(RunId, Option<String>), String>>;

/// What a start waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartPreparation {
    /// Its files are copied.
    Files,
    /// The servers of its models report their windows.
    Windows,
}

/// How a workflow works beside others in one project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConcurrentRunMode {
    /// On the same files, knowingly.
    Share,
    /// In a worktree of its own.
    Isolate,
}

/// Texts of errors are complete messages for the user: what happened, where, what to do next; several lines are fine.
pub trait SessionBackend: Send + Sync {
    /// An item after each possible write to the history, by this process or another. Ends where the system cannot
    /// watch.
    fn store_changes(&self) -> BoxStream<'static, ()> {
        Box::pin(stream::empty())
    }

    /// Everything the loader found, broken ones included.
    fn workflows(&self) -> Vec<WorkflowLine>;

    fn roles(&self) -> Vec<RoleLine>;

    /// The tools that a role may use.
    fn tools(&self, role: &str) -> Vec<ToolLine>;

    /// The catalogue's price of a model, for the parts of `/cost`; `None`: unknown, never guessed.
    fn price(&self, _model: &str) -> Option<TokenPrice> {
        None
    }

    /// # Errors
    /// Rendered diagnostics: unknown or broken workflow, input that does not fit.
    fn start_workflow(&self, name: &str, input: &str) -> Result<WorkflowStart, String>;

    /// The same, although another run works in this project.
    /// # Errors
    /// As `start_workflow`.
    fn start_concurrent_workflow(
        &self,
        name: &str,
        input: &str,
        _beside: ConcurrentRunMode,
    ) -> Result<WorkflowStart, String> {
        self.start_workflow(name, input)
    }

    /// Sets the breakpoints of the next workflow that is started.
    fn set_start_breakpoints(&self, _stops: BreakpointSet) {}

    /// Allows a tool permanently, in the user's settings; returns the file.
    fn allow_always(&self, _permission: StandingPermission) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(std::future::ready(Err("settings cannot be saved here".to_owned())))
    }

    /// Starts single-agent mode; the run asks `Question::Message` when it is ready for text.
    /// # Errors
    /// Unknown role, no model for its level.
    fn start_chat(&self, role: &str) -> Result<WorkflowStart, String>;

    fn send_command(&self, run: &RunId, command: RunCommand);

    fn runs(&self, filter: RunFilter) -> BoxFuture<'static, Result<Vec<RunSummary>, String>>;

    fn search_history(&self, words: String) -> BoxFuture<'static, Result<Vec<SearchHitLine>, String>>;

    /// The past of a run that can be resumed in this project, or why it cannot. Changes nothing.
    fn load_past_run(&self, run: String) -> BoxFuture<'static, Result<PastRun, String>>;

    /// The end of that from the stored preview, if there is a present one: at once, however long the run is.
    fn load_run_preview(&self, run: String) -> BoxFuture<'static, Option<PastRun>>;

    /// The last entries of a run before the first that is shown, which has so many before it. The first page reads all
    /// of the run once; the others cost the same, wherever they are.
    fn load_earlier_items(
        &self,
        _run: RunId,
        _before: usize,
    ) -> BoxFuture<'static, Result<Vec<TranscriptItem>, String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// The input of earlier sessions in this project; read on first use.
    fn load_recalled_input(&self) -> BoxFuture<'static, Result<RecalledInput, String>> {
        Box::pin(std::future::ready(Ok(RecalledInput::default())))
    }

    /// Keeps a text for later sessions.
    /// # Errors
    /// The text cannot be saved; reported once.
    fn save_input(&self, _text: &str) -> Result<(), String> {
        Ok(())
    }

    /// Takes a run up; what it does from then on comes as events.
    fn resume_run(&self, run: RunId) -> BoxFuture<'static, Result<(), String>>;

    /// The same for a run that has failed: what failed is tried again without a question.
    fn retry_run(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        self.resume_run(run)
    }

    /// Pauses or ends a run, in whichever process it is driven; returns the outcome as text.
    fn control_run(
        &self,
        _run: String,
        _control: ControlAction,
    ) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(std::future::ready(Err("runs cannot be told anything here".to_owned())))
    }

    /// What the history asks.
    fn request_history(&self, _asked: HistoryRequest) -> BoxFuture<'static, HistoryReply> {
        let told = HistoryReply::Text(Err("the history cannot be read here".to_owned()));
        Box::pin(std::future::ready(told))
    }

    /// What a model was asked last in a run, by this agent or by any, and its answer.
    fn inspect_last_call(
        &self,
        run: RunId,
        agent: Option<String>,
    ) -> BoxFuture<'static, Result<String, String>>;

    /// A run's definition as it was started with.
    fn definition(&self, run: RunId) -> BoxFuture<'static, Result<RunDefinitionView, String>> {
        Box::pin(std::future::ready(Err(format!("the definition of run {run} is not known here"))))
    }

    /// A theme by its name.
    /// # Errors
    /// There is none; which there are.
    fn load_theme(&self, name: &str) -> Result<ColorTheme, String> {
        let unknown = || format!("there is no theme {name}: it is one of {}", theme::NAMES.join(", "));
        ColorTheme::find_theme(name, &theme::TerminalEnvironment::default()).ok_or_else(unknown)
    }

    /// Sets the log level, 0 to 5, if one is given; returns the present one, and the log file.
    fn verbosity(&self, wanted: Option<u8>) -> (u8, String) {
        (wanted.unwrap_or_default(), String::new())
    }

    /// Files of the project that tools can see, without hidden and ignored ones; of a large project only the first
    /// ones.
    fn files(&self) -> BoxFuture<'static, Result<Vec<String>, String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// # Errors
    /// Why there is no such text.
    fn load_lookup_page(&self, _page: LookupPage) -> BoxFuture<'static, Result<(String, String), String>> {
        Box::pin(std::future::ready(Err("this is not known here".to_owned())))
    }

    /// Runs a command of the user in the project's directory; `sure`: also one that looks dangerous.
    /// # Errors
    /// Why the command was not run.
    fn run_shell_command(
        &self,
        _command: String,
        _sure: bool,
    ) -> BoxFuture<'static, Result<ShellOutcome, String>> {
        Box::pin(std::future::ready(Err("no commands are run here".to_owned())))
    }

    /// Asks a model for a command that does what these words say; nothing is run.
    fn suggest_shell_command(&self, _words: String) -> BoxFuture<'static, ShellSuggestionReply> {
        let told = Err("no model can be asked for a command here".to_owned());
        Box::pin(std::future::ready(ShellSuggestionReply { suggestion: told, costs: Vec::new() }))
    }

    /// Applies a command to the user's tasks of this project: returns all of them, and the affected one.
    fn apply_task_list_command(
        &self,
        _deed: TaskListCommand,
    ) -> BoxFuture<'static, Result<(TaskList, Option<TaskListItem>), String>> {
        Box::pin(std::future::ready(Err("no tasks are kept here".to_owned())))
    }

    /// Makes the index of the project, step by step.
    fn request_indexing(&self, _asked: IndexingRequest) -> BoxFuture<'static, IndexingReply> {
        Box::pin(std::future::ready(IndexingReply::Refused("no index is made here".to_owned())))
    }

    /// Ends what models are asked beside the runs.
    fn cancel_side_query(&self) {}

    /// The question whether the project's own definitions are trusted.
    /// # Errors
    /// The note to show if there is nothing to ask.
    fn trust_question(&self) -> Result<UntrustedDefinitions, String> {
        Err("this project has no definitions of its own".to_owned())
    }

    fn steps(&self, run: Option<String>) -> BoxFuture<'static, Result<RunStepList, String>>;

    /// The effects of a rewind, an undo or a fork. Changes nothing; an error if there is nothing to do.
    fn preview_time_travel(
        &self,
        travel: TimeTravelRequest,
    ) -> BoxFuture<'static, Result<TimeTravelPreview, String>>;

    /// Does it.
    fn perform_time_travel(
        &self,
        travel: TimeTravelRequest,
    ) -> BoxFuture<'static, Result<TimeTravelOutcome, String>>;

    fn snapshot(&self, command: SnapshotOperation) -> BoxFuture<'static, Result<String, String>>;

    /// Answers the trust question; a yes loads the project's own definitions and returns their errors.
    /// # Errors
    /// They do not load, or the answer could not be stored.
    fn answer_trust_question(&self, yes: bool) -> Result<Vec<String>, String>;

    /// What the dialog that sets up a model asks.
    fn request_setup(&self, _asked: SetupRequest) -> BoxFuture<'static, SetupReply> {
        Box::pin(std::future::ready(SetupReply::Unneeded))
    }

    /// What the editor asks; a text is checked away from the screen.
    fn request_edit(&self, _asked: EditorRequest) -> BoxFuture<'static, EditorReply> {
        Box::pin(std::future::ready(EditorReply::Files(Err("files cannot be edited here".to_owned()))))
    }

    /// Opens a text in the user's own editor, which has the terminal until it ends.
    /// # Errors
    /// There is none, or it ended with an error.
    fn open_external_editor(&self, _name: &str, _text: &str) -> Result<String, String> {
        Err("no other editor can be started here".to_owned())
    }

    /// Reloads files that have changed; `None`: none have. Without `asks` it skips files that need the user's consent.
    fn reload_changed_config(&self, _asks: bool) -> Option<ConfigReload> {
        None
    }

    fn status_line(&self) -> StatusFacts;
}
