//! The forms of what a state with a `type` does, and of what happens when it fails.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::spanned::{InputForm, SpannedText};
use synthdev_domain::delegation::DelegationSpec;
use synthdev_domain::tool::ToolRisk;
use synthdev_domain::workflow::{
    ActionExpectation, BranchErrors, JoinPolicy, MergeRule, PauseKind, RetryBackoff,
};

#[derive(Clone, PartialEq, Debug, Default)]
pub enum WorkForm {
    /// No `type`: the agent, sub-workflow or script that the state names.
    #[default]
    Plain,
    Parallel(ParallelForm),
    ForEach(ForEachForm),
    /// `tool`, `mcp`, `shell`, `http`.
    Step(StepForm),
    Pause(PauseForm),
    Wait(WaitForm),
    Fail {
        error: SpannedText,
        cause: Option<InputForm>,
    },
    Final,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ParallelForm {
    /// The name of each with the full name of its first state.
    pub branches: Vec<(SpannedText, String)>,
    pub join: JoinPolicy,
    pub on_error: BranchErrors,
    pub max_concurrency: Option<u32>,
    pub merge: BTreeMap<String, MergeRule>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ForEachForm {
    pub items: InputForm,
    pub item_name: String,
    pub index_name: String,
    /// Full name of the body's first state.
    pub start: String,
    pub needed_paths: Vec<String>,
    pub max_concurrency: Option<u32>,
    pub tolerated_failures: u32,
    pub tolerated_percent: f64,
    /// `agent: "@task"` or `"@name"`, with what sub-agents may see.
    pub delegated_inputs: Option<Vec<String>>,
    /// The name, unless it is `@task`.
    pub sub_agent: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct StepForm {
    pub tool: SpannedText,
    /// `None`: that of the tool of this name, found while the workflow is gathered.
    pub risk: Option<ToolRisk>,
    pub arguments: StepArguments,
    pub expect: ActionExpectation,
}

/// The arguments of a step: what is literal, and what has to be looked at, by path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepArguments {
    /// With `null` where a leaf belongs.
    pub literal: Map<String, Value>,
    pub computed_leaves: Vec<(Vec<String>, InputForm)>,
    /// The names of the arguments, for findings.
    pub names: Vec<SpannedText>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PauseForm {
    pub kind: PauseKind,
    pub message: Option<InputForm>,
    pub choices: Vec<String>,
    pub schema: Option<Value>,
    pub required_outputs: Vec<String>,
    pub default: Option<Value>,
    pub ttl_ms: Option<u64>,
    pub on_timeout: Option<SpannedText>,
    /// Of a `delegate` state.
    pub request: Option<Box<DelegationSpec>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct WaitForm {
    /// Until a time, not for a length of time.
    pub until_time: bool,
    pub input: InputForm,
}

#[derive(Clone, PartialEq, Debug)]
pub struct RetryForm {
    pub errors: Vec<SpannedText>,
    pub max_attempts: u32,
    pub backoff: RetryBackoff,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatchForm {
    pub errors: Vec<SpannedText>,
    pub key: Option<String>,
    pub before_script: Option<SpannedText>,
    pub target: SpannedText,
}

/// `on_error` of a state or workflow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnErrorForm {
    Fail,
    Continue,
    Go(SpannedText),
}

impl WorkForm {
    /// Every value that is looked at when the state does its work, in a fixed order.
    pub fn inputs(&self) -> Vec<&InputForm> {
        match self {
            Self::Plain | Self::Parallel(_) | Self::Final => Vec::new(),
            Self::ForEach(form) => vec![&form.items],
            Self::Step(form) => form.arguments.computed_leaves.iter().map(|(_, input)| input).collect(),
            Self::Pause(form) => form.message.iter().collect(),
            Self::Wait(form) => vec![&form.input],
            Self::Fail { cause, .. } => cause.iter().collect(),
        }
    }
}
