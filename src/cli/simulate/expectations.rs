//! Facts against expectations. Every one that does not hold is told, with what was expected and what came.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::diff;
use super::run_facts::{SimulatedMessage, SimulationFacts};
use crate::output::{cost, one_line};
use synthdev_config::test_file::{CostExpected, ErrorExpected, MessageExpected, TestExpectation};
use synthdev_domain::mock_results::json_equal;

/// Of a list in a report.
const MOST_LINES: usize = 40;

/// One expectation that does not hold.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExpectationFailure {
    /// `path`, `data`, …: the key of `expect`; `script` where the script says too little.
    pub what: String,
    pub expected: Value,
    pub actual: Value,
    /// For people: a title, and below it lines that begin with a blank, `-` (expected) or `+` (came).
    pub text: String,
}

impl ExpectationFailure {
    /// Something else that went wrong, in words.
    pub fn plain(what: &str, text: String) -> Self {
        simple(what, Value::Null, json!(text), text)
    }
}

/// What the script left open or unused.
#[derive(Clone, Debug, Default)]
pub struct UnusedScriptParts {
    pub gap: Option<String>,
    pub unanswered: Vec<String>,
    pub unused: Vec<String>,
}

/// Everything that does not hold. After a gap the run was stopped, so only the gap and the way to it are told.
pub fn judge(
    expect: &TestExpectation,
    facts: &SimulationFacts,
    loose: &UnusedScriptParts,
) -> Vec<ExpectationFailure> {
    let mut found = Vec::new();
    if let Some(gap) = &loose.gap {
        found.push(ExpectationFailure::plain("script", gap.clone()));
    }
    path(expect, facts, &mut found);
    if loose.gap.is_some() {
        return found;
    }
    end(expect, facts, loose, &mut found);
    visits(expect, facts, &mut found);
    messages(expect, facts, &mut found);
    data(expect, facts, &mut found);
    output(expect, facts, &mut found);
    warnings(expect, facts, &mut found);
    costs(&expect.cost, facts, &mut found);
    if expect.replies_used && !loose.unused.is_empty() {
        let text = format!("not everything was used\n{}", marked('-', &loose.unused));
        found.push(simple("replies_used", json!([]), json!(loose.unused), text));
    }
    found
}

fn end(
    expect: &TestExpectation,
    facts: &SimulationFacts,
    loose: &UnusedScriptParts,
    found: &mut Vec<ExpectationFailure>,
) {
    if let Some(status) = expect.status.filter(|status| *status != facts.status) {
        let (expected, actual) = (status.as_str(), facts.status.as_str());
        let mut text = format!("status\n{}", diff::lines(expected, actual));
        if let Some(error) = facts.error.as_ref().filter(|_| expect.error.is_none()) {
            let state = error.state.as_ref().map(|state| format!(" (in {state})")).unwrap_or_default();
            text.push_str(&format!("  {}: {} {}{state}\n", error.code, error.title, error.detail));
        }
        loose
            .unanswered
            .iter()
            .for_each(|question| text.push_str(&format!("  no answer was left for {question}\n")));
        found.push(simple("status", json!(expected), json!(actual), text));
    }
    if let Some(expected) = &expect.error {
        error(expected, facts, found);
    }
}

fn error(expected: &ErrorExpected, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let Some(error) = &facts.error else {
        let code = expected.code.as_deref().unwrap_or("any error");
        found.push(different("error", json!(code), Value::Null));
        return;
    };
    let (own, root) = (error.code.as_str(), error.root().code.as_str());
    if let Some(code) = expected.code.as_deref().filter(|code| *code != own && *code != root) {
        let mut problem = different("error", json!(code), json!(own));
        problem.text.push_str(&format!("  {} {}\n", error.title, error.detail));
        found.push(problem);
    }
    if let Some(state) = expected.state.as_ref().filter(|state| Some(*state) != error.state.as_ref()) {
        found.push(different("error.state", json!(state), json!(error.state)));
    }
    let detail = format!("{} {}", error.title, error.detail);
    if let Some(fit) = expected.detail.as_ref().filter(|fit| !fit.fits(&detail)) {
        found.push(different("error.detail", json!(fit.text()), json!(detail)));
    }
}

fn path(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let Some(expected) = &expect.path else { return };
    let expected: Vec<String> = expected.iter().map(|state| state.value.clone()).collect();
    if expected != facts.path {
        let text = format!("path\n{}", diff::lists(&expected, &facts.path));
        found.push(simple("path", json!(expected), json!(facts.path), text));
    }
}

fn visits(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let off = expect.visits.iter().filter(|(state, count)| facts.visits_of(&state.value) != *count);
    let (mut expected, mut actual) = (Map::new(), Map::new());
    for (state, count) in off {
        expected.insert(state.value.clone(), json!(count));
        actual.insert(state.value.clone(), json!(facts.visits_of(&state.value)));
    }
    if !expected.is_empty() {
        found.push(different("visits", Value::Object(expected), Value::Object(actual)));
    }
    let names = |states: &mut dyn Iterator<Item = &String>| states.cloned().collect::<Vec<_>>();
    let never = names(&mut expect.visited.iter().map(|s| &s.value).filter(|s| facts.visits_of(s) == 0));
    if !never.is_empty() {
        let text = format!("visited: never entered\n{}", marked('-', &never));
        found.push(simple("visited", json!(never), json!(facts.path), text));
    }
    let wrongly = names(&mut expect.not_visited.iter().map(|s| &s.value).filter(|s| facts.visits_of(s) > 0));
    if !wrongly.is_empty() {
        let text = format!("not_visited: entered all the same\n{}", marked('+', &wrongly));
        found.push(simple("not_visited", json!([]), json!(wrongly), text));
    }
}

