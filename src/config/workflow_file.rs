//! The file form of a workflow: what stands in the JSON, with places, before any name is resolved.
//!
//! A file holds one workflow or an array of them (A60). Every unknown key, wrong type and missing field is found
//! in one pass; scripts are not looked at here.

mod fields;
mod keys;
mod parts;
mod states;

use std::ops::Range;

use serde_json::{Map, Value};

use super::json::{Kind, Node};
use super::source::{Findings, SourceFile};
use crate::domain::agent::{DEFAULT_TOOL_ROUNDS, ToolLoop};
use crate::domain::context::{DEFAULT_MAX_LENGTH, Side};
use crate::domain::diagnostic::Diagnostic;
use crate::domain::message::ChatRole;
use crate::domain::workflow::{AgentFunction, NoMatch, Parameter, ParameterType, SnapshotPolicy};

pub use fields::inside;

/// A value with its bytes in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub type Text = Spanned<String>;

/// What a list of workflows needs: read without looking at states or scripts.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowHead {
    pub name: String,
    pub description: String,
    pub inputs: Vec<Parameter>,
    pub output: Option<Parameter>,
    pub start: StartCondition,
    /// Of the name's text.
    pub span: Range<usize>,
}

/// When a workflow that was chosen begins (A46).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StartCondition {
    #[default]
    Immediate,
    /// Waits for what the person types.
    OnUserInput,
}

#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowForm {
    pub name: Text,
    pub description: String,
    pub version: Option<String>,
    pub start: StartCondition,
    pub inputs: Vec<ParameterForm>,
    pub output: Option<ParameterForm>,
    pub variables: Vec<(Text, Value)>,
    pub contexts: Vec<ContextForm>,
    pub agents: Vec<AgentForm>,
    pub states: Vec<StateForm>,
    pub limits: LimitsForm,
    pub no_match: NoMatch,
    pub condition_errors_are_false: bool,
    pub snapshot: SnapshotPolicy,
    pub span: Range<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterForm {
    pub name: Text,
    pub kind: ParameterType,
    pub description: String,
    pub required: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextForm {
    pub name: Text,
    pub messages: Vec<(ChatRole, String)>,
    pub max_length: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentForm {
    /// `name`, or the role's name (A38).
    pub id: Text,
    pub role: Text,
    pub context: Text,
    pub side: Side,
    pub max_tool_rounds: u32,
    pub tool_loop: ToolLoop,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateForm {
    pub name: Text,
    pub agent: Option<Text>,
    pub input: Option<InputForm>,
    pub function: Option<Spanned<FunctionForm>>,
    pub script: Option<Text>,
    pub sub_workflow: Option<Text>,
    pub sub_inputs: Vec<(Text, InputForm)>,
    /// `None`: the file has no list, which ends the workflow (A14).
    pub transitions: Option<Vec<TransitionForm>>,
    pub span: Range<usize>,
}

/// `action.function` (A17, A19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionForm {
    Agent(AgentFunction),
    /// Script only; the agent is not called.
    Script,
}

/// `input`: a text whose kind loading decides (A8), or one of the explicit forms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InputForm {
    Auto(Text),
    Text(Text),
    Expression(Text),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionForm {
    pub target: Text,
    pub condition: Option<Text>,
    pub before: Option<Text>,
    pub span: Range<usize>,
}

/// Limits as written; what is absent has a default (A52).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitsForm {
    pub max_steps: Option<u32>,
    pub max_visits: Option<u32>,
    pub max_depth: Option<u32>,
}

/// Names, descriptions and inputs of the workflows of one file. Cheap: states and scripts are not read, so a
/// workflow listed here may still have errors.
pub fn index(file: &SourceFile) -> (Vec<WorkflowHead>, Vec<Diagnostic>) {
    let mut findings = Findings::new(file);
    let heads = match Node::parse(file, &mut findings) {
        Some(root) => definitions(&root).filter_map(|node| head(node, &mut findings)).collect(),
        None => Vec::new(),
    };
    (heads, findings.list)
}

/// The workflow objects of a file: the whole file, or each item of its array (A60).
pub fn definitions(root: &Node) -> impl Iterator<Item = &Node> {
    match &root.kind {
        Kind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(root),
    }
    .iter()
}

/// `workflow_name` of a workflow object.
pub fn name_of(node: &Node) -> Option<Text> {
    let name = node.get("workflow_name")?;
    Some(Spanned { value: name.as_str()?.to_owned(), span: name.span.clone() })
}

/// Reads one workflow object completely. Findings of kind error mean that the form has holes.
pub fn read(node: &Node, findings: &mut Findings<'_>) -> Option<WorkflowForm> {
    fields::object(node, &keys::WORKFLOW, findings)?;
    let name = fields::required_text(node, "workflow_name", "the workflow", findings)?;
    Some(WorkflowForm {
        name,
        description: fields::text(node, "description", findings).map_or_else(String::new, |text| text.value),
        version: fields::text(node, "version", findings).map(|text| text.value),
        start: parts::start_condition(node, findings),
        inputs: parts::inputs(node, findings),
        output: parts::output(node, findings),
        variables: parts::variables(node, findings),
        contexts: fields::list(node, "contexts", findings, parts::context),
        agents: fields::list(node, "agents", findings, parts::agent),
        states: states::states(node, findings),
        limits: parts::limits(node, findings),
        no_match: parts::no_match(node, findings),
        condition_errors_are_false: parts::condition_errors(node, findings),
        snapshot: parts::snapshot(node, findings),
        span: node.span.clone(),
    })
}

impl ParameterForm {
    pub fn parameter(&self) -> Parameter {
        Parameter {
            name: self.name.value.clone(),
            kind: self.kind,
            description: self.description.clone(),
            required: self.required,
        }
    }
}

impl InputForm {
    pub fn text(&self) -> &Text {
        match self {
            Self::Auto(text) | Self::Text(text) | Self::Expression(text) => text,
        }
    }
}

impl WorkflowForm {
    /// Default values of `common_data`.
    pub fn variable_values(&self) -> Map<String, Value> {
        self.variables.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect()
    }
}

fn head(node: &Node, findings: &mut Findings<'_>) -> Option<WorkflowHead> {
    if node.members().is_none() {
        let message = format!("a workflow must be an object, this is {}", node.kind_name());
        findings.error("E10", node.span.clone(), message, None);
        return None;
    }
    let name = fields::required_text(node, "workflow_name", "the workflow", findings)?;
    Some(WorkflowHead {
        description: node.get("description").and_then(Node::as_str).unwrap_or_default().to_owned(),
        inputs: parts::inputs(node, findings).iter().map(ParameterForm::parameter).collect(),
        output: parts::output(node, findings).as_ref().map(ParameterForm::parameter),
        start: parts::start_condition(node, findings),
        name: name.value,
        span: name.span,
    })
}

#[cfg(test)]
mod tests;
