//! Several hosts: where runs begin, and what becomes of those whose host is gone.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::answers::{listed, report, write_question, write_states};
use super::kills::{FEW, check, end_of, lead_to_end, write_commands};
use super::takeover_times::TakeoverTimes;
use super::{remote_run, start_host, world_of};
use crate::cli::world::{World, wait_for, workflow};
use crate::crash::{Luck, number};
use crate::support::restate_server::{RestateServer, free_addresses};

/// States of an agent, each of which takes a while.
pub(super) fn write_talk(world: &World, count: usize, delay_ms: u64) {
    let mut states = vec![json!({"name": "start", "transition": [{"target": "s0"}]})];
    for at in 0..count {
        let next = if at + 1 < count { format!("s{}", at + 1) } else { "stop".to_owned() };
        states.push(json!({"name": format!("s{at}"), "agent": "coder", "input": format!("say {at}"),
            "action": {"function": "sendUserMessage"}, "transition": [{"target": next}]}));
    }
    states.push(json!({"name": "stop", "input": "'all said'"}));
    world.write_json("talk.json", &workflow(&Value::from(states)));
    let replies: Vec<Value> =
        (0..count).map(|at| json!({"text": format!("word {at}"), "delay_ms": delay_ms})).collect();
    world.write_json("replies.json", &json!({"replies": {"coder": replies}}));
}

pub(super) fn begin(world: &World) -> Child {
    world.command(&remote_run(&["--json"])).spawn().unwrap()
}

fn all_at(world: &World, host: &str) -> bool {
    listed(world).as_array().unwrap().iter().all(|run| run["host"] == host)
}

/// The host of the newest run, once it is at the server.
pub(super) fn newest(world: &World, count: usize) -> (String, String) {
    wait_for("the run is at the server", || {
        let runs = listed(world);
        let newest = runs.as_array().filter(|runs| runs.len() == count)?[0].clone();
        Some((newest["run"].as_str()?.to_owned(), newest["host"].as_str()?.to_owned()))
    })
}

