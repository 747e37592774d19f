//! Compares facts with expectations. Reports every mismatch with the expected and the actual value.

use serde_json::{Map, Value, json};

use synthdev_domain::line_diff::{diff_json_values, diff_lines, diff_name_lists};
use synthdev_domain::mock_results::json_equal;
use synthdev_domain::terminal_safe::first_line;
use synthdev_language::test_file::{CostExpected, ErrorExpected, MessageExpected, TestExpectation};

use super::run_facts::{SimulatedMessage, SimulationFacts};
use crate::run_costs::cost_text;

/// Of a list in a report.
const MOST_LINES: usize = 40;

/// One expectation that does not hold.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpectationFailure {
    /// `path`, `data`, …: the key of `expect`; `script` where the script says too little.
    pub what: String,
    pub expected: Value,
    pub actual: Value,
    /// For display: a title, and below it lines that begin with a blank, `-` (expected) or `+` (actual).
    pub text: String,
}

impl ExpectationFailure {
    /// Something else that went wrong, in words.
    pub fn other_failure(what: &str, text: String) -> Self {
        simple_failure(what, Value::Null, json!(text), text)
    }
}

/// What the script left open or unused.
#[derive(Clone, Debug, Default)]
pub struct UnusedScriptParts {
    pub script_gap: Option<String>,
    pub unanswered_questions: Vec<String>,
    pub unused_replies: Vec<String>,
}

/// Every mismatch. After a gap the run was stopped, so only the gap and the way to it are reported.
pub fn check_expectations(
    expect: &TestExpectation,
    facts: &SimulationFacts,
    loose: &UnusedScriptParts,
) -> Vec<ExpectationFailure> {
    let mut found = Vec::new();
    if let Some(gap) = &loose.script_gap {
        found.push(ExpectationFailure::other_failure("script", gap.clone()));
    }
    check_path(expect, facts, &mut found);
    if loose.script_gap.is_some() {
        return found;
    }
    check_end(expect, facts, loose, &mut found);
    check_visits(expect, facts, &mut found);
    check_messages(expect, facts, &mut found);
    check_data(expect, facts, &mut found);
    check_output(expect, facts, &mut found);
    check_warnings(expect, facts, &mut found);
    check_costs(&expect.cost, facts, &mut found);
    if expect.replies_used && !loose.unused_replies.is_empty() {
        let text = format!("not everything was used\n{}", mark_lines('-', &loose.unused_replies));
        found.push(simple_failure("replies_used", json!([]), json!(loose.unused_replies), text));
    }
    found
}

fn check_end(
    expect: &TestExpectation,
    facts: &SimulationFacts,
    loose: &UnusedScriptParts,
    found: &mut Vec<ExpectationFailure>,
) {
    if let Some(status) = expect.status.filter(|status| *status != facts.status) {
        let (expected, actual) = (status.as_str(), facts.status.as_str());
        let mut text = format!("status\n{}", diff_lines(expected, actual));
        if let Some(error) = facts.error.as_ref().filter(|_| expect.error.is_none()) {
            let state = error.state.as_ref().map(|state| format!(" (in {state})")).unwrap_or_default();
            text.push_str(&format!("  {}: {} {}{state}\n", error.code, error.title, error.detail));
        }
        loose
            .unanswered_questions
            .iter()
            .for_each(|question| text.push_str(&format!("  no answer was left for {question}\n")));
        found.push(simple_failure("status", json!(expected), json!(actual), text));
    }
    if let Some(expected) = &expect.error {
        check_error(expected, facts, found);
    }
}

