use serde_json::json;

use super::*;
use synthdev_domain::mock_results::MockReaction;
use synthdev_domain::source_location::ConfigLayer;

fn find_diagnostics(text: &str) -> Vec<String> {
    let file = SourceFile::new(ConfigLayer::Project, "x.test.json", text);
    let line = |one: Diagnostic| {
        let hint = one.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}:{}:{} {}{hint}", one.code, one.place.line, one.place.column, one.message)
    };
    parse_test_file(&file).1.into_iter().map(line).collect()
}

fn single_scenario(value: &serde_json::Value) -> TestScenario {
    let file = SourceFile::new(ConfigLayer::Project, "x.test.json", value.to_string());
    let (mut tests, found) = parse_test_file(&file);
    assert_eq!(found, [], "{value}");
    tests.remove(0)
}

/// A file, and a finding in it.
const SLIPS: &[(&str, &str)] = &[
    ("", "C01:1:1 the file is empty"),
    ("[]", "C03:1:1 a test file must be an object, found an array"),
    ("{\"tests\": 1}", "C03:1:11 `tests` must be a list, found 1"),
    ("{\"test\": []}", "C04:1:2 unknown key `test` in a test (did you mean `tests`?)"),
    (
        "{\"tests\": [], \"replies\": {}}",
        "C04:1:15 unknown key `replies` in a test file (known keys: workflow, description, tests)",
    ),
    (
        "{\"tests\": [{\"anwsers\": []}]}",
        "C04:1:13 unknown key `anwsers` in a test (did you mean `answers`?)",
    ),
    ("{\"expect\": {\"vists\": {}}}", "C04:1:13 unknown key `vists` in `expect` (did you mean `visits`?)"),
    ("{\"expect\": {\"visits\": {\"a\": -1}}}", "C03:1:29 `a` must be a whole number from 0, found a number"),
    (
        "{\"expect\": {\"status\": \"done\"}}",
        "C06:1:23 `status` cannot be `done` (a run ends as: completed, failed, paused, cancelled)",
    ),
    (
        "{\"expect\": {\"error\": 1}}",
        "C03:1:22 `error` must be the code of an error, or an object with its code, state and detail, found a number",
    ),
    (
        "{\"expect\": {\"messages\": [{\"autor\": \"x\"}]}}",
        "C04:1:27 unknown key `autor` in an expected message (did you mean `author`?)",
    ),
    (
        "{\"expect\": {\"cost\": {\"tokens\": \"x\"}}}",
        "C03:1:32 `tokens` must be a whole number from 0, found a string",
    ),
    (
        "{\"tool_results\": {\"a\": {\"reslut\": 1}}}",
        "C04:1:25 unknown key `reslut` in a result (did you mean `result`?)",
    ),
    (
        "{\"tool_results\": {\"a\": {\"match\": 1}}}",
        "C03:1:24 a result of `a` needs `result` or `error` (for example {\"result\": \"the text that the tool gives\"})",
    ),
    (
        "{\"tool_results\": {\"a\": {\"result\": 1, \"error\": \"x\"}}}",
        "C07:1:47 a result and an error exclude each other (keep one of the two)",
    ),
    (
        "{\"tool_results\": {\"shell\": {\"exit_code\": 1, \"std_out\": \"\"}}}",
        "C04:1:45 unknown key `std_out` in this result (did you mean `stdout`?)",
    ),
    (
        "{\"answers\": [{\"answer\": 1, \"timeout\": true}]}",
        "C03:1:14 an answer needs either `answer` or `\"timeout\": true`",
    ),
    ("{\"now\": \"soon\"}", "C03:1:9 `now` must be a time such as \"2026-01-31T08:00:00Z\", found a string"),
    ("{\"prices\": {\"inptu\": 1}}", "C04:1:13 unknown key `inptu` in `prices` (did you mean `input`?)"),
    (
        "{\"tests\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}",
        "T01:1:36 two tests are named `a` (give one another name)",
    ),
];

