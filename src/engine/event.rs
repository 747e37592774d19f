//! The product's public face: what a run did, for the screen, `--events`, MCP progress and history alike.

mod published_event;
mod withdrawn_question;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::published_event::{PublishedEvent, StepEvent};
use super::effect::UserQuestion;
use crate::input::UserAnswer;
use crate::steering::Breakpoint;
use synthdev_domain::agent_team::{ContextSharing, SpawnedAgentStatus, TeamTaskStatus};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::context::{ConversationSide, MessageAuthor};
use synthdev_domain::cost::{CostEntry, TokenUsage};
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{RunProgress, RunStatus};
use synthdev_domain::message::{ChatRole, ToolCall};
use synthdev_domain::model::DeltaKind;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::TriedGuard;
use synthdev_domain::snapshot::SkippedPath;
use synthdev_domain::tool::{ToolPreview, ToolRisk};
use synthdev_domain::workflow::Budget;

/// The code of a [`RunEvent::Warning`] about the definition with which a run starts or resumes.
pub const DEFINITION_WARNING: &str = "definition";

/// States are path names: a child workflow's states are `child_workflow/state`.
///
/// A long run has a million of them in memory: large and rare fields are boxed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RunEvent {
    // life
    RunStarted {
        workflow: String,
        definition: String,
        inputs: Map<String, Value>,
        chat: bool,
        /// What the whole run may spend.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Box<Budget>>,
        /// A recording answers for the models: nothing is spent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    Warning {
        code: String,
        text: String,
    },
    /// The end. `path` and `snapshot` make it sufficient for the final object of `run --json`.
    Finished {
        status: RunStatus,
        output: Option<Value>,
        error: Option<Box<RunError>>,
        path: Vec<String>,
        snapshot: Option<SnapshotId>,
        usage: TokenUsage,
        cost_usd: Option<f64>,
    },

    /// The user has given a conversation a name.
    ConversationRenamed {
        name: String,
    },
    /// The user had a conversation summed up: what its prompts take of it, before and now, by estimate.
    ConversationCompacted {
        before_tokens: u64,
        after_tokens: u64,
    },
    /// The run resumes after a pause, a failure or a crash. `again` are calls that are repeated.
    Resumed {
        present: bool,
        again: Vec<CallId>,
        /// Hash of the new definition, if it changed; `notes` are the differences.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// The run was rewound to the moment before a step, or begins as a fork there.
    #[serde(rename = "returned")]
    Rewound {
        step: u32,
        state: String,
        fork_of: Option<RunId>,
        files: Option<SnapshotId>,
    },

    // snapshots
    SnapshotTaken {
        id: SnapshotId,
        label: String,
        files: usize,
        skipped: Vec<SkippedPath>,
    },
    SnapshotFailed {
        reason: String,
    },
    /// How far a snapshot is that takes a while. Not journaled.
    SnapshotProgress {
        done_files: u64,
        /// 0: they are still looked for.
        total_files: u64,
        elapsed_ms: u64,
    },

    // the machine
    StateEntered {
        state: String,
        visit: u32,
        /// How many states the branch has entered; the number of the step in the run is that of the event (`StepEvent`).
        step: u32,
        agent: Option<String>,
        context: Option<String>,
    },
    /// `tried` are the guards up to the chosen one; `guard` is the chosen one's position in the file.
    Transitioned {
        from: String,
        to: String,
        guard: usize,
        tried: Vec<TriedGuard>,
    },
    DataChanged {
        state: String,
        set: Map<String, Value>,
        removed: Vec<String>,
    },
    ScriptLog {
        state: String,
        text: String,
    },
    ChildStarted {
        state: String,
        workflow: String,
        inputs: Map<String, Value>,
    },
    ChildFinished {
        state: String,
        workflow: String,
        output: Option<Value>,
    },
    /// A `parallel` or `foreach` state begins; `branches` names its branches, `total` counts branches or items.
    Forked {
        state: String,
        branches: Vec<String>,
        total: usize,
    },
    BranchStarted {
        state: String,
        /// `alpha`, or `[3]` for an item.
        branch: String,
        index: usize,
    },
    BranchFinished {
        state: String,
        branch: String,
        index: usize,
        output: Option<Value>,
        error: Option<Box<RunError>>,
    },
    /// All that was waited for is there, merged and stored.
    Joined {
        state: String,
        succeeded: usize,
        failed: usize,
        stopped: usize,
    },

    // agents that agents start
    /// `by` started `agent` with a tool call, in this state.
    AgentSpawned {
        call: CallId,
        state: String,
        by: String,
        agent: String,
        role: String,
        task: String,
        context: ContextSharing,
        background: bool,
    },
    /// `agent`, which `by` started in this state, has ended.
    AgentEnded {
        state: String,
        by: String,
        agent: String,
        status: SpawnedAgentStatus,
        /// What it handed in, or its last words.
        result: Option<Box<Value>>,
        /// Why it ended without a result.
        error: Option<String>,
    },
    /// An agent sends a message to one that it started.
    AgentMessaged {
        from: String,
        to: String,
        text: String,
    },

    /// An agent wrote a note for all agents of the run.
    TeamNote {
        by: String,
        key: String,
        text: String,
    },
    /// A task that the agents of the run share was added, taken, done, or is open again.
    TeamTask {
        by: String,
        id: u64,
        title: String,
        status: TeamTaskStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },

    // what went wrong and was dealt with
    /// A state will be tried again (`retry`).
    Retrying {
        state: String,
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error: Box<RunError>,
    },
    /// A state's error was taken by `catch`, `fallback`, `on_error` or `on_limit`; `target` is where the run goes,
    /// absent if it stays.
    Caught {
        state: String,
        error: Box<RunError>,
        by: String,
        target: Option<String>,
    },
    /// The result of a state's work was stored (`output`).
    Stored {
        state: String,
        key: String,
        value: Value,
    },
    /// A soft limit is reached, or four fifths of a hard one; emitted once each.
    BudgetWarning {
        scope: String,
        what: String,
        spent: f64,
        soft: f64,
        hard: Option<f64>,
    },
    /// A hard limit was raised: the user granted more, or `on_limit` handles it.
    BudgetRaised {
        scope: String,
        what: String,
        hard: f64,
    },
    Waiting {
        state: String,
        until: Timestamp,
    },
    /// Where the run stops from now on: before every state (`step`), and at these.
    Breakpoints {
        step: bool,
        points: Vec<Breakpoint>,
    },
    /// A message of the user waits for the next pause or the state `resume`.
    Queued {
        text: String,
    },

    /// A script has read such words (`getUserInput`).
    Heard {
        text: String,
    },
    /// The user withdrew a queued message before any state or script had read it.
    TakenBack {
        text: String,
    },

    // conversation
    /// A message was added to a context, or privately to one agent (`private`).
    MessageAdded {
        context: String,
        author: MessageAuthor,
        role: ChatRole,
        text: String,
        private: bool,
        /// The model call that said it. Runs of version 10 and before have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },

    // model calls
    ModelCalled {
        call: CallId,
        #[serde(default)]
        state: String,
        agent: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        role: String,
        side: ConversationSide,
        model: String,
        provider: String,
        messages: usize,
    },
    /// Not journaled.
    Delta {
        call: CallId,
        kind: DeltaKind,
        text: String,
    },
    /// Not journaled: the driver waits before it asks again.
    ModelRetry {
        call: CallId,
        agent: String,
        attempt: u32,
        delay_ms: u64,
        reason: String,
    },
    Replied {
        call: CallId,
        agent: String,
        side: ConversationSide,
        text: String,
        reasoning: String,
        tool_calls: Vec<ToolCall>,
        model: String,
        usage: TokenUsage,
        cost_usd: Option<f64>,
        duration_ms: u64,
        /// A part of `usage` was reckoned from the length of texts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
    },
    /// A summary is requested before an agent's own call, because its prompt would leave something out.
    SummaryCalled {
        call: CallId,
        agent: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        role: String,
        context: String,
        model: String,
        /// The number of entries that the summary will replace.
        entries: usize,
    },
    /// From now on prompts of the context show `text` in the place of so many entries; 0: it could not be used.
    ContextSummarized {
        call: CallId,
        agent: String,
        side: ConversationSide,
        context: String,
        entries: usize,
        /// Tokens that the next prompt has less, by estimate.
        #[serde(default, skip_serializing_if = "is_zero")]
        saved_tokens: u64,
        text: String,
        model: String,
        usage: TokenUsage,
        cost_usd: Option<f64>,
        duration_ms: u64,
        /// A part of `usage` was reckoned from the length of texts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
    },
    ModelFailed {
        call: CallId,
        agent: String,
        code: String,
        reason: String,
        attempts: u32,
        /// What its attempts used all the same, a line for each model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        spent: Vec<CostEntry>,
    },
    /// Usage of a call that was stopped before its answer; the call is repeated unless it was abandoned.
    ModelStopped {
        call: CallId,
        agent: String,
        spent: Vec<CostEntry>,
    },

    // tools
    ToolStarted {
        call: CallId,
        agent: String,
        tool: String,
        arguments: Value,
    },
    /// How far a running tool has come, as it says itself. Not journaled.
    ToolProgress {
        call: CallId,
        text: String,
    },
    ToolFinished {
        call: CallId,
        agent: String,
        tool: String,
        ok: bool,
        summary: String,
        content: String,
        duration_ms: u64,
    },
    /// Refused before it ran: unknown, not this role's, invalid arguments, denied.
    ToolRefused {
        agent: String,
        tool: String,
        reason: String,
    },
    /// A parsing tool's valid call.
    Decided {
        agent: String,
        tool: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "DecisionSource::is_plain_call")]
        source: DecisionSource,
    },

    // the user
    ApprovalAsked {
        call: CallId,
        #[serde(default)]
        state: String,
        agent: String,
        tool: String,
        risk: ToolRisk,
        arguments: Value,
        preview: Option<Box<ToolPreview>>,
        /// When it is denied by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The sandbox kept a command from the network, and the user may allow it.
    NetworkAsked {
        call: CallId,
        agent: String,
        tool: String,
        arguments: Value,
    },
    /// No sandbox works on this machine: the user may allow this one call without.
    UnsandboxedAsked {
        call: CallId,
        agent: String,
        tool: String,
        arguments: Value,
        preview: Option<Box<ToolPreview>>,
        /// Why none works.
        reason: String,
        /// When it is denied by itself.
        until: Option<Timestamp>,
    },
    ApprovalAnswered {
        call: CallId,
        tool: String,
        decision: ApprovalDecision,
        /// What was asked about.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
    },
    PersonAsked {
        call: CallId,
        question: UserQuestion,
    },
    /// The question is closed: it was answered, or it was withdrawn because no branch waits for it any more.
    PersonAnswered {
        call: CallId,
        /// What was asked, and the answer; both absent if it was withdrawn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Box<UserQuestion>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Box<UserAnswer>>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RunEvent {
    /// The end of a run, from what lists keep of it.
    pub fn run_finished(progress: RunProgress) -> Self {
        Self::Finished {
            status: progress.status,
            output: progress.output,
            error: progress.error.map(Box::new),
            path: progress.path.iter().map(ToString::to_string).collect(),
            snapshot: progress.snapshot,
            usage: progress.usage,
            cost_usd: progress.cost_usd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_small() {
        assert!(size_of::<RunEvent>() <= 200, "{} bytes", size_of::<RunEvent>());
    }
}
