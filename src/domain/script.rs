//! Workflow scripts: prepared source, the data they see, the changes they return.
//!
//! JavaScript gets a copy and returns changes; nothing is shared, so a failed script changes nothing.

pub mod messages;
pub mod shorthand;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use messages::ContextMessages;
pub use messages::ScriptMessage;

use super::context::ConversationSide;
use super::ids::ScriptIx;
use super::message::ToolCall;
use super::source_location::SourceLocation;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptKind {
    /// `transition.condition`
    Condition,
    /// `transition.before`
    Before,
    /// `action.script`
    Action,
    /// `input`, `sub_workflow_input` values, `{expr}`
    Input,
    /// `script_file`: declares functions that the other scripts of its list may name; never run by itself.
    Library,
}

/// How the prepared source is compiled; decided once while loading.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptForm {
    /// One expression. If its value is a function, the function is called with the host.
    Expression,
    /// Statements; the return value is ignored.
    Statements,
}

/// One script of a workflow file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkflowScript {
    pub kind: ScriptKind,
    pub form: ScriptForm,
    /// As written in the file; shown in errors.
    pub source: String,
    /// With `function.NAME` rewritten; line numbers as in `source`. Of a library: the body of a function that
    /// returns what it offers.
    pub prepared: String,
    /// Of a library: what other scripts may name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
    /// Where the script's text begins in its file.
    pub place: SourceLocation,
}

/// The last model response of an agent, as scripts see it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AgentView {
    pub id: String,
    pub role: String,
    pub context: String,
    pub side: Option<ConversationSide>,
    /// `None` before the first answer; `""` if it only called tools.
    pub last_response: Option<String>,
    /// Normal and parsing calls of the agent's own last response.
    pub tool_calls: Vec<ToolCall>,
    pub parsing_tool_calls: Vec<ToolCall>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ContextView {
    pub name: String,
    pub agents: Vec<String>,
    /// Shared: a scope costs nothing that grows with the conversation.
    pub messages: ContextMessages,
}

/// Members of the host that scripts may name with or without `this.`: what a checker knows and what
/// the host binds are one list.
pub const HOST_NAMES: [&str; 23] = [
    "common_data",
    "variables",
    "state",
    "inputs",
    "loop",
    "agents",
    "contexts",
    "workflow_contexts",
    "last_response",
    "sub_workflow_result",
    "last_agent_response",
    "last_tool_calls",
    "last_parsing_tool_calls",
    "context",
    "executionContext",
    "getAgent",
    "getContext",
    "getToolCalls",
    "getUserInput",
    "evaluateExpression",
    "__call",
    "__next",
    "__flow",
];

/// The key of `common_data` under which `while` steps keep count: a list, outermost loop first.
pub const LOOPS: &str = "_loops";

/// Members that need `this.`: as plain names they would turn too many literal inputs into expressions. Those in
/// camel case are how older files write `last_agent_response` and its like.
pub const HOST_MEMBERS: [&str; 5] =
    ["input", "lastAgentResponse", "lastToolCalls", "lastParsingToolCalls", "subWorkflowResult"];

/// Everything a script can read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScopeView {
    /// Identifies (run, frame): together with `version` a script host may keep its parsed copy of `common_data`.
    pub frame: u64,
    /// Grows whenever `common_data` changes.
    pub version: u64,
    pub workflow: String,
    pub state: String,
    pub common_data: Arc<Map<String, Value>>,
    /// Names declared under `variables`, for `common_data.variables`.
    pub variables: Arc<Vec<String>>,
    /// The workflow's inputs as they were given; scripts read them as `inputs` and cannot change them.
    #[serde(default)]
    pub inputs: Arc<Map<String, Value>>,
    /// `loop` inside the body of a loop: {item, index, total, is_first, is_last}; `None` is `undefined`.
    #[serde(default)]
    pub looping: Option<Arc<Value>>,
    pub agents: Vec<AgentView>,
    pub contexts: Vec<ContextView>,
    /// Output of the last child; `None` is `undefined`.
    pub sub_workflow_result: Option<Value>,
    pub last_agent_response: Option<String>,
    pub last_tool_calls: Vec<ToolCall>,
    pub last_parsing_tool_calls: Vec<ToolCall>,
    /// `context` in conditions: {success, result, agent, toolCalls}.
    pub result: Option<Value>,
    /// Queued messages of the user that no script has read yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// Milliseconds for `Date`, from the journal.
    pub now_ms: i64,
    /// Seed for `Math.random`, from the journal.
    pub seed: u64,
}