fn check_error(expected: &ErrorExpected, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let Some(error) = &facts.error else {
        let code = expected.code.as_deref().unwrap_or("any error");
        found.push(difference_failure("error", json!(code), Value::Null));
        return;
    };
    let (own, root) = (error.code.as_str(), error.root_cause().code.as_str());
    if let Some(code) = expected.code.as_deref().filter(|code| *code != own && *code != root) {
        let mut problem = difference_failure("error", json!(code), json!(own));
        problem.text.push_str(&format!("  {} {}\n", error.title, error.detail));
        found.push(problem);
    }
    if let Some(state) = expected.state.as_ref().filter(|state| Some(*state) != error.state.as_ref()) {
        found.push(difference_failure("error.state", json!(state), json!(error.state)));
    }
    let detail = format!("{} {}", error.title, error.detail);
    if let Some(fit) = expected.detail.as_ref().filter(|fit| !fit.matches_text(&detail)) {
        found.push(difference_failure("error.detail", json!(fit.text()), json!(detail)));
    }
}

fn check_path(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let Some(expected) = &expect.path else { return };
    let expected: Vec<String> = expected.iter().map(|state| state.value.clone()).collect();
    if expected != facts.path {
        let text = format!("path\n{}", diff_name_lists(&expected, &facts.path));
        found.push(simple_failure("path", json!(expected), json!(facts.path), text));
    }
}

fn check_visits(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let off = expect.visits.iter().filter(|(state, count)| facts.visit_count(&state.value) != *count);
    let (mut expected, mut actual) = (Map::new(), Map::new());
    for (state, count) in off {
        expected.insert(state.value.clone(), json!(count));
        actual.insert(state.value.clone(), json!(facts.visit_count(&state.value)));
    }
    if !expected.is_empty() {
        found.push(difference_failure("visits", Value::Object(expected), Value::Object(actual)));
    }
    let names = |states: &mut dyn Iterator<Item = &String>| states.cloned().collect::<Vec<_>>();
    let never =
        names(&mut expect.visited_states.iter().map(|s| &s.value).filter(|s| facts.visit_count(s) == 0));
    if !never.is_empty() {
        let text = format!("visited: never entered\n{}", mark_lines('-', &never));
        found.push(simple_failure("visited", json!(never), json!(facts.path), text));
    }
    let wrongly =
        names(&mut expect.not_visited_states.iter().map(|s| &s.value).filter(|s| facts.visit_count(s) > 0));
    if !wrongly.is_empty() {
        let text = format!("not_visited: entered anyway\n{}", mark_lines('+', &wrongly));
        found.push(simple_failure("not_visited", json!([]), json!(wrongly), text));
    }
}

/// In the given order, with anything between them.
fn check_messages(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let mut from = 0;
    for wanted in &expect.messages {
        match facts.messages.iter().skip(from).position(|said| matches_message(wanted, said)) {
            Some(at) => from += at + 1,
            None => {
                let mut text = format!("messages: never said\n- {}\n", describe_message(wanted));
                if from > 0 && facts.messages.iter().any(|said| matches_message(wanted, said)) {
                    text = format!("messages: said too early\n- {}\n", describe_message(wanted));
                }
                text.push_str(&mark_lines('+', &facts.messages.iter().map(message_line).collect::<Vec<_>>()));
                let heard: Vec<&str> = facts.messages.iter().map(|said| said.text.as_str()).collect();
                found.push(simple_failure("messages", json!(describe_message(wanted)), json!(heard), text));
            }
        }
    }
}

fn matches_message(wanted: &MessageExpected, said: &SimulatedMessage) -> bool {
    wanted.context.as_ref().is_none_or(|context| *context == said.context)
        && wanted.author.as_ref().is_none_or(|author| *author == said.author)
        && wanted.private.unwrap_or(false) == said.private
        && wanted.text.as_ref().is_none_or(|fit| fit.matches_text(&said.text))
}

fn message_line(said: &SimulatedMessage) -> String {
    let private = if said.private { " (private)" } else { "" };
    format!("[{}] {}{private}: {}", said.context, said.author, first_line(&said.text, 100))
}

fn describe_message(wanted: &MessageExpected) -> String {
    let context = wanted.context.as_ref().map(|context| format!("[{context}] ")).unwrap_or_default();
    let author = wanted.author.as_deref().unwrap_or("any agent");
    let private = if wanted.private == Some(true) { " (private)" } else { "" };
    let text = wanted.text.as_ref().map_or_else(|| "anything".to_owned(), |fit| first_line(fit.text(), 100));
    format!("{context}{author}{private}: {text}")
}

