//! Steps, pauses, waits, branches and loops on scripted results: the same run every time, and no real time passes.

use serde_json::{Value, json};

use super::super::world::{Ran, World};

/// Asks, checks with a command until it passes, calls out, works in branches and items, asks again.
fn gate_workflow() -> Value {
    let always = |target: &str| json!([{"target": target}]);
    let say = |input: &str| {
        json!({"name": "start", "agent": "coder", "input": input,
        "action": {"function": "sendUserMessage"}, "transition": [{"target": "stop"}]})
    };
    json!({
        "workflow_name": "gate", "description": "a test",
        "input": {"name": "task", "type": "string", "description": "what to do"},
        "output": {"name": "result", "type": "object"},
        "contexts": [{"name": "main", "starting_messages": []}],
        "agents": [{"agent_role": "coder", "context": "main", "role": "assistant"}],
        "states": [
            {"name": "start", "transition": always("ask")},
            {"name": "ask", "type": "pause", "kind": "approval", "message": "Shall it begin?", "ttl": 600,
             "on_timeout": "late",
             "transition": [{"target": "check", "condition": "context.result === true"}, {"target": "late"}]},
            {"name": "check", "type": "shell", "command": "make", "args": ["test"], "expect_exit": "any",
             "output": {"as": "last"},
             "transition": [{"target": "call", "condition": "context.result.exit_code === 0"}, {"target": "rest"}]},
            {"name": "rest", "type": "wait", "duration": "PT1H", "transition": always("fix")},
            {"name": "fix", "agent": "coder", "input": "common_data.last.stderr",
             "action": {"function": "sendUserMessage"}, "transition": always("check")},
            {"name": "call", "type": "http", "method": "POST", "url": "https://example.org/hook",
             "body": {"task": {"expr": "common_data.task"}}, "output": {"as": "answer"}, "transition": always("both")},
            {"name": "both", "type": "parallel", "output": {"as": "both"}, "transition": always("each"), "branches": [
                {"name": "slow", "states": [say("'slow'")]},
                {"name": "fast", "states": [{"name": "start", "type": "tool", "tool": "read_files",
                    "arguments": {"file_paths": ["a.rs"]}, "transition": always("stop")}]}]},
            {"name": "each", "type": "foreach", "in": "['x', 'y', 'z']", "max_concurrency": 2,
             "output": {"as": "items"}, "transition": always("name"), "states": [
                {"name": "start", "type": "mcp", "server": "s", "tool": "t",
                 "arguments": {"q": {"expr": "common_data.item"}}, "transition": always("stop")}]},
            {"name": "name", "type": "pause", "kind": "input", "message": "Your name?", "output": {"as": "name"},
             "transition": always("stop")},
            {"name": "late", "type": "fail", "error": "too_late", "cause": "nobody was there"},
            {"name": "stop", "input": "({both: common_data.both, items: common_data.items, name: common_data.name, at: Date.now(), luck: Math.random()})"}]
    })
}

fn whole_test() -> Value {
    json!({
        "input": "t", "now": "2030-01-01T00:00:00Z",
        "replies": {"coder": [{"match": "broken", "reply": {"text": "fixed"}}, {"text": "slowly", "delay_ms": 90_000}]},
        "tool_results": {
            "shell": [{"exit_code": 2, "stderr": "broken"}, {"match": {"args": ["test"]}, "result": {"exit_code": 0}}],
            "http_request": {"match": "\"task\":\"t\"", "result": {"status": 201}},
            "read_files": "fn a() {}",
            "mcp": [{"match": {"arguments": {"q": "y"}}, "result": [2]}, {"result": {"n": 1}, "delay_ms": 500}, "text"]},
        "answers": [{"state": "name", "match": "name", "answer": "Ann"}, true],
        "expect": {
            "path": ["start", "ask", "check", "rest", "fix", "check", "call", "both", "both.slow/start", "both.fast/start",
                "both.fast/stop", "both.slow/stop", "each", "each[0]/start", "each[1]/start", "each[1]/stop",
                "each[2]/start", "each[2]/stop", "each[0]/stop", "name", "stop"],
            "visits": {"check": 2, "each/start": 3, "each[1]/start": 1, "both.slow/start": 1},
            "not_visited": ["late"],
            "data": {
                "last": {"exit_code": 0, "stdout": "", "stderr": "", "timed_out": false, "duration_ms": 0},
                "both": {"slow": "slowly", "fast": "fn a() {}"}, "items": [{"n": 1}, [2], "text"], "name": "Ann"},
            "messages": ["broken", "fixed", "slow", {"author": "coder", "text": "slowly"}]}
    })
}

