//! `simulate` and `test`: scripted runs from outside, what they say when an expectation does not hold, and that
//! they touch nothing.

mod outside;

use serde_json::{Value, json};

use super::world::{Ran, World, talk_workflow};

/// A workflow with a decision: the coder speaks, a reviewer decides, the count of rounds is a variable.
fn reviewed_workflow() -> Value {
    json!({
        "workflow_name": "reviewed", "description": "a test",
        "input": {"name": "task", "type": "string", "description": "what to do"},
        "output": {"name": "result", "type": "string"},
        "variables": {"rounds": 0},
        "contexts": [{"name": "main", "starting_messages": []}],
        "agents": [
            {"agent_role": "coder", "context": "main", "role": "assistant"},
            {"agent_role": "reviewer", "context": "main", "role": "user"}],
        "states": [
            {"name": "start", "transition": [{"target": "code"}]},
            {"name": "code", "agent": "coder", "input": "common_data.task", "action": {"function": "sendUserMessage"},
             "transition": [{"target": "review",
                "before": "() => { this.common_data.rounds += 1; this.common_data.result = getAgent('coder').getLastResponse(); }"}]},
            {"name": "review", "agent": "reviewer", "input": "'decide'", "action": {"function": "sendUserMessage"},
             "transition": [
                {"target": "code", "condition": "function.review_work.arguments.improvement_needed === true"},
                {"target": "stop", "condition": "function.review_work.arguments.improvement_needed === false"}]},
            {"name": "stop", "input": "common_data.result"}]
    })
}

fn decision(again: bool) -> Value {
    let mut arguments = json!({"improvement_needed": again});
    if again {
        arguments["continue_message"] = json!("again");
    }
    json!({"tool_calls": [{"name": "review_work", "arguments": arguments}]})
}

/// Two rounds, with one tool call in the first.
fn two_rounds() -> Value {
    json!({
        "input": "do it",
        "replies": {
            "coder": [
                {"tool_calls": [{"name": "write_file", "arguments": {"file_path": "a.txt", "content": "x"}}]},
                {"text": "First."}, {"text": "Second.\nDone."}],
            "reviewer": [decision(true), decision(false)]},
        "tool_results": {"write_file": ["written"]},
        "expect": {}
    })
}

fn with_changes(mut test: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = test.pointer_mut(parent).unwrap();
        match parent {
            Value::Object(members) => drop(members.insert(key.to_owned(), value.clone())),
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
            other => panic!("{pointer}: {other}"),
        }
    }
    test
}

fn run_simulate(test: &Value, more: &[&str]) -> Ran {
    let world = World::new();
    world.write_json("w.json", &reviewed_workflow());
    world.write_file("r.json", &serde_json::to_string_pretty(test).unwrap());
    world.run_program(&[&["simulate", "w.json", "r.json"], more].concat())
}

#[test]
fn the_path_and_the_end_are_printed_and_nothing_is_touched() {
    let world = World::repository();
    world.write_json("w.json", &reviewed_workflow());
    world.write_json("r.json", &two_rounds());
    let before = World::files(world.root());
    let ran = world.run_program(&["simulate", "w.json", "r.json"]).code(0);
    for line in [
        "path      start > code > review > code > review > stop",
        "status    completed",
        "output    Second.\nDone.",
        "calls     5, ",
    ] {
        assert!(ran.stdout.contains(line), "no `{line}` in\n{}", ran.stdout);
    }
    assert_eq!(ran.stderr, "");
    let report = world.run_program(&["simulate", "w.json", "r.json", "--json"]).code(0).json();
    assert_eq!(report["path"], json!(["start", "code", "review", "code", "review", "stop"]));
    assert_eq!(report["visits"], json!({"start": 1, "code": 2, "review": 2, "stop": 1}));
    assert_eq!(report["data"], json!({"rounds": 2, "task": "do it", "result": "Second.\nDone."}));
    assert_eq!(
        (&report["passed"], &report["calls"], &report["problems"]),
        (&json!(true), &json!(5), &json!([]))
    );
    assert_eq!(World::files(world.root()), before, "no file, no database, no snapshot, no repository object");
}

