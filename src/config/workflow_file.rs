//! The file form of a workflow: what stands in the JSON, with places, before any name is resolved.
//!
//! A file holds one workflow or an array of them (A60). Every unknown key, wrong type and missing field is found
//! in one pass; scripts are not looked at here.

mod actions;
mod agent;
mod bodies;
mod context;
mod fields;
mod form;
mod handlers;
mod inputs;
mod keys;
mod named;
mod parts;
mod pauses;
mod ports;
mod safety;
mod schema;
mod states;
mod steps;
mod updates;
mod used;
mod value;
pub mod vocabulary;
mod work;

use super::json::{Kind, Node};
use super::source::{Findings, SourceFile};
use crate::domain::diagnostic::Diagnostic;

pub use fields::inside;
pub use form::{
    AgentForm, ContextForm, Dialect, FunctionForm, HandlersForm, LimitsForm, NoMatchForm, Operation,
    ParameterForm, StartCondition, StateForm, TransitionForm, UpdateForm, WorkflowForm, WorkflowHead,
};
pub use handlers::lower as lower_handlers;
pub use value::{InputForm, RequestForm, Spanned, Text};
pub use work::{
    Arguments, CatchForm, ForEachForm, OnErrorForm, ParallelForm, PauseForm, RetryForm, StepForm, WaitForm,
    WorkForm,
};

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
    let rewritten = steps::rewritten(node, findings);
    let node = rewritten.as_ref().unwrap_or(node);
    let named = used::read(node, findings);
    let states = states::States::of(&named).read(node, findings);
    let handled = states.iter().any(|state| state.handlers != HandlersForm::default());
    Some(WorkflowForm {
        name,
        dialect: match (&rewritten, handled) {
            (Some(_), _) => Dialect::Steps,
            (None, true) => Dialect::Handlers,
            (None, false) => Dialect::Seed,
        },
        script_file: fields::text(node, "script_file", findings),
        description: fields::text(node, "description", findings).map_or_else(String::new, |text| text.value),
        version: fields::text(node, "version", findings).map(|text| text.value),
        start: parts::start_condition(node, findings),
        inputs: parts::inputs(node, &named, findings),
        output: parts::output(node, &named, findings),
        variables: parts::variables(node, findings),
        contexts: fields::list(node, "contexts", findings, context::context),
        agents: fields::list(node, "agents", findings, |one, findings| agent::agent(one, &named, findings)),
        states,
        limits: parts::limits(node, findings),
        budget: safety::budget(node, &named, findings),
        timeout_ms: safety::timeout(node, &named, findings),
        on_error: safety::on_error(node, "", findings),
        on_limit: safety::target(node, "on_limit", "", findings),
        no_match: parts::no_match(node, findings),
        lenient: fields::flag(node, "lenient", findings).unwrap_or_default(),
        condition_errors_are_false: parts::condition_errors(node, findings),
        snapshot: parts::snapshot(node, findings),
        isolated: parts::isolated(node, findings),
        loopback_ports: ports::read(node, findings),
        span: node.span.clone(),
    })
}

fn head(node: &Node, findings: &mut Findings<'_>) -> Option<WorkflowHead> {
    if node.members().is_none() {
        let message = format!("a workflow must be an object, this is {}", node.kind_name());
        findings.error("E10", node.span.clone(), message, None);
        return None;
    }
    let name = fields::required_text(node, "workflow_name", "the workflow", findings)?;
    let named = used::schemas_of(node);
    Some(WorkflowHead {
        description: node.get("description").and_then(Node::as_str).unwrap_or_default().to_owned(),
        inputs: parts::inputs(node, &named, findings).iter().map(ParameterForm::parameter).collect(),
        output: parts::output(node, &named, findings).as_ref().map(ParameterForm::parameter),
        start: parts::start_condition(node, findings),
        dialect: dialect(node),
        name: name.value,
        span: name.span,
    })
}

/// Keys of a state that make it one with handlers.
const HANDLERS: [&str; 3] = ["pre_handler", "post_handler", "transition_handler"];

/// By the keys that only one of them has.
fn dialect(node: &Node) -> Dialect {
    let states = node.get("states").and_then(Node::items).into_iter().flatten();
    let mut keys = states.flat_map(|state| state.members().into_iter().flatten());
    if node.get("steps").is_some() {
        Dialect::Steps
    } else if keys.any(|member| HANDLERS.contains(&member.key.as_str())) {
        Dialect::Handlers
    } else {
        Dialect::Seed
    }
}

#[cfg(test)]
mod tests;
