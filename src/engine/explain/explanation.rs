//! The answer to `why STEP`, as plain data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use synthdev_domain::ids::RunId;

/// Why the run entered a state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepExplanation {
    /// Counts the states that the run entered, in all branches and workflows, from 1.
    pub step: u32,
    /// Path name.
    pub state: String,
    /// The state before this one: the one that was left, that forked, or that called the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PreviousStep>,
    pub how: EntryCause,
    /// The run was rewound to the moment before this step, or is a fork that began with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<RewindNote>,
    /// The conditions that were tried, in order; the last one held, if one did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedCondition>,
    /// The `before` script of the transition that was followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreviousStep {
    pub step: u32,
    pub state: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RewindNote {
    /// The run that this one is a fork of; absent for a rewound run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<RunId>,
    /// The data that it set before the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedValue>,
}

/// A value of `common_data` that a fork or a rewind set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReplacedValue {
    /// As the user wrote it: `NAME` or `NAME.FIELD`.
    pub path: String,
    /// Absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    pub new: Value,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum EntryCause {
    /// The run began with this state.
    Start,
    /// By the `number`-th of `of` transitions, from 1. `unconditional`: it holds always.
    Transition { number: usize, of: usize, unconditional: bool },
    /// No condition held: `on_no_match` of the workflow decided.
    NoMatch,
    /// An error or a limit was dealt with: `rule` is `catch`, `on_error`, `on_limit` or `on_timeout`.
    Error { rule: String, error: String, detail: String },
    /// The user had sent a message that no state asked for.
    Resume,
    /// A branch of a `parallel` state, or an item (`[3]`) of a `foreach` state, began.
    Branch { branch: String },
    /// A workflow was called.
    Child { workflow: String },
}

/// One condition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TriedCondition {
    /// As written; `None` holds always.
    pub condition: Option<String>,
    /// `file:line`
    pub place: Option<String>,
    /// Where it leads, by path name.
    pub target: String,
    pub gave: ConditionResult,
    /// What it gave as text, or the error.
    pub value: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<ConditionRead>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionResult {
    Truthy,
    Falsy,
    /// An error, which counted as false.
    Thrown,
}

/// Something that a condition names, and what it was at that moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConditionRead {
    /// As written, without `this.` and `?`.
    pub path: String,
    /// Absent: `undefined`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ValueOrigin>,
}

/// The source of a value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ValueOrigin {
    pub by: ValueOriginKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Path name of the state in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool call that supplied it, a decision or an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<OriginToolCall>,
}

/// What kind of thing supplied a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOriginKind {
    /// An input of the run, or of a child workflow.
    Input,
    /// Its value at the beginning (`variables`).
    Variables,
    /// A decision of an agent.
    Decision,
    /// An agent's reply.
    Reply,
    /// The result of a tool that the workflow ran.
    Tool,
    /// The output of a child workflow.
    Child,
    /// A user's answer.
    Person,
    /// The branches or items of a state.
    Branches,
    /// The item of a loop.
    Item,
    /// `action.script` of a state.
    Script,
    /// The `before` of a transition.
    Before,
    /// An error that was caught (`as`).
    Error,
    /// It was set from outside, when the run was forked, taken back or moved to another definition.
    Outside,
    /// The workflow itself.
    Workflow,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OriginToolCall {
    pub tool: String,
    pub arguments: Value,
}