#[test]
fn what_holds_is_silent() {
    let expect = json!({
        "status": "completed", "path": ["start", "code", "review", "code", "review", "stop"],
        "visits": {"code": 2, "stop": 1}, "visited": ["review"], "not_visited": [],
        "messages": ["do it", {"author": "coder", "context": "main", "text": "^First"},
                     {"author": "reviewer", "private": true}, {"author": "workflow", "text": "do it"}, "Done"],
        "data": {"rounds": 2.0, "nothing": null}, "output": "Second.\nDone.", "output_matches": "^Sec.+",
        "warnings": [], "cost": {"calls": 5, "max_calls": 5, "max_tokens": 100000, "max_usd": 0}, "replies_used": true
    });
    let private = json!({"author": "workflow", "private": true, "text": "decide"});
    let test = with_changes(two_rounds(), &[("/expect", expect), ("/expect/messages/2", private)]);
    assert!(!run_simulate(&test, &[]).code(0).stdout.contains("not hold"));
}

#[test]
fn every_expectation_can_fail_and_says_how() {
    let rows = [
        (
            "path",
            json!(["start", "code", "review", "stop"]),
            "    path\n      start\n      code\n      review\n    + code\n    + review\n      stop\n",
        ),
        (
            "visits",
            json!({"code": 1, "review": 2}),
            "    visits\n      {\n    -   \"code\": 1\n    +   \"code\": 2\n      }\n",
        ),
        ("not_visited", json!(["review"]), "    not_visited: entered anyway\n    + review\n"),
        ("status", json!("failed"), "    status\n    - failed\n    + completed\n"),
        (
            "data",
            json!({"rounds": 1, "gone": [1]}),
            "    data\n      {\n    -   \"rounds\": 1,\n    -   \"gone\": [\n    -     1\n    -   ]\n    +   \"rounds\": 2\n      }\n",
        ),
        ("output", json!("Second.\nReady."), "    output\n      Second.\n    - Ready.\n    + Done.\n"),
        ("output", Value::Null, "    output\n    - null\n    + \"Second.\\nDone.\"\n"),
        ("output_matches", json!("^Done"), "    output_matches\n"),
        ("error", json!("limit"), "    error\n    - \"limit\"\n    + null\n"),
        ("warnings", json!(["missing_output"]), "    warnings\n    - missing_output\n    + (none)\n"),
        (
            "messages",
            json!([{"author": "coder", "text": "Third"}]),
            "    messages: never said\n    - coder: Third\n    + [main] workflow: do it\n",
        ),
        ("messages", json!(["Done", "First"]), "    messages: said too early\n    - any agent: First\n"),
        ("cost", json!({"calls": 4}), "    cost.calls\n    - 4\n    + 5\n"),
        ("cost", json!({"max_calls": 4}), "    cost.max_calls\n    - 4\n    + 5\n"),
        ("cost", json!({"max_tokens": 1}), "    cost.max_tokens\n    - 1\n"),
    ];
    for (key, expected, text) in rows {
        let test = with_changes(two_rounds(), &[(&format!("/expect/{key}"), expected.clone())]);
        let ran = run_simulate(&test, &[]).code(1);
        assert!(ran.stdout.contains(text), "{key}: {expected}\nexpected\n{text}\nin\n{}", ran.stdout);
        assert!(ran.stdout.contains("1 expectation does not hold"), "{}", ran.stdout);
        let report = run_simulate(&test, &["--json"]).code(1).json();
        assert!(report["problems"][0]["what"].as_str().unwrap().starts_with(key), "{report}");
    }
}

#[test]
fn never_visited_states_are_told() {
    let test = with_changes(
        two_rounds(),
        &[
            ("/replies/coder", json!([{"text": "Once."}])),
            ("/replies/reviewer", json!([{"error": {"kind": "auth", "message": "who?"}}])),
            ("/tool_results", json!({})),
            (
                "/expect",
                json!({"visited": ["stop"], "error": {"code": "model.auth", "state": "review", "detail": "who"}}),
            ),
        ],
    );
    let ran = run_simulate(&test, &[]).code(1);
    assert!(ran.stdout.contains("    visited: never entered\n    - stop\n"), "{}", ran.stdout);
    let test = with_changes(test, &[("/expect/visited", json!(["review"]))]);
    run_simulate(&test, &[]).code(0);
    let test = with_changes(test, &[("/expect", json!({}))]);
    let ran = run_simulate(&test, &[]).code(1);
    assert!(
        ran.stdout.contains("- completed\n    + failed\n      model.auth: "),
        "the reason is told: {}",
        ran.stdout
    );
}