/// `null` means a variable that is null or not set.
fn check_data(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let (mut expected, mut actual) = (Map::new(), Map::new());
    for (key, wanted) in &expect.data {
        let value = facts.data.get(key);
        if !json_equal(value.unwrap_or(&Value::Null), wanted) {
            expected.insert(key.clone(), wanted.clone());
            value.into_iter().for_each(|value| drop(actual.insert(key.clone(), value.clone())));
        }
    }
    if !expected.is_empty() {
        found.push(difference_failure("data", Value::Object(expected), Value::Object(actual)));
    }
}

fn check_output(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let actual = facts.output.clone().unwrap_or(Value::Null);
    if let Some(expected) = expect.output.as_ref().filter(|expected| !json_equal(expected, &actual)) {
        found.push(difference_failure("output", expected.clone(), actual.clone()));
    }
    let text = synthdev_domain::workflow::plain_text(&actual);
    if let Some(fit) = expect.output_pattern.as_ref().filter(|fit| !fit.matches_text(&text)) {
        found.push(difference_failure("output_matches", json!(fit.text()), actual));
    }
}

fn check_warnings(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let Some(expected) = &expect.warnings else { return };
    let actual: Vec<String> = facts.warnings.iter().map(|(code, _)| code.clone()).collect();
    if *expected != actual {
        let mut text = format!("warnings\n{}", diff_name_lists(expected, &actual));
        for (code, said) in &facts.warnings {
            text.push_str(&format!("  {code}: {}\n", first_line(said, 120)));
        }
        found.push(simple_failure("warnings", json!(expected), json!(actual), text));
    }
}

fn check_costs(expect: &CostExpected, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let tokens = facts.usage.total();
    let counts = [("calls", expect.calls, facts.calls), ("tokens", expect.tokens, tokens)];
    for (what, expected, actual) in counts {
        if let Some(expected) = expected.filter(|expected| *expected != actual) {
            found.push(difference_failure(&format!("cost.{what}"), json!(expected), json!(actual)));
        }
    }
    let bounds = [("max_calls", expect.max_calls, facts.calls), ("max_tokens", expect.max_tokens, tokens)];
    for (what, bound, actual) in bounds {
        if let Some(bound) = bound.filter(|bound| actual > *bound) {
            found.push(difference_failure(&format!("cost.{what}"), json!(bound), json!(actual)));
        }
    }
    let (told, usd) = (cost_text(facts.cost_usd), facts.cost_usd.unwrap_or(f64::INFINITY));
    if let Some(wanted) = expect.usd.filter(|wanted| (usd - wanted).abs() > 1e-9) {
        let text = format!("cost.usd\n{}", diff_lines(&cost_text(Some(wanted)), &told));
        found.push(simple_failure("cost.usd", json!(wanted), json!(facts.cost_usd), text));
    }
    if let Some(bound) = expect.max_usd.filter(|bound| usd > bound + 1e-9) {
        let text = format!("cost.max_usd\n{}", diff_lines(&cost_text(Some(bound)), &told));
        found.push(simple_failure("cost.max_usd", json!(bound), json!(facts.cost_usd), text));
    }
}

fn difference_failure(what: &str, expected: Value, actual: Value) -> ExpectationFailure {
    let text = format!("{what}\n{}", diff_json_values(&expected, &actual));
    simple_failure(what, expected, actual, text)
}

fn simple_failure(what: &str, expected: Value, actual: Value, text: String) -> ExpectationFailure {
    ExpectationFailure { what: what.to_owned(), expected, actual, text }
}

/// Lines with a mark; of a long list its beginning.
fn mark_lines(mark: char, lines: &[String]) -> String {
    let mut text: String = lines.iter().take(MOST_LINES).map(|line| format!("{mark} {line}\n")).collect();
    if lines.len() > MOST_LINES {
        text.push_str(&format!("  … {} more\n", lines.len() - MOST_LINES));
    }
    text
}
