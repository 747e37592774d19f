//! `tool`, `mcp`, `shell`, `http`: one action outside, without a model. All four become a step of a tool.

use std::ops::RangeInclusive;

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{List, Map, Text, Words};
use super::super::key_declaration::{KeyDeclaration, declared_choice, declared_key, declared_word};
use super::super::source::FileDiagnostics;
use super::error_policy::read_time_span;
use super::fields::{non_null_member, read_choice, read_text, report_wrong_type, required_text};
use super::inputs::{InputFormReader, read_arguments, texts_by_name};
use super::spanned::{InputForm, SpannedText, SpannedValue, StepArguments};
use super::value_shapes::{EXPECTED, HEADERS, TEXTS_BY_NAME, VALUE, WORDS};
use synthdev_domain::tool::ToolRisk;
use synthdev_domain::workflow::ActionExpectation;

pub(super) const TOOL: &[KeyDeclaration] = &[
    declared_key("tool").with_value(Text, "The tool's name, or that of a call in `use.tools`.").required(),
    declared_key("arguments")
        .with_value(Map(&VALUE), "Its arguments; texts that are expressions are evaluated."),
];
/// The tool of a server, for states and steps.
pub(super) const MCP_TOOL: &[KeyDeclaration] = &[
    declared_key("server").with_value(Text, "The server's name.").required(),
    declared_key("tool").with_value(Text, "The tool's name.").required(),
];
pub(super) const MCP_ARGUMENTS: &[KeyDeclaration] = &[declared_key("arguments")
    .with_value(Map(&VALUE), "Its arguments; texts that are expressions are evaluated.")];
/// A command, for states and steps.
pub(super) const COMMAND: &[KeyDeclaration] = &[
    declared_key("command")
        .with_value(WORDS, "The command line; with `args` a program that is started without a shell.")
        .required(),
    declared_key("args").with_value(List(&VALUE), "Its arguments, passed one by one."),
    declared_key("cwd").with_value(WORDS, "The directory, inside the project."),
    declared_key("env").with_value(TEXTS_BY_NAME, "Variables of its environment."),
];
pub(super) const EXPECTED_EXIT: &[KeyDeclaration] = &[declared_key("expect_exit").with_value(
    EXPECTED,
    "Exit codes that count as done; `any` leaves the decision to the transitions. Default: 0.",
)];
/// Who runs a command, for states and steps.
pub(super) const EXECUTION: &[KeyDeclaration] = &[declared_key("execution").with_value(
    Words(&[declared_word("server", "This program, also in a task of a sub-agent.")]),
    "Who runs it. Default: this program; in a task of a sub-agent, the sub-agent.",
)];
/// A request, for states and steps.
pub(super) const REQUEST_PARTS: &[KeyDeclaration] = &[
    declared_key("method")
        .with_value(Text, "GET, POST, PUT, PATCH, DELETE or HEAD. Default: GET, with a body POST."),
    declared_key("url").with_value(WORDS, "The address.").required(),
    declared_key("headers").with_value(HEADERS, "Headers of the request."),
    declared_key("query").with_value(TEXTS_BY_NAME, "Added to the address."),
    declared_key("body").with_value(VALUE, "The body; an object is sent as JSON."),
];
pub(super) const EXPECTED_STATUS: &[KeyDeclaration] = &[declared_key("expect_status").with_value(
    EXPECTED,
    "Statuses that count as done; `any` leaves the decision to the transitions. Default: below 400.",
)];

#[derive(Clone, PartialEq, Debug)]
pub struct StepForm {
    pub tool: SpannedText,
    /// `None`: that of the tool of this name, found while the workflow is gathered.
    pub risk: Option<ToolRisk>,
    pub arguments: StepArguments,
    pub expect: ActionExpectation,
}

/// The longest time that the tools accept for one action.
const LONGEST_SECONDS: u64 = 3_600;