/// In the given order, with anything between them.
fn messages(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let mut from = 0;
    for wanted in &expect.messages {
        match facts.said.iter().skip(from).position(|said| is_said(wanted, said)) {
            Some(at) => from += at + 1,
            None => {
                let mut text = format!("messages: never said\n- {}\n", describe(wanted));
                if from > 0 && facts.said.iter().any(|said| is_said(wanted, said)) {
                    text = format!("messages: said too early\n- {}\n", describe(wanted));
                }
                text.push_str(&marked('+', &facts.said.iter().map(line).collect::<Vec<_>>()));
                let heard: Vec<&str> = facts.said.iter().map(|said| said.text.as_str()).collect();
                found.push(simple("messages", json!(describe(wanted)), json!(heard), text));
            }
        }
    }
}

fn is_said(wanted: &MessageExpected, said: &SimulatedMessage) -> bool {
    wanted.context.as_ref().is_none_or(|context| *context == said.context)
        && wanted.author.as_ref().is_none_or(|author| *author == said.author)
        && wanted.private.unwrap_or(false) == said.private
        && wanted.text.as_ref().is_none_or(|fit| fit.fits(&said.text))
}

fn line(said: &SimulatedMessage) -> String {
    let private = if said.private { " (private)" } else { "" };
    format!("[{}] {}{private}: {}", said.context, said.author, one_line(&said.text, 100))
}

fn describe(wanted: &MessageExpected) -> String {
    let context = wanted.context.as_ref().map(|context| format!("[{context}] ")).unwrap_or_default();
    let author = wanted.author.as_deref().unwrap_or("any agent");
    let private = if wanted.private == Some(true) { " (private)" } else { "" };
    let text = wanted.text.as_ref().map_or_else(|| "anything".to_owned(), |fit| one_line(fit.text(), 100));
    format!("{context}{author}{private}: {text}")
}

/// `null` stands for a variable that is null or not set.
fn data(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let (mut expected, mut actual) = (Map::new(), Map::new());
    for (key, wanted) in &expect.data {
        let value = facts.data.get(key);
        if !json_equal(value.unwrap_or(&Value::Null), wanted) {
            expected.insert(key.clone(), wanted.clone());
            value.into_iter().for_each(|value| drop(actual.insert(key.clone(), value.clone())));
        }
    }
    if !expected.is_empty() {
        found.push(different("data", Value::Object(expected), Value::Object(actual)));
    }
}

fn output(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let actual = facts.output.clone().unwrap_or(Value::Null);
    if let Some(expected) = expect.output.as_ref().filter(|expected| !json_equal(expected, &actual)) {
        found.push(different("output", expected.clone(), actual.clone()));
    }
    let text = synthdev_domain::workflow::plain_text(&actual);
    if let Some(fit) = expect.output_matches.as_ref().filter(|fit| !fit.fits(&text)) {
        found.push(different("output_matches", json!(fit.text()), actual));
    }
}

fn warnings(expect: &TestExpectation, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let Some(expected) = &expect.warnings else { return };
    let actual: Vec<String> = facts.warnings.iter().map(|(code, _)| code.clone()).collect();
    if *expected != actual {
        let mut text = format!("warnings\n{}", diff::lists(expected, &actual));
        for (code, said) in &facts.warnings {
            text.push_str(&format!("  {code}: {}\n", one_line(said, 120)));
        }
        found.push(simple("warnings", json!(expected), json!(actual), text));
    }
}

fn costs(expect: &CostExpected, facts: &SimulationFacts, found: &mut Vec<ExpectationFailure>) {
    let tokens = facts.usage.total();
    let counts = [("calls", expect.calls, facts.calls), ("tokens", expect.tokens, tokens)];
    for (what, expected, actual) in counts {
        if let Some(expected) = expected.filter(|expected| *expected != actual) {
            found.push(different(&format!("cost.{what}"), json!(expected), json!(actual)));
        }
    }
    let bounds = [("max_calls", expect.max_calls, facts.calls), ("max_tokens", expect.max_tokens, tokens)];
    for (what, bound, actual) in bounds {
        if let Some(bound) = bound.filter(|bound| actual > *bound) {
            found.push(different(&format!("cost.{what}"), json!(bound), json!(actual)));
        }
    }
    let (told, usd) = (cost(facts.cost_usd), facts.cost_usd.unwrap_or(f64::INFINITY));
    if let Some(wanted) = expect.usd.filter(|wanted| (usd - wanted).abs() > 1e-9) {
        let text = format!("cost.usd\n{}", diff::lines(&cost(Some(wanted)), &told));
        found.push(simple("cost.usd", json!(wanted), json!(facts.cost_usd), text));
    }
    if let Some(bound) = expect.max_usd.filter(|bound| usd > bound + 1e-9) {
        let text = format!("cost.max_usd\n{}", diff::lines(&cost(Some(bound)), &told));
        found.push(simple("cost.max_usd", json!(bound), json!(facts.cost_usd), text));
    }
}

fn different(what: &str, expected: Value, actual: Value) -> ExpectationFailure {
    let text = format!("{what}\n{}", diff::values(&expected, &actual));
    simple(what, expected, actual, text)
}

fn simple(what: &str, expected: Value, actual: Value, text: String) -> ExpectationFailure {
    ExpectationFailure { what: what.to_owned(), expected, actual, text }
}

/// Lines with a mark; of a long list its beginning.
fn marked(mark: char, lines: &[String]) -> String {
    let mut text: String = lines.iter().take(MOST_LINES).map(|line| format!("{mark} {line}\n")).collect();
    if lines.len() > MOST_LINES {
        text.push_str(&format!("  … {} more\n", lines.len() - MOST_LINES));
    }
    text
}
