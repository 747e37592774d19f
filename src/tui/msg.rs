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
    /// The terminal said what stands behind its text: is it light?
    Background(bool),
    Mouse(MouseEvent),
    Run(PublishedEvent),
    /// Once a second while something runs, for the elapsed time.
    Tick(Timestamp),
    /// Somebody has written to the history.
    Stirred(Timestamp),
    Reply(BackendReply),
}

/// What was started and has not begun.
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
        /// Where it works, if not here.
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
    /// What was seen of a run when it stood still last.
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
    /// What came of pausing or ending a run by its id.
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
        /// What is wrong with the project's own definitions, a line each.
        result: Result<Vec<String>, String>,
    },
    Status(StatusFacts),
    /// The setting was saved: where.
    AllowedAlways(Result<String, String>),
    /// What a run's definition says, for the panes.
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
    /// A command for the shell, or why there is none; with the number of the aside.
    Suggested(u64, ShellSuggestionReply, Timestamp),
    /// The person's tasks as they are now, and the one that the deed was about.
    Tasks {
        command: TaskListCommand,
        outcome: Result<(TaskList, Option<TaskListItem>), String>,
    },
    /// About the index of the project, with the number of the aside.
    Index(u64, IndexingReply, Timestamp),
    /// What to ask about the project's own definitions, or what to say.
    Trusts(Result<UntrustedDefinitions, String>),
    /// How much is logged now, and where.
    Verbosity(u8, String),
    /// A theme by this name, or why there is none.
    Themed(Result<ColorTheme, String>),
    /// What was typed in earlier sessions.
    Recalled(Result<RecalledInput, String>),
    /// A text is not kept: why.
    NotKept(String),
    /// With the number of the dialog that asked.
    Setup(u64, SetupReply),
    /// With the number under which the history asked.
    Archive(u64, Box<HistoryReply>),
    /// With the number of the editor that asked.
    Edit(u64, EditorReply),
    /// The text as the person's own editor left it.
    Edited(u64, Result<String, String>),
    /// Files of the configuration were changed by somebody.
    Reloaded {
        reload: ConfigReload,
        /// What the person wanted and gets when the question is answered.
        resumed_command: Option<Box<UiCommand>>,
    },
}

/// Why runs are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunListPurpose {
    /// `/runs`
    Show,
    /// At the start: what can be taken up again.
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
    /// The answer is what a restore would change; the person is asked.
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
    /// Where the next workflow that is started stands still.
    Stops(BreakpointSet),
    /// It is never asked about again: into the settings.
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
    /// What had happened in a run that is to be taken up; a glance of it is enough at first.
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
    /// The person is asked about what would happen.
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
    /// A command of the person; `true`: also one that looks dangerous.
    Shell(String, bool),
    /// A model is asked for a command that does this; with the number of the aside.
    Suggest(u64, String),
    /// Something is done with the person's tasks.
    Task(TaskListCommand),
    /// About the index of the project, with the number of the aside; one that a person agrees to has none yet.
    Index(u64, IndexingRequest),
    /// Nobody waits for what is asked beside the runs any more.
    StopAside,
    /// Whether the project's own definitions count.
    Trusts,
    Theme(String),
    /// How much is logged from now on; `None`: as it is.
    Verbosity(Option<u8>),
    /// What was typed in earlier sessions.
    Recall,
    /// A text is kept for later ones.
    Remember(String),
    /// With the number of the dialog; 0 for the question that opens one.
    Setup(u64, Box<SetupRequest>),
    /// With a number for the answer.
    Archive(u64, Box<HistoryRequest>),
    /// With the number of the editor.
    Edit(u64, Box<EditorRequest>),
    /// The person's own editor gets the terminal, and this text.
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
