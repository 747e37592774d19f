//! Mocks of a test: results of tools and steps, answers of users, prices, the clock.

use serde_json::{Map, Value, json};

use super::fields::{has_any, read_text_pattern, read_whole_number, wrong_type_error};
use crate::fields::{ObjectFields, SpannedField, is_free};
use crate::json::{JsonNode, JsonNodeKind};
use crate::source::FileDiagnostics;
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::mock_results::{
    ArgumentsPattern, MockReaction, MockToolResult, MockUserAnswer, MockUserMessage, TextPattern,
};
use synthdev_domain::workflow::plain_text;

/// The results of every tool that has none of its own left.
pub const ANY_TOOL: &str = "*";

pub(super) const RESULT_KEYS: &[&str] = &["match", "result", "error", "data", "delay_ms", "repeat"];
pub(super) const ANSWER_KEYS: &[&str] = &["state", "match", "answer", "timeout"];
pub(super) const SAID_KEYS: &[&str] = &["state", "text"];
pub(super) const PRICE_KEYS: &[&str] = &["input", "output", "cached", "written"];
/// Steps whose structured result may be given directly, with its keys; the first says whether the step succeeded, the
/// second is the meaning of a plain text.
const STEPS: [(&str, &[&str]); 2] = [
    ("shell", &["exit_code", "stdout", "stderr", "timed_out", "duration_ms"]),
    ("http_request", &["status", "body", "headers", "timed_out", "duration_ms"]),
];

