//! The forms: a workflow as written, each part with its place.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

use synthdev_domain::agent::{InputVisibility, MemoryPolicy, ToolLoop};
use synthdev_domain::context::{ConversationSide, ToolVisibility, TrimPolicy};
use synthdev_domain::message::ChatRole;
use synthdev_domain::workflow::{
    AgentFunction, Budget, ParameterType, SnapshotPolicy, StateOutputSpec, WorkflowParameter,
};

use super::spanned::{InputForm, SpannedText, SpannedValue};
use super::work_forms::{CatchForm, OnErrorForm, RetryForm, WorkForm};

/// What a list of workflows needs: read without looking at states or scripts.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowHead {
    pub name: String,
    pub description: String,
    pub inputs: Vec<WorkflowParameter>,
    pub output: Option<WorkflowParameter>,
    pub start: StartCondition,
    pub dialect: WorkflowDialect,
    /// Of the name's text.
    pub span: Range<usize>,
}

/// When a workflow that was chosen begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StartCondition {
    #[default]
    Immediate,
    /// Waits for the user's input.
    OnUserInput,
}

/// In which of the format's three ways the states are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WorkflowDialect {
    /// States with actions and transitions.
    #[default]
    Seed,
    /// States with `pre_handler`, `post_handler`, `transition_handler`: functions of a script file.
    Handlers,
    /// `steps` in the place of `states`.
    Steps,
}

impl WorkflowDialect {
    /// For display: what a file was read as.
    pub fn word(self) -> &'static str {
        match self {
            Self::Seed => "states",
            Self::Handlers => "states with handlers",
            Self::Steps => "a list of steps",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowForm {
    pub name: SpannedText,
    pub dialect: WorkflowDialect,
    /// The script file, relative to the workflow file.
    pub script_file: Option<SpannedText>,
    pub description: String,
    pub version: Option<String>,
    pub start: StartCondition,
    pub inputs: Vec<ParameterForm>,
    pub output: Option<ParameterForm>,
    pub variables: Vec<(SpannedText, Value)>,
    pub contexts: Vec<ContextForm>,
    pub agents: Vec<AgentForm>,
    pub states: Vec<StateForm>,
    pub limits: LimitsForm,
    pub budget: Budget,
    pub timeout_ms: Option<u64>,
    pub on_error: Option<OnErrorForm>,
    pub on_limit: Option<SpannedText>,
    pub no_match: NoMatchForm,
    pub lenient: bool,
    pub condition_errors_are_false: bool,
    pub snapshot: SnapshotPolicy,
    pub isolated: bool,
    pub loopback_ports: BTreeSet<u16>,
    pub span: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ParameterForm {
    pub name: SpannedText,
    pub kind: ParameterType,
    pub description: String,
    pub required: bool,
    pub default: Option<Value>,
    pub schema: Option<Value>,
}

/// `on_no_match`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum NoMatchForm {
    #[default]
    Error,
    Stop,
    Go(SpannedText),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextForm {
    pub name: SpannedText,
    pub messages: Vec<(ChatRole, String)>,
    /// Characters; as the file says, else as its `max_tokens` says, else the default.
    pub max_length: usize,
    pub max_tokens: Option<usize>,
    pub trim: TrimPolicy,
    /// Which level sums up.
    pub summary_level: Option<SpannedText>,
    pub pin_first: usize,
    pub tool_visibility: ToolVisibility,
}

/// An agent as written. What is `None` is as the role, its level or the workflow has it.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentForm {
    /// `name`, or the role's name.
    pub id: SpannedText,
    pub role: SpannedText,
    pub context: SpannedText,
    pub side: ConversationSide,
    pub level: Option<SpannedText>,
    pub model: Option<SpannedText>,
    pub provider: Option<SpannedText>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    pub budget: Budget,
    /// Patterns that can be read; instead of the role's choice.
    pub included_tools: Option<Vec<SpannedText>>,
    /// Patterns that can be read; taken from what is included.
    pub excluded_tools: Vec<SpannedText>,
    pub system_append: Option<String>,
    pub max_tool_rounds: Option<u32>,
    pub tool_loop: ToolLoop,
    pub input_visibility: Option<InputVisibility>,
    pub memory: MemoryPolicy,
}

/// A state of the workflow, or of a body inside one of its states.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StateForm {
    /// With its `scope`; the place is that of what the file says.
    pub name: SpannedText,
    /// `owner.branch/` or `owner/` for the states of a body; empty for the workflow's own.
    pub scope: String,
    pub agent: Option<SpannedText>,
    pub input: Option<InputForm>,
    pub function: Option<SpannedValue<FunctionForm>>,
    pub script: Option<SpannedText>,
    pub sub_workflow: Option<SpannedText>,
    pub sub_inputs: Vec<(SpannedText, InputForm)>,
    /// What a state with a `type` does.
    pub work: WorkForm,
    /// `action.set_state`.
    pub updates: Vec<UpdateForm>,
    pub handlers: HandlersForm,
    /// `None`: the file has no list, which ends the workflow or the body. Targets have the scope's name.
    pub transitions: Option<Vec<TransitionForm>>,
    pub retry: Vec<RetryForm>,
    pub catch: Vec<CatchForm>,
    pub fallback: Option<Value>,
    pub on_error: Option<OnErrorForm>,
    pub timeout_ms: Option<u64>,
    pub budget: Budget,
    pub max_visits: Option<u32>,
    pub on_limit: Option<SpannedText>,
    pub store: Option<StateOutputSpec>,
    /// The file does not name it: the end of a body.
    pub implied: bool,
    pub span: Range<usize>,
}

/// One change of the state.
#[derive(Clone, PartialEq, Debug)]
pub struct UpdateForm {
    /// Keys with dots between them, without a root.
    pub path: SpannedText,
    pub operation: UpdateOperation,
    pub value: InputForm,
}

/// What an update does with the old value and the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpdateOperation {
    Set,
    /// To a list; one that is not there yet begins.
    Append,
    /// Numbers; what is not there yet is 0.
    Increment,
    Decrement,
    Multiply,
    /// Keys of an object into another.
    Merge,
}

