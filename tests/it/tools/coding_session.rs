//! A whole coding session in each protocol: a scripted model changes a real repository with more than 40 calls, uses every
//! tool that the program offers, makes mistakes and goes on. What it was told, what is recorded and what is left in the
//! repository is the same in all protocols.
//!
//! A new tool has to get a good and a wrong call in `script.rs`.

mod script;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use synthdev::bootstrap::wiring::tool_specs;
use synthdev::domain::agent_team::TEAM_TOOLS;

use crate::cli::real_protocols::world_asking_in;
use crate::cli::world::{Ran, World};
use crate::support::model_server::{Behaviour, Dialect, ModelServer, Recorded};
use crate::support::skip::skip_sandbox_row;

use script::{Rounds, ScriptedCall, helper_rounds, lead_rounds};

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

fn render_rounds(dialect: Dialect, who: &str, rounds: &Rounds) -> Vec<Behaviour> {
    let render = |(nth, round): (usize, &Vec<ScriptedCall>)| {
        let ids: Vec<String> = (0..round.len()).map(|at| format!("{who}{nth}x{at}")).collect();
        let calls: Vec<(&str, &str, &str)> =
            ids.iter().zip(round).map(|(id, one)| (id.as_str(), one.tool, one.arguments.as_str())).collect();
        dialect.calls(&calls)
    };
    rounds.iter().enumerate().map(render).collect()
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
    let settings = json!({
        "sandbox": {"network": "on"}, "tools": {"output_limit_bytes": 4096}, "mcpServers": {"s": server}
    });
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
    /// Agent, tool, and whether it succeeded; sorted, as calls that run side by side end in any order.
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
    check_history(dialect, &calls, "lead", &lead);
    check_history(dialect, &calls, "helper", &helper);
    let last = requests.iter().rev().find(|one| one.body["model"] == "base-model").unwrap();
    let answers: Vec<String> =
        tool_answers(last).iter().map(|text| without_chance(text, &world, port)).collect();
    assert_eq!(answers.len(), lead.iter().flatten().count(), "{dialect:?}");
    let mut calls: Vec<_> = calls.into_iter().map(|one| (one.agent, one.tool, one.ok)).collect();
    calls.sort();
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
        calls.filter(|one| one.refusal.is_none() == is_fine).map(|one| one.tool).collect()
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

/// A call as the history has it.
#[derive(Debug)]
struct FinishedCall {
    agent: String,
    tool: String,
    ok: bool,
    /// Its answer, or why it was refused.
    text: String,
}

/// Every call that was answered, in the order of the history.
fn finished_calls(history: &Ran) -> Vec<FinishedCall> {
    let ended = history.lines().into_iter().filter_map(|line| {
        let (ok, text) = match line["event"].as_str()? {
            "tool_finished" => (line["ok"] == true, "content"),
            "tool_refused" => (false, "reason"),
            _ => return None,
        };
        let word = |key: &str| line[key].as_str().unwrap().to_owned();
        Some(FinishedCall { agent: word("agent"), tool: word("tool"), ok, text: word(text) })
    });
    ended.collect()
}

/// The agents of a role have made the calls of its script, and each wrong one was told what is wrong.
fn check_history(dialect: Dialect, calls: &[FinishedCall], role: &str, script: &Rounds) {
    let of_role = calls.iter().filter(|one| one.agent.split('-').next() == Some(role));
    let seen: Vec<&FinishedCall> = of_role.collect();
    let mut rest = seen.as_slice();
    for round in script {
        let expected: Vec<_> = round.iter().flat_map(|one| &one.recorded).collect();
        let (of_round, later) = rest.split_at(expected.len().min(rest.len()));
        rest = later;
        // calls that run side by side end in any order
        let mut open: Vec<&FinishedCall> = of_round.to_vec();
        for (tool, refusal) in expected {
            let told = refusal.unwrap_or_default();
            let fits = |one: &&FinishedCall| {
                one.tool == *tool && one.ok == refusal.is_none() && one.text.contains(told)
            };
            let at = open.iter().position(fits);
            let at = at.unwrap_or_else(|| panic!("{dialect:?} {role}: no {tool} `{told}` in {open:#?}"));
            open.remove(at);
        }
        assert!(open.is_empty(), "{dialect:?} {role}: {open:#?}");
    }
    assert!(rest.is_empty(), "{dialect:?} {role}: {rest:#?}");
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
    // a busy machine takes down the namespace of a command so late that its end looks like a process left behind
    let late = ",\"notice\":\"processes were still running in the background and have been stopped\"";
    let plain = plain.replace(late, "");
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
