//! A `foreach` state but for its body: the items, what the body sees of the data, what may fail.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Count, List, Map, Number, Ref, Text, Whole};
use super::super::key_declaration::{KeyDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::fields::{
    non_null_member, read_amount, read_number, read_text, read_texts, report_missing, report_wrong_type,
};
use super::inputs::InputFormReader;
use super::parallel_form::read_max_concurrency;
use super::spanned::{InputForm, SpannedText, SpannedValue};
use super::value_shapes::{TEXTS, VALUE};
use synthdev_domain::diagnostic::DiagnosticSeverity;
use synthdev_domain::ids::StateIx;
use synthdev_domain::workflow::{ForEachSpec, ValueSource};

pub(super) const FOREACH: &[KeyDeclaration] = &[
    declared_key("in").with_value(VALUE, "An expression that gives a list, or the list.").required(),
    declared_key("each").with_value(Text, "The name of the item in the body. Default: item."),
    declared_key("at").with_value(Text, "The name of its position, from 0. Default: index."),
    declared_key("states")
        .with_value(List(&Ref("state")), "The body, from its own `start` to its own `stop`."),
    declared_key("sub_workflow").with_value(Text, "A workflow as the body."),
    declared_key("sub_workflow_input").with_value(Map(&VALUE), "The inputs of that workflow, by name."),
    declared_key("agent").with_value(Text, "An agent as the body."),
    declared_key("input").with_value(VALUE, "What that agent is told."),
    declared_key("needs_state")
        .with_value(TEXTS, "The parts of `common_data` that the body sees; `*` for all."),
    declared_key("max_concurrency").with_value(Count, "How many run at once."),
    declared_key("tolerated_failures").with_value(Whole, "Number of items that may fail."),
    declared_key("tolerated_percent")
        .with_value(Number { min: 0.0, max: Some(100.0) }, "Percentage of items that may fail."),
];

#[derive(Clone, PartialEq, Debug)]
pub struct ForEachForm {
    pub items: InputForm,
    /// Full name of the body's first state.
    pub start: String,
    /// As it runs, but for what stands above. `needs` may be everything.
    pub spec: ForEachSpec,
}

/// `scope` is that of the body, which has been read.
pub(super) fn read_for_each_form(
    node: &JsonNode,
    scope: &str,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ForEachForm> {
    let items = read_items(node, inputs, findings);
    let shorthand = non_null_member(node, "states").is_none();
    let named = read_texts(node, "needs_state", findings);
    if let Some(all) = named.iter().flatten().find(|path| path.value == "*").filter(|_| !shorthand) {
        let message =
            "every item sees all of `common_data`: name the parts that it needs, so that it sees no more";
        findings.add_diagnostic(DiagnosticSeverity::Info, "I02", all.span.clone(), message, None);
    }
    let named = named.map(|paths| paths.into_iter().map(needed_path).collect::<Vec<String>>());
    let handed_out = is_task(node).then(|| named.clone().unwrap_or_default());
    let sub_agent = sub_agent(node, findings);
    let needs = named
        // a call or an agent sees only what its inputs give it: the expressions may read everything
        .unwrap_or_else(|| if shorthand { vec!["*".to_owned()] } else { Vec::new() });
    let each = read_variable_name(node, "each", "item", findings);
    let at = read_variable_name(node, "at", "index", findings);
    if each == at {
        let span =
            node.get("at").or_else(|| node.get("each")).map_or(node.span.clone(), |one| one.span.clone());
        findings.add_error("E10", span, "`each` and `at` need different names", None);
    }
    let spec = ForEachSpec {
        items: ValueSource::Absent,
        each,
        at,
        start: StateIx::default(),
        needs,
        max_concurrency: read_max_concurrency(node, findings),
        tolerated_failures: read_amount(node, "tolerated_failures", findings).unwrap_or_default(),
        tolerated_percent: read_number(node, "tolerated_percent", 0.0..=100.0, findings).unwrap_or_default(),
        handed_out,
        sub_agent,
    };
    Some(ForEachForm { items: items?, start: format!("{scope}start"), spec })
}

/// `in`: an expression, or the items themselves.
fn read_items(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<InputForm> {
    let Some(value) = non_null_member(node, "in") else {
        let hint = "add \"in\": \"common_data.files\", an expression that gives an array";
        report_missing(node, "the foreach state has no `in`", hint, findings);
        return None;
    };
    let found = match &value.kind {
        JsonNodeKind::String(text) => {
            Some(InputForm::Expression(SpannedValue { value: text.clone(), span: value.span.clone() }))
        }
        _ => inputs.read_any_input(value, findings),
    };
    let wrong_kind = match &found {
        Some(InputForm::Value(literal)) => !literal.value.is_array(),
        Some(InputForm::Text(_) | InputForm::File(_)) => true,
        _ => false,
    };
    if wrong_kind {
        report_wrong_type(value, "`in` must be an array or an expression that gives one", findings);
    }
    found
}

/// What the names of sub-agents begin with.
pub(super) const OUTSIDE: char = '@';
/// The sub-agent name that leaves the choice to the client.
pub(super) const TASK: &str = "task";

pub(super) fn is_task(node: &JsonNode) -> bool {
    external_agent_name(node).is_some()
}

/// The name of a sub-agent.
pub(super) fn external_agent_name(node: &JsonNode) -> Option<&str> {
    non_null_member(node, "agent").and_then(JsonNode::as_str)?.strip_prefix(OUTSIDE)
}

/// The kind of sub-agent that is meant, if it is a certain one.
fn sub_agent(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    let name = external_agent_name(node).filter(|name| *name != TASK)?;
    let fine = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if let Some(value) = non_null_member(node, "agent")
        && (name.is_empty() || !name.chars().all(fine))
    {
        let message = format!("`@{name}` is no name of a sub-agent");
        let hint = "letters, digits, `_`, `-` and `.` after the `@`, or `@task` for any sub-agent";
        findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    Some(name.to_owned())
}

fn needed_path(path: SpannedText) -> String {
    path.value.strip_prefix("common_data.").map_or_else(|| path.value.clone(), str::to_owned)
}

/// A name in the body's `common_data`.
fn read_variable_name(node: &JsonNode, key: &str, usual: &str, findings: &mut FileDiagnostics<'_>) -> String {
    let Some(name) = read_text(node, key, findings) else { return usual.to_owned() };
    let mut letters = name.value.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    if !first || !letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
        let message = format!("`{}` is no name that scripts can use", name.value);
        let hint = format!("for example \"{usual}\", which scripts then read as `common_data.{usual}`");
        findings.add_error("E10", name.span.clone(), message, Some(hint));
    }
    if ["total", "is_first", "is_last"].contains(&name.value.as_str()) {
        let message = format!("`{}` is set for every item and cannot be given to `{key}`", name.value);
        findings.add_error("E10", name.span.clone(), message, None);
    }
    name.value
}