pub(super) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// When the run was taken up again, after that time; `None`: it had ended or not begun.
pub(super) fn resumed_after(world: &World, run: &str, killed: i64) -> Option<i64> {
    let store = SqliteStore::new(world.data().join("runs.sqlite"));
    let (_, rows) = store.load(&RunId::from(run)).unwrap();
    let mut resumed = rows.iter().filter(|row| row.body.contains(r#""input":"resumed""#));
    resumed.find(|row| row.at.0 >= killed).map(|row| row.at.0 - killed)
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn the_runs_of_a_killed_host_go_on_at_another_one() {
    let server = RestateServer::start();
    let world = world_of(&server);
    write_talk(&world, 12, 150);
    let [left, right] = free_addresses();
    let mut hosts = vec![
        ("left", left.clone(), start_host(&world, "left", &left, &[])),
        ("right", right.clone(), start_host(&world, "right", &right, &[])),
    ];
    let mut times = Vec::new();
    for round in 0..4 {
        // they see each other
        thread::sleep(Duration::from_millis(1_500));
        let client = begin(&world);
        let (run, host) = newest(&world, round + 1);
        thread::sleep(Duration::from_millis(700));
        let at = hosts.iter().position(|(name, ..)| *name == host).unwrap();
        let (name, address, mut worker) = hosts.remove(at);
        let killed = now_ms();
        worker.kill();
        let (code, done) = report(client);
        assert_eq!((code, &done["output"]), (Some(0), &json!("all said")), "{done}");
        assert_eq!(newest(&world, round + 1).1, hosts[0].0, "it went on there");
        world.run_program(&["runs", "replay", &run]).code(0);
        let time = resumed_after(&world, &run, killed).unwrap();
        println!("{host} was killed: its run went on after {time} ms");
        times.push(time);
        hosts.push((name, address.clone(), start_host(&world, name, &address, &[])));
    }
    assert!(times.iter().all(|time| *time <= 1_000), "{times:?}");
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_host_that_comes_late_gets_work() {
    let server = RestateServer::start();
    let world = world_of(&server);
    let [left, right] = free_addresses();
    let _left = start_host(&world, "left", &left, &["--slots", "1"]);
    write_states(
        &world,
        &json!([
            {"name": "start", "type": "wait", "duration": 4, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'done'"}
        ]),
    );
    let began = Instant::now();
    let clients: Vec<Child> = (0..3).map(|_| begin(&world)).collect();
    newest(&world, 3);
    let _right = start_host(&world, "right", &right, &["--slots", "2"]);
    for client in clients {
        let (code, done) = report(client);
        assert_eq!((code, &done["output"]), (Some(0), &json!("done")), "{done}");
    }
    let took = began.elapsed();
    let runs = listed(&world);
    let mut hosts: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| run["host"].as_str().unwrap()).collect();
    hosts.sort_unstable();
    println!("3 runs of 4 seconds, a slot, and 2 more a moment later: {took:.1?}, at {hosts:?}");
    assert_eq!(hosts, ["left", "right", "right"]);
    assert!(took < Duration::from_secs(8), "{took:.1?}");
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn runs_are_moved_by_hand_and_wait_for_answers_elsewhere() {
    let mut server = RestateServer::start();
    let world = world_of(&server);
    write_question(&world);
    let [left, right] = free_addresses();
    let old = start_host(&world, "left", &left, &[]);
    let (code, asked) = report(begin(&world));
    assert_eq!(code, Some(3), "{asked}");
    let waiting = asked["run_id"].as_str().unwrap().to_owned();
    write_talk(&world, 8, 300);
    let client = begin(&world);
    newest(&world, 2);
    let new = start_host(&world, "right", &right, &[]);
    thread::sleep(Duration::from_millis(500));
    let said = world.run_program(&["backend", "move", "left", "right"]).code(0).stdout;
    assert!(said.contains("the runs of left go on at right"), "{said}");
    let (code, done) = report(client);
    assert_eq!((code, &done["output"]), (Some(0), &json!("all said")), "{done}");
    assert!(all_at(&world, "right"), "{}", listed(&world));
    drop(old);
    let old = start_host(&world, "left", &left, &[]);
    world.run_program(&["backend", "move", "right", "left"]).code(0);
    assert!(all_at(&world, "left"), "{}", listed(&world));
    drop(old);
    drop(new);
    server.kill_and_restart();
    let _old = start_host(&world, "left", &left, &[]);
    let answered =
        world.run_program(&["resume", &waiting, "--backend", "restate", "--json", "--results", "7"]);
    assert_eq!(answered.code(0).json()["output"], "got 7");
    let lost = world.run_program(&["backend", "move", "nobody", "right"]);
    assert!(lost.code != Some(0) && lost.stderr.contains("no host nobody"), "{}", lost.stderr);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn hosts_that_are_killed_at_random_times_lose_no_run_and_double_no_command() {
    let points = number("RESTATE_KILLS").unwrap_or(FEW);
    let seed = number("RESTATE_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("RESTATE_SEED={seed}");
    let mut luck = Luck(seed);
    let server = RestateServer::start();
    let world = world_of(&server);
    write_commands(&world);
    let [left, right] = free_addresses();
    let mut hosts = vec![
        ("left", left.clone(), start_host(&world, "left", &left, &[])),
        ("right", right.clone(), start_host(&world, "right", &right, &[])),
    ];
    let (mut times, mut asked) = (TakeoverTimes::default(), 0);
    for point in 0..usize::try_from(points).unwrap() {
        thread::sleep(Duration::from_millis(1_200));
        let _ = fs::remove_file(world.project().join("effects.txt"));
        let client = begin(&world);
        let (run, host) = newest(&world, point + 1);
        let time = luck.time(Duration::from_millis(500));
        thread::sleep(time);
        let at = hosts.iter().position(|(name, ..)| *name == host).unwrap();
        let (name, address, mut worker) = hosts.remove(at);
        let killed = now_ms();
        worker.kill();
        let (report, answers) = lead_to_end(&world, end_of(client));
        let what = format!("point {point}: {host} killed after {time:.1?}");
        check(&world, &report, &what);
        asked += answers;
        let took = resumed_after(&world, &run, killed);
        println!("{what}, {answers} answers, taken over after {took:?} ms");
        times.add(took, answers);
        hosts.push((name, address.clone(), start_host(&world, name, &address, &[])));
    }
    println!("{asked} questions");
    times.check();
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn the_doctor_names_what_is_wrong_with_the_server_and_its_hosts() {
    let doctor = |world: &World, code: i32, words: &[&str]| {
        let said = world.run_program(&["backend", "doctor"]).code(code).stdout;
        words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
        said
    };
    let server = RestateServer::start();
    let mut lost = world_of(&server);
    lost.set_variable("SYNTHDEV_RESTATE_ADMIN", "http://127.0.0.1:9");
    doctor(&lost, 1, &["does not answer", "@restatedev/restate-server"]);
    let world = world_of(&server);
    doctor(&world, 1, &["✓ Restate 1.7.", "the clock of the server agrees", "no worker has the project"]);
    let [left, right] = free_addresses();
    let mut first = start_host(&world, "left", &left, &[]);
    doctor(&world, 0, &["left at", "0 runs under way, 4 slots", "if left is gone, its runs wait for it"]);
    let _second = start_host(&world, "right", &right, &["--slots", "2"]);
    let said = doctor(&world, 0, &["if left is gone, its runs go on at right", "the clock of right agrees"]);
    println!("{said}");
    let report = world.run_program(&["backend", "doctor", "--json"]).code(0).json();
    assert_eq!(report["state"], "ok", "{report}");
    drop(_second);
    thread::sleep(Duration::from_millis(1_500));
    first.kill();
    doctor(&world, 1, &["the server does not reach it", "synthdev backend move left OTHER"]);
    let gone = world.run_program(&["backend", "move", "right", "left"]);
    assert!(gone.code != Some(0) && gone.stderr.contains("does not reach left"), "{}", gone.stderr);
}
