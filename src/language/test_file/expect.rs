//! `expect`: the expected result of a run. What is not mentioned is not judged, except that a run completes and uses
//! everything that was scripted for it.

use serde_json::Value;

use super::fields::{read_text_pattern, read_whole_number, value_at, wrong_type_error};
use crate::did_you_mean;
use crate::fields::{ObjectFields, SpannedField, is_free};
use crate::json::{JsonNode, JsonNodeKind};
use crate::source::FileDiagnostics;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::mock_results::TextPattern;

#[derive(Clone, Debug)]
pub struct TestExpectation {
    /// `completed`, unless an error is expected.
    pub status: Option<RunStatus>,
    pub path: Option<Vec<SpannedField<String>>>,
    pub visits: Vec<(SpannedField<String>, u64)>,
    pub visited_states: Vec<SpannedField<String>>,
    pub not_visited_states: Vec<SpannedField<String>>,
    /// Messages in this order, with anything between them.
    pub messages: Vec<MessageExpected>,
    /// Variables of the workflow at its end.
    pub data: Vec<(String, Value)>,
    pub output: Option<Value>,
    pub output_pattern: Option<TextPattern>,
    pub error: Option<ErrorExpected>,
    /// Codes of all warnings, in order.
    pub warnings: Option<Vec<String>>,
    pub cost: CostExpected,
    /// Everything scripted was used.
    pub replies_used: bool,
}

#[derive(Clone, Debug, Default)]
pub struct MessageExpected {
    pub context: Option<String>,
    /// An agent, or `workflow`, `human`, `script`.
    pub author: Option<String>,
    pub text: Option<TextPattern>,
    /// Sent to one agent only, not in the context; `None`: in the context.
    pub private: Option<bool>,
}

#[derive(Clone, Debug)]
pub struct ErrorExpected {
    /// Of the error, or of what caused it inside a child.
    pub code: Option<String>,
    pub state: Option<String>,
    pub detail: Option<TextPattern>,
}

#[derive(Clone, Debug, Default)]
pub struct CostExpected {
    pub calls: Option<u64>,
    pub max_calls: Option<u64>,
    pub tokens: Option<u64>,
    pub max_tokens: Option<u64>,
    pub usd: Option<f64>,
    pub max_usd: Option<f64>,
}

pub(super) const KEYS: &[&str] = &[
    "status",
    "path",
    "visits",
    "visited",
    "not_visited",
    "messages",
    "data",
    "output",
    "output_matches",
    "error",
    "warnings",
    "cost",
    "replies_used",
];
pub(super) const MESSAGE_KEYS: &[&str] = &["context", "author", "text", "private"];
pub(super) const ERROR_KEYS: &[&str] = &["code", "state", "detail"];
pub(super) const COST_KEYS: &[&str] = &["calls", "max_calls", "tokens", "max_tokens", "usd", "max_usd"];
const STATUSES: [(&str, RunStatus); 4] = [
    ("completed", RunStatus::Completed),
    ("failed", RunStatus::Failed),
    ("paused", RunStatus::Paused),
    ("cancelled", RunStatus::Cancelled),
];

impl Default for TestExpectation {
    fn default() -> Self {
        Self {
            status: Some(RunStatus::Completed),
            path: None,
            visits: Vec::new(),
            visited_states: Vec::new(),
            not_visited_states: Vec::new(),
            messages: Vec::new(),
            data: Vec::new(),
            output: None,
            output_pattern: None,
            error: None,
            warnings: None,
            cost: CostExpected::default(),
            replies_used: true,
        }
    }
}

impl TestExpectation {
    /// Every state that an expectation names.
    pub fn states(&self) -> impl Iterator<Item = &SpannedField<String>> {
        let path = self.path.iter().flatten();
        path.chain(self.visits.iter().map(|(state, _)| state))
            .chain(&self.visited_states)
            .chain(&self.not_visited_states)
    }
}