fn run_simulate(test: &Value, more: &[&str]) -> Ran {
    let world = World::new();
    world.write_json("gate.json", &gate_workflow());
    world.write_json("r.json", test);
    world.run_program(&[&["simulate", "gate.json", "r.json"], more].concat())
}

#[test]
fn a_run_through_everything_is_the_same_every_time() {
    let report = run_simulate(&whole_test(), &["--json"]).code(0).json();
    assert_eq!(report["problems"], json!([]));
    let start = 1_893_456_000_000_i64;
    let at = report["output"]["at"].as_i64().unwrap() - start;
    assert_eq!(at, 3_600_000 + 90_000 + 500, "an hour of waiting, the slow branch, the slow item");
    let again = run_simulate(&whole_test(), &["--json"]).code(0).json();
    assert_eq!(report, again, "luck and time are simulated, too");
}

#[test]
fn people_answer_in_time_or_not() {
    let base = json!({"input": "t", "answers": [], "expect": {}});
    let rows = [
        (
            json!([{"timeout": true}]),
            json!({"error": {"code": "too_late", "state": "late", "detail": "nobody was there"}}),
        ),
        (json!([false]), json!({"error": "too_late", "path": ["start", "ask", "late"]})),
        (json!([]), json!({"status": "paused", "error": "input_required"})),
        (json!([{"answer": "perhaps"}, false]), json!({"error": "too_late", "visits": {"ask": 1}})),
    ];
    for (answers, expect) in rows {
        let mut test = base.clone();
        (test["answers"], test["expect"]) = (answers, expect);
        run_simulate(&test, &[]).code(0);
    }
    let out = run_simulate(&base, &[]).code(1).stdout;
    let text = "    - completed\n    + paused\n      input_required: An answer is needed";
    assert!(
        out.contains(text) && out.contains("no answer was left for state `ask`, which asks: Shall it begin?"),
        "{out}"
    );
    let mut test = base;
    test["answers"] = json!([{"state": "nmae", "answer": 1}]);
    assert!(run_simulate(&test, &[]).code(2).stderr.contains("did you mean `name`?"));
}

#[test]
fn a_pause_without_a_time_limit_cannot_time_out() {
    let mut test = whole_test();
    test["answers"] = json!([true, {"state": "name", "timeout": true}]);
    let out = run_simulate(&test, &[]).code(1).stdout;
    assert!(out.contains("the answer of state `name` shall time out, but the state waits for ever"), "{out}");
}

#[test]
fn a_step_without_a_result_is_told_with_its_arguments() {
    let mut test = whole_test();
    test["tool_results"]["shell"] = json!([{"match": "ninja", "result": "ok"}]);
    let out = run_simulate(&test, &[]).code(1).stdout;
    let text = "the step `shell` was called with {\"command\":\"make\",\"args\":[\"test\"]}, but its one scripted result";
    assert!(out.contains(text), "{out}");
    let mut test = whole_test();
    test["tool_results"]["shell"] = json!([{"error": "make is not there"}]);
    test["expect"] = json!({"messages": ["make is not there"]});
    let out = run_simulate(&test, &[]).code(1).stdout;
    assert!(
        out.contains("status    failed") && out.contains("input_undefined"),
        "without data there is no stderr: {out}"
    );
}
