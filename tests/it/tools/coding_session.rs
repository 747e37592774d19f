//! A whole coding session in each protocol: a scripted model changes a real repository with more than 40 calls, uses every
//! tool that the program offers, makes mistakes and goes on. What it was told, what is recorded and what is left in the
//! repository is the same in all protocols.
//!
//! A new tool has to get a row in `lead_rounds` or `helper_rounds`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use synthdev::bootstrap::wiring::tool_specs;
use synthdev::domain::agent_team::TEAM_TOOLS;

use crate::cli::real_protocols::world_asking_in;
use crate::cli::world::{Ran, World};
use crate::support::model_server::{Behaviour, Dialect, ModelServer, Recorded};
use crate::support::skip::skip_sandbox_row;

/// The answer of the last model call.
const LAST_WORDS: &str = "The average is there.";

const FILES: [(&str, &str); 5] = [
    ("README.md", "# prices\n\nAdds up a list of prices.\n"),
    ("prices.csv", "name,price\napple,3\npear,4\n"),
    (
        "src/sum.sh",
        "# Adds the prices of a list.\nawk -F, 'NR > 1 { total += $2 } END { print total }' \"$1\"\n",
    ),
    ("tests/check.sh", "[ \"$(sh src/sum.sh prices.csv)\" = 7 ] && echo passed\n"),
    ("notes/old.txt", "goes\n"),
];

const PATCH: &str = "*** Begin Patch\n*** Update File: tests/check.sh\n@@\n-[ \"$(sh src/sum.sh prices.csv)\" = 7 ] && echo passed\n\
    +[ \"$(sh src/sum.sh prices.csv)\" = 7 ] || exit 1\n+[ \"$(sh src/average.sh prices.csv)\" = 3.5 ] && echo passed\n\
    *** Delete File: notes/old.txt\n*** Add File: notes/new.txt\n+average: the sum by the count\n*** End Patch";