pub(super) fn read_expectation(
    test: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> TestExpectation {
    let Some(node) = test.get(&["expect"], findings) else { return TestExpectation::default() };
    let Some(fields) = ObjectFields::from_node(node, "`expect`", findings) else {
        return TestExpectation::default();
    };
    fields.reject_unknown_keys(KEYS, findings);
    let error = fields.get(&["error"], findings).and_then(|node| read_error(node, findings));
    let usual = error.is_none().then_some(RunStatus::Completed);
    TestExpectation {
        status: read_status(&fields, findings).or(usual),
        path: fields.texts(&["path"], findings),
        visits: read_visits(&fields, findings),
        visited_states: fields.texts(&["visited"], findings).unwrap_or_default(),
        not_visited_states: fields.texts(&["not_visited"], findings).unwrap_or_default(),
        messages: read_messages(&fields, findings),
        data: read_data(&fields, findings),
        output: node.get("output").map(JsonNode::to_value),
        output_pattern: read_text_pattern(&fields, "output_matches", findings),
        error,
        warnings: fields
            .texts(&["warnings"], findings)
            .map(|codes| codes.into_iter().map(|code| code.value).collect()),
        cost: read_cost(&fields, findings),
        replies_used: fields.flag(&["replies_used"], findings).unwrap_or(true),
    }
}

fn read_status(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Option<RunStatus> {
    let word = fields.text(&["status"], findings)?;
    let found = STATUSES.iter().find(|(name, _)| *name == word.value);
    if found.is_none() {
        let known = STATUSES.map(|(name, _)| name);
        let hint = did_you_mean::suggest_or_list(&word.value, "a run ends as", &known);
        findings.add_error("C06", word.span, format!("`status` cannot be `{}`", word.value), hint);
    }
    found.map(|(_, status)| *status)
}

fn read_visits(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<(SpannedField<String>, u64)> {
    let Some(node) = fields.get(&["visits"], findings) else { return Vec::new() };
    let Some(states) = ObjectFields::from_node(node, "`visits`", findings) else { return Vec::new() };
    let named = states.members.iter();
    named
        .filter_map(|member| {
            let count = read_whole_number(&member.key, &member.value, findings)?;
            Some((SpannedField { value: member.key.clone(), span: member.key_span.clone() }, count))
        })
        .collect()
}

fn read_messages(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Vec<MessageExpected> {
    let nodes = fields.list(&["messages"], findings).unwrap_or_default();
    nodes.iter().filter_map(|node| read_message(node, findings)).collect()
}

fn read_message(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<MessageExpected> {
    if let Some(text) = node.as_str() {
        return Some(MessageExpected { text: Some(TextPattern::new(text)), ..MessageExpected::default() });
    }
    let fields = ObjectFields::from_node(node, "an expected message", findings)?;
    fields.reject_unknown_keys(MESSAGE_KEYS, findings);
    let text =
        |key: &str, findings: &mut FileDiagnostics<'_>| fields.text(&[key], findings).map(|text| text.value);
    Some(MessageExpected {
        context: text("context", findings),
        author: text("author", findings),
        text: read_text_pattern(&fields, "text", findings),
        private: fields.flag(&["private"], findings),
    })
}

fn read_data(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> Vec<(String, Value)> {
    let Some(node) = fields.get(&["data"], findings) else { return Vec::new() };
    let Some(keys) = ObjectFields::from_node(node, "`data`", findings) else { return Vec::new() };
    let named = keys.members.iter().filter(|member| !is_free(&member.key));
    named.map(|member| (member.key.clone(), value_at(&member.value).value)).collect()
}

fn read_error(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<ErrorExpected> {
    match &node.kind {
        JsonNodeKind::String(code) => {
            Some(ErrorExpected { code: Some(code.clone()), state: None, detail: None })
        }
        JsonNodeKind::Object(_) => {
            let fields = ObjectFields::from_node(node, "an expected error", findings)?;
            fields.reject_unknown_keys(ERROR_KEYS, findings);
            let text = |key: &str, findings: &mut FileDiagnostics<'_>| {
                fields.text(&[key], findings).map(|text| text.value)
            };
            Some(ErrorExpected {
                code: text("code", findings),
                state: text("state", findings),
                detail: read_text_pattern(&fields, "detail", findings),
            })
        }
        _ => {
            wrong_type_error(
                "error",
                "the code of an error, or an object with its code, state and detail",
                node,
                findings,
            );
            None
        }
    }
}

fn read_cost(fields: &ObjectFields<'_>, findings: &mut FileDiagnostics<'_>) -> CostExpected {
    let Some(node) = fields.get(&["cost"], findings) else { return CostExpected::default() };
    let Some(cost) = ObjectFields::from_node(node, "`cost`", findings) else {
        return CostExpected::default();
    };
    cost.reject_unknown_keys(COST_KEYS, findings);
    let mut count = |key: &str| {
        let node = node.get(key)?;
        read_whole_number(key, node, findings)
    };
    let (calls, max_calls, tokens, max_tokens) =
        (count("calls"), count("max_calls"), count("tokens"), count("max_tokens"));
    CostExpected {
        calls,
        max_calls,
        tokens,
        max_tokens,
        usd: cost.amount(&["usd"], findings),
        max_usd: cost.amount(&["max_usd"], findings),
    }
}
