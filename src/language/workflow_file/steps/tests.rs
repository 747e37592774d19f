use serde_json::{Value, json};

use super::*;
use crate::source::SourceFile;
use synthdev_domain::source_location::ConfigLayer;

fn lower_steps_text(steps: &Value) -> (Value, Vec<String>) {
    let text = json!({"workflow_name": "w", "steps": steps}).to_string();
    let file = SourceFile::new(ConfigLayer::User, "w.json", text);
    let mut findings = FileDiagnostics::new(&file);
    let node = JsonNode::parse(&file, &mut findings).unwrap();
    let rewritten = lower_steps(&node, &mut findings).unwrap().to_value();
    let found = findings.list.iter();
    let found = found.map(|one| format!("{} {}", one.code, &file.text[one.span.clone()]));
    (rewritten, found.collect())
}

/// `name: target if condition then before, …` of each state without a type; the type of the others.
fn outline(states: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |to: &Value| {
        let condition = to["condition"].as_str().map(|text| format!(" if {}", text.trim()));
        let before = to["before"].as_str().map(|text| format!(" then {text}"));
        format!("{}{}{}", text(&to["target"]), condition.unwrap_or_default(), before.unwrap_or_default())
    };
    let states = states.as_array().unwrap().iter();
    states
        .map(|state| {
            let exits: Vec<String> = state["transition"].as_array().into_iter().flatten().map(one).collect();
            let kind = state["type"].as_str().map(|kind| format!(" <{kind}>")).unwrap_or_default();
            format!("{}{kind}: {}", text(&state["name"]), exits.join(", "))
        })
        .collect()
}

#[test]
fn lists_become_states_that_follow_each_other() {
    let script = |id: &str| json!({"id": id, "type": "script", "script": "1"});
    for (steps, expected) in [
        (json!([script("a"), script("b")]), vec!["start: a", "a: b", "b: stop"]),
        (json!([{"type": "script", "script": "1"}]), vec!["start: step_1", "step_1: stop"]),
        (json!([script("start")]), vec!["start: stop"]),
        (
            json!([{"id": "a", "type": "script", "script": "1", "when": "{{ state.x }}"}, script("b")]),
            vec!["start: a.when", "a.when: a if state.x, b", "a: b", "b: stop"],
        ),
        (
            json!([{"id": "c", "type": "condition", "if": "state.x", "then": [script("a")], "else": [{"type": "script", "script": "1"}]}]),
            vec!["start: c", "c: a if state.x, c.else.step_1", "a: stop", "c.else.step_1: stop"],
        ),
        (
            json!([{"id": "c", "type": "condition", "if": "state.x", "then": [script("a")]}, script("b")]),
            vec!["start: c", "c: a if state.x, b", "a: b", "b: stop"],
        ),
        (json!([{"id": "r", "type": "return", "value": "state.x"}]), vec!["start: r", "r <final>: "]),
    ] {
        let (rewritten, found) = lower_steps_text(&steps);
        assert_eq!(
            (outline(&rewritten["states"]), found),
            (expected.iter().map(|s| (*s).to_owned()).collect(), vec![]),
            "{steps}"
        );
    }
}