#[test]
fn prices_make_costs() {
    let usage = json!({"prompt": 1000, "completion": 100});
    let test = json!({
        "input": "x", "prices": {"input": 2, "output": 10},
        "replies": {"coder": [{"text": "a", "usage": usage}], "reviewer": [with_changes(decision(false), &[("/usage", usage.clone())])]},
        "expect": {"cost": {"tokens": 2200, "usd": 0.006, "max_usd": 0.006}}
    });
    run_simulate(&test, &[]).code(0);
    let test = with_changes(test, &[("/expect/cost", json!({"usd": 0.005, "max_usd": 0.001}))]);
    let out = run_simulate(&test, &[]).code(1).stdout;
    assert!(
        out.contains(
            "cost.usd\n    - $0.0050\n    + $0.0060\n    cost.max_usd\n    - $0.0010\n    + $0.0060"
        ),
        "{out}"
    );
}

#[test]
fn a_script_that_says_too_little_stops_the_run_and_says_what_was_asked() {
    let rows = [
        (
            ("/replies/coder/2", json!({"match": "^never$", "reply": {"text": "x"}})),
            "agent `coder` in state `code` asked (user) \"do it\", but reply 3 of its script expects `^never$`",
        ),
        (("/replies/reviewer", json!([])), "agent `reviewer` in state `review` asked"),
        (
            ("/tool_results", json!({})),
            "the tool `write_file` of `coder` was called with {\"file_path\":\"a.txt\",\"content\":\"x\"}, but the script has no results for it",
        ),
        (
            ("/tool_results", json!({"write_file": [{"match": "b.txt", "result": "x"}]})),
            "but its one scripted result is used or does not fit",
        ),
    ];
    for (change, text) in rows {
        let test = with_changes(two_rounds(), &[change, ("/expect", json!({"output": "never judged"}))]);
        let ran = run_simulate(&test, &[]).code(1);
        assert!(ran.stdout.contains(text), "no `{text}` in\n{}", ran.stdout);
        assert!(ran.stdout.contains("path      start > code"), "the way to it is told\n{}", ran.stdout);
        assert!(ran.stdout.contains("1 expectation does not hold"), "nothing else is judged\n{}", ran.stdout);
    }
}

#[test]
fn everything_scripted_must_be_used() {
    let changes = [
        ("/replies/reviewer", json!([decision(true), decision(false), decision(false)])),
        (
            "/tool_results",
            json!({"write_file": ["written", "again"], "read_files": [{"result": "x", "repeat": true}], "*": "any"}),
        ),
        ("/answers", json!([true])),
    ];
    let test = with_changes(two_rounds(), &changes);
    let out = run_simulate(&test, &[]).code(1).stdout;
    let text = "    not everything was used\n    - reply 3 of agent `reviewer`\n    - result 2 of tool `write_file`\n    - answer 1\n";
    assert!(out.contains(text), "{out}");
    run_simulate(&with_changes(test, &[("/expect/replies_used", json!(false))]), &[]).code(0);
}

#[test]
fn results_of_tools_are_chosen_by_their_arguments_and_errors_reach_the_model() {
    let read = |path: &str| json!({"name": "read_files", "arguments": {"file_paths": [path]}});
    let test = json!({
        "input": "x",
        "replies": {
            "coder": [
                {"tool_calls": [read("b.rs"), read("a.rs"), read("c.rs"), {"name": "read_files", "arguments": {"paths": []}}]},
                {"match": "`paths` is not an argument", "reply": {"tool_calls": [{"name": "list_directory", "arguments": {"directory_path": "."}}]}},
                {"match": "anything", "reply": {"text": "ok"}}],
            "reviewer": [decision(false)]},
        "tool_results": {
            "read_files": [{"match": {"file_paths": ["a.rs"]}, "result": "A"}, {"match": "b\\.rs", "error": "no B"}, "C"],
            "*": "anything"},
        "expect": {"output": "ok"}
    });
    let report = run_simulate(&test, &["--json"]);
    let report = report.code(0).json();
    assert_eq!(report["problems"], json!([]));
}

