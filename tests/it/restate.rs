//! Runs on a Restate server, which comes from its npm package, with workers and clients of the real program.

mod answers;
mod clocks;
mod cut_off;
mod hosts;
mod kills;
mod moves;
mod networks;
mod repositories;
mod scale_page;
mod scripted_server;
mod sizes;
mod takeover_times;
mod takeovers;

use std::io::{BufRead as _, BufReader};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::cli::world::{World, wait_for, workflow};
use super::support::journal_rows::comparable_rows;
use super::support::restate_server::{RestateServer, RunningProgram, free_addresses};

fn world_of(server: &RestateServer) -> World {
    let mut world = World::repository();
    world.set_variable("SYNTHDEV_RESTATE_INGRESS", &server.ingress());
    world.set_variable("SYNTHDEV_RESTATE_ADMIN", &server.admin());
    world
}

/// A worker that has registered.
fn start_worker(world: &World, address: &str) -> RunningProgram {
    start_worker_with(world, address, &[])
}

fn start_worker_with(world: &World, address: &str, more: &[&str]) -> RunningProgram {
    // worlds have projects of their own, and some share a server
    let root = world.root().display().to_string();
    let name: String = root.chars().filter(char::is_ascii_alphanumeric).collect();
    start_host(world, &name, address, more)
}

/// A worker with a name.
fn start_host(world: &World, name: &str, address: &str, more: &[&str]) -> RunningProgram {
    spawn_host(host_command(world, name, address, more), name)
}

fn host_command(world: &World, name: &str, address: &str, more: &[&str]) -> Command {
    world.command(&[&["worker", "--listen", address, "--host-id", name], more].concat())
}

fn spawn_host(mut command: Command, name: &str) -> RunningProgram {
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let worker = RunningProgram(child);
    let (mut line, mut all) = (String::new(), String::new());
    while !line.contains(&format!("worker {name} serves")) {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the worker has ended: {all}");
        all.push_str(&line);
    }
    print!("{line}");
    thread::spawn(move || {
        said.lines().map_while(Result::ok).for_each(|line| println!("{line}"));
    });
    worker
}

/// Two states of an agent, which writes a file in the first one; the second one takes a while.
fn write_two_states(world: &World, delay_ms: u64) {
    let next = |target: &str| json!([{"target": target, "condition": "true"}]);
    let say = |name: &str, target: &str| {
        json!({"name": name, "agent": "coder", "input": format!("say {name}"),
               "action": {"function": "sendUserMessage"}, "transition": next(target)})
    };
    let states = json!([
        {"name": "start", "action": {"script": "this.common_data.colour = 'green';"}, "transition": next("first")},
        say("first", "second"), say("second", "stop"),
        {"name": "stop", "input": "this.getAgent('coder').getLastResponse()"}
    ]);
    world.write_json("talk.json", &workflow(&states));
    let call = json!([{"name": "write_file", "arguments": {"file_path": "made.txt", "content": "made"}}]);
    let replies = json!([
        {"tool_calls": call}, {"text": "First is done."}, {"text": "Both are done.", "delay_ms": delay_ms}
    ]);
    world.write_json("replies.json", &json!({"replies": {"coder": replies}}));
}

const RUN: [&str; 7] = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "go", "--yes"];

fn remote_run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], &["--backend", "restate"], more].concat()
}

/// The rows of the only run, without chance.
fn journal(world: &World) -> (RunId, (Vec<String>, Vec<String>)) {
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let run = RunId::from(list[0]["id"].as_str().unwrap());
    let (_, rows) = SqliteStore::new(world.data().join("runs.sqlite")).load(&run).unwrap();
    (run, comparable_rows(&rows))
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_run_on_a_restate_server_is_the_run_of_this_process_and_survives_its_worker() {
    let server = RestateServer::start();

    let embedded = World::repository();
    write_two_states(&embedded, 0);
    let expected = embedded.run_program(&[&RUN[..], &["--json"]].concat()).code(0).json();

    let world = world_of(&server);
    write_two_states(&world, 0);
    let [address] = free_addresses();
    let worker = start_worker(&world, &address);
    let remote = remote_run(&["--json"]);
    let done = world.run_program(&remote).code(0).json();
    for part in ["status", "output", "path", "usage", "cost_usd", "warnings", "error", "pauses"] {
        assert_eq!(done[part], expected[part], "{part}");
    }
    let ((_, here), (run, there)) = (journal(&embedded), journal(&world));
    assert_eq!(here, there);
    world.run_program(&["runs", "replay", run.as_str()]).code(0);
    drop(worker);

    let world = world_of(&server);
    write_two_states(&world, 3_000);
    let [address] = free_addresses();
    let mut worker = start_worker(&world, &address);
    let client = world.command(&remote).spawn().unwrap();
    let id = wait_for("the second state asks its model", || {
        let list = world.run_program(&["runs", "list", "--json"]).json();
        let id = list[0]["id"].as_str()?.to_owned();
        let lines = world.run_program(&["runs", "show", &id, "--json"]).code(0).lines();
        (lines.iter().filter(|line| line["event"] == "model_called").count() == 3).then_some(id)
    });
    worker.kill();
    let _worker = start_worker(&world, &address);
    let ended = client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let done: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&done["run_id"], &done["output"]), (&json!(id), &json!("Both are done.")), "{done}");
    let (run, (rows, _)) = journal(&world);
    let resumed = rows.iter().filter(|row| row.contains(r#""input":"resumed""#)).count();
    assert_eq!(resumed, 1, "{rows:#?}");
    world.run_program(&["runs", "replay", run.as_str()]).code(0);
    assert_eq!(world.read_file("made.txt"), "made");
}
