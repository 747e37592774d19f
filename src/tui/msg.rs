//! What can happen to the screen, and what it wants done.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use crate::backend::{
    ConcurrentRunMode, ConfigReload, IndexingReply, IndexingRequest, LookupPage, RecalledInput, RoleLine,
    RunFilter, RunStepList, SearchHitLine, ShellOutcome, ShellSuggestionReply, SnapshotOperation,
    StandingPermission, StartPreparation, StatusFacts, TimeTravelOutcome, TimeTravelPreview,
    TimeTravelRequest, ToolLine, UntrustedDefinitions, WorkflowLine,
};
use crate::editor::{EditorReply, EditorRequest};
use crate::history_browser::{HistoryReply, HistoryRequest};
use crate::past_run::PastRun;
use crate::run_view::run_graph::RunDefinitionView;
use crate::session_options::FirstAction;
use crate::setup::{SetupReply, SetupRequest};
use crate::theme::ColorTheme;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunSummary;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};
use synthdev_engine::event::PublishedEvent;
use synthdev_engine::steering::BreakpointSet;
use synthdev_runtime::command::{ControlAction, RunCommand};

/// Time comes in with the message: `update` reads no clock.
#[derive(Clone, Debug)]
pub enum UiMessage {
    Key(KeyEvent, Timestamp),
    Paste(String),
    Resize(u16, u16),
    /// The terminal reported its background: is it light?
    Background(bool),
    Mouse(MouseEvent),
    Run(PublishedEvent),
    /// Once a second while something runs, for the elapsed time.
    Tick(Timestamp),
    /// The history has changed.
    Stirred(Timestamp),
    Reply(BackendReply),
}

/// A start in preparation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingStart {
    /// The workflow, or the role of a conversation.
    pub name: String,
    pub chat: bool,
    pub preparation: StartPreparation,
}

/// Answers to a `UiCommand`.
#[derive(Clone, Debug)]
pub enum BackendReply {
    WorkflowStarted {
        name: String,
        input: String,
        run: Result<RunId, String>,
        /// Where it works, if not in the project.
        note: Option<String>,
    },
    /// `WorkflowStarted` or `ChatStarted` follows.
    Beginning(PendingStart),
    ChatStarted {
        role: String,
        run: Result<RunId, String>,
    },
    /// For the completion of arguments.
    Names {
        workflows: Vec<WorkflowLine>,
        roles: Vec<RoleLine>,
    },
    /// Files of the project, for `@`.
    Files(Result<Vec<String>, String>),
    Workflows(Vec<WorkflowLine>),
    Roles {
        group: String,
        roles: Vec<RoleLine>,
    },
    /// `/role NAME`: all roles, to find it or suggest one.
    Role {
        requested_name: String,
        roles: Vec<RoleLine>,
    },
    /// `/workflow NAME` without input: is one wanted?
    WorkflowChosen {
        requested_name: String,
        workflows: Vec<WorkflowLine>,
    },
    Tools {
        role: String,
        tools: Vec<ToolLine>,
    },
    Prices(Vec<(String, Option<TokenPrice>)>),
    Runs {
        list_purpose: RunListPurpose,
        list: Result<Vec<RunSummary>, String>,
        /// Now: lists say how long ago something was.
        at: Timestamp,
    },
    Found {
        search_words: String,
        lines: Result<Vec<SearchHitLine>, String>,
        at: Timestamp,
    },
    /// The stored preview of a run.
    Glance(Box<PastRun>),
    Past {
        run: String,
        past_run: Result<Box<PastRun>, String>,
    },
    /// Entries of a run before those on screen, of which there were `before` more.
    Earlier {
        run: RunId,
        before_entry: usize,
        items: Result<Vec<TranscriptItem>, String>,
    },
    Resumed {
        run: RunId,
        result: Result<(), String>,
    },
    /// The outcome of pausing or ending a run by its id.
    Controlled(ControlAction, Result<String, String>),
    /// A request with its answer, as a text.
    Reviewed(Result<String, String>),
    Steps(Result<RunStepList, String>),
    Planned(Result<TimeTravelPreview, String>),
    Travelled(Result<TimeTravelOutcome, String>),
    Snapshot {
        command: SnapshotOperation,
        purpose: SnapshotPurpose,
        text: Result<String, String>,
    },
    Trusted {
        trusted: bool,
        /// The errors of the project's own definitions, one line each.
        result: Result<Vec<String>, String>,
    },
    Status(StatusFacts),
    /// The setting was saved: where.
    AllowedAlways(Result<String, String>),
    /// The definition of a run, for the panes.
    Defined {
        run: RunId,
        definition: Result<Box<RunDefinitionView>, String>,
    },
    /// A title and a text.
    Page(Result<(String, String), String>),
    Shell {
        command: String,
        outcome: Result<ShellOutcome, String>,
    },
    /// A suggested shell command, or why there is none; with the number of the query.
    Suggested(u64, ShellSuggestionReply, Timestamp),
    /// The user's tasks as they are now, and the one that the command was about.
    Tasks {
        command: TaskListCommand,
        outcome: Result<(TaskList, Option<TaskListItem>), String>,
    },
    /// About the index of the project, with the number of the query.
    Index(u64, IndexingReply, Timestamp),
    /// The question about the project's own definitions, or a note.
    Trusts(Result<UntrustedDefinitions, String>),
    /// How much is logged now, and where.
    Verbosity(u8, String),
    /// A theme by this name, or why there is none.
    Themed(Result<ColorTheme, String>),
    /// The input of earlier sessions.
    Recalled(Result<RecalledInput, String>),
    /// A text is not kept: why.
    NotKept(String),
    /// With the number of the dialog that asked.
    Setup(u64, SetupReply),
    /// With the number under which the history asked.
    Archive(u64, Box<HistoryReply>),
    /// With the number of the editor that asked.
    Edit(u64, EditorReply),
    /// The text from the user's own editor.
    Edited(u64, Result<String, String>),
    /// Configuration files have changed.
    Reloaded {
        reload: ConfigReload,
        /// The user's command, which continues after the question is answered.
        resumed_command: Option<Box<UiCommand>>,
    },
}

