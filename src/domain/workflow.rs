//! A checked workflow: targets are indices, so an unknown target cannot exist.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent::AgentSpec;
use super::context::ContextSpec;
use super::ids::{AgentIx, ScriptIx, StateIx};
use super::model::RECORDING;
use super::script::WorkflowScript;
use super::source_location::{ConfigLayer, SourceLocation};
use super::tool::ToolRisk;
use super::workflow_requirements::WorkflowRequirements;

pub use super::limits::{Budget, BudgetCap, DeclaredLimits, WorkflowLimits};
pub use super::parameter::{ParameterType, WorkflowParameter, plain_text, strip_code_fence, value_kind};
pub use super::recovery::{CatchRule, OnError, RecoveryPolicy, RetryBackoff, RetryRule};
pub use super::state_body::{
    ActionExpectation, ActionSpec, AgentFunction, BranchErrors, BranchSpec, ForEachSpec, JoinPolicy,
    MergeRule, ParallelSpec, PauseKind, PauseSpec, StateBody, ValueSource, WaitSpec,
};

/// What the workflow of a conversation with one role is called. Workflows of files may have that name, too.
pub const CONVERSATION_WORKFLOW: &str = "chat";

/// A root workflow with every workflow it can reach; what a run pins.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkflowProgram {
    /// Index 0 is the root.
    pub workflows: Vec<Arc<Workflow>>,
    /// Hex SHA-256 over the definition, roles and prompts.
    pub hash: String,
    /// Warnings that a run emits once when it starts, one line each: parts of the definition have no effect. Not
    /// stored.
    #[serde(skip)]
    pub start_warnings: Vec<String>,
}

impl WorkflowProgram {
    /// Whether a recording answers for its models, so that nothing is spent.
    pub fn is_replay(&self) -> bool {
        let mut agents = self.workflows.iter().flat_map(|workflow| &workflow.agents);
        agents.any(|agent| agent.choice.base_url.starts_with(RECORDING))
    }

    /// Whether it is a conversation, which continues until its user leaves it.
    pub fn is_conversation(&self) -> bool {
        self.workflows.first().is_some_and(|root| root.conversational)
    }

    /// Whether a client or a sub-agent may do work of the run with tools of its own.
    pub fn hands_out_work(&self) -> bool {
        let delegates =
            |state: &StateSpec| matches!(&state.work, StateBody::Pause(pause) if pause.request.is_some());
        self.workflows
            .iter()
            .any(|workflow| !workflow.sub_agents.is_none() || workflow.states.iter().any(delegates))
    }

    /// Whether anything that it declares can change files. A conversation is excluded: it does so only on request of
    /// its user.
    pub fn changes_files(&self) -> bool {
        let changes = |risk: ToolRisk| risk != ToolRisk::Read;
        self.workflows.iter().filter(|workflow| !workflow.conversational).any(|workflow| {
            let steps = workflow
                .states
                .iter()
                .any(|state| matches!(&state.work, StateBody::Action(step) if changes(step.risk)));
            steps || workflow.agents.iter().flat_map(|agent| &*agent.tools).any(|tool| changes(tool.risk))
        })
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    pub description: String,
    pub inputs: Vec<WorkflowParameter>,
    pub output: Option<WorkflowParameter>,
    /// Defaults copied into `common_data` before the input.
    pub variables: Map<String, Value>,
    pub contexts: Vec<ContextSpec>,
    pub agents: Vec<AgentSpec>,
    /// Always holds a state named `stop`, added if the file has none.
    pub states: Vec<StateSpec>,
    pub scripts: Arc<Vec<WorkflowScript>>,
    pub start: StateIx,
    pub stop: StateIx,
    pub limits: WorkflowLimits,
    /// Of the whole run if this is the root: children draw from the same pool.
    #[serde(default)]
    pub budget: Budget,
    /// Milliseconds from its start until the workflow fails with `timeout`.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// For errors that no state catches.
    #[serde(default)]
    pub on_error: OnError,
    /// Entered once for each limit or budget that is reached, instead of pausing.
    #[serde(default)]
    pub on_limit: Option<StateIx>,
    pub no_match: NoMatch,
    /// `on_condition_error: "false"`: a throwing condition counts as false.
    pub condition_errors_are_false: bool,
    /// Logs and ignores a script, `before` or condition that throws, instead of failing.
    #[serde(default)]
    pub lenient: bool,
    /// The state named `resume`: entered when the user has sent a message that no state asked for.
    #[serde(default)]
    pub resume: Option<StateIx>,
    pub snapshot: SnapshotPolicy,
    /// Runs work in a git worktree of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolated: bool,
    /// Ports of the machine's loopback that commands of its states reach with the network off. Not those of workflows
    /// that it calls: each has its own.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub loopback_ports: BTreeSet<u16>,
    /// Checked before a run starts.
    #[serde(default, skip_serializing_if = "WorkflowRequirements::is_empty")]
    pub requirements: WorkflowRequirements,
    /// Whether sub-agents do work of the run, and how much. Only of the root, set by the client that starts sub-agents.
    #[serde(default, skip_serializing_if = "SubAgents::is_none")]
    pub sub_agents: SubAgents,
    /// Sub-agents get a notice of what the run does itself, and acknowledge it. Only the value of the root counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ack_steps: bool,
    /// The built-in single-agent chat: waits for the user, and failed turns do not end it.
    pub conversational: bool,
    pub layer: ConfigLayer,
    pub place: SourceLocation,
}

/// What sub-agents get when a run starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubAgents {
    /// No sub-agent can be reached: the run does everything itself.
    #[default]
    None,
    /// Items of loops that say so.
    Items,
    /// The whole run is one task.
    Run,
}

