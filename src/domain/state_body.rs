//! What a state does: call an agent, a child workflow, several branches, one action outside, or wait.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::delegation::DelegationSpec;
use super::ids::{AgentIx, ScriptIx, StateIx, WorkflowIx};
use super::tool::ToolRisk;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum StateBody {
    /// Pure routing, or script only.
    #[default]
    None,
    Agent {
        agent: AgentIx,
        function: AgentFunction,
        input: ValueSource,
    },
    Child {
        workflow: WorkflowIx,
        inputs: Vec<(String, ValueSource)>,
    },
    Parallel(ParallelSpec),
    #[serde(rename = "foreach")]
    ForEach(ForEachSpec),
    /// `tool`, `mcp`, `shell`, `http`: one action outside, without a model.
    #[serde(rename = "step")]
    Action(ActionSpec),
    Pause(PauseSpec),
    Wait(WaitSpec),
    /// Fails with an error name of the author's.
    Fail {
        error: String,
        cause: ValueSource,
    },
}

/// `action.function`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFunction {
    SendUserMessage,
    AddUserMessage,
    ClearConversation,
    /// Calls the model on the context as it is. The answer enters no context: scripts decide what does.
    Ask,
}

/// Where a text or value comes from; decided while loading. `template` and `file` become a text or a script.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from", content = "is")]
pub enum ValueSource {
    #[default]
    Absent,
    Text(String),
    /// Literal JSON that is no text.
    Value(Value),
    Script(ScriptIx),
    /// The user at the terminal (single-agent mode).
    Human,
}

/// Branches that run at the same time. Each begins with a copy of `common_data` and of the contexts;
/// what they wrote is merged at the join, in the order of the branches. The result is an object: name → output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ParallelSpec {
    pub branches: Vec<BranchSpec>,
    pub join: JoinPolicy,
    pub on_error: BranchErrors,
    /// `None`: all at once, as far as the run's limit allows.
    pub max_concurrency: Option<u32>,
    /// For keys that several branches may write; any other such key is an error that names both.
    pub merge: BTreeMap<String, MergeRule>,
}

/// A branch: states of the same workflow, from `start` to a terminal state of theirs. Its output is that state's
/// `input`, else the result of its last work.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BranchSpec {
    pub name: String,
    pub start: StateIx,
}

/// How many branches must succeed; the others are then stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinPolicy {
    #[default]
    All,
    Any,
    Count(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchErrors {
    /// As soon as the join cannot succeed, the others are stopped and the state fails with `sub_workflow_failed`.
    #[default]
    FailFast,
    /// A failed branch stops no other; it has `{"error": {name, detail}}` as its result, and `context.success` is false.
    Collect,
}

/// What becomes of a key that several branches wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeRule {
    First,
    Last,
    /// Arrays are joined; anything else becomes an item. The earlier value comes first, once.
    Append,
    /// The changes of the numbers are added up.
    Sum,
    /// Objects are joined; later branches win key by key.
    Object,
}

/// One run of the body per item, each in isolation. The result is an array in item order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ForEachSpec {
    /// Must give an array.
    pub items: ValueSource,
    /// Names in the body's `common_data` beside `total`, `is_first`, `is_last`.
    pub each: String,
    pub at: String,
    /// First state of the body, as in `BranchSpec`.
    pub start: StateIx,
    /// Paths of the parent's `common_data` that the body sees (`needs_state`); `["*"]` is everything.
    pub needs: Vec<String>,
    pub max_concurrency: Option<u32>,
    /// The state fails if more items fail than this. Failed items have `{"error": …}` as their result.
    pub tolerated_failures: u32,
    /// Of all items, 0 to 100; the larger of both counts.
    pub tolerated_percent: f64,
    /// `agent: "@task"`: where sub-agents can be reached, each item is handed to one. These paths of
    /// `common_data` are what it may see besides its item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_out: Option<Vec<String>>,
    /// `agent: "@name"`: the kind of sub-agent, by a name that the client knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
}

/// One permitted action outside, run as a tool: `shell`, `http_request`, `mcp`, or a tool of the project.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ActionSpec {
    pub tool: String,
    pub risk: ToolRisk,
    /// Evaluated, then put under these paths (`a`, `headers.accept`, `args.0`) of the arguments.
    pub arguments: Vec<(Vec<String>, ValueSource)>,
    pub expect: ActionExpectation,
}

/// When an action counts as done although it ran: by an integer of its structured result.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionExpectation {
    /// What the tool itself calls success.
    #[default]
    Ok,
    /// Whatever comes back: the transitions decide (a gate).
    Any,
    /// `exit_code` or `status` is one of these.
    OneOf(Vec<i64>),
}

/// Waits for an answer of the user, or of the client that answers for the user.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PauseSpec {
    /// Not `kind` in JSON: that is the tag of `StateBody`, into whose object this is flattened.
    #[serde(rename = "asks")]
    pub kind: PauseKind,
    pub message: ValueSource,
    /// For `Choice`.
    pub choices: Vec<String>,
    /// JSON Schema of the answer.
    pub schema: Option<Value>,
    /// Keys that an object answer must hold, non-null.
    pub required_outputs: Vec<String>,
    /// The answer when none came in time, or when no user is present and there is no time limit.
    pub default: Option<Value>,
    pub ttl_ms: Option<u64>,
    pub on_timeout: Option<StateIx>,
    /// Of a `delegate` state: the content of its message, field by field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<DelegationSpec>>,
}

impl PauseSpec {
    /// A question of this kind that says nothing else.
    pub fn new(kind: PauseKind) -> Self {
        Self {
            kind,
            message: ValueSource::Absent,
            choices: Vec::new(),
            schema: None,
            required_outputs: Vec::new(),
            default: None,
            ttl_ms: None,
            on_timeout: None,
            request: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// true or false.
    Approval,
    Text,
    Number,
    Boolean,
    Choice,
    /// Values for `required_outputs`, by name.
    Outputs,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitSpec {
    /// Seconds, or an ISO 8601 duration.
    For(ValueSource),
    /// ISO 8601 time, or milliseconds since 1970.
    Until(ValueSource),
}