#[test]
fn waiting_takes_no_time() {
    let test = json!({
        "input": "x",
        "replies": {
            "coder": [
                {"error": {"kind": "rate_limited", "retry_after_ms": 50000, "message": "later"}},
                {"text": "ok", "delay_ms": 7_200_000}],
            "reviewer": [decision(false)]}
    });
    let start = std::time::Instant::now();
    run_simulate(&test, &[]).code(0);
    assert!(start.elapsed().as_secs() < 50, "hours were simulated, not waited for");
}

#[test]
fn input_is_taken_from_the_command_line_first() {
    let test = with_changes(two_rounds(), &[("/expect", json!({"data": {"task": "typed"}}))]);
    run_simulate(&test, &["typed"]).code(0);
    run_simulate(&test, &["--input", "task=typed"]).code(0);
    let out = run_simulate(&test, &[]).code(1).stdout;
    assert!(out.contains("-   \"task\": \"typed\"\n    +   \"task\": \"do it\""), "{out}");
}

#[test]
fn files_that_cannot_be_used_are_told_with_their_place() {
    let rows = [
        (json!({"input": "x", "repliez": {}}), "r.json:3:3", "did you mean `replies`?"),
        (json!({"input": "x", "replies": {"coder": [{"txt": "a"}]}}), "r.json:6:9", "did you mean `text`?"),
        (json!({"input": "x", "replies": {"coder": [{"text": 1}]}}), "r.json:6:17", "a text is needed"),
        (json!({"input": "x", "replies": {"codr": []}}), "r.json:4:5", "did you mean `coder`?"),
        (
            json!({"input": "x", "expect": {"not_visited": ["revue"]}}),
            "r.json:5:7",
            "there is no state `revue`",
        ),
        (json!({"input": "x", "expect": {"visits": {"cod": 1}}}), "r.json:5:7", "did you mean `code`?"),
        (
            json!({"input": "x", "tool_results": {"read_file": []}}),
            "r.json:4:5",
            "did you mean `read_files`?",
        ),
        (json!({"input": {"tsk": "x", "b": 1}}), "r.json:2:12", "must be of type string"),
        (json!({"replies": {}}), "r.json:1:1", "the input `task` is missing"),
    ];
    for (test, place, text) in rows {
        let ran = run_simulate(&test, &[]).code(2);
        assert_eq!(ran.stdout, "", "{test}");
        assert!(
            ran.stderr.contains(place) && ran.stderr.contains(text),
            "{test}\nno {place} {text} in\n{}",
            ran.stderr
        );
    }
    let world = World::new();
    world.write_file("r.json", "{\"replies\": {},, }");
    assert!(
        world.run_program(&["simulate", "coder_reviewer", "r.json"]).code(2).stderr.contains("r.json:1:")
    );
    world.write_file("r.json", "{\"tests\": [{\"name\": \"a\"}, {\"name\": \"b\"}]}");
    assert!(
        world
            .run_program(&["simulate", "coder_reviewer", "r.json"])
            .code(2)
            .stderr
            .contains("synthdev test r.json")
    );
    assert!(
        world.run_program(&["simulate", "coder_reviewer", "none.json"]).code(2).stderr.contains("none.json")
    );
    world.write_file("r.json", "{\n \"replies\": {\"coder\": [{\"txt\": 1}]}}");
    let err = world.run_program(&["run", "coder_reviewer", "x", "--replies", "r.json"]).code(2).stderr;
    assert!(err.contains("r.json:2:24: replies.coder[0]: unknown key `txt`"), "{err}");
    world.write_file("r.json", "{}");
    assert!(
        world.run_program(&["simulate", "coder_revuer", "r.json"]).code(2).stderr.contains("coder_reviewer")
    );
}

/// `talk` under another name, and a test of it with this answer.
fn named_workflow(name: &str) -> String {
    talk_workflow()
        .to_string()
        .replace("\"workflow_name\":\"talk\"", &format!("\"workflow_name\":\"{name}\""))
}

fn answering_test(name: &str, answer: &str) -> Value {
    json!({"name": name, "input": "hi", "replies": {"coder": [{"text": "Hi."}]}, "expect": {"output": answer}})
}

