//! Scripted runs and their expected results: test files (`NAME.test.json` beside a workflow) and replies files with
//! `expect`. Text in, values and findings out.
//!
//! ```json
//! { "workflow": "coder_reviewer",
//!   "tests": [ {
//!     "name": "approved at once",
//!     "input": "add a test",
//!     "replies": { "coder": [ { "text": "Done." } ], "reviewer": [ { "tool_calls": [ … ] } ] },
//!     "tool_results": { "read_files": [ { "match": "a.rs", "result": "fn a() {}" }, { "error": "no such file" } ],
//!                       "shell": [ { "exit_code": 1, "stdout": "", "stderr": "x" } ], "*": "ok" },
//!     "answers": [ true, "a text", { "state": "ask", "answer": 3 }, { "timeout": true } ],
//!     "expect": { "path": [ "start", "code", "review", "stop" ], "output": "Done." } } ] }
//! ```
//! A file without `tests` is one test. Owns the keys and types; the replies themselves are read by the scripted
//! model. Refuses unknown keys, and names that the workflow does not have (`names.rs`): an assertion about a state
//! that does not exist would hold for ever.

mod expect;
mod fields;
mod mocks;
mod names;

use std::ops::Range;

use serde_json::{Map, Value};

use super::did_you_mean;
use super::fields::{ObjectFields, SpannedField};
use super::inputs::{InputError, from_values};
use super::json::JsonNode;
use super::source::{FileDiagnostics, SourceFile};
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::mock_results::{MockToolResult, MockUserAnswer, MockUserMessage};
use synthdev_domain::workflow::WorkflowParameter;

pub use mocks::ANY_TOOL;

pub use expect::{CostExpected, ErrorExpected, MessageExpected, TestExpectation};

/// How the names of test files end.
pub const ENDING: &str = ".test.json";
/// Start time of a simulated run, unless the file sets one: 2026-01-01 UTC.
pub const NEW_YEAR: Timestamp = Timestamp(1_767_225_600_000);

const FILE_KEYS: &[&str] = &["workflow", "description", "tests"];
const TEST_KEYS: &[&str] = &[
    "name",
    "description",
    "workflow",
    "model",
    "input",
    "replies",
    "cassette",
    "tool_results",
    "answers",
    "said",
    "prices",
    "now",
    "expect",
];

/// Every kind of object of a test file with its keys, for the editor's help.
pub const VOCABULARY: &[(&str, &[&str])] = &[
    ("file", FILE_KEYS),
    ("test", TEST_KEYS),
    ("result", mocks::RESULT_KEYS),
    ("answer", mocks::ANSWER_KEYS),
    ("said", mocks::SAID_KEYS),
    ("prices", mocks::PRICE_KEYS),
    ("expect", expect::KEYS),
    ("expected_message", expect::MESSAGE_KEYS),
    ("expected_error", expect::ERROR_KEYS),
    ("expected_cost", expect::COST_KEYS),
];

/// One scripted run.
#[derive(Clone, Debug)]
pub struct TestScenario {
    pub name: String,
    /// Of its name, or where it begins.
    pub span: Range<usize>,
    /// `None`: the file's name gives the workflow.
    pub workflow: Option<SpannedField<String>>,
    pub input: Option<SpannedField<Value>>,
    /// A recording that answers in place of `replies`: its path beside this file.
    pub cassette: Option<SpannedField<String>>,
    /// By tool, in the order of the file.
    pub results: Vec<(SpannedField<String>, Vec<MockToolResult>)>,
    pub answers: Vec<MockUserAnswer>,
    /// What the user says without being asked.
    pub said: Vec<MockUserMessage>,
    pub prices: Option<TokenPrice>,
    /// The simulated clock at the start.
    pub start_time: Timestamp,
    pub expect: TestExpectation,
    node: JsonNode,
}

/// The workflow that a test file of this name is for: `a/b/NAME.test.json`.
pub fn tested_workflow(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(ENDING)?;
    let name = stem.rsplit(['/', '\\', ':']).next()?;
    (!name.is_empty()).then_some(name)
}

/// Reads a file completely. Findings of kind error mean that it cannot be used.
pub fn parse_test_file(file: &SourceFile) -> (Vec<TestScenario>, Vec<Diagnostic>) {
    let mut findings = FileDiagnostics::new(file);
    let tests = JsonNode::parse(file, &mut findings).map(|root| read_scenarios(&root, &mut findings));
    (tests.unwrap_or_default(), findings.list)
}

fn read_scenarios(root: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<TestScenario> {
    let Some(fields) = ObjectFields::from_node(root, "a test file", findings) else { return Vec::new() };
    if root.get("tests").is_none() {
        return read_scenario(root, None, 0, findings).into_iter().collect();
    }
    fields.reject_unknown_keys(FILE_KEYS, findings);
    let workflow = fields.text(&["workflow"], findings);
    let nodes = fields.list(&["tests"], findings).unwrap_or_default();
    let mut tests: Vec<TestScenario> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let Some(test) = read_scenario(node, workflow.as_ref(), index, findings) else { continue };
        if tests.iter().any(|earlier| earlier.name == test.name) {
            let message = format!("two tests are named `{}`", test.name);
            findings.add_error("T01", test.span.clone(), message, Some("give one another name".to_owned()));
        }
        tests.push(test);
    }
    tests
}

