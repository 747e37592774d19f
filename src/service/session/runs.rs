//! Runs, past and present: lists, commands, steps, going back, stored files.

use serde_json::Value;

use crate::conversations::ConversationSummaryLine;
use crate::named_step::NamedStep;
use synthdev_domain::file_progress::FileProgress;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::snapshot::SnapshotInfo;
use synthdev_domain::tool::RunningCommand;
use synthdev_runtime::command::{ControlAction, RunCommand};

/// Work on the project's files outside of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileWorkKind {
    Snapshot,
    Worktree,
}

/// One piece of work whose progress a screen follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileWorkWatch {
    /// Its own among all that the screen has followed.
    pub number: u64,
    pub kind: FileWorkKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunRequest {
    /// To a run that is driven here.
    Send(RunId, RunCommand),
    List(RunFilter, RunListPurpose),
    /// What `/resume` without an id can mean: conversations of this project, and runs of workflows that the filter lets
    /// through.
    Resumable(RunFilter),
    /// Words in the texts of all runs.
    Search(String),
    /// Takes a run up; what it does from then on comes as events.
    Resume(RunId),
    /// The same, and what failed is tried again without a question.
    Retry(RunId),
    /// Pauses or ends a run by its id, in whichever process it is driven.
    Control(String, ControlAction),
    /// The last request of a run, or of one of its agents, with its answer.
    Review {
        run: RunId,
        agent: Option<String>,
    },
    Steps(Option<String>),
    /// Why a step was taken: its condition, what it read and who supplied that.
    Why {
        run: Option<String>,
        step: NamedStep,
    },
    /// The effects of a rewind, fork or undo. Changes nothing.
    Plan(TimeTravelRequest),
    Travel(TimeTravelRequest),
    /// The stored states of the project's files, for completion.
    SnapshotNames,
    Snapshot(SnapshotOperation),
    /// What a restore will do, by the id of the snapshot. Changes nothing.
    PlanRestore(String),
    /// The commands that agents of a run have left running. `after_end`: once one of them has ended.
    RunningCommands {
        run: RunId,
        after_end: bool,
    },
    /// One of those is stopped.
    StopCommand {
        run: RunId,
        id: String,
    },
    /// How far such work is; answered after a moment.
    FileProgress(FileWorkWatch),
    /// A response after each possible write to the history, by this process or another; none where the system cannot
    /// watch.
    Watch,
}

#[derive(Clone, Debug)]
pub enum RunResponse {
    List {
        list_purpose: RunListPurpose,
        list: Result<Vec<RunSummary>, String>,
        /// Now: lists say how long ago something was.
        at: Timestamp,
    },
    Resumable {
        list: Result<ResumableRuns, String>,
        at: Timestamp,
    },
    Found {
        search_words: String,
        hits: Result<SearchHitPage, String>,
        at: Timestamp,
    },
    Resumed {
        run: RunId,
        result: Result<(), String>,
    },
    /// The outcome as text.
    Controlled(ControlAction, Result<String, String>),
    Reviewed(Result<String, String>),
    Steps(Result<RunStepList, String>),
    /// The reason as text.
    Explained(Result<String, String>),
    /// What was asked for, and what it would do; an error is the reason as text.
    Planned {
        action: RunRequest,
        preview: Result<ActionPreview, String>,
    },
    Travelled(Result<TimeTravelOutcome, String>),
    Snapshot {
        command: SnapshotOperation,
        text: Result<String, String>,
    },
    /// For completion; none where they cannot be read.
    SnapshotNames {
        list: Vec<SnapshotInfo>,
        at: Timestamp,
    },
    RunningCommands {
        run: RunId,
        after_end: bool,
        commands: Vec<RunningCommand>,
        /// When it was so.
        at: Timestamp,
    },
    /// What came of it, as text.
    CommandStopped(Result<String, String>),
    FileProgress {
        watch: FileWorkWatch,
        progress: FileProgress,
        at: Timestamp,
    },
    /// The history may have changed.
    Written,
}

/// What can be resumed in a project.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResumableRuns {
    /// The one that was used last comes first.
    pub conversations: Vec<ConversationSummaryLine>,
    /// Newest first.
    pub workflows: Vec<RunSummary>,
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

/// Why runs are listed; comes back with the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunListPurpose {
    /// `/runs`
    Show,
    /// At the start: runs of workflows that can be resumed.
    Offer,
    /// `/resume` without an id, where there are only workflows.
    Resume,
    /// The completion of ids.
    Names,
    /// `/pending`: what each of them waits for.
    Pending,
}

/// What `/search` found, the newest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchHitPage {
    pub lines: Vec<SearchHitLine>,
    /// There are older ones, too.
    pub has_more: bool,
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

/// The steps of a run, for a rewind or fork.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStepList {
    pub run: RunId,
    pub workflow: String,
    /// Number, state, and whether the files of then are stored.
    pub steps: Vec<(u32, String, bool)>,
}

/// Going back. Ids may be unique prefixes; without one the newest run of this project is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimeTravelRequest {
    /// The files as before the run.
    Undo { run: Option<String> },
    /// Conversation, data and files as before a step. `keep_files`: the files stay as they are.
    Rewind { run: Option<String>, step: NamedStep, keep_files: bool },
    /// A new run from there, with something changed in `common_data`; the other one stays. `restore_files`: the files
    /// are those of the step, else they stay, too.
    Fork { run: Option<String>, step: NamedStep, set: Vec<(Vec<String>, Value)>, restore_files: bool },
}

impl TimeTravelRequest {
    /// Whether it changes the files, or a run that there is. What changes neither is done at once, beside whatever runs.
    pub fn changes_present(&self) -> bool {
        !matches!(self, Self::Fork { restore_files: false, .. })
    }
}

/// The effects of an action, for the user to confirm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionPreview {
    pub title: String,
    pub body: String,
    /// What the screen asks for after a yes, with whole ids. `None`: there is nothing to do, as `body` says.
    pub request: Option<RunRequest>,
}

/// The result of a rewind, an undo or a fork.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeTravelOutcome {
    pub text: String,
    /// The run that `/resume` continues from there.
    pub resumable_run: Option<RunId>,
}

/// `/snapshot …`. Ids may be unique prefixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotOperation {
    List,
    Create {
        label: String,
    },
    Show {
        id: String,
    },
    Stats,
    /// Without `other`: to the present.
    Diff {
        id: String,
        other: Option<String>,
    },
    Restore {
        id: String,
    },
    Delete {
        id: String,
    },
}