/// `tool_results`: a list, or one result, per tool.
pub(super) fn read_tool_results(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<(SpannedField<String>, Vec<MockToolResult>)> {
    let Some(node) = fields.get(&["tool_results"], findings) else { return Vec::new() };
    let Some(tools) = ObjectFields::from_node(node, "`tool_results`", findings) else { return Vec::new() };
    let mut all = Vec::new();
    for member in tools.members.iter().filter(|member| !is_free(&member.key)) {
        let tool = SpannedField { value: member.key.clone(), span: member.key_span.clone() };
        let items = member.value.items().unwrap_or(std::slice::from_ref(&member.value));
        let mut list: Vec<MockToolResult> =
            items.iter().filter_map(|item| read_tool_result(&tool.value, item, findings)).collect();
        if tool.value == ANY_TOOL {
            // the default answers whatever is not answered otherwise, however often
            list.iter_mut().for_each(|result| result.is_repeatable = true);
        }
        all.push((tool, list));
    }
    all
}

fn read_tool_result(
    tool: &str,
    node: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) -> Option<MockToolResult> {
    if node.members().is_none() || is_bare(tool, node) {
        return Some(read_mock_result(tool, node, findings));
    }
    let fields = ObjectFields::from_node(node, "a result", findings)?;
    fields.reject_unknown_keys(RESULT_KEYS, findings);
    let fit = node.get("match").map(|node| match &node.kind {
        JsonNodeKind::String(text) => ArgumentsPattern::Text(TextPattern::new(text)),
        _ => ArgumentsPattern::Part(node.to_value()),
    });
    let error = fields.text(&["error"], findings);
    let mut result = match (node.get("result"), error) {
        (Some(node), None) => read_mock_result(tool, node, findings),
        (None, Some(error)) => mock_result(false, error.value, None),
        (Some(_), Some(error)) => {
            let hint = Some("keep one of the two".to_owned());
            findings.add_error("C07", error.span, "a result and an error exclude each other", hint);
            return None;
        }
        (None, None) => {
            let hint = Some("for example {\"result\": \"the text that the tool gives\"}".to_owned());
            findings.add_error(
                "C03",
                node.span.clone(),
                format!("a result of `{tool}` needs `result` or `error`"),
                hint,
            );
            return None;
        }
    };
    result.data = node.get("data").map(JsonNode::to_value).or(result.data);
    let delay = node.get("delay_ms").and_then(|node| read_whole_number("delay_ms", node, findings));
    let repeat = fields.flag(&["repeat"], findings).unwrap_or(false);
    Some(MockToolResult {
        arguments_pattern: fit,
        delay_ms: delay.unwrap_or(0),
        is_repeatable: repeat,
        ..result
    })
}

/// `{"exit_code": 1}` for `shell` and the like: the result itself.
fn is_bare(tool: &str, node: &JsonNode) -> bool {
    STEPS.iter().any(|(step, keys)| *step == tool && has_any(node, keys))
}

/// A text is the result that the model gets; any other value is data as well. Fields of a step's result that the file
/// leaves out have defaults.
fn read_mock_result(tool: &str, node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> MockToolResult {
    let value = node.to_value();
    let Some((_, keys)) = STEPS.iter().find(|(step, _)| *step == tool) else {
        return match value {
            Value::String(text) => mock_result(true, text, None),
            value => mock_result(true, plain_text(&value), Some(value)),
        };
    };
    let given = match value {
        Value::Object(given) => given,
        other => Map::from_iter([(keys[1].to_owned(), other)]),
    };
    if let Some(fields) = node.members().and_then(|_| ObjectFields::from_node(node, "this result", findings))
    {
        fields.reject_unknown_keys(keys, findings);
    }
    let mut data = if tool == "shell" {
        json!({"exit_code": 0, "stdout": "", "stderr": "", "timed_out": false, "duration_ms": 0})
    } else {
        json!({"status": 200, "headers": {}, "body": null, "timed_out": false, "duration_ms": 0})
    };
    if let Some(data) = data.as_object_mut() {
        data.extend(given);
    }
    let number = data.get(keys[0]).and_then(Value::as_i64);
    let ok = number.is_some_and(|number| if tool == "shell" { number == 0 } else { number < 400 });
    mock_result(ok, plain_text(&data), Some(data))
}

fn mock_result(ok: bool, content: String, data: Option<Value>) -> MockToolResult {
    MockToolResult { arguments_pattern: None, ok, content, data, delay_ms: 0, is_repeatable: false }
}

/// `answers`: in order; an object with `answer` or `timeout` may say which question it is for.
pub(super) fn read_answers(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<MockUserAnswer> {
    let nodes = fields.list(&["answers"], findings).unwrap_or_default();
    nodes.iter().filter_map(|node| read_mock_answer(node, findings)).collect()
}

fn read_mock_answer(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<MockUserAnswer> {
    if !has_any(node, &["answer", "timeout"]) {
        return Some(MockUserAnswer {
            state: None,
            question_pattern: None,
            reaction: MockReaction::Value(node.to_value()),
        });
    }
    let fields = ObjectFields::from_node(node, "an answer", findings)?;
    fields.reject_unknown_keys(ANSWER_KEYS, findings);
    let silent = fields.flag(&["timeout"], findings).unwrap_or(false);
    let reaction = match (node.get("answer"), silent) {
        (Some(node), false) => MockReaction::Value(node.to_value()),
        (None, true) => MockReaction::Silence,
        _ => {
            let message = "an answer needs either `answer` or `\"timeout\": true`";
            findings.add_error("C03", node.span.clone(), message, None);
            return None;
        }
    };
    let state = fields.text(&["state"], findings).map(|state| state.value);
    Some(MockUserAnswer { state, question_pattern: read_text_pattern(&fields, "match", findings), reaction })
}

/// `said`: in order; each is said when the run enters its state.
pub(super) fn read_user_messages(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<MockUserMessage> {
    let nodes = fields.list(&["said"], findings).unwrap_or_default();
    let read = |node: &JsonNode| {
        let fields = ObjectFields::from_node(node, "a message", findings)?;
        fields.reject_unknown_keys(SAID_KEYS, findings);
        let (state, text) = (fields.text(&["state"], findings), fields.text(&["text"], findings));
        let message =
            state.zip(text).map(|(state, text)| MockUserMessage { state: state.value, text: text.value });
        if message.is_none() {
            let problem = "a message needs `state` and `text`: when it is said, and what";
            findings.add_error("C03", node.span.clone(), problem, None);
        }
        message
    };
    nodes.iter().filter_map(read).collect()
}

/// `prices`: dollars per million tokens, as in the catalogue of models.
pub(super) fn read_prices(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<TokenPrice> {
    let node = fields.get(&["prices"], findings)?;
    let prices = ObjectFields::from_node(node, "`prices`", findings)?;
    prices.reject_unknown_keys(PRICE_KEYS, findings);
    Some(TokenPrice {
        input: prices.amount(&["input"], findings).unwrap_or(0.0),
        output: prices.amount(&["output"], findings).unwrap_or(0.0),
        cached: prices.amount(&["cached"], findings),
        written: prices.amount(&["written"], findings),
    })
}

/// `now`: what the clock shows when the run begins.
pub(super) fn read_start_time(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Timestamp> {
    let node = fields.get(&["now"], findings)?;
    let time = node.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    if time.is_none() {
        wrong_type_error("now", "a time such as \"2026-01-31T08:00:00Z\"", node, findings);
    }
    time.map(|time| Timestamp(time.as_millisecond()))
}
