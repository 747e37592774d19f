//! Scripts that want too much, or out: stopped, with state, line and hint (acceptance 5).

use serde_json::{Value, json};

use super::world::{World, workflow};

/// Runs one script as the action of `start`; the workflow file is written for people, a line a member.
fn run_script(script: &str, code: i32) -> (Value, String) {
    let world = World::new();
    let states = json!([
        {"name": "start", "action": {"script": script}, "transition": [{"target": "stop", "condition": "true"}]},
        {"name": "stop", "input": "common_data.result"}
    ]);
    world.write_file("talk.json", &serde_json::to_string_pretty(&workflow(&states)).unwrap());
    world.write_file("replies.json", "{\"replies\": {}}");
    let file = ["run", "--workflow-file", "talk.json", "--replies", "replies.json"];
    let ran = world.run_program(&[&file[..], &["x", "--json"]].concat()).code(code);
    (if code == 2 { Value::Null } else { ran.json() }, ran.stderr)
}

fn assert_stopped(script: &str, code: &str, says: &str) {
    let (report, _) = run_script(script, 1);
    let error = &report["error"];
    assert_eq!(
        (&report["status"], &error["state"]),
        (&json!("failed"), &json!("start")),
        "{script}: {report}"
    );
    assert_eq!(report["path"], json!(["start"]), "{script}: the path is kept");
    assert!(error["code"].as_str().unwrap().starts_with(code), "{script}: {error}");
    let text = format!("{} {}", error["title"], error["detail"]);
    assert!(text.contains(says), "{script}: no `{says}` in {error}");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{script}: {error}");
    let place = &error["place"];
    assert_eq!(place["file"], "talk.json", "{script}: {error}");
    assert!(place["line"].as_u64().is_some_and(|line| line > 20), "{script}: {error}");
}

#[test]
fn scripts_without_end_are_stopped() {
    assert_stopped("while(true){}", "script", "250 ms");
    assert_stopped("for(;;) { try { while(true){} } catch (e) {} }", "script", "250 ms");
    assert_stopped("const down = n => down(n + 1) + 1; down(0);", "script", "too deeply");
}

#[test]
fn scripts_that_want_too_much_memory_are_stopped() {
    assert_stopped("this.common_data.result = new Array(1e9).fill('x').length;", "script", "too long");
    assert_stopped(
        "const list = []; for (;;) { list.push('x'.repeat(4_000_000) + list.length); }",
        "script",
        "32 MB",
    );
    assert_stopped("this.common_data.result = 'x'.repeat(9_000_000);", "script", "gave more than 8 MB");
    assert_stopped("const o = {}; o.self = o; this.common_data.result = o;", "script", "common_data");
}

#[test]
fn the_line_in_a_script_is_told() {
    let (report, _) = run_script("const a = 1;\nconst b = 2;\nnull.field;", 1);
    let text = report["error"].to_string();
    assert!(text.contains("line 3"), "{text}");
}

#[test]
fn there_is_no_way_out() {
    for (name, call) in [
        ("require", "require('fs').readFileSync('/etc/passwd')"),
        ("process", "process.exit(0)"),
        ("fetch", "fetch('http://127.0.0.1:1/')"),
        ("setTimeout", "setTimeout(() => {}, 1)"),
    ] {
        let (_, err) = run_script(&format!("this.common_data.result = String({call});"), 2);
        assert!(err.contains(&format!("`{name}`")) && err.contains("talk.json:"), "{name}: {err}");
    }
    let names = "typeof require + typeof process + typeof fetch + typeof setTimeout";
    for way in ["[].constructor.constructor", "(() => {}).constructor", "(function* () {}).constructor"] {
        let (report, _) = run_script(&format!("this.common_data.result = {way}('return {names}')();"), 1);
        let detail = report["error"]["detail"].as_str().unwrap();
        assert!(detail.contains("line 1"), "{way}: {detail}");
    }
}

#[test]
fn prototypes_of_one_script_are_not_those_of_the_next() {
    let world = World::new();
    let poison = "Object.prototype.evil = 'yes'; Array.prototype.map = () => ['owned']; \
                  this.common_data.__proto__.leak = 'yes'; JSON.stringify = () => '\"owned\"';";
    let look = "() => { this.common_data.result = [String({}.evil), String([1].map(x => x)), \
                String(this.common_data.leak), JSON.stringify('a')].join(); }";
    let states = json!([
        {"name": "start", "action": {"script": poison}, "transition": [{"target": "look", "condition": "true"}]},
        {"name": "look", "action": {"script": look}, "transition": [{"target": "stop", "condition": "true"}]},
        {"name": "stop", "input": "common_data.result"}
    ]);
    world.write_json("talk.json", &workflow(&states));
    world.write_file("replies.json", "{\"replies\": {}}");
    let file = ["run", "--workflow-file", "talk.json", "--replies", "replies.json"];
    let ran = world.run_program(&[&file[..], &["x", "--json"]].concat());
    let report = ran.json();
    if ran.code == Some(0) {
        assert_eq!(report["output"], "undefined,1,undefined,\"a\"");
    } else {
        assert_eq!((ran.code, &report["error"]["state"]), (Some(1), &json!("start")), "{report}");
    }
}
