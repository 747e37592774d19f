//! The file form of a workflow: the content of the JSON with positions, before any name is resolved.
//!
//! A file holds one workflow or an array of them. One pass finds every unknown key, wrong type and missing field;
//! scripts are checked elsewhere.

mod actions;
mod agent;
mod ast;
mod context;
mod definitions;
mod definitions_lookup;
mod error_policy;
mod fields;
mod handlers;
mod header;
mod inputs;
mod keys;
pub mod known_keys;
mod nested_states;
mod pauses;
mod ports;
mod schema;
mod set_state;
mod spanned;
mod states;
mod steps;
mod work_forms;

use super::json::{JsonNode, JsonNodeKind};
use super::source::{FileDiagnostics, SourceFile};
use synthdev_domain::diagnostic::Diagnostic;

pub use ast::{
    AgentForm, ContextForm, FunctionForm, HandlersForm, LimitsForm, NoMatchForm, ParameterForm,
    StartCondition, StateForm, TransitionForm, UpdateForm, UpdateOperation, WorkflowDialect, WorkflowForm,
    WorkflowHead,
};
pub use fields::offset_in_string;
pub use handlers::lower_handlers;
pub use spanned::{InputForm, RequestForm, SpannedText, SpannedValue};
pub use work_forms::{
    CatchForm, ForEachForm, OnErrorForm, ParallelForm, PauseForm, RetryForm, StepArguments, StepForm,
    WaitForm, WorkForm,
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

/// `workflow_name` of a workflow object.
pub fn workflow_name(node: &JsonNode) -> Option<SpannedText> {
    let name = node.get("workflow_name")?;
    Some(SpannedValue { value: name.as_str()?.to_owned(), span: name.span.clone() })
}

/// Reads one workflow object completely. Findings of kind error mean that the form has holes.
pub fn parse_workflow(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<WorkflowForm> {
    fields::check_object(node, &keys::WORKFLOW, findings)?;
    let name = fields::required_text(node, "workflow_name", "the workflow", findings)?;
    let rewritten = steps::lower_steps(node, findings);
    let node = rewritten.as_ref().unwrap_or(node);
    let named = definitions::read_definitions(node, findings);
    let states = states::StateFormReader::new(&named).read_states(node, findings);
    let handled = states.iter().any(|state| state.handlers != HandlersForm::default());
    Some(WorkflowForm {
        name,
        dialect: match (&rewritten, handled) {
            (Some(_), _) => WorkflowDialect::Steps,
            (None, true) => WorkflowDialect::Handlers,
            (None, false) => WorkflowDialect::Seed,
        },
        script_file: fields::read_text(node, "script_file", findings),
        description: fields::read_text(node, "description", findings)
            .map_or_else(String::new, |text| text.value),
        version: fields::read_text(node, "version", findings).map(|text| text.value),
        start: header::start_condition(node, findings),
        inputs: header::read_inputs(node, &named, findings),
        output: header::read_workflow_output(node, &named, findings),
        variables: header::read_variables(node, findings),
        contexts: fields::read_list(node, "contexts", findings, context::read_context),
        agents: fields::read_list(node, "agents", findings, |one, findings| {
            agent::read_agent(one, &named, findings)
        }),
        states,
        limits: header::read_limits(node, findings),
        budget: error_policy::read_budget(node, &named, findings),
        timeout_ms: error_policy::read_timeout(node, &named, findings),
        on_error: error_policy::on_error(node, "", findings),
        on_limit: error_policy::read_target(node, "on_limit", "", findings),
        no_match: header::no_match(node, findings),
        lenient: fields::read_flag(node, "lenient", findings).unwrap_or_default(),
        condition_errors_are_false: header::condition_errors(node, findings),
        snapshot: header::read_snapshot_policy(node, findings),
        isolated: header::read_isolated(node, findings),
        loopback_ports: ports::read_ports(node, findings),
        span: node.span.clone(),
    })
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
        inputs: header::read_inputs(node, &named, findings).iter().map(ParameterForm::parameter).collect(),
        output: header::read_workflow_output(node, &named, findings).as_ref().map(ParameterForm::parameter),
        start: header::start_condition(node, findings),
        dialect: detect_dialect(node),
        name: name.value,
        span: name.span,
    })
}

/// Keys of a state that make it one with handlers.
const HANDLERS: [&str; 3] = ["pre_handler", "post_handler", "transition_handler"];

/// By the keys that only one of them has.
fn detect_dialect(node: &JsonNode) -> WorkflowDialect {
    let states = node.get("states").and_then(JsonNode::items).into_iter().flatten();
    let mut keys = states.flat_map(|state| state.members().into_iter().flatten());
    if node.get("steps").is_some() {
        WorkflowDialect::Steps
    } else if keys.any(|member| HANDLERS.contains(&member.key.as_str())) {
        WorkflowDialect::Handlers
    } else {
        WorkflowDialect::Seed
    }
}

#[cfg(test)]
mod tests;