/// One call of a model.
struct ScriptedCall {
    tool: &'static str,
    arguments: String,
    is_fine: bool,
    /// What the history says of it: the tool and whether it succeeded. A `multicall` has those of its inner calls.
    recorded: Vec<(&'static str, bool)>,
}

fn call(tool: &'static str, arguments: &Value, ok: bool) -> ScriptedCall {
    ScriptedCall { tool, arguments: arguments.to_string(), is_fine: ok, recorded: vec![(tool, ok)] }
}

fn good(tool: &'static str, arguments: Value) -> ScriptedCall {
    call(tool, &arguments, true)
}

/// A call that is answered with what is wrong with it.
fn wrong(tool: &'static str, arguments: Value) -> ScriptedCall {
    call(tool, &arguments, false)
}

/// A call whose arguments end before their end.
fn cut_off(tool: &'static str, arguments: &str) -> ScriptedCall {
    ScriptedCall { arguments: arguments.to_owned(), ..call(tool, &Value::Null, false) }
}

fn several(inner: Vec<ScriptedCall>) -> ScriptedCall {
    let shown = inner.iter().map(
        |one| json!({"tool": one.tool, "arguments": serde_json::from_str::<Value>(&one.arguments).unwrap()}),
    );
    let arguments = json!({"calls": shown.collect::<Vec<_>>()}).to_string();
    let recorded = inner.into_iter().flat_map(|one| one.recorded).collect();
    ScriptedCall { tool: "multicall", arguments, is_fine: true, recorded }
}

type Rounds = Vec<Vec<ScriptedCall>>;

fn looking_around() -> Rounds {
    vec![
        vec![
            good("list_directory", json!({"directory_path": ".", "recursive": true})),
            good("glob", json!({"pattern": "**/*.sh"})),
            good("read_files", json!({"file_paths": ["README.md", "src/sum.sh"]})),
            wrong("open_file", json!({"path": "README.md"})),
        ],
        vec![
            good("explain_codebase", json!({"question": "Where is sum.sh?"})),
            good("read_files", json!({"file_paths": ["src/sum.sh"], "summary": true})),
            wrong("explain_codebase", json!({"question": ""})),
            wrong("read_files", json!({"file_paths": ["../../etc/passwd"]})),
        ],
        vec![
            good("exact_search", json!({"search_string": "total"})),
            good("exact_search", json!({"pattern": "pri[c]es"})),
            wrong("exact_search", json!({"pattern": "("})),
            wrong("list_directory", json!({"directory_path": ".", "max_depth": 11})),
            wrong("glob", json!({"pattern": "*", "directory_path": ".."})),
        ],
        vec![
            good("execute_terminal", json!({"command": "git log --format=%s"})),
            good("execute_terminal", json!({"command": "sh tests/check.sh"})),
            wrong("execute_terminal", json!({"command": "ls", "directory": "../.."})),
        ],
        vec![
            good("calculate", json!({"expression": "(3 + 4) / 2"})),
            wrong("calculate", json!({"expression": "(3 + 4"})),
            good("get_time", json!({"at": "2026-01-01T00:00:00Z", "time_zone": "Asia/Tokyo"})),
            wrong("get_time", json!({"time_zone": "Moon/Sea"})),
            good(
                "execute_script",
                json!({"script": "return readFile('prices.csv').trim().split('\\n').length - 1;"}),
            ),
            wrong("execute_script", json!({"script": "return ("})),
        ],
    ]
}

fn changing_files() -> Rounds {
    let average = "awk -F, 'NR > 1 { total += $2; count += 1 } END { print total / count }' \"$1\"\n";
    vec![
        vec![
            cut_off("write_file", "{\"file_path\": \"src/average.sh\", \"content"),
            wrong("write_file", json!({"file_path": "../outside.sh", "content": average})),
        ],
        vec![
            good("write_file", json!({"file_path": "src/average.sh", "content": average})),
            good(
                "edit_file",
                json!({"file_path": "README.md", "old_text": "Adds up", "new_text": "Adds up and averages"}),
            ),
            wrong("edit_file", json!({"file_path": "README.md", "old_text": "Subtracts", "new_text": "x"})),
        ],
        vec![
            wrong("apply_patch", json!({"patch": PATCH.replace("exit 1", "exit 1\n-no such line")})),
            good("apply_patch", json!({"patch": PATCH})),
            good("execute_terminal", json!({"command": "sh tests/check.sh && git status --porcelain"})),
        ],
        vec![
            several(vec![
                good("read_files", json!({"file_paths": ["notes/new.txt"]})),
                wrong("read_files", json!({"file_paths": ["notes/old.txt"]})),
                good(
                    "write_file",
                    json!({"file_path": "notes/by-multicall.txt", "content": "one of several\n"}),
                ),
            ]),
            // no inner call, so nothing that the history could say
            ScriptedCall { recorded: Vec::new(), ..wrong("multicall", json!({"calls": []})) },
        ],
    ]
}

fn background_commands() -> Rounds {
    vec![
        vec![
            good(
                "execute_terminal",
                json!({"command": "echo ready; while read -r line; do echo \"heard $line\"; done", "background": true}),
            ),
            good("send_input", json!({"id": "c1", "input": "hello\n", "wait_seconds": 20})),
            good("read_output", json!({"id": "c1", "from": 0, "wait_seconds": 20})),
            wrong("read_output", json!({"id": "c9"})),
            wrong("send_input", json!({"id": "c9", "input": "x"})),
        ],
        vec![
            good("stop_command", json!({"id": "c1"})),
            wrong("stop_command", json!({"id": "c9"})),
            good("read_output", json!({})),
        ],
    ]
}

/// The third agent never answers: it works until it is stopped.
fn leading_others() -> Rounds {
    let spawn =
        |task: &str, background: bool| json!({"role": "helper", "task": task, "background": background});
    vec![
        vec![
            good("task_add", json!({"title": "write a page"})),
            wrong("task_add", json!({})),
            good("notes_write", json!({"key": "style", "text": "short"})),
            wrong("notes_write", json!({"key": "style"})),
            wrong("spawn_agent", json!({"role": "nobody", "task": "x"})),
            good("spawn_agent", spawn("Take the task.", false)),
        ],
        vec![
            good("spawn_agent", spawn("Look at it.", true)),
            good("wait_for_agents", json!({"agents": ["helper-2"]})),
            wrong("wait_for_agents", json!({"agents": ["helper-7"]})),
        ],
        vec![
            good("spawn_agent", spawn("Think for ever.", true)),
            good("get_agents", json!({})),
            cut_off("get_agents", "{"),
            good("speak_to_agent", json!({"agent": "helper-3", "message": "Hurry."})),
            wrong("speak_to_agent", json!({"agent": "helper-3"})),
            good("despawn_agent", json!({"agent": "helper-3"})),
            wrong("despawn_agent", json!({"agent": "helper-3"})),
        ],
        vec![
            good("notes_read", json!({})),
            wrong("notes_read", json!({"key": "nothing"})),
            wrong("task_take", json!({"id": 1})),
            wrong("task_done", json!({"id": 1})),
            wrong("return_results", json!({"result": "x"})),
        ],
    ]
}

/// The web, tools of the user, a server of tools, and the user.
fn beyond_the_project(port: u16) -> Rounds {
    vec![
        vec![
            good("web_fetch", json!({"url": format!("http://127.0.0.1:{port}/page")})),
            wrong("web_fetch", json!({"url": "http://127.0.0.1:1/"})),
            wrong("web_fetch", json!({"url": "file:///etc/passwd"})),
        ],
        vec![
            good("greet", json!({"name": "Ada"})),
            wrong("greet", json!({"name": 1})),
            good("s__look", json!({})),
            wrong("s__die", json!({})),
        ],
        vec![
            wrong("request_users_input", json!({"question": ""})),
            good("request_users_input", json!({"question": "Commit it?", "choices": ["yes", "no"]})),
            good("execute_terminal", json!({"command": "sh tests/check.sh"})),
        ],
    ]
}

fn lead_rounds(port: u16) -> Rounds {
    [looking_around(), changing_files(), background_commands(), leading_others(), beyond_the_project(port)]
        .into_iter()
        .flatten()
        .collect()
}

/// What the first two started agents do.
fn helper_rounds() -> Rounds {
    vec![
        vec![
            good("notes_read", json!({"key": "style"})),
            good("task_take", json!({})),
            good("write_file", json!({"file_path": "notes/by-helper.txt", "content": "a page\n"})),
            good("task_done", json!({"id": 1, "result": "written"})),
        ],
        vec![
            wrong("return_results", json!({})),
            good("return_results", json!({"result": "done", "files": ["notes/by-helper.txt"]})),
        ],
        vec![good("return_results", json!({"result": "seen"}))],
    ]
}

fn render_rounds(dialect: Dialect, who: &str, rounds: &Rounds) -> Vec<Behaviour> {
    let render = |(nth, round): (usize, &Vec<ScriptedCall>)| {
        let ids: Vec<String> = (0..round.len()).map(|at| format!("{who}{nth}x{at}")).collect();
        let calls: Vec<(&str, &str, &str)> =
            ids.iter().zip(round).map(|(id, one)| (id.as_str(), one.tool, one.arguments.as_str())).collect();
        dialect.calls(&calls)
    };
    rounds.iter().enumerate().map(render).collect()
}

fn recorded_calls(rounds: &Rounds) -> Vec<(&'static str, bool)> {
    rounds.iter().flatten().flat_map(|one| one.recorded.clone()).collect()
}

fn write_configuration(world: &World, port: u16) {
    let (lead, helper) = (["*", "request_users_input"], ["read_files", "write_file"]);
    let roles = json!({
        "lead": {"level": "base", "systemMessage": "You code.", "includedTools": lead, "enabled_agents": ["helper"]},
        "helper": {"level": "smart", "systemMessage": "You help.", "includedTools": helper}
    });
    world.write_user_file("roles/session.json", &roles.to_string());
    let script = world.write_user_file("server.sh", include_str!("../support/mcp_server.sh"));
    // it notes its starts where it stands: not in the project
    let server = json!({"command": "sh", "args": [script, "sound"], "cwd": world.root().join("home")});
    let settings = json!({"sandbox": {"network": "on"}, "mcpServers": {"s": server}});
    world.write_user_file("settings.json", &settings.to_string());
    let greet = json!({
        "description": "Greets someone.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "command": ["sh", "-c", "printf 'hello '; cat"]
    });
    world.write_user_file("tools/greet.json", &greet.to_string());
    let flow = json!({
        "workflow_name": "session", "output": {"name": "said", "type": "string"},
        "sandbox": {"ports": [port]}, "limits": {"max_tool_rounds": 100},
        "contexts": [{"name": "c"}], "agents": [{"agent_role": "lead", "context": "c", "role": "assistant"}],
        "states": [
            {"name": "start", "agent": "lead", "input": {"text": "Add the average."}, "output": {"as": "said"},
             "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "common_data.said"}]
    });
    world.write_user_file("workflows/session.json", &flow.to_string());
}

/// A repository with these files and three commits.
fn write_repository(world: &World) {
    for (path, text) in FILES {
        world.write_file(path, text);
        if path != "README.md" {
            continue;
        }
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "say what it is"]);
    }
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "add the sum"]);
}

