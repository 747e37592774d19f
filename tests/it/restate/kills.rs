//! Workers and servers that are killed at random times: no run is lost, and no command is done twice.
//!
//! `RESTATE_KILLS=100` kills each of both so often, `RESTATE_SEED` repeats the times of an earlier test.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::{remote_run, start_worker, world_of};
use crate::cli::world::{World, workflow};
use crate::crash::{Luck, number};
use crate::support::restate_server::{RestateServer, free_addresses};

pub(super) const FEW: u64 = 10;
const COMMANDS: usize = 6;
/// Decisions of a user in one run.
const MOST_ANSWERS: usize = 10;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Victim {
    Worker,
    Server,
}

/// Commands one after the other; each says in a file that it was done.
pub(super) fn write_commands(world: &World) {
    let command = |at: usize| {
        let next = if at + 1 < COMMANDS { format!("s{}", at + 1) } else { "stop".to_owned() };
        let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
        json!({"name": name, "type": "shell", "command": format!("echo effect-{at} >> effects.txt; sleep 0.03"),
               "transition": [{"target": next}]})
    };
    let mut states: Vec<Value> = (0..COMMANDS).map(command).collect();
    states.push(json!({"name": "stop", "input": "'all done'"}));
    world.write_json("talk.json", &workflow(&Value::from(states)));
    world.write_json("replies.json", &json!({"replies": {}}));
}

fn effects(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.project().join("effects.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The report of a client, and its exit code.
pub(super) fn end_of(client: Child) -> (Option<i32>, Value) {
    let ended = client.wait_with_output().unwrap();
    let (said, told) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    let report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{told}"));
    (ended.status.code(), report)
}

/// What a user answers who has looked at the file.
fn decision(world: &World, pause: &Value) -> Value {
    let message = pause["message"].as_str().unwrap();
    assert_eq!(pause["reason"], "uncertain_effect", "{pause}");
    let at = message.find("effect-").unwrap_or_else(|| panic!("which command? {message}"));
    let mark = &message[at..=at + "effect-".len()];
    if effects(world).iter().any(|line| line == mark) {
        let shell = json!({"exit_code": 0, "stdout": "", "stderr": "", "timed_out": false, "duration_ms": 1});
        return json!({"decision": "done", "result": shell});
    }
    json!({"decision": "repeat"})
}

/// To the end, through the questions about commands that a killed worker had begun; how many.
pub(super) fn lead_to_end(world: &World, mut next: (Option<i32>, Value)) -> (Value, usize) {
    for answers in 0..MOST_ANSWERS {
        match next {
            (Some(0), report) => return (report, answers),
            (Some(3), report) => {
                let (run, pause) = (report["run_id"].as_str().unwrap(), &report["pauses"][0]);
                let results = decision(world, pause).to_string();
                let state = pause["state"].as_str().unwrap();
                let answer = ["resume", run, "--backend", "restate", "--json", "--state", state, "--results"];
                next = end_of(world.command(&[&answer[..], &[&results]].concat()).spawn().unwrap());
            }
            (code, report) => panic!("{code:?}: {report:#}"),
        }
    }
    panic!("the run never ends: {:#}", next.1);
}

fn is_unreachable(message: &str) -> bool {
    message.contains("does not answer")
}

pub(super) fn check(world: &World, report: &Value, what: &str) {
    assert_eq!((&report["status"], &report["output"]), (&json!("completed"), &json!("all done")), "{what}");
    let wanted: Vec<String> = (0..COMMANDS).map(|at| format!("effect-{at}")).collect();
    assert_eq!(effects(world), wanted, "{what}");
    world.run_program(&["runs", "replay", report["run_id"].as_str().unwrap()]).code(0);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn killed_workers_and_servers_lose_no_run_and_double_no_command() {
    let points = number("RESTATE_KILLS").unwrap_or(FEW);
    let seed = number("RESTATE_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("RESTATE_SEED={seed}");
    let mut luck = Luck(seed);
    let mut server = RestateServer::start();
    let world = world_of(&server);
    write_commands(&world);
    let [address] = free_addresses();
    let worker = start_worker(&world, &address);
    let began = Instant::now();
    let (report, _) = lead_to_end(&world, end_of(world.command(&remote_run(&["--json"])).spawn().unwrap()));
    let length = began.elapsed();
    check(&world, &report, "undisturbed");
    drop(worker);
    println!("undisturbed: {length:.1?}");
    for point in 0..2 * points {
        let victim = if point % 2 == 0 { Victim::Worker } else { Victim::Server };
        let world = world_of(&server);
        write_commands(&world);
        let [address] = free_addresses();
        let mut worker = start_worker(&world, &address);
        let client = world.command(&remote_run(&["--json"])).spawn().unwrap();
        let time = luck.time(length);
        thread::sleep(time);
        match victim {
            Victim::Worker => {
                worker.kill();
                worker = start_worker(&world, &address);
            }
            Victim::Server => server.kill_and_restart(),
        }
        let again = Instant::now();
        let what = format!("point {point}: {victim:?} killed after {time:.1?}");
        let first = end_of(client);
        if victim == Victim::Server && first.1["error"]["message"].as_str().is_some_and(is_unreachable) {
            assert_eq!(
                effects(&world),
                Vec::<String>::new(),
                "{what}: the client was told that nothing has begun"
            );
            println!("{what}, before it took the run");
            continue;
        }
        let (report, answers) = lead_to_end(&world, first);
        println!("{what}, {answers} answers, the end {:.1?} after the restart", again.elapsed());
        check(&world, &report, &what);
        drop(worker);
    }
}