/// A job for the JavaScript runtime.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum ScriptTask {
    /// Run for its effects.
    Run { script: ScriptIx },
    /// Evaluate several expressions against the same world; all or nothing.
    Values { scripts: Vec<ScriptIx> },
    /// First guard that holds wins, then *its* `before` runs. A missing guard holds.
    Choose { guards: Vec<TransitionGuard>, errors_are_false: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransitionGuard {
    pub condition: Option<ScriptIx>,
    pub before: Option<ScriptIx>,
}

/// A request to a script host. `scripts` is the workflow's whole list, shared, so that a host can compile
/// each once; equal `Arc`s mean equal scripts.
#[derive(Clone, Debug)]
pub struct ScriptJob {
    pub scripts: Arc<Vec<WorkflowScript>>,
    pub scope: Box<ScopeView>,
    pub task: ScriptTask,
}

/// Changes that a script made; applied only after success.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScopePatch {
    /// Top-level keys of `common_data` that were set or changed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// New whole message lists of the contexts that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<(String, Vec<ScriptMessage>)>,
    /// How many queued messages (`said`) the script read: these are removed from the queue.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub heard: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ScopePatch {
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty() && self.contexts.is_empty() && self.heard == 0
    }
}

/// The outcome of a job.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ScriptOutcome {
    /// One per expression of `Values`; `None` is `undefined`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "maybe_undefined")]
    pub values: Vec<Option<Value>>,
    /// For `Choose`: which guard won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<usize>,
    /// For `Choose`: every guard that was tried, with its value as text for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedGuard>,
    #[serde(default)]
    pub patch: ScopePatch,
    /// Lines of `console.log`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TriedGuard {
    pub held: bool,
    /// The value as text (`false`, `undefined`, `3`), or the error.
    pub value: String,
}

/// JSON has no `undefined`: each value is written as a list of one, or of none, so that a journal keeps
/// `null` and `undefined` apart.
mod maybe_undefined {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    #[expect(clippy::ptr_arg, reason = "serde hands over the field's own type")]
    pub(super) fn serialize<S: Serializer>(
        values: &Vec<Option<Value>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| value.iter().collect::<Vec<_>>()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Option<Value>>, D::Error> {
        let lists: Vec<Vec<Value>> = Deserialize::deserialize(deserializer)?;
        Ok(lists.into_iter().map(|list| list.into_iter().next()).collect())
    }
}

/// A script that failed: nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    pub kind: ScriptErrorKind,
    pub message: String,
    pub script: ScriptIx,
    /// The library, if it happened in one of its functions: line and column are then there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<ScriptIx>,
    /// Position inside `WorkflowScript::source`, from 1; 0 when the engine gave none.
    pub line: usize,
    pub column: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptErrorKind {
    /// An exception.
    Thrown,
    /// Did not finish within the time limit.
    Time,
    Memory,
    Stack,
    /// `common_data` is no longer JSON (functions, cycles), or a context was broken.
    NotData,
    /// The engine itself had to be abandoned.
    Host,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_undefined_survive_the_journal() {
        let outcome = ScriptOutcome {
            values: vec![None, Some(Value::Null), Some(Value::from(1))],
            ..ScriptOutcome::default()
        };
        let text = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<ScriptOutcome>(&text).unwrap(), outcome, "{text}");
    }
}