/// What a session left behind, without what differs from day to day.
#[derive(PartialEq, Debug)]
struct SessionResult {
    /// Path and content of every file of the project.
    files: Vec<(String, String)>,
    git_status: String,
    /// Agent, tool, and whether it succeeded.
    calls: Vec<(String, String, bool)>,
    /// What the model was told of each call of the session's agent, in order.
    answers: Vec<String>,
}

async fn play_session(dialect: Dialect) -> Option<SessionResult> {
    let server = ModelServer::start_per_model_in_dialect(dialect, Vec::new()).await;
    server.add_document("/page", json!({"average": "sum by count"}));
    let port = server.base_url.rsplit(':').next().unwrap().trim_end_matches("/v1").parse().unwrap();
    let (lead, helper) = (lead_rounds(port), helper_rounds());
    for behaviour in render_rounds(dialect, "l", &lead).into_iter().chain([dialect.text(LAST_WORDS)]) {
        server.queue_answer("base-model", behaviour);
    }
    let stalled = Behaviour::raw_stream("").with_stall();
    for behaviour in render_rounds(dialect, "h", &helper).into_iter().chain([stalled]) {
        server.queue_answer("smart-model", behaviour);
    }
    let mut world = world_asking_in(dialect, &server);
    world.set_variable("SYNTHDEV_FAST_MODEL", "fast-model");
    write_configuration(&world, port);
    write_repository(&world);
    let layer = world.run_program(&["sandbox", "--json"]).code(0).json()["layer"].clone();
    if layer != "bubblewrap" {
        skip_sandbox_row(&format!("a coding session: commands run in {layer}, not in bubblewrap"));
        return None;
    }
    for _ in 0..20 {
        server.queue_answer("fast-model", dialect.text("Works on prices."));
    }
    world.run_program(&["index", "--yes"]).code(0);
    // the run stops at the question for the user
    let asked = world.run_program(&["run", "session", "--yes", "--json"]).code(3).json();
    let run = asked["run_id"].as_str().unwrap();
    let done = world.run_program(&["resume", run, "--results", "\"yes\"", "--yes", "--json"]).code(0).json();
    assert_eq!((&done["status"], &done["output"]), (&json!("completed"), &json!(LAST_WORDS)), "{dialect:?}");
    let requests = server.requests();
    check_requests(dialect, &requests, &[&lead, &helper]);
    let history = world.run_program(&["runs", "show", run, "--json"]).code(0);
    let calls = finished_calls(&history);
    for (agent, rounds) in [("lead", &lead), ("helper", &helper)] {
        let of_agent = calls.iter().filter(|(by, ..)| by.trim_end_matches(['-', '1', '2', '3']) == agent);
        let seen: Vec<(&str, bool)> = of_agent.map(|(_, tool, ok)| (tool.as_str(), *ok)).collect();
        assert_eq!(seen, recorded_calls(rounds), "{dialect:?} {agent}");
    }
    let last = requests.iter().rev().find(|one| one.body["model"] == "base-model").unwrap();
    let answers: Vec<String> =
        tool_answers(last).iter().map(|text| without_chance(text, &world, port)).collect();
    assert_eq!(answers.len(), lead.iter().flatten().count(), "{dialect:?}");
    Some(SessionResult {
        files: project_files(&world),
        git_status: world.git(&["status", "--porcelain"]),
        calls,
        answers,
    })
}

