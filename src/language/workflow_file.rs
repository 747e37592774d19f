//! The file form of a workflow: the content of the JSON with positions, before any name is resolved.
//!
//! A file holds one workflow or an array of them. One pass finds every unknown key, wrong type and missing field;
//! scripts are checked elsewhere.

mod action_form;
mod actions;
mod agent;
mod context;
pub mod declared_keys;
mod definitions;
mod definitions_lookup;
mod error_policy;
mod fields;
mod for_each_form;
mod handlers;
mod inputs;
mod limits;
mod nested_states;
mod parallel_form;
mod parameter;
mod pauses;
mod ports;
mod recovery_forms;
mod requirements;
mod schema;
mod set_state;
mod spanned;
mod state_form;
mod states;
mod steps;
mod transition;
mod unreadable_file;
mod value_shapes;
mod work_forms;
mod workflow_object;

use super::json::{JsonNode, JsonNodeKind};
use super::source::{FileDiagnostics, SourceFile};
use synthdev_domain::diagnostic::Diagnostic;

pub use action_form::FunctionForm;
pub use actions::StepForm;
pub use agent::AgentForm;
pub use context::ContextForm;
pub use fields::offset_in_string;
pub use for_each_form::ForEachForm;
pub use handlers::lower_handlers;
pub use limits::LimitsForm;
pub use parallel_form::ParallelForm;
pub use parameter::ParameterForm;
pub use pauses::{FailForm, PauseForm, WaitForm};
pub use ports::read_port_list;
pub use recovery_forms::{CatchForm, OnErrorForm, RetryForm};
pub use requirements::RequirementsForm;
pub use set_state::{UpdateForm, UpdateOperation};
pub use spanned::{InputForm, RequestForm, SpannedText, SpannedValue, StepArguments};
pub use state_form::{HandlersForm, StateForm};
pub use transition::TransitionForm;
pub use unreadable_file::{UnreadableFile, meant_names};
pub use work_forms::WorkForm;
pub use workflow_object::{
    NoMatchForm, StartCondition, WorkflowDialect, WorkflowForm, WorkflowHead, parse_workflow,
};

/// Names, descriptions and inputs of the workflows of one file. Cheap: states and scripts are not read, so a
/// workflow listed here may still have errors.
pub fn read_heads(file: &SourceFile) -> (Vec<WorkflowHead>, Vec<Diagnostic>) {
    let mut findings = FileDiagnostics::new(file);
    let heads = match JsonNode::parse(file, &mut findings) {
        Some(root) => workflow_nodes(&root).filter_map(|node| read_head(node, &mut findings)).collect(),
        None => Vec::new(),
    };
    (heads, findings.list)
}

/// The workflow objects of a file: the whole file, or each item of its array.
pub fn workflow_nodes(root: &JsonNode) -> impl Iterator<Item = &JsonNode> {
    match &root.kind {
        JsonNodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(root),
    }
    .iter()
}

/// As [`workflow_nodes`], taken out of the file.
pub fn into_workflow_nodes(root: JsonNode) -> Vec<JsonNode> {
    match root.kind {
        JsonNodeKind::Array(items) => items,
        kind => vec![JsonNode { kind, ..root }],
    }
}

/// `workflow_name` of a workflow object.
pub fn workflow_name(node: &JsonNode) -> Option<SpannedText> {
    let name = node.get("workflow_name")?;
    Some(SpannedValue { value: name.as_str()?.to_owned(), span: name.span.clone() })
}

fn read_head(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<WorkflowHead> {
    if node.members().is_none() {
        let message = format!("a workflow must be an object, this is {}", node.kind_name());
        findings.add_error("E10", node.span.clone(), message, None);
        return None;
    }
    let name = fields::required_text(node, "workflow_name", "the workflow", findings)?;
    let named = definitions::read_schemas(node);
    Some(WorkflowHead {
        description: node.get("description").and_then(JsonNode::as_str).unwrap_or_default().to_owned(),
        inputs: parameter::read_inputs(node, &named, findings).iter().map(ParameterForm::parameter).collect(),
        output: parameter::read_workflow_output(node, &named, findings)
            .as_ref()
            .map(ParameterForm::parameter),
        start: workflow_object::start_condition(node, findings),
        dialect: detect_dialect(node),
        name: name.value,
        span: name.span,
    })
}

/// By the keys that only one of them has.
fn detect_dialect(node: &JsonNode) -> WorkflowDialect {
    let states = node.get("states").and_then(JsonNode::items).into_iter().flatten();
    let mut keys = states.flat_map(|state| state.members().into_iter().flatten());
    if node.get("steps").is_some() {
        WorkflowDialect::Steps
    } else if keys.any(|member| state_form::HANDLERS.iter().any(|key| key.name == member.key)) {
        WorkflowDialect::Handlers
    } else {
        WorkflowDialect::Seed
    }
}

#[cfg(test)]
mod tests;