/// Why runs are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunListPurpose {
    /// `/runs`
    Show,
    /// At the start: runs that can be resumed.
    Offer,
    /// `/resume` without an id.
    Resume,
    /// The completion of ids.
    Names,
    /// `/pending`: what each of them waits for.
    Pending,
}

/// Why a snapshot command was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotPurpose {
    /// The answer is shown.
    Show,
    /// The reply shows what a restore would change, and the user is asked.
    BeforeRestore,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UiCommand {
    StartWorkflow {
        name: String,
        input: String,
    },
    StartChat {
        role: String,
    },
    Send(RunId, RunCommand),
    /// A workflow beside those that run: sharing the project's files, or with files of its own.
    StartBeside {
        name: String,
        input: String,
        sharing_mode: ConcurrentRunMode,
    },
    /// Breakpoints of the next workflow that is started.
    Stops(BreakpointSet),
    /// Allows a tool permanently, in the settings.
    AllowAlways(StandingPermission),
    Names,
    /// Of the project, for `@`.
    Files,
    Workflows,
    ChooseWorkflow(String),
    Roles(String),
    Role(String),
    Tools(String),
    Prices(Vec<String>),
    Runs(RunFilter, RunListPurpose),
    Search(String),
    /// The past of a run that is to be resumed; its preview is enough at first.
    Past(String),
    /// All of it.
    Whole(RunId),
    /// The entries before those on screen, of which so many more are left out.
    Earlier(RunId, usize),
    /// Pauses or ends a run by its id, wherever it is driven.
    Control(String, ControlAction),
    Resume(RunId),
    /// The same, and what failed is tried again.
    Retry(RunId),
    /// The last request of a run, or of one of its agents.
    Review {
        run: RunId,
        agent: Option<String>,
    },
    Steps(Option<String>),
    /// Asks the user about the effect of a rewind, fork or undo.
    Plan(TimeTravelRequest),
    Travel(TimeTravelRequest),
    Snapshot(SnapshotOperation, SnapshotPurpose),
    Trust(bool),
    /// The definition of a run.
    Definition(RunId),
    /// Into the terminal's clipboard.
    Copy(String),
    Mouse(bool),
    Page(LookupPage),
    /// A shell command of the user; `true`: also one that looks dangerous.
    Shell(String, bool),
    /// Asks a model for a shell command that does this; with the number of the query.
    Suggest(u64, String),
    /// A command on the user's tasks.
    Task(TaskListCommand),
    /// About the index of the project, with the number of the query; one that the user has just confirmed has none yet.
    Index(u64, IndexingRequest),
    /// Cancels the pending query outside of the runs.
    StopAside,
    /// Whether the project's own definitions count.
    Trusts,
    Theme(String),
    /// Sets the log level; `None`: reports it.
    Verbosity(Option<u8>),
    /// The input of earlier sessions.
    Recall,
    /// A text is kept for later ones.
    Remember(String),
    /// With the number of the dialog; 0 for the question that opens one.
    Setup(u64, Box<SetupRequest>),
    /// With a number for the answer.
    Archive(u64, Box<HistoryRequest>),
    /// With the number of the editor.
    Edit(u64, Box<EditorRequest>),
    /// Opens this text in the user's own editor, which gets the terminal.
    External {
        number: u64,
        name: String,
        text: Arc<str>,
    },
    Status,
    Quit,
}

impl UiCommand {
    /// It begins something with the project's own definitions, or without them.
    pub fn depends_on_trust(&self) -> bool {
        matches!(
            self,
            Self::StartWorkflow { .. }
                | Self::StartBeside { .. }
                | Self::StartChat { .. }
                | Self::ChooseWorkflow(_)
                | Self::Role(_)
        )
    }

    /// It reads workflows or roles as they are now.
    pub fn reads_definitions(&self) -> bool {
        matches!(
            self,
            Self::StartWorkflow { .. }
                | Self::StartBeside { .. }
                | Self::StartChat { .. }
                | Self::ChooseWorkflow(_)
                | Self::Workflows
                | Self::Tools(_)
                | Self::Role(_)
                | Self::Roles(_)
                | Self::Names
        )
    }
}

impl From<FirstAction> for UiCommand {
    fn from(action: FirstAction) -> Self {
        match action {
            FirstAction::Workflow { name, input } => Self::StartWorkflow { name, input },
        }
    }
}