#[test]
fn tests_of_all_layers_are_found_and_told_in_order() {
    let world = World::new();
    world.write_user_file("workflows/alpha.json", &named_workflow("alpha"));
    let tests: Vec<Value> = (0..12).map(|at| answering_test(&format!("number {at}"), "Hi.")).collect();
    world.write_user_file("workflows/alpha.test.json", &json!({"tests": tests}).to_string());
    world.write_user_file("workflows/deep/beta.json", &named_workflow("beta"));
    world.write_user_file("workflows/deep/beta.test.json", &answering_test("polite", "Hello.").to_string());
    world.write_file(".synthdev/workflows/gamma.json", &named_workflow("gamma"));
    world.write_file(
        ".synthdev/workflows/gamma.test.json",
        &json!({"tests": [answering_test("fine", "Hi.")]}).to_string(),
    );

    let listed = world.run_program(&["--trust", "workflows"]).code(0);
    assert!(!listed.stdout.contains("broken") && listed.stdout.contains("gamma"), "{}", listed.stdout);
    assert!(!world.run_program(&["check"]).code(0).stdout.contains("test.json"));

    let ran = world.run_program(&["test", "alpha", "beta", "gamma"]).code(1);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let expected: Vec<String> = (0..12).map(|at| format!("ok    alpha › number {at}")).collect();
    assert_eq!(lines[..12], expected[..]);
    let rest = [
        "FAIL  beta › polite",
        "  user:workflows/deep/beta.test.json: 1 expectation does not hold (- expected, + came)",
        "    output",
        "    - \"Hello.\"",
        "    + \"Hi.\"",
        "    its path: start > say > stop",
        "ok    gamma › fine",
        "13 passed, 1 failed",
    ];
    assert_eq!(lines[12..], rest);
    for jobs in ["1", "5"] {
        let again = world.run_program(&["test", "alpha", "beta", "gamma", "--jobs", jobs]).code(1);
        assert_eq!(again.stdout, ran.stdout, "{jobs} at once tell the same");
    }
    world.run_program(&["test", "alpha"]).code(0);
    let report = world.run_program(&["test", "beta", "gamma", "--json"]).code(1).json();
    assert_eq!((&report["passed"], &report["failed"]), (&json!(1), &json!(1)));
    let first = &report["tests"][0];
    assert_eq!(
        (&first["workflow"], &first["name"], &first["passed"]),
        (&json!("beta"), &json!("polite"), &json!(false))
    );
    assert_eq!(
        first["problems"][0],
        json!({"what": "output", "expected": "Hello.", "actual": "Hi.", "text": "output\n- \"Hello.\"\n+ \"Hi.\"\n"})
    );
    let all = world.run_program(&["test", "--json"]).code(1).json();
    assert_eq!(all["failed"], 1, "every shipped test passes: {all}");

    // a changed test asks for no new trust, and one of a project that is not trusted is not run
    world.write_file(".synthdev/workflows/gamma.test.json", &answering_test("other", "Hi.").to_string());
    assert_eq!(world.run_program(&["test", "gamma"]).code(0).stdout, "ok    gamma › other\n1 passed\n");
    world.write_file(".synthdev/workflows/gamma.json", &named_workflow("gamma").replace("a test", "another"));
    assert!(world.run_program(&["test", "gamma"]).code(2).stderr.contains("--trust"));
}

#[test]
fn test_files_can_be_named_themselves() {
    let world = World::new();
    world.write_file("w/talk.json", &talk_workflow().to_string());
    world.write_file("w/talk.test.json", &answering_test("one", "Hi.").to_string());
    world.write_file(
        "w/more.test.json",
        &json!({"workflow": "talk", "tests": [answering_test("two", "Hi.")]}).to_string(),
    );
    assert_eq!(
        world.run_program(&["test", "w/talk.test.json"]).code(0).stdout,
        "ok    talk › one\n1 passed\n"
    );
    assert_eq!(world.run_program(&["test", "w/talk.json"]).code(0).stdout, "ok    talk › one\n1 passed\n");
    assert_eq!(
        world.run_program(&["test", "w"]).code(0).stdout,
        "ok    talk › two\nok    talk › one\n2 passed\n"
    );
    world.run_program(&["check", "w"]).code(0);
    for (target, says) in [
        ("w/none.test.json", "none.test.json"),
        ("talk", "no workflow `talk`"),
        ("product_manager_codr", "product_manager_coder"),
    ] {
        let ran = world.run_program(&["test", target]).code(2);
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{target}: {}", ran.stderr);
    }
}