/// `tool`: a tool of the project by its name, or a call of `use.tools`, whose arguments the state may replace.
pub(super) fn read_tool(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<StepForm> {
    let mut given = read_arguments(node, "arguments", inputs, findings);
    let mut tool = required_text(node, "tool", "the tool state", findings)?;
    if let Some((known, usual)) = inputs.definitions.find_tool(&tool.value) {
        given.fill_from_defaults(usual);
        tool = SpannedValue { value: known.value.clone(), span: tool.span };
    }
    Some(StepForm { tool, risk: None, arguments: given, expect: ActionExpectation::Ok })
}

pub(super) fn read_mcp(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<StepForm> {
    let mut all = StepArguments::default();
    for key in ["server", "tool"] {
        let name = required_text(node, key, "the mcp state", findings);
        if let (Some(name), Some(value)) = (name, non_null_member(node, key)) {
            all.add_argument(
                SpannedValue { value: key.to_owned(), span: name.span },
                value,
                inputs,
                findings,
            );
        }
    }
    if let Some(value) = non_null_member(node, "arguments") {
        let name = SpannedValue { value: "arguments".to_owned(), span: value.span.clone() };
        match &value.kind {
            JsonNodeKind::Object(_) => all.add_argument(name, value, inputs, findings),
            _ => report_wrong_type(value, "`arguments` must be an object", findings),
        }
    }
    Some(build_action("mcp", node, all, ActionExpectation::Ok))
}

/// One text is a line for the shell; with `args` it is a program that is started without one.
pub(super) fn read_shell(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<StepForm> {
    let words = [declared_choice("server", (), ""), declared_choice("client", (), "")];
    if let Some(word) = read_text(node, "execution", findings)
        && word.value != "server"
    {
        if word.value == "client" {
            let message = "`execution: \"client\"` is not supported in this version";
            let hint = "leave it out: the command runs where this program runs";
            findings.add_error("E10", word.span, message, Some(hint.to_owned()));
        } else {
            read_choice(node, "execution", &words, findings);
        }
    }
    let mut all = StepArguments::default();
    read_text_argument(node, "command", inputs, &mut all, findings);
    if let Some(value) = non_null_member(node, "args") {
        if value.items().is_some() {
            all.add_argument(argument_name("args", value), value, inputs, findings);
        } else {
            report_wrong_type(value, "`args` must be a list", findings);
        }
    }
    read_text_argument(node, "cwd", inputs, &mut all, findings);
    texts_by_name(node, "env", false, inputs, &mut all, findings);
    read_time_limit(node, inputs, &mut all, findings);
    let expect = read_expected_codes(node, "expect_exit", 0..=255, findings);
    if non_null_member(node, "command").is_none() {
        report_missing_key(node, "the shell state has no `command`", "add \"command\": \"…\"", findings);
        return None;
    }
    Some(build_action("shell", node, all, expect))
}

pub(super) fn read_http(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<StepForm> {
    let mut all = StepArguments::default();
    read_method(node, &mut all, findings);
    read_text_argument(node, "url", inputs, &mut all, findings);
    literal_url(node, findings);
    texts_by_name(node, "headers", true, inputs, &mut all, findings);
    texts_by_name(node, "query", false, inputs, &mut all, findings);
    if let Some(value) = non_null_member(node, "body") {
        all.add_argument(argument_name("body", value), value, inputs, findings);
    }
    read_time_limit(node, inputs, &mut all, findings);
    let expect = read_expected_codes(node, "expect_status", 100..=599, findings);
    if non_null_member(node, "url").is_none() {
        report_missing_key(node, "the http state has no `url`", "add \"url\": \"https://…\"", findings);
        return None;
    }
    Some(build_action("http_request", node, all, expect))
}

fn read_method(node: &JsonNode, all: &mut StepArguments, findings: &mut FileDiagnostics<'_>) {
    const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
    let words = METHODS.map(|word| declared_choice(word, word, ""));
    let lower = read_text(node, "method", findings)
        .filter(|word| METHODS.contains(&word.value.to_uppercase().as_str()));
    let found = match lower {
        Some(word) => Some(word.value.to_uppercase()),
        None => read_choice(node, "method", &words, findings).map(|word| word.value.to_owned()),
    };
    let usual = if non_null_member(node, "body").is_some() { "POST" } else { "GET" };
    all.add_literal("method", found.unwrap_or_else(|| usual.to_owned()).into());
}

/// A plain text must be an address; what an expression gives is seen when it runs.
fn literal_url(node: &JsonNode, findings: &mut FileDiagnostics<'_>) {
    let Some(url) = non_null_member(node, "url").and_then(JsonNode::as_str) else { return };
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if matches!(scheme, Some(scheme) if !["http", "https"].contains(&scheme) && !scheme.contains(['\'', '"', '`', '.']))
    {
        let span = non_null_member(node, "url").map_or(node.span.clone(), |value| value.span.clone());
        findings.add_error("E10", span, "`url` must begin with https:// or http://", None);
    }
}

/// An argument of one text.
fn read_text_argument(
    node: &JsonNode,
    key: &str,
    inputs: InputFormReader<'_>,
    all: &mut StepArguments,
    findings: &mut FileDiagnostics<'_>,
) {
    let Some(value) = non_null_member(node, key) else { return };
    match inputs.read_mostly_text(value, findings) {
        Some(InputForm::Value(_)) => report_wrong_type(value, &format!("`{key}` must be a text"), findings),
        Some(InputForm::Words(text)) if text.value.trim().is_empty() => {
            findings.add_error("E10", text.span, format!("`{key}` is blank"), None);
        }
        Some(_) => all.add_argument(
            argument_name(key, value),
            value,
            inputs,
            &mut FileDiagnostics::new(findings.file),
        ),
        None => {}
    }
}

/// The state's `timeout` holds for the action too, which otherwise has one of its own that may be shorter.
fn read_time_limit(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    all: &mut StepArguments,
    findings: &FileDiagnostics<'_>,
) {
    // what is wrong with it is found where the state is read
    if let Some(length) =
        read_time_span(node, "timeout", inputs.definitions, &mut FileDiagnostics::new(findings.file))
    {
        // a little later than the state's own, whose error is the one that authors catch
        let seconds = length.div_ceil(1_000).saturating_add(1);
        all.add_literal("timeout_seconds", seconds.min(LONGEST_SECONDS).into());
    }
}

fn argument_name(name: &str, value: &JsonNode) -> SpannedText {
    SpannedValue { value: name.to_owned(), span: value.span.clone() }
}

fn build_action(
    tool: &str,
    node: &JsonNode,
    arguments: StepArguments,
    expect: ActionExpectation,
) -> StepForm {
    let tool = SpannedValue { value: tool.to_owned(), span: node.span.start..node.span.start + 1 };
    StepForm { tool, risk: Some(ToolRisk::Execute), arguments, expect }
}

fn report_missing_key(node: &JsonNode, message: &str, hint: &str, findings: &mut FileDiagnostics<'_>) {
    findings.add_error("E10", node.span.start..node.span.start + 1, message, Some(hint.to_owned()));
}

/// One number, several, or `any`.
fn read_expected_codes(
    node: &JsonNode,
    key: &str,
    bounds: RangeInclusive<i64>,
    findings: &mut FileDiagnostics<'_>,
) -> ActionExpectation {
    let Some(value) = non_null_member(node, key) else { return ActionExpectation::Ok };
    if value.as_str() == Some("any") {
        return ActionExpectation::Any;
    }
    let items = match &value.kind {
        JsonNodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    let number = |item: &JsonNode| match &item.kind {
        JsonNodeKind::Number(text) => text.parse::<i64>().ok().filter(|number| bounds.contains(number)),
        _ => None,
    };
    let numbers: Vec<i64> = items.iter().filter_map(number).collect();
    if numbers.is_empty() || numbers.len() < items.len() {
        let (least, most) = bounds.into_inner();
        let message = format!("`{key}` must be \"any\", or whole numbers from {least} to {most}");
        findings.add_error("E10", value.span.clone(), message, None);
        return ActionExpectation::Ok;
    }
    ActionExpectation::OneOf(numbers)
}
