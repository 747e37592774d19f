//! Every tool answers in one shape: a line of JSON about the call, then text, both within the limit.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use synthdev::domain::tool::ToolOutcome;
use synthdev::ports::tool::ToolPort;

use super::http::Server;
use super::own_tools::own_tool;
use super::{Project, invocation};

/// Bytes of one answer.
const CAP: usize = 2_048;

/// Bytes of what a tool says about itself in the first line, beside an error.
const FACTS: usize = 1_024;

/// A variable that cargo sets for every test: here it counts as a key.
const SECRET: (&str, &str) = ("CARGO_PKG_DESCRIPTION", env!("CARGO_PKG_DESCRIPTION"));

fn head_schema(tool: &str) -> Value {
    json!({
        "type": "object",
        "required": ["success", "tool", "time_ms"],
        "properties": {
            "success": {"type": "boolean"},
            "tool": {"const": tool},
            "time_ms": {"type": "integer", "minimum": 0},
            "error": {"type": "string", "minLength": 1}
        },
        "if": {"properties": {"success": {"const": true}}},
        "then": {"not": {"required": ["error"]}},
        "else": {"required": ["error"]}
    })
}

/// A call that succeeds, and one that fails; `None`: there is none without a network.
type Row = (&'static str, Option<Value>, Value);

fn rows(url: &str) -> Vec<Row> {
    let none = || json!({"file_path": "none", "old_text": "a", "new_text": "b"});
    let bad_patch = "*** Begin Patch\n*** Update File: none\n@@\n-a\n+b\n*** End Patch";
    let patch = "*** Begin Patch\n*** Add File: new\n+a\n*** End Patch";
    let deep = "function f(n) { if (n === 0) throw new Error('deep'); return f(n - 1) } f(9)";
    vec![
        ("read_files", Some(json!({"file_paths": ["long.txt"]})), json!({"file_paths": ["none"]})),
        ("list_directory", Some(json!({"directory_path": "many"})), json!({"directory_path": "none"})),
        ("exact_search", Some(json!({"search_string": "word"})), json!({"search_string": ""})),
        ("glob", Some(json!({"pattern": "many/*"})), json!({"pattern": "["})),
        ("explain_codebase", None, json!({})),
        (
            "write_file",
            Some(json!({"file_path": "w", "content": "a"})),
            json!({"file_path": "../w", "content": ""}),
        ),
        ("edit_file", Some(json!({"file_path": "a.txt", "old_text": "one", "new_text": "two"})), none()),
        ("apply_patch", Some(json!({"patch": patch})), json!({"patch": bad_patch})),
        ("calculate", Some(json!({"expression": "2^100"})), json!({"expression": "1/0"})),
        ("get_time", Some(json!({})), json!({"time_zone": "Nowhere/None"})),
        ("execute_script", Some(json!({"script": "return 'word '.repeat(5000)"})), json!({"script": deep})),
        ("web_fetch", Some(json!({"url": format!("{url}/long")})), json!({"url": format!("{url}/none")})),
        (
            "execute_terminal",
            Some(json!({"command": "env; seq 9999"})),
            json!({"command": "seq 9999; exit 3"}),
        ),
        ("read_output", Some(json!({"id": "c1"})), json!({"id": "c99"})),
        ("send_input", Some(json!({"id": "c1", "input": "word\n"})), json!({"id": "c99", "input": "a"})),
        ("stop_command", Some(json!({"id": "c1"})), json!({"id": "c99"})),
        ("own", Some(json!({"text": "a"})), json!({"text": 1})),
        ("shell", Some(json!({"command": "env; seq 9999"})), json!({"command": "seq 9999 >&2; exit 3"})),
        (
            "http_request",
            Some(json!({"method": "GET", "url": format!("{url}/long")})),
            json!({"method": "GET", "url": format!("{url}/none"), "headers": 1}),
        ),
        ("mcp", None, json!({"server": "none", "tool": "x"})),
        ("none__such", None, json!({})),
    ]
}

/// What is wrong with an answer; empty: nothing is.
fn shape_faults(tool: &str, outcome: &ToolOutcome, root: &str) -> Vec<String> {
    let (first, body) = outcome.content.split_once('\n').unwrap_or((&outcome.content, ""));
    let head: Value = serde_json::from_str(first).unwrap_or(Value::Null);
    let validator = jsonschema::validator_for(&head_schema(tool)).unwrap();
    let error = head["error"].as_str().map_or(0, str::len);
    // what a command prints is the machine's
    let executes = ["execute_terminal", "shell", "read_output", "own"].contains(&tool);
    let inner = ["panicked at", "backtrace", ".rs:", "workflow-script:", "    at ", SECRET.1];
    let checks = [
        ("fits the schema", validator.is_valid(&head)),
        ("says how it went", head["success"] == outcome.ok),
        ("says how long it took", head["time_ms"] == outcome.duration_ms),
        ("has a short error", error <= CAP),
        ("says little about itself", first.len() <= error + FACTS),
        ("has a short text", body.len() <= CAP + 100),
        ("has a summary of one line", !outcome.summary.is_empty() && !outcome.summary.contains('\n')),
        ("has a short summary", outcome.summary.len() <= 300),
        ("has no NUL", !outcome.content.contains('\0')),
        ("shows nothing of the inside", !inner.iter().any(|part| outcome.content.contains(part))),
        ("shows no path of the machine", executes || !outcome.content.contains(root)),
    ];
    checks.iter().filter(|(_, holds)| !holds).map(|(what, _)| (*what).to_owned()).collect()
}

#[tokio::test]
async fn every_tool_answers_in_one_shape() {
    let long: &'static str = String::leak("word word word word\n".repeat(500));
    let head = "200 OK|content-type: text/plain".to_owned();
    let server = Server::start_server(vec![("/long", head, long)]).await;
    let data = crate::support::temporary::temp_directory();
    let many: Vec<String> = (0..500).map(|number| format!("many/file-{number}.txt")).collect();
    let files = many.iter().map(|path| (path.as_str(), "word"));
    let files: Vec<(&str, &str)> = files.chain([("a.txt", "one"), ("long.txt", long)]).collect();
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let project = Project::with_files(&files, |settings| {
        settings.output_cap_bytes = CAP;
        settings.strip_env.push(SECRET.0.to_owned());
        settings.command_outputs = Some(data.path().join("commands"));
        settings.own_tools = vec![own_tool("own", &["sh", "-c", "env; seq 9999"], schema)];
    });
    let port = server.url.rsplit(':').next().unwrap().parse().unwrap();
    let begun = json!({"command": "cat", "background": true});
    assert!(project.tools.run(&invocation("execute_terminal", begun)).await.ok);
    let rows = rows(&server.url);
    let known: BTreeSet<&str> = rows.iter().map(|(tool, ..)| *tool).collect();
    for spec in project.tools.specs() {
        assert!(known.contains(spec.name.as_str()), "{} has no row", spec.name);
    }
    let root = project.root().to_string_lossy().into_owned();
    let mut faults = Vec::new();
    for (tool, good, bad) in rows {
        for (arguments, expected) in good.into_iter().map(|call| (call, true)).chain([(bad, false)]) {
            let mut call = invocation(tool, arguments.clone());
            call.loopback_ports.insert(port);
            let outcome = project.tools.run(&call).await;
            let mut wrong = shape_faults(tool, &outcome, &root);
            if outcome.ok != expected {
                wrong.push(format!("success is {expected}"));
            }
            let shown: String = outcome.content.chars().take(600).collect();
            faults.extend(wrong.iter().map(|fault| format!("not so: {tool} {arguments} {fault}\n{shown}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// What is cut says so.
#[tokio::test]
async fn an_answer_that_is_cut_says_what_is_missing() {
    let long = "word word word word\n".repeat(500);
    let many: Vec<String> = (0..500).map(|number| format!("many/file-{number}.txt")).collect();
    let files: Vec<(&str, &str)> =
        many.iter().map(|path| (path.as_str(), "word")).chain([("long.txt", long.as_str())]).collect();
    let project = Project::with_files(&files, |settings| settings.output_cap_bytes = CAP);
    for (tool, arguments) in [
        ("read_files", json!({"file_paths": ["long.txt"]})),
        ("list_directory", json!({"directory_path": "many"})),
        ("exact_search", json!({"search_string": "word"})),
        ("glob", json!({"pattern": "many/*"})),
        ("execute_script", json!({"script": "return 'word '.repeat(5000)"})),
        ("execute_terminal", json!({"command": "seq 9999"})),
    ] {
        let outcome = project.tools.run(&invocation(tool, arguments)).await;
        let told = ["left out", "left_out", "notice", "more"];
        assert!(told.iter().any(|word| outcome.content.contains(word)), "{tool}: {}", outcome.content);
    }
}