#[test]
fn loops_count_their_turns_and_end() {
    let steps = json!([
        {"id": "poll", "type": "while", "condition": "state.i < 3", "max_iterations": 5, "output_to": "state.polled", "steps": [
            {"id": "add", "type": "set_state", "updates": [{"path": "i", "operation": "increment"}]},
            {"id": "out", "type": "break", "when": "state.late"},
        ]},
        {"id": "end", "type": "script", "script": "1"}
    ]);
    let (rewritten, found) = lower_steps_text(&steps);
    assert_eq!(found, Vec::<String>::new());
    let done = "__flow.end(0, \"done\", \"polled\")";
    assert_eq!(
        outline(&rewritten["states"]),
        [
            "start: poll".to_owned(),
            format!("poll: add if state.i < 3 then __flow.turn(0), end then {done}"),
            "add: out.when".to_owned(),
            "out.when: out if state.late, poll.again".to_owned(),
            "out: end then __flow.end(0, \"stopped\", \"polled\")".to_owned(),
            format!(
                "poll.again: poll.limit if __flow.turns(0) >= 5, add if state.i < 3 then __flow.turn(0), end then {done}"
            ),
            format!("poll.limit: poll.exceeded if state.i < 3, end then {done}"),
            "poll.exceeded <fail>: ".to_owned(),
            "end: stop".to_owned(),
        ]
    );
    assert_eq!(rewritten["states"][1]["action"]["script"], "__flow.begin(0, \"poll\")");
    assert_eq!(rewritten["states"][2]["max_visits"], 7, "five turns, and room for the check after them");
    assert_eq!(rewritten["states"][1].get("max_visits"), None);
    let on = json!([{"id": "p", "type": "while", "condition": "state.x", "on_max": "continue", "steps": [
        {"id": "q", "type": "while", "condition": "state.y", "steps": [{"type": "continue"}]}
    ]}]);
    let (rewritten, found) = lower_steps_text(&on);
    assert_eq!(found, Vec::<String>::new());
    let lines = outline(&rewritten["states"]);
    assert!(lines.contains(&"q.step_1: q.again".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"p.limit: stop if state.x then __flow.end(0, \"max_iterations\"), stop then __flow.end(0, \"done\")".to_owned()), "{lines:#?}");
    assert!(
        !lines.iter().any(|line| line.starts_with("p.exceeded"))
            && lines.iter().any(|line| line.starts_with("q.exceeded <fail>"))
    );
    assert!(rewritten["limits"]["max_steps"].as_u64().unwrap() > 10_000, "{}", rewritten["limits"]);
}

#[test]
fn steps_keep_what_states_of_their_kind_say() {
    for (step, expected) in [
        (
            json!({"type": "shell", "command": "echo {{state.x}}", "expect_exit": [0, 1], "output_to": "r", "timeout": 5, "retry": [1]}),
            json!({"type": "shell", "command": {"template": "echo {{state.x}}"}, "expect_exit": [0, 1], "output": {"as": "r"}, "timeout": 5, "retry": [1]}),
        ),
        (
            json!({"type": "mcp_call", "server": "s", "tool": "t", "arguments": {"a": ["{{state.x}}", 1]}, "store_result": "common_data.r"}),
            json!({"type": "mcp", "server": "s", "tool": "t", "arguments": {"a": [{"template": "{{state.x}}"}, 1]}, "output": {"as": "r"}}),
        ),
        (
            json!({"type": "prompt", "message": "ok?", "kind": "confirm"}),
            json!({"type": "pause", "message": "ok?", "kind": "approval"}),
        ),
        (
            json!({"type": "prompt", "message": "m", "kind": "info"}),
            json!({"type": "pause", "message": "m", "kind": "approval", "default": true}),
        ),
        (
            json!({"type": "prompt", "message": "m", "choices": ["a"]}),
            json!({"type": "pause", "message": "m", "kind": "choice", "choices": ["a"]}),
        ),
        (json!({"type": "wait", "duration_seconds": 3}), json!({"type": "wait", "duration": 3})),
        (
            json!({"type": "agent", "agent": "a", "input": "state.x"}),
            json!({"agent": "a", "input": "state.x"}),
        ),
        (
            json!({"type": "delegate", "agent": "a", "instructions": "Do it", "needs_state": ["x.y"]}),
            json!({"agent": "a", "input": {"template": "Do it\n\nState:\nx.y: {{JSON.stringify(common_data?.[\"x\"]?.[\"y\"])}}"}}),
        ),
        (
            json!({"type": "delegate", "instructions": "Do it"}),
            json!({"type": "delegate", "action": {"prompt": "Do it", "required_outputs": ["result"]}}),
        ),
        (
            json!({"type": "foreach", "items": "{{state.files}}", "sequential": true, "sub_workflow": "c", "sub_workflow_input": {"f": "{{loop.item}}"}}),
            json!({"type": "foreach", "in": "state.files", "max_concurrency": 1, "sub_workflow": "c", "sub_workflow_input": {"f": {"template": "{{loop.item}}"}}}),
        ),
        (
            json!({"type": "foreach", "items": "state.files", "steps": [{"type": "return", "value": "loop.index"}]}),
            json!({"type": "foreach", "in": "state.files", "states": [
                {"name": "start", "transition": [{"target": "step_1"}]},
                {"name": "step_1", "type": "final", "input": "loop.index"}
            ]}),
        ),
        (
            json!({"type": "set_state", "updates": {"a": "{{state.b}}"}}),
            json!({"action": {"set_state": {"a": {"template": "{{state.b}}"}}}}),
        ),
        (
            json!({"type": "parallel", "branches": [{"name": "a", "steps": [{"id": "start", "type": "script", "script": "1"}]}, {"name": "b", "agent": "x"}]}),
            json!({"type": "parallel", "branches": [
                {"name": "a", "states": [{"name": "start", "action": {"script": "1"}, "transition": [{"target": "stop"}]}]},
                {"name": "b", "agent": "x"}
            ]}),
        ),
        (json!({"type": "sub_workflow", "sub_workflow": "c"}), json!({"action": {"sub_workflow": "c"}})),
        (
            json!({"type": "fail", "error": "e", "cause": "c"}),
            json!({"type": "fail", "error": "e", "cause": "c"}),
        ),
    ] {
        let (rewritten, found) = lower_steps_text(&json!([step]));
        let mut state = rewritten["states"][1].clone();
        let state = state.as_object_mut().unwrap();
        assert_eq!(state.remove("name"), Some(json!("step_1")));
        if let Some(next) = state.remove("transition") {
            assert_eq!(next, json!([{"target": "stop"}]), "{step}");
        }
        assert_eq!((Value::Object(state.clone()), found), (expected, vec![]), "{step}");
    }
}