/// No request is one that some provider refuses; every tool is offered, called, and once called wrongly.
fn check_requests(dialect: Dialect, requests: &[Recorded], scripts: &[&Rounds]) {
    for request in requests {
        assert_eq!((request.rejection.as_deref(), request.path.as_str()), (None, dialect.path()));
    }
    let specs = tool_specs(Path::new("."));
    let offered: BTreeSet<&str> = requests.iter().flat_map(offered_tools).collect();
    let built_in: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).chain(TEAM_TOOLS).collect();
    let called = |is_fine: bool| -> BTreeSet<&str> {
        let calls = scripts.iter().flat_map(|rounds| rounds.iter().flatten());
        calls.filter(|one| one.is_fine == is_fine).map(|one| one.tool).collect()
    };
    for (what, some) in [
        ("offered to no agent", &offered),
        ("without a good call", &called(true)),
        ("without a wrong call", &called(false)),
    ] {
        assert_eq!(built_in.difference(some).collect::<Vec<_>>(), [&""; 0], "{dialect:?}: tools {what}");
    }
}

fn offered_tools(request: &Recorded) -> Vec<&str> {
    let list = request.body["tools"].as_array().into_iter().flatten();
    list.filter_map(|tool| tool["name"].as_str().or(tool["function"]["name"].as_str())).collect()
}