#[test]
fn every_slip_is_found_at_its_place() {
    for (text, expected) in SLIPS {
        let found = find_diagnostics(text);
        assert!(
            found.iter().any(|finding| finding == expected),
            "{text}\nexpected {expected}\nfound    {found:#?}"
        );
    }
    for fine in [
        "{}",
        "{\"$schema\": \"x\", \"x_note\": 1, \"tests\": []}",
        "// why\n{\"expect\": {\"output\": null,}}",
    ] {
        assert_eq!(find_diagnostics(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn a_file_name_says_its_workflow() {
    let rows = [
        ("built-in:workflows/a.test.json", Some("a")),
        ("user:workflows/deep/b.test.json", Some("b")),
        ("c.test.json", Some("c")),
        ("c.json", None),
        (".test.json", None),
    ];
    for (file, expected) in rows {
        assert_eq!(tested_workflow(file), expected, "{file}");
    }
}

#[test]
fn results_come_in_every_form() {
    let test = single_scenario(&json!({"tool_results": {
        "read_files": ["text", {"result": {"a": 1}, "repeat": true}, {"error": "no", "delay_ms": 5}],
        "shell": [{"exit_code": 0, "stdout": "x"}, {"exit_code": 2}, {"result": {"exit_code": 3}, "match": {"command": "x"}}, "x"],
        "http_request": {"status": 404},
        "*": "any"}}));
    let list = |tool: &str| {
        let (_, list) = test.results.iter().find(|(name, _)| name.value == tool).unwrap();
        list.iter()
            .map(|one| (one.ok, one.content.clone(), one.data.is_some(), one.is_repeatable, one.delay_ms))
            .collect::<Vec<_>>()
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        list("read_files"),
        [
            (true, text("text"), false, false, 0),
            (true, text("{\n  \"a\": 1\n}"), true, true, 0),
            (false, text("no"), false, false, 5),
        ]
    );
    let well: Vec<bool> = list("shell").iter().map(|one| one.0).collect();
    assert_eq!(well, [true, false, false, true]);
    let data = |tool: &str, at: usize| {
        let (_, list) = test.results.iter().find(|(name, _)| name.value == tool).unwrap();
        list[at].data.clone().unwrap()
    };
    let whole = json!({"exit_code": 0, "stdout": "x", "stderr": "", "timed_out": false, "duration_ms": 0});
    assert_eq!(data("shell", 0), whole, "what is always there need not be written");
    assert_eq!(data("shell", 3), whole, "a text is what was printed");
    assert_eq!(data("http_request", 0)["status"], 404);
    assert!(!list("http_request")[0].0);
    assert_eq!(list("*"), [(true, text("any"), false, true, 0)]);
}

#[test]
fn answers_are_values_unless_they_say_more() {
    let test = single_scenario(
        &json!({"answers": [true, "x", {"plan": 1}, {"answer": {"plan": 1}, "state": "ask", "match": "sure"}, {"timeout": true}]}),
    );
    let reactions: Vec<MockReaction> = test.answers.iter().map(|answer| answer.reaction.clone()).collect();
    let value = MockReaction::Value;
    let expected = [
        value(json!(true)),
        value(json!("x")),
        value(json!({"plan": 1})),
        value(json!({"plan": 1})),
        MockReaction::Silence,
    ];
    assert_eq!(reactions, expected);
    assert!(
        test.answers[3].is_for("ask", "are you sure?") && !test.answers[3].is_for("other", "are you sure?")
    );
}

#[test]
fn an_expected_error_changes_what_is_expected_of_the_status() {
    use synthdev_domain::journal::RunStatus;
    assert_eq!(single_scenario(&json!({})).expect.status, Some(RunStatus::Completed));
    assert_eq!(single_scenario(&json!({"expect": {"error": "limit"}})).expect.status, None);
    assert_eq!(
        single_scenario(&json!({"expect": {"error": "limit", "status": "paused"}})).expect.status,
        Some(RunStatus::Paused)
    );
}

#[test]
fn what_the_user_says_has_a_state_and_a_text() {
    let test = single_scenario(
        &json!({"said": [{"state": "write", "text": "shorter"}, {"state": "write", "text": "now"}]}),
    );
    let said: Vec<(&str, &str)> =
        test.said.iter().map(|one| (one.state.as_str(), one.text.as_str())).collect();
    assert_eq!(said, [("write", "shorter"), ("write", "now")]);
    for text in
        [r#"{"said": ["shorter"]}"#, r#"{"said": [{"state": "write"}]}"#, r#"{"said": [{"text": "now"}]}"#]
    {
        let file = SourceFile::new(ConfigLayer::Project, "a.test.json", text);
        assert_ne!(parse_test_file(&file).1, [], "{text}");
    }
}