#[test]
fn unusable_tests_hide_no_others() {
    let world = World::new();
    world.write_file("w/talk.json", &talk_workflow().to_string());
    world.write_file("w/talk.test.json", &answering_test("one", "Hi.").to_string());
    world.write_file("w/a.test.json", "{\n  \"workflow\": \"tlak\",\n  \"tests\": [{\"name\": \"x\"}]\n}");
    world.write_file("w/b.test.json", "{\n  \"workflow\": \"talk\",\n  \"expct\": {}\n}");
    world.write_file(
        "w/broken.json",
        &named_workflow("broken").replace("\"target\":\"say\"", "\"target\":\"sya\""),
    );
    world.write_file(
        "w/broken.test.json",
        &json!({"tests": [answering_test("one", ""), answering_test("two", "")]}).to_string(),
    );
    let checked = world.run_program(&["check", "w"]).code(1).stdout;
    assert!(checked.contains("w/b.test.json:3:3") && checked.contains("C04"), "{checked}");
    let ran = world.run_program(&["test", "w"]).code(2);
    assert_eq!(ran.stdout, "ok    talk › one\n1 passed, 3 files cannot be used\n");
    for text in [
        "w/a.test.json:2:15",
        "did you mean `talk`?",
        "w/b.test.json:3:3",
        "did you mean `expect`?",
        "w/broken.json:1:",
        "sya",
    ] {
        assert!(ran.stderr.contains(text), "no `{text}` in\n{}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("error[E02]").count(), 1, "told once:\n{}", ran.stderr);
    let report = world.run_program(&["test", "w", "--json"]).code(2).json();
    assert_eq!((&report["unusable"], &report["passed"]), (&json!(3), &json!(1)));
    assert!(report["findings"].as_array().unwrap().len() >= 3, "{report}");
}

#[test]
fn a_torn_workflow_file_is_told_beside_its_test() {
    let world = World::new();
    world.write_file("w/torn.json", "{\n  \"workflow_name\": \"torn\",\n");
    world.write_file("w/torn.test.json", &answering_test("one", "Hi.").to_string());
    for targets in [&["w"][..], &["w/torn.test.json"]] {
        let err = world.run_program(&[&["test"], targets].concat()).code(2).stderr;
        for text in ["the workflow `torn` cannot be tested: w/torn.json has errors", "w/torn.json:1:1"] {
            assert_eq!(err.matches(text).count(), 1, "`{text}` once in\n{err}");
        }
        assert!(!err.contains("there is no workflow"), "{err}");
    }
}

#[test]
fn a_hidden_workflow_is_not_tested_by_mistake() {
    let world = World::new();
    world.write_user_file("workflows/talk.json", &talk_workflow().to_string());
    world.write_user_file("workflows/talk.test.json", &answering_test("one", "Hi.").to_string());
    world.write_file(".synthdev/workflows/talk.json", &talk_workflow().to_string());
    let check = |arguments: &[&str], shown: &str| {
        let ran = world.run_program(&[&["--trust", "test"], arguments].concat()).code(0);
        assert!(ran.stdout.contains(shown), "`{shown}` in\n{}", ran.stdout);
    };
    let is_skipped = "skip  talk › one (the project layer has a workflow of this name";
    check(&[], is_skipped);
    // whoever names it wants it tested, and it has no tests of its own
    check(&["talk"], "ok    talk › one\n1 passed\n");
    world.write_file(".synthdev/workflows/talk.test.json", &answering_test("own", "Hi.").to_string());
    check(&["talk"], is_skipped);
    check(&["talk"], "ok    talk › own\n");
}

#[test]
fn the_example_of_the_page_holds() {
    let page = include_str!("../../../docs/workflow-tests.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let world = World::new();
    world.write_file("example.test.json", example);
    let ran = world.run_program(&["test", "example.test.json"]).code(0);
    assert_eq!(ran.stdout, "ok    coder_reviewer › approved in the second round\n1 passed\n");
}