/// Every call that was answered, in the order of the history.
fn finished_calls(history: &Ran) -> Vec<(String, String, bool)> {
    let ended = history.lines().into_iter().filter_map(|line| {
        let ok = match line["event"].as_str()? {
            "tool_finished" => line["ok"].as_bool().unwrap(),
            "tool_refused" => false,
            _ => return None,
        };
        let word = |key: &str| line[key].as_str().unwrap().to_owned();
        Some((word("agent"), word("tool"), ok))
    });
    ended.collect()
}

/// What a request says that each call gave, in the order of the calls.
fn tool_answers(request: &Recorded) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = request.body["input"].as_array().or(request.body["messages"].as_array()).unwrap();
    let mut answers = Vec::new();
    for item in list {
        if item["role"] == "tool" {
            answers.push(text(&item["content"]));
        } else if item["type"] == "function_call_output" {
            answers.push(text(&item["output"]));
        }
        let blocks = item["content"].as_array().into_iter().flatten();
        answers.extend(
            blocks.filter(|block| block["type"] == "tool_result").map(|block| text(&block["content"])),
        );
    }
    answers
}

/// An answer without times, ports and the place of the project.
fn without_chance(answer: &str, world: &World, port: u16) -> String {
    let root = world.root().display().to_string();
    let plain = answer.replace(&root, "ROOT").replace(&format!("127.0.0.1:{port}"), "SERVER");
    let mut pieces = plain.split("\"time_ms\":");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, rest| {
        text + "\"time_ms\":0" + rest.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

fn project_files(world: &World) -> Vec<(String, String)> {
    let all = World::files(&world.project()).into_iter();
    let own = all.filter(|(path, _)| !path.starts_with(".git/") && !path.starts_with(".synthdev/"));
    own.map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coding_session_with_every_tool_is_the_same_in_every_protocol() {
    let mut results = Vec::new();
    for dialect in Dialect::ALL {
        let Some(result) = play_session(dialect).await else { return };
        results.push((dialect, result));
    }
    let (_, first) = &results[0];
    assert!(first.calls.len() >= 40, "{} calls", first.calls.len());
    let paths: Vec<&str> = first.files.iter().map(|(path, _)| path.as_str()).collect();
    let left = ["README.md", "notes/by-helper.txt", "notes/by-multicall.txt", "notes/new.txt", "prices.csv"];
    assert_eq!(paths, [&left[..], &["src/average.sh", "src/sum.sh", "tests/check.sh"]].concat());
    assert!(first.answers.last().unwrap().contains("passed"), "{:?}", first.answers.last());
    for (dialect, other) in &results[1..] {
        for (answer, same) in other.answers.iter().zip(&first.answers) {
            assert_eq!(answer, same, "{dialect:?}");
        }
        assert_eq!(other, first, "{dialect:?}");
    }
}