impl UpdateOperation {
    pub const ALL: [Self; 6] =
        [Self::Set, Self::Append, Self::Increment, Self::Decrement, Self::Multiply, Self::Merge];

    pub fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Append => "append",
            Self::Increment => "increment",
            Self::Decrement => "decrement",
            Self::Multiply => "multiply",
            Self::Merge => "merge",
        }
    }
}

/// Functions of the script file: before the model is asked, after it answered, and the one that names the next state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandlersForm {
    pub before_handler: Option<SpannedText>,
    pub after_handler: Option<SpannedText>,
    pub decide_handler: Option<SpannedText>,
}

/// `action.function`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionForm {
    Agent(AgentFunction),
    /// Script only; the agent is not called.
    Script,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionForm {
    pub target: SpannedText,
    pub condition: Option<SpannedText>,
    pub before_script: Option<SpannedText>,
    pub span: Range<usize>,
}

/// Limits as written; what is absent has a default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitsForm {
    pub max_steps: Option<u32>,
    pub max_visits: Option<u32>,
    pub max_depth: Option<u32>,
    pub max_model_calls: Option<u32>,
    /// Of agents that do not say it themselves.
    pub max_tool_rounds: Option<u32>,
    pub max_concurrency: Option<u32>,
}

impl ParameterForm {
    pub fn parameter(&self) -> WorkflowParameter {
        WorkflowParameter {
            name: self.name.value.clone(),
            kind: self.kind,
            description: self.description.clone(),
            required: self.required,
            default: self.default.clone(),
            schema: self.schema.clone(),
        }
    }
}

impl StateForm {
    /// The name inside its body.
    pub fn local_name(&self) -> &str {
        self.name.value.strip_prefix(self.scope.as_str()).unwrap_or(&self.name.value)
    }

    /// Whether reaching it ends the workflow, or the body that it belongs to.
    pub fn is_terminal(&self) -> bool {
        self.local_name() == "stop" || self.work == WorkForm::Final
    }

    /// The name of a state in the same body.
    pub fn sibling_name(&self, name: &str) -> String {
        format!("{}{name}", self.scope)
    }

    /// Where the state can lead other than by its transitions: after errors, limits and waiting too long.
    pub fn error_targets(&self) -> impl Iterator<Item = &SpannedText> {
        let on_error = match &self.on_error {
            Some(OnErrorForm::Go(target)) => Some(target),
            Some(OnErrorForm::Fail | OnErrorForm::Continue) | None => None,
        };
        let late = if let WorkForm::Pause(pause) = &self.work { pause.on_timeout.as_ref() } else { None };
        self.catch.iter().map(|one| &one.target).chain(on_error).chain(&self.on_limit).chain(late)
    }

    /// Keys of `common_data` that are written without a script: results, errors, updates, answers, items of a loop.
    pub fn written_keys(&self) -> impl Iterator<Item = &str> {
        let result = self.store.iter().filter_map(|store| store.key.as_deref());
        let errors = self.catch.iter().filter_map(|rule| rule.key.as_deref());
        let updates = self.updates.iter().filter_map(|update| update.path.value.split('.').next());
        let items: Vec<&str> = match &self.work {
            WorkForm::ForEach(form) => {
                vec![&form.item_name, &form.index_name, "total", "is_first", "is_last"]
            }
            WorkForm::Pause(form) => form.required_outputs.iter().map(String::as_str).collect(),
            WorkForm::Plain
            | WorkForm::Parallel(_)
            | WorkForm::Step(_)
            | WorkForm::Wait(_)
            | WorkForm::Fail { .. }
            | WorkForm::Final => Vec::new(),
        };
        result.chain(errors).chain(updates).chain(items)
    }

    /// The first states of its bodies, by their full names.
    pub fn bodies(&self) -> Vec<&str> {
        match &self.work {
            WorkForm::Parallel(form) => form.branches.iter().map(|(_, start)| start.as_str()).collect(),
            WorkForm::ForEach(form) => vec![form.start.as_str()],
            WorkForm::Plain
            | WorkForm::Step(_)
            | WorkForm::Pause(_)
            | WorkForm::Wait(_)
            | WorkForm::Fail { .. }
            | WorkForm::Final => Vec::new(),
        }
    }
}

impl WorkflowForm {
    /// States of the workflow itself that any other may lead to: after errors and limits, or if nothing else holds.
    pub fn error_targets(&self) -> impl Iterator<Item = &SpannedText> {
        let on_error = match &self.on_error {
            Some(OnErrorForm::Go(target)) => Some(target),
            Some(OnErrorForm::Fail | OnErrorForm::Continue) | None => None,
        };
        let no_match = match &self.no_match {
            NoMatchForm::Go(target) => Some(target),
            NoMatchForm::Error | NoMatchForm::Stop => None,
        };
        on_error.into_iter().chain(&self.on_limit).chain(no_match)
    }

    /// Default values of `common_data`.
    pub fn variable_values(&self) -> Map<String, Value> {
        self.variables.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect()
    }
}
