//! Runs that wait: for an answer, for a slot; and runs that are cancelled.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::{remote_run, start_worker, start_worker_with, world_of};
use crate::cli::world::{World, wait_for, workflow};
use crate::support::restate_server::{RestateServer, free_addresses};

pub(super) fn write_states(world: &World, states: &Value) {
    world.write_json("talk.json", &workflow(states));
    world.write_json("replies.json", &json!({"replies": {}}));
}

pub(super) fn write_question(world: &World) {
    write_states(
        world,
        &json!([
            {"name": "start", "type": "pause", "kind": "number", "message": {"text": "How many?"},
             "output": {"as": "many"}, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'got ' + common_data.many"}
        ]),
    );
}

fn write_command(world: &World, command: &str) {
    write_states(
        world,
        &json!([
            {"name": "start", "type": "shell", "command": command, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'done'"}
        ]),
    );
}

/// Whether a process has this argument; one that is dead has none.
fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments.any(|words| words.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

pub(super) fn report(client: Child) -> (Option<i32>, Value) {
    let ended = client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    (ended.status.code(), serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}")))
}

pub(super) fn listed(world: &World) -> Value {
    world.run_program(&["runs", "list", "--backend", "restate", "--json", "--limit", "0"]).code(0).json()
}

fn status_at_server(world: &World, run: &str) -> String {
    let runs = listed(world);
    let mut runs = runs.as_array().unwrap().iter();
    let found = runs.find(|listed| listed["run"] == run).unwrap_or_else(|| panic!("{run} is not listed"));
    found["status"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_run_waits_for_its_answer_over_a_restart_of_everything() {
    let mut server = RestateServer::start();
    let world = world_of(&server);
    write_question(&world);
    let [address] = free_addresses();
    let worker = start_worker(&world, &address);
    let asked = world.run_program(&remote_run(&[])).code(3);
    assert!(asked.stderr.contains("--backend restate"), "{}", asked.stderr);
    let run = listed(&world)[0]["run"].as_str().unwrap().to_owned();
    drop(worker);
    server.kill_and_restart();
    let _worker = start_worker(&world, &address);

    let answer = |text: &str| {
        world.run_program(&["resume", &run, "--backend", "restate", "--json", "--results", text])
    };
    let retried = world.run_program(&["runs", "retry", &run]);
    assert!(retried.code != Some(0) && retried.stderr.contains("is kept by the Restate server"));
    let refused = answer("\"many\"");
    assert!(!matches!(refused.code, Some(0 | 3)), "{}{}", refused.stdout, refused.stderr);
    assert_eq!(answer("7").code(0).json()["output"], "got 7");
    let again = answer("8");
    assert!(again.code != Some(0) && again.stdout.contains("is completed"), "{}", again.stdout);
    wait_for("the server knows the end", || (status_at_server(&world, &run) == "completed").then_some(()));
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_run_is_cancelled_while_it_works_waits_for_an_answer_or_waits_for_a_slot() {
    let server = RestateServer::start();
    let world = world_of(&server);
    let [address] = free_addresses();
    let _worker = start_worker_with(&world, &address, &["--slots", "1"]);
    let cancel = |run: &str| {
        let said = world.run_program(&["runs", "cancel", run, "--backend", "restate"]).code(0).stdout;
        assert_eq!(said.trim(), format!("run {run} is cancelled"));
    };

    write_question(&world);
    let (code, asked) = report(world.command(&remote_run(&["--json"])).spawn().unwrap());
    assert_eq!(code, Some(3), "{asked}");
    cancel(asked["run_id"].as_str().unwrap());

    // no other process has such an argument
    let nap = format!("60.{}", std::process::id());
    write_command(&world, &format!("echo > begun; sleep {nap}; echo > ended"));
    let working = world.command(&remote_run(&["--json"])).spawn().unwrap();
    wait_for("the command begins", || world.project().join("begun").exists().then_some(()));
    let waiting = world.command(&remote_run(&["--json"])).spawn().unwrap();
    let runs = wait_for("both are at the server", || {
        let runs = listed(&world);
        (runs.as_array().unwrap().len() == 3).then_some(runs)
    });
    let (second, first) = (runs[0]["run"].as_str().unwrap(), runs[1]["run"].as_str().unwrap());
    cancel(second);
    let (code, refused) = report(waiting);
    assert!(code != Some(0) && refused.to_string().contains("cancelled before it began"), "{refused}");
    assert!(is_running(&nap));
    let began = Instant::now();
    let time = thread::scope(|scope| {
        let gone = scope.spawn(|| {
            wait_for("the command ends", || (!is_running(&nap)).then_some(()));
            began.elapsed()
        });
        cancel(first);
        gone.join().unwrap()
    });
    println!("{time:.2?} after the start of the client the command of the cancelled run is gone");
    assert!(time <= Duration::from_secs(1), "{time:.2?}");
    let (code, cancelled) = report(working);
    assert_eq!((code, &cancelled["status"]), (Some(130), &json!("cancelled")), "{cancelled}");
    assert!(!world.project().join("ended").exists());
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_worker_drives_as_many_runs_at_once_as_it_has_slots() {
    let server = RestateServer::start();
    let world = world_of(&server);
    let [address] = free_addresses();
    let _worker = start_worker_with(&world, &address, &["--slots", "2"]);
    write_states(
        &world,
        &json!([
            {"name": "start", "type": "wait", "duration": 1, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'done'"}
        ]),
    );
    let began = Instant::now();
    let clients: Vec<Child> = (0..6)
        .map(|_| {
            thread::sleep(Duration::from_millis(10));
            world.command(&remote_run(&["--json"])).spawn().unwrap()
        })
        .collect();
    for client in clients {
        let (code, done) = report(client);
        assert_eq!((code, &done["output"]), (Some(0), &json!("done")), "{done}");
    }
    let took = began.elapsed();
    println!("6 runs of a second on 2 slots: {took:.1?}");
    assert!(took > Duration::from_secs(3), "{took:.1?}: more than two at once");
    assert!(took < Duration::from_secs(6), "{took:.1?}: not two at once");
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_worker_that_comes_back_to_its_address_gets_the_new_runs() {
    let server = RestateServer::start();
    let world = world_of(&server);
    write_command(&world, "true");
    let [first, second] = free_addresses();
    for address in [&first, &second, &first] {
        let _worker = start_worker(&world, address);
        let done = world.run_program(&remote_run(&["--json"])).code(0).json();
        assert_eq!(done["output"], "done", "{address}");
    }
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_long_value_is_journaled_in_parts_and_survives_its_worker() {
    let server = RestateServer::start();
    let world = world_of(&server);
    let script = "this.common_data.big = Array.from({length: 7 * 1024}, (_, at) => String(at).padStart(1024)).join('');";
    write_states(
        &world,
        &json!([
            {"name": "start", "action": {"script": script}, "transition": [{"target": "nap"}]},
            {"name": "nap", "type": "wait", "duration": 2, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'long: ' + common_data.big.length"}
        ]),
    );
    let [address] = free_addresses();
    let mut worker = start_worker(&world, &address);
    let client = world.command(&remote_run(&["--json"])).spawn().unwrap();
    wait_for("the nap begins", || {
        let runs = world.run_program(&["runs", "list", "--json"]).json();
        runs[0]["path"].to_string().contains("nap").then_some(())
    });
    worker.kill();
    let _worker = start_worker(&world, &address);
    let (code, done) = report(client);
    assert_eq!((code, &done["output"]), (Some(0), &json!(format!("long: {}", 7 * 1024 * 1024))), "{done}");
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_result_of_any_size_is_kept_or_refused_and_the_run_ends() {
    const MIB: usize = 1024 * 1024;
    let server = RestateServer::start();
    let world = world_of(&server);
    // the server takes messages of 32 MiB
    let sizes =
        [(200 * 1024, 64 * 1024, 200 * 1024), (40 * MIB, 64 * 1024, MIB), (33 * MIB, 64 * MIB, 33 * MIB)];
    for (round, (printed, limit, kept)) in sizes.into_iter().enumerate() {
        world.write_user_file("settings.json", &json!({"tools": {"output_limit_bytes": limit}}).to_string());
        write_states(
            &world,
            &json!([
                {"name": "start", "type": "shell", "command": format!("yes | head -c {printed}"),
                 "transition": [{"target": "nap"}]},
                {"name": "nap", "type": "wait", "duration": 2, "transition": [{"target": "stop"}]},
                {"name": "stop", "input": "'done'"}
            ]),
        );
        let [address] = free_addresses();
        let mut worker = start_worker(&world, &address);
        let began = Instant::now();
        let client = world.command(&remote_run(&["--json"])).spawn().unwrap();
        wait_for("the nap begins", || {
            thread::sleep(Duration::from_millis(100));
            let runs = world.run_program(&["runs", "list", "--json"]).json();
            let is_last = runs.as_array()?.len() == round + 1;
            (is_last && runs[0]["path"].to_string().contains("nap")).then_some(())
        });
        worker.kill();
        let _worker = start_worker(&world, &address);
        let (code, done) = report(client);
        println!("{printed} bytes printed, {limit} kept for models: {:.1?}", began.elapsed());
        if kept < 32 * MIB {
            assert_eq!((code, &done["output"]), (Some(0), &json!("done")), "{printed} {limit}: {done}");
        } else {
            // who follows it is told so, and the run ends
            assert!(
                code != Some(0) && done.to_string().contains("too long for the Restate server"),
                "{done}"
            );
        }
        let run = listed(&world)[0]["run"].as_str().unwrap().to_owned();
        wait_for("the run ends", || (status_at_server(&world, &run) == "completed").then_some(()));
        let store = SqliteStore::new(world.data().join("runs.sqlite"));
        let (_, rows) = store.load(&RunId::from(run.as_str())).unwrap();
        let longest = rows.iter().map(|row| row.body.len()).max().unwrap();
        assert!((kept..kept * 4 + MIB).contains(&longest), "{printed} {limit}: {longest}");
        world.run_program(&["runs", "replay", &run]).code(0);
    }
}