fn read_scenario(
    node: &JsonNode,
    workflow: Option<&SpannedField<String>>,
    index: usize,
    findings: &mut FileDiagnostics<'_>,
) -> Option<TestScenario> {
    let fields = ObjectFields::from_node(node, "a test", findings)?;
    // a slip in `tests` makes a file of several look like one
    fields.reject_unknown_keys(&[TEST_KEYS, &["tests"]].concat(), findings);
    let name = fields.text(&["name"], findings);
    let span = name.as_ref().map_or(node.span.start..node.span.start + 1, |name| name.span.clone());
    Some(TestScenario {
        name: name.map_or_else(|| format!("test {}", index + 1), |name| name.value),
        span,
        workflow: fields.text(&["workflow"], findings).or_else(|| workflow.cloned()),
        input: fields.get(&["input"], findings).map(fields::value_at),
        cassette: read_recording_name(&fields, findings),
        results: mocks::read_tool_results(&fields, findings),
        answers: mocks::read_answers(&fields, findings),
        said: mocks::read_user_messages(&fields, findings),
        prices: mocks::read_prices(&fields, findings),
        start_time: mocks::read_start_time(&fields, findings).unwrap_or(NEW_YEAR),
        expect: expect::read_expectation(&fields, findings),
        node: node.clone(),
    })
}

/// Answers come from one place.
fn read_recording_name(
    fields: &ObjectFields<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedField<String>> {
    let path = fields.text(&["cassette"], findings)?;
    for key in ["replies", "model"] {
        if let Some(node) = fields.get(&[key], findings) {
            let message = format!("`{key}` and `cassette` exclude each other");
            findings.add_error("C07", node.span.clone(), message, Some("keep one of the two".to_owned()));
        }
    }
    Some(path)
}

impl TestScenario {
    /// The finding about the recording (T06), at the place that names it.
    pub fn recording_problem(&self, file: &SourceFile, message: String, hint: Option<String>) -> Diagnostic {
        let span = self.cassette.as_ref().map_or(self.span.clone(), |path| path.span.clone());
        test_file_diagnostic(file, "T06", span, message, hint)
    }

    /// `{model, replies}`, as the scripted model reads it. No replies are no replies: a workflow may need none.
    pub fn replies_json(&self) -> Value {
        let part = |key: &str| self.node.get(key).map(|node| (key.to_owned(), node.to_value()));
        let mut file: Map<String, Value> = part("model").into_iter().collect();
        let (key, replies) = part("replies").unwrap_or(("replies".to_owned(), Value::Object(Map::new())));
        file.insert(key, replies);
        Value::Object(file)
    }

    /// A finding of the scripted model in `replies`, at its place: `pointer` as in [`TestScenario::replies_json`],
    /// `unknown` a key of the object there with those that are known.
    pub fn reply_problem(
        &self,
        file: &SourceFile,
        pointer: &str,
        message: &str,
        unknown: Option<(&str, &[&str])>,
    ) -> Diagnostic {
        let node = self.node.nearest_node(pointer);
        let key = unknown.and_then(|(key, _)| node.members()?.iter().find(|member| member.key == key));
        let span = key.map_or(node.span.clone(), |member| member.key_span.clone());
        let hint = unknown.and_then(|(key, known)| did_you_mean::suggest_or_list(key, "known keys", known));
        test_file_diagnostic(file, "T02", span, message.to_owned(), hint)
    }

    /// The input values of a run: a single parameter takes the value unchanged, several take an object.
    ///
    /// # Errors
    /// The values that do not fit the parameters, each at its place.
    pub fn input_values(
        &self,
        file: &SourceFile,
        parameters: &[WorkflowParameter],
    ) -> Result<Map<String, Value>, Box<Diagnostic>> {
        let refused = |error: InputError| {
            let span = self.input.as_ref().map_or(self.span.clone(), |input| input.span.clone());
            Box::new(test_file_diagnostic(file, "T03", span, error.message, Some(error.hint)))
        };
        let given = self.input.as_ref().map_or(Value::Null, |input| input.value.clone());
        let values = match (given, parameters) {
            (Value::Null, _) => Map::new(),
            (Value::Object(values), [one]) if values.len() == 1 && values.contains_key(&one.name) => values,
            (value, [one]) => Map::from_iter([(one.name.clone(), value)]),
            (Value::Object(values), _) => values,
            (_, []) => {
                return Err(refused(InputError {
                    parameter: String::new(),
                    message: "this workflow takes no input".to_owned(),
                    hint: "leave `input` out".to_owned(),
                    missing: Vec::new(),
                }));
            }
            (_, many) => {
                let names: Vec<&str> = many.iter().map(|one| one.name.as_str()).collect();
                return Err(refused(InputError {
                    parameter: String::new(),
                    message: format!("this workflow takes several inputs: {}", names.join(", ")),
                    hint: "give them as an object: {\"name\": value, …}".to_owned(),
                    missing: Vec::new(),
                }));
            }
        };
        from_values(parameters, &values).map_err(refused)
    }
}

fn test_file_diagnostic(
    file: &SourceFile,
    code: &str,
    span: Range<usize>,
    message: String,
    hint: Option<String>,
) -> Diagnostic {
    let place = file.location_at(span.start);
    Diagnostic { code: code.to_owned(), severity: DiagnosticSeverity::Error, message, place, span, hint }
}

#[cfg(test)]
mod tests;