#[test]
fn slips_are_found_at_their_place() {
    for (steps, expected) in [
        (json!({}), vec!["E10 {}"]),
        (json!([]), vec!["E10 []"]),
        (json!([3]), vec!["E10 3"]),
        (json!([{"id": "a"}]), vec!["E10 {"]),
        (json!([{"type": "while_loop"}]), vec!["E10 \"while_loop\""]),
        (json!([{"type": "sell", "command": "x"}]), vec!["E10 \"sell\""]),
        (json!([{"type": "shell", "comand": "x"}]), vec!["E14 \"comand\""]),
        (json!([{"type": "set_state", "retry": []}]), vec!["E14 \"retry\"", "E10 \"set_state\""]),
        (json!([{"type": "condition", "if": "x"}]), vec!["E10 \"condition\""]),
        (json!([{"type": "while", "steps": []}]), vec!["E10 \"while\""]),
        (json!([{"type": "break"}]), vec!["E10 \"break\""]),
        (
            json!([{"type": "foreach", "items": "x", "steps": [{"type": "continue"}]}]),
            vec!["E10 \"continue\""],
        ),
        (json!([{"id": "stop", "type": "script", "script": "1"}]), vec!["E10 \"stop\""]),
        (json!([{"id": "a b", "type": "script", "script": "1"}]), vec!["E10 \"a b\""]),
        (json!([{"type": "shell", "command": "x", "output_to": "inputs.x"}]), vec!["E13 \"inputs.x\""]),
        (json!([{"type": "shell", "command": "x", "output_to": "a.b"}]), vec!["E10 \"a.b\""]),
        (
            json!([{"type": "shell", "command": "x", "output_to": "a", "store_result": "b"}]),
            vec!["E10 \"store_result\""],
        ),
        (json!([{"type": "wait"}]), vec!["E10 \"wait\""]),
        (
            json!([{"type": "foreach", "items": "x", "sequential": true, "max_concurrency": 2, "agent": "a"}]),
            vec!["E12 \"max_concurrency\""],
        ),
    ] {
        assert_eq!(lower_steps_text(&steps).1, expected, "{steps}");
    }
}
