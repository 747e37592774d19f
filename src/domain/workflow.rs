//! A checked workflow: targets are indices, so an unknown target cannot exist.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent::AgentSpec;
use super::context::ContextSpec;
use super::ids::{AgentIx, ScriptIx, StateIx, WorkflowIx};
use super::place::{Layer, Place};
use super::script::Script;

/// A root workflow with every workflow it can reach; what a run pins (FSM-28).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Index 0 is the root.
    pub workflows: Vec<Arc<Workflow>>,
    /// Hex SHA-256 over the definition, roles and prompts.
    pub hash: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    pub description: String,
    pub inputs: Vec<Parameter>,
    pub output: Option<Parameter>,
    /// Defaults copied into `common_data` before the input (A7).
    pub variables: Map<String, Value>,
    pub contexts: Vec<ContextSpec>,
    pub agents: Vec<AgentSpec>,
    /// Always holds a state named `stop`, added if the file has none (A53).
    pub states: Vec<State>,
    pub scripts: Arc<Vec<Script>>,
    pub start: StateIx,
    pub stop: StateIx,
    pub limits: Limits,
    pub no_match: NoMatch,
    /// `on_condition_error: "false"`: a throwing condition counts as false (A12).
    pub condition_errors_are_false: bool,
    pub snapshot: SnapshotPolicy,
    /// The built-in single-agent chat: waits for the person, outlives failed turns.
    pub conversational: bool,
    pub layer: Layer,
    pub place: Place,
}

/// The five types of the border (K14).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    String,
    Number,
    Boolean,
    Object,
    Array,
}

impl ParameterType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }
}

impl ParameterType {
    /// Converts at the border (A45): text becomes a number, boolean, object or array where that is declared;
    /// anything becomes text where a string is declared.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub fn convert(self, value: Value) -> Result<Value, String> {
        let found = value_kind(&value);
        let converted = match (self, value) {
            (Self::String, Value::String(text)) => Some(Value::String(text)),
            (Self::String, other) => Some(Value::String(plain_text(&other))),
            (kind, Value::String(text)) => with_comments(&text).filter(|value| kind.holds(value)),
            (kind, other) => Some(other).filter(|value| kind.holds(value)),
        };
        converted.ok_or_else(|| format!("expected {}, found {found}", self.as_str()))
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }
}

/// JSON with comments and trailing commas, as in files (A45).
fn with_comments(text: &str) -> Option<Value> {
    let strict = serde_json::from_str(text.trim()).ok();
    strict.or_else(|| {
        let options = jsonc_parser::ParseOptions {
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            ..jsonc_parser::ParseOptions::default()
        };
        jsonc_parser::parse_to_serde_value::<Option<Value>>(text.trim(), &options).ok().flatten()
    })
}

/// The JSON type of a value, in the words of the workflow format.
pub fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as text for a conversation: strings as they are, objects and arrays as pretty JSON (A27).
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub kind: ParameterType,
    pub description: String,
    pub required: bool,
}

/// Reaching one pauses, it does not lose the run (A52).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// State visits of the whole run.
    pub max_steps: u32,
    /// Visits per state; from `variables.max_iterations` when nothing reads it (A51).
    pub max_visits: u32,
    /// Depth of child workflows (A49).
    pub max_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_steps: 200, max_visits: 25, max_depth: 8 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoMatch {
    /// `no_transition` error with the value of every condition (A14).
    #[default]
    Error,
    Stop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotPolicy {
    /// Taken if possible; failing is a warning (A58).
    #[default]
    Auto,
    Required,
    Off,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    pub name: String,
    /// `action.script`, run before anything else.
    pub script: Option<ScriptIx>,
    pub work: Work,
    pub transitions: Vec<Transition>,
    /// Ends the workflow; its `output` is the result.
    pub terminal: bool,
    /// `stop.input` (A43). Only for terminal states.
    pub output: Input,
    /// Parsing tools whose arguments the transitions read as `function.X` (A34).
    pub expects: Vec<String>,
    pub place: Place,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Work {
    /// Pure routing (A15), or script only.
    None,
    Agent {
        agent: AgentIx,
        function: AgentFunction,
        input: Input,
    },
    Child {
        workflow: WorkflowIx,
        inputs: Vec<(String, Input)>,
    },
}

/// `action.function` (A19).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFunction {
    SendUserMessage,
    AddUserMessage,
    ClearConversation,
}

/// Where a text or value comes from; decided while loading (A8).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "from", content = "is")]
pub enum Input {
    Absent,
    Text(String),
    Script(ScriptIx),
    /// The person at the terminal (single-agent mode).
    Human,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Transition {
    pub target: StateIx,
    /// `None` holds always (A11).
    pub condition: Option<ScriptIx>,
    pub before: Option<ScriptIx>,
}

impl Workflow {
    pub fn state(&self, at: StateIx) -> Option<&State> {
        self.states.get(at.0)
    }

    pub fn agent(&self, at: AgentIx) -> Option<&AgentSpec> {
        self.agents.get(at.0)
    }
}
