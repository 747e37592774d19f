//! `pause`, `delegate`, `wait`, `fail`: states that wait for an answer or an event, or end in an error.

use serde_json::Value;

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Any, Object, Ref, Text, Words};
use super::super::key_declaration::{
    KeyDeclaration, ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::fields::{
    check_object, non_null_member, read_choice, read_duration, read_text, read_texts, report_wrong_type,
    required_text,
};
use super::inputs::InputFormReader;
use super::spanned::{InputForm, RequestForm, SpannedText, SpannedValue};
use super::value_shapes::{DURATION, SCHEMA, TEXTS, TIME, VALUE};
use super::{error_policy, schema};
use synthdev_domain::delegation::DelegationSpec;
use synthdev_domain::duration::duration_ms;
use synthdev_domain::workflow::{PauseKind, PauseSpec, plain_text};

pub(super) const PAUSE: &[KeyDeclaration] = &[
    declared_key("kind")
        .with_value(Words(KIND_WORDS), "What is asked for. Default: what the other keys say, else approval."),
    declared_key("message").with_value(VALUE, "The text for the user."),
    declared_key("choices").with_value(TEXTS, "What can be chosen."),
    declared_key("schema")
        .with_value(SCHEMA, "A JSON Schema for the answer, or the name of one in `use.schemas`."),
    declared_key("required_outputs").with_value(TEXTS, "Names of values that must be given."),
    declared_key("ttl").with_value(DURATION, "How long to wait for an answer."),
    declared_key("default").with_value(Any, "The answer when the user gave none."),
    declared_key("on_timeout").with_value(Text, "The state to go to when the user did not answer in time."),
];

const KIND: [WordChoice<PauseKind>; 7] = [
    declared_choice("approval", PauseKind::Approval, "Yes or no: the result is true or false."),
    declared_choice("input", PauseKind::Text, "A text."),
    declared_choice("text", PauseKind::Text, "A text."),
    declared_choice("number", PauseKind::Number, "A number."),
    declared_choice("boolean", PauseKind::Boolean, "true or false."),
    declared_choice("choice", PauseKind::Choice, "One of `choices`."),
    declared_choice("outputs", PauseKind::Outputs, "Values for `required_outputs`."),
];
const KIND_WORDS: &[WordMeaning] = &word_meanings(&KIND);

/// Its `action` is the request, not the action of a state.
pub(super) const DELEGATE: &[KeyDeclaration] = &[
    declared_key("action").with_value(Ref("request"), "The task.").required(),
    declared_key("ttl").with_value(DURATION, "How long to wait for the result."),
    declared_key("default").with_value(Object, "The values when the user gave none."),
    declared_key("on_timeout").with_value(Text, "The state to go to when the user did not answer in time."),
];

pub(super) const REQUEST: ObjectDeclaration = ObjectDeclaration {
    name: "request",
    noun: "the action of a delegate state",
    description: "A task for the client that drives the run.",
    keys: &[
        declared_key("type").with_value(
            Text,
            "Kind of the task: llm_task, browser_automation, text_processing, decision, approval, custom.",
        ),
        declared_key("description").with_value(Text, "What is to be done, in a line."),
        declared_key("prompt").with_value(VALUE, "The whole instruction."),
        declared_key("required_outputs").with_value(TEXTS, "Names of values that must come back."),
        declared_key("schema").with_value(
            SCHEMA,
            "A JSON Schema for the values, one for each by its name, or the name of one in `use.schemas`.",
        ),
        declared_key("available_tools").with_value(TEXTS, "Tools that may be used."),
        declared_key("context").with_value(Any, "What is good to know."),
        declared_key("message")
            .with_value(Text, "What a client is told beside it, in place of how to go on."),
    ],
    future_keys: &[],
};

pub(super) const WAIT: &[KeyDeclaration] = &[
    declared_key("duration")
        .with_value(TIME, "Seconds, ISO 8601 (\"PT30S\"), a name of `use.timeouts`, or an expression."),
    declared_key("until").with_value(TIME, "A point in time: ISO 8601, or milliseconds since 1970."),
];

/// For states and steps.
pub(super) const FAIL: &[KeyDeclaration] = &[
    declared_key("error").with_value(Text, "The name of the error, for `catch`.").required(),
    declared_key("cause").with_value(VALUE, "What happened, for people."),
];

#[derive(Clone, PartialEq, Debug)]
pub struct PauseForm {
    pub message: Option<InputForm>,
    pub on_timeout: Option<SpannedText>,
    /// As it runs, but for what stands above.
    pub spec: PauseSpec,
}

#[derive(Clone, PartialEq, Debug)]
pub struct WaitForm {
    /// Until a time, not for a length of time.
    pub until_time: bool,
    pub input: InputForm,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FailForm {
    pub error: SpannedText,
    pub cause: Option<InputForm>,
}

pub(super) fn read_pause(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<PauseForm> {
    let outputs: Vec<String> = read_names(node, findings);
    let listed = non_null_member(node, "choices").is_some();
    let named = read_choice(node, "kind", &KIND, findings).map(|found| found.value);
    // without a `kind`, the other keys decide
    let kind = named.unwrap_or(match (listed, outputs.is_empty()) {
        (true, _) => PauseKind::Choice,
        (false, false) => PauseKind::Outputs,
        (false, true) => PauseKind::Approval,
    });
    let choices = read_choices(node, kind, findings);
    if kind != PauseKind::Outputs
        && let Some(value) = non_null_member(node, "required_outputs")
    {
        let hint = "leave `kind` out, or make it \"outputs\"";
        let message = "`required_outputs` needs an answer of several values";
        findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
    }
    let message = inputs.mostly_text_field(node, "message", findings).map(quoted_as_expression);
    let schema = schema::read_output_schema(node, &outputs, inputs.definitions, findings);
    let spec = PauseSpec { choices, schema, required_outputs: outputs, ..PauseSpec::new(kind) };
    let form = PauseForm { message, on_timeout: None, spec };
    Some(read_waiting(node, inputs, scope, form, findings))
}

/// How long is waited, and what then: the same for `pause` and `delegate`.
fn read_waiting(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    scope: &str,
    mut form: PauseForm,
    findings: &mut FileDiagnostics<'_>,
) -> PauseForm {
    form.spec.ttl_ms = error_policy::read_time_span(node, "ttl", inputs.definitions, findings);
    form.on_timeout = error_policy::read_target(node, "on_timeout", scope, findings);
    if let Some(target) = &form.on_timeout
        && non_null_member(node, "ttl").is_none()
    {
        let hint = "add \"ttl\": seconds or \"PT10M\"";
        let message = "`on_timeout` is never reached: the state waits without an end";
        findings.add_error("E10", target.span.clone(), message, Some(hint.to_owned()));
    }
    if let Some(value) = non_null_member(node, "default") {
        check_default(value, &form.spec, findings);
        form.spec.default = Some(value.to_value());
    }
    form
}

fn read_names(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<String> {
    let list = read_texts(node, "required_outputs", findings).unwrap_or_default();
    list.into_iter().map(|name| name.value).collect()
}

fn read_choices(node: &JsonNode, kind: PauseKind, findings: &mut FileDiagnostics<'_>) -> Vec<String> {
    let list = read_texts(node, "choices", findings).unwrap_or_default();
    let value = non_null_member(node, "choices");
    match value {
        Some(value) if kind != PauseKind::Choice => {
            let hint = "leave `kind` out, or make it \"choice\"";
            let message = "`choices` belongs to a pause of the kind `choice`";
            findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
        }
        Some(value) if list.is_empty() && value.items().is_some_and(<[JsonNode]>::is_empty) => {
            findings.add_error("E10", value.span.clone(), "`choices` is empty", None);
        }
        None if kind == PauseKind::Choice => {
            let span = non_null_member(node, "kind").map_or(node.span.clone(), |value| value.span.clone());
            let hint = "add \"choices\": [\"yes\", \"no\"]";
            findings.add_error("E10", span, "a choice needs `choices`", Some(hint.to_owned()));
        }
        Some(_) | None => {}
    }
    for (at, one) in list.iter().enumerate() {
        if list[..at].iter().any(|other| other.value == one.value) {
            findings.add_error("E10", one.span.clone(), format!("`{}` stands here twice", one.value), None);
        }
    }
    list.into_iter().map(|one| one.value).collect()
}

/// `default` is an answer like any other.
fn check_default(value: &JsonNode, form: &PauseSpec, findings: &mut FileDiagnostics<'_>) {
    let (fits, expected) = match form.kind {
        PauseKind::Approval | PauseKind::Boolean => {
            (matches!(value.kind, JsonNodeKind::Bool(_)), "true or false")
        }
        PauseKind::Number => (matches!(value.kind, JsonNodeKind::Number(_)), "a number"),
        PauseKind::Text => (matches!(value.kind, JsonNodeKind::String(_)), "a text"),
        PauseKind::Choice => {
            let known = value.as_str().is_some_and(|word| form.choices.iter().any(|one| one == word));
            (known || form.choices.is_empty(), "one of `choices`")
        }
        PauseKind::Outputs => {
            let held = |name: &String| value.get(name).is_some_and(|one| one.kind != JsonNodeKind::Null);
            (
                value.members().is_some() && form.required_outputs.iter().all(held),
                "an object of all `required_outputs`",
            )
        }
    };
    if !fits {
        findings.add_error("E10", value.span.clone(), format!("`default` must be {expected}"), None);
    } else if let Some(schema) = &form.schema {
        schema::check_value_fits(value, "default", schema, findings);
    }
}

/// The question to the user or the client, as one message.
pub(super) fn read_delegate(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<PauseForm> {
    let Some(action) = non_null_member(node, "action") else {
        let hint =
            "add \"action\": {\"type\": \"llm_task\", \"prompt\": \"…\", \"required_outputs\": [\"…\"]}";
        let message = "the delegate state has no `action`";
        findings.add_error("E10", node.span.start..node.span.start + 1, message, Some(hint.to_owned()));
        return None;
    };
    check_object(action, &REQUEST, findings)?;
    let required_outputs = read_names(action, findings);
    if required_outputs.is_empty() && non_null_member(action, "required_outputs").is_none() {
        let hint = "add \"required_outputs\": [\"result\"], the names of what must come back";
        let message = "the delegate state asks for no outputs";
        findings.add_error("E10", action.span.start..action.span.start + 1, message, Some(hint.to_owned()));
    }
    let description = read_text(action, "description", findings).map(|text| text.value);
    let prompt = inputs.mostly_text_field(action, "prompt", findings).map(quoted_as_expression);
    if description.is_none() && non_null_member(action, "prompt").is_none() {
        let hint = "add \"prompt\": \"…\"";
        let message = "the delegate state says neither `description` nor `prompt`";
        findings.add_error("E10", action.span.start..action.span.start + 1, message, Some(hint.to_owned()));
    }
    let mut request = read_request(action, findings);
    request.footer = delegation_footer(&request, &required_outputs);
    let (before, after) = (description.map(|text| format!("{text}\n\n")), request.footer.clone());
    let before =
        before.inspect(|text| text.trim_end().clone_into(&mut request.description)).unwrap_or_default();
    let message = RequestForm { text_before: before, prompt, text_after: after };
    let schema = schema::read_output_schema(action, &required_outputs, inputs.definitions, findings);
    let spec = PauseSpec {
        schema,
        required_outputs,
        request: Some(Box::new(request)),
        ..PauseSpec::new(PauseKind::Outputs)
    };
    let message = Some(InputForm::Request(Box::new(message)));
    let form = PauseForm { message, on_timeout: None, spec };
    Some(read_waiting(node, inputs, scope, form, findings))
}

/// A text in quotes is an expression, as an `input` is: its quotes are not for who reads it.
fn quoted_as_expression(input: InputForm) -> InputForm {
    let is_quoted = |text: &str| {
        let inside =
            |quote: char| text.trim().strip_prefix(quote)?.strip_suffix(quote).map(|inside| (inside, quote));
        let found = inside('\'').or_else(|| inside('"'));
        found.is_some_and(|(inside, quote)| !inside.contains([quote, '\\', '\n', '\r']))
    };
    match input {
        InputForm::Words(text) if is_quoted(&text.value) => InputForm::Expression(text),
        other => other,
    }
}

/// The fields of the action but its description and prompt.
fn read_request(action: &JsonNode, findings: &mut FileDiagnostics<'_>) -> DelegationSpec {
    let task = read_text(action, "type", findings).map(|kind| kind.value).unwrap_or_default();
    let tools = read_texts(action, "available_tools", findings).unwrap_or_default();
    let available_tools = tools.into_iter().map(|name| name.value).collect();
    let context = non_null_member(action, "context").map(JsonNode::to_value);
    let told = read_text(action, "message", findings).map(|told| told.value).unwrap_or_default();
    DelegationSpec { task, available_tools, context, told, ..DelegationSpec::default() }
}

/// The same, as text for the user.
fn delegation_footer(request: &DelegationSpec, outputs: &[String]) -> String {
    let mut lines = Vec::new();
    if !request.task.is_empty() {
        lines.push(format!("Kind of task: {}", request.task));
    }
    if !outputs.is_empty() {
        lines.push(format!("Answer with: {}", outputs.join(", ")));
    }
    if !request.available_tools.is_empty() {
        lines.push(format!("Tools: {}", request.available_tools.join(", ")));
    }
    lines.extend(request.context.as_ref().map(|value| format!("Context: {}", plain_text(value))));
    if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) }
}

pub(super) fn read_wait(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<WaitForm> {
    let (key, value) = match (non_null_member(node, "duration"), non_null_member(node, "until")) {
        (Some(value), None) => ("duration", value),
        (None, Some(value)) => ("until", value),
        (Some(_), Some(second)) => {
            let message = "a wait state has `duration` or `until`, not both";
            findings.add_error("E10", second.span.clone(), message, None);
            return None;
        }
        (None, None) => {
            let span = node.span.start..node.span.start + 1;
            let hint = "add \"duration\": \"PT30S\" or \"until\": \"2030-01-01T00:00:00Z\"";
            findings.add_error("E10", span, "the wait state does not say how long", Some(hint.to_owned()));
            return None;
        }
    };
    if key == "duration"
        && let JsonNodeKind::String(text) = &value.kind
    {
        if inputs.definitions.has_timeout(text) {
            let length = inputs.definitions.find_timeout(text, &value.span, findings)?;
            return Some(WaitForm { until_time: false, input: seconds_input(length, value) });
        }
        if text.trim_start().starts_with('P') {
            let length = read_duration(value, key, findings)?;
            return Some(WaitForm { until_time: false, input: seconds_input(length, value) });
        }
    }
    match &value.kind {
        // not waiting at all is a length, too
        JsonNodeKind::Number(_) if key == "duration" => {
            if let Err(why) = duration_ms(&value.to_value()) {
                findings.add_error("E10", value.span.clone(), why, None);
                return None;
            }
        }
        JsonNodeKind::Number(_) | JsonNodeKind::String(_) | JsonNodeKind::Object(_) => {}
        JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Array(_) => {
            report_wrong_type(value, &format!("`{key}` must be a time or an expression"), findings);
            return None;
        }
    }
    let input = inputs.read_mostly_text(value, findings)?;
    Some(WaitForm { until_time: key == "until", input })
}

fn seconds_input(milliseconds: u64, node: &JsonNode) -> InputForm {
    #[expect(clippy::cast_precision_loss, reason = "at most a year in milliseconds")]
    let value = Value::from(milliseconds as f64 / 1_000.0);
    InputForm::Value(SpannedValue { value, span: node.span.clone() })
}

pub(super) fn read_fail(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<FailForm> {
    let cause = inputs.mostly_text_field(node, "cause", findings);
    let error = required_text(node, "error", "the fail state", findings)?;
    let plain = error.value.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !plain {
        let message = format!("`{}` is no error name", error.value);
        let hint = "letters, digits, `.`, `_` and `-`, for example \"review.rejected\"";
        findings.add_error("E10", error.span.clone(), message, Some(hint.to_owned()));
    }
    Some(FailForm { error, cause })
}