impl SubAgents {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoMatch {
    /// `no_transition` error with the value of every condition.
    #[default]
    Error,
    /// As the seed: the workflow ends. Any other state may be named as well.
    Go(StateIx),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotPolicy {
    /// Taken if possible; failing is a warning.
    #[default]
    Auto,
    Required,
    Off,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StateSpec {
    /// States of a branch or loop body are named `owner.branch/state`, `owner/state`.
    pub name: String,
    /// `action.script`, run before anything else.
    pub script: Option<ScriptIx>,
    pub work: StateBody,
    pub transitions: Vec<Transition>,
    /// Ends the workflow, or the branch it belongs to; its `output` is the result.
    pub terminal: bool,
    /// `stop.input`. Only for terminal states.
    pub output: ValueSource,
    /// Parsing tools whose arguments the transitions read as `function.X`.
    pub expects: Vec<String>,
    /// Where the result of the work goes (`output`).
    #[serde(default)]
    pub store: Option<StateOutputSpec>,
    #[serde(default)]
    pub recovery: RecoveryPolicy,
    /// Milliseconds for one visit, retries included; then the state fails with `timeout`.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// For one visit, with everything that it starts.
    #[serde(default)]
    pub budget: Budget,
    /// Instead of the workflow's `limits.max_visits`.
    #[serde(default)]
    pub max_visits: Option<u32>,
    /// Entered instead of pausing when this state reaches a limit or budget.
    #[serde(default)]
    pub on_limit: Option<StateIx>,
    /// `execution: "server"`: no sub-agent runs its command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_here: bool,
    /// Of a loop whose items sub-agents do: what they are told of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub place: SourceLocation,
}

/// `output` of a state: the result of its work, checked and kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StateOutputSpec {
    /// Key of `common_data`; `None` only checks.
    pub key: Option<String>,
    /// JSON Schema; a text result that is JSON is parsed first. Not fitting is a `validation` error.
    pub schema: Option<Value>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Transition {
    pub target: StateIx,
    /// `None` holds always.
    pub condition: Option<ScriptIx>,
    pub before: Option<ScriptIx>,
}

impl Workflow {
    pub fn state(&self, at: StateIx) -> Option<&StateSpec> {
        self.states.get(at.0)
    }

    pub fn agent(&self, at: AgentIx) -> Option<&AgentSpec> {
        self.agents.get(at.0)
    }
}

/// The name of a state in a run without the positions of loop items: `each/work` for `each[3]/work`.
pub fn without_item_index(state: &str) -> Cow<'_, str> {
    let is_position = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !state.contains("]/") {
        return Cow::Borrowed(state);
    }
    let plain = |part: &str| {
        let owner = part.strip_suffix(']').and_then(|part| part.rsplit_once('['));
        owner.filter(|(_, at)| is_position(at)).map_or_else(|| part.to_owned(), |(owner, _)| owner.to_owned())
    };
    let parts: Vec<&str> = state.split('/').collect();
    let (last, before) = parts.split_last().unwrap_or((&"", &[]));
    let mut names: Vec<String> = before.iter().map(|part| plain(part)).collect();
    names.push((*last).to_owned());
    Cow::Owned(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_items_are_left_out() {
        let rows = [
            ("work", "work"),
            ("each[3]/work", "each/work"),
            ("child/each[12]/inner.a/one[0]/stop", "child/each/inner.a/one/stop"),
            ("each[x]/work", "each[x]/work"),
            ("odd[3]", "odd[3]"),
        ];
        for (state, expected) in rows {
            assert_eq!(without_item_index(state), expected);
        }
    }
}
