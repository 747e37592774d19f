//! Two hosts with copies of a repository of their own: the files of a run move with it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::hosts::{begin, newest, now_ms, resumed_after};
use super::kills::{FEW, end_of};
use super::takeover_times::TakeoverTimes;
use super::{start_host, world_of};
use crate::cli::world::{World, workflow};
use crate::crash::{Luck, number};
use crate::support::restate_server::{RestateServer, RunningProgram, free_addresses};

pub(super) const COMMANDS: usize = 5;

/// A host as a machine of its own: home, history and repository.
struct Machine {
    name: &'static str,
    world: World,
    address: String,
    worker: RunningProgram,
}

/// A commit, copied to the second machine, and a repository that both reach.
pub(super) fn two_repositories(server: &RestateServer) -> (World, World) {
    let (mut left, mut right) = (world_of(server), World::new());
    let shared = clone_to_second(&left, &right);
    for world in [&mut left, &mut right] {
        world.set_variable("SYNTHDEV_RESTATE_INGRESS", &server.ingress());
        world.set_variable("SYNTHDEV_RESTATE_ADMIN", &server.admin());
        world.set_variable("SYNTHDEV_RESTATE_SNAPSHOT_REMOTE", shared.to_str().unwrap());
        // the log of effects is outside of every project
        world.write_user_file("settings.json", r#"{"sandbox": {"mode": "off"}}"#);
    }
    (left, right)
}

/// The second world gets a copy of the repository of the first one; a bare repository for both.
pub(super) fn clone_to_second(first: &World, second: &World) -> PathBuf {
    let shared = first.root().join("shared.git");
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q", "--bare", shared.to_str().unwrap()]);
    git(&["clone", "-q", first.project().to_str().unwrap(), second.project().to_str().unwrap()]);
    shared
}

/// Files and commands by turns; each command says in a log that it was done, and needs the file before it.
pub(super) fn write_work(world: &World, log: &str) {
    let mut states = vec![json!({"name": "start", "transition": [{"target": "w0"}]})];
    let mut replies = Vec::new();
    for at in 0..COMMANDS {
        let next = if at + 1 < COMMANDS { format!("w{}", at + 1) } else { "stop".to_owned() };
        states.push(json!({"name": format!("w{at}"), "agent": "coder", "input": format!("write {at}"),
            "action": {"function": "sendUserMessage"}, "transition": [{"target": format!("c{at}")}]}));
        let command = format!("test -f made-{at}.txt && echo effect-{at} >> {log}; sleep 0.02");
        states.push(json!({"name": format!("c{at}"), "type": "shell", "command": command,
            "transition": [{"target": next}]}));
        let call = json!({"name": "write_file",
            "arguments": {"file_path": format!("made-{at}.txt"), "content": format!("made {at}")}});
        replies.push(json!({"tool_calls": [call]}));
        replies.push(json!({"text": format!("written {at}"), "delay_ms": 60}));
    }
    states.push(json!({"name": "stop", "input": "'all done'"}));
    world.write_json("talk.json", &workflow(&Value::from(states)));
    world.write_json("replies.json", &json!({"replies": {"coder": replies}}));
}

pub(super) fn log_lines(log: &PathBuf) -> Vec<String> {
    fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A user who looks at the log decides what becomes of an uncertain command; how often.
pub(super) fn lead_to_end(world: &World, log: &PathBuf, mut next: (Option<i32>, Value)) -> (Value, usize) {
    for answers in 0..20 {
        let (code, report) = next;
        if code == Some(0) {
            return (report, answers);
        }
        assert_eq!(code, Some(3), "{report:#}");
        let (run, pause) = (report["run_id"].as_str().unwrap(), &report["pauses"][0]);
        let message = pause["message"].as_str().unwrap();
        assert_eq!(pause["reason"], "uncertain_effect", "{pause}");
        let at = message.find("effect-").unwrap_or_else(|| panic!("which command? {message}"));
        let done = log_lines(log).contains(&message[at..=at + "effect-".len()].to_owned());
        let shell = json!({"exit_code": 0, "stdout": "", "stderr": "", "timed_out": false, "duration_ms": 1});
        let decision = match done {
            true => json!({"decision": "done", "result": shell}),
            false => json!({"decision": "repeat"}),
        };
        let state = pause["state"].as_str().unwrap();
        let answer = ["resume", run, "--backend", "restate", "--json", "--state", state, "--results"];
        next = end_of(world.command(&[&answer[..], &[&decision.to_string()]].concat()).spawn().unwrap());
    }
    panic!("the run never ends: {:#}", next.1);
}

/// The files of a run at a machine.
fn files_at(machine: &Machine, run: &str) -> Vec<String> {
    let store = SqliteStore::new(machine.world.data().join("runs.sqlite"));
    let (header, _) = store.load(&RunId::from(run)).unwrap();
    let place = header.worktree.map_or(header.project, |tree| tree.path);
    let read = |at| fs::read_to_string(PathBuf::from(&place).join(format!("made-{at}.txt")));
    (0..COMMANDS).filter_map(|at| read(at).ok()).collect()
}

/// What the run did at both hosts comes into the project of the second one.
fn check_merge(heir: &Machine, run: &str) {
    heir.world.run_program(&["runs", "merge", run, "--yes"]).code(0);
    let read = |at| fs::read_to_string(heir.world.project().join(format!("made-{at}.txt"))).unwrap();
    let merged: Vec<String> = (0..COMMANDS).map(read).collect();
    let wanted: Vec<String> = (0..COMMANDS).map(|at| format!("made {at}")).collect();
    assert_eq!(merged, wanted, "{run}");
}

/// What runs wrote in the project itself is in the way of nobody.
fn clear_project(machine: &Machine) {
    for at in 0..COMMANDS {
        let _ = fs::remove_file(machine.world.project().join(format!("made-{at}.txt")));
    }
}

/// How long after the kill the run went on at the heir, with all its files; `None`: there was nothing to move.
fn check_heir(heir: &Machine, run: &str, killed: i64, what: &str) -> Option<i64> {
    let store = SqliteStore::new(heir.world.data().join("runs.sqlite"));
    if !store.find(run).is_ok_and(|found| found.id.as_str() == run) {
        return None;
    }
    let took = resumed_after(&heir.world, run, killed)?;
    let wanted: Vec<String> = (0..COMMANDS).map(|at| format!("made {at}")).collect();
    assert_eq!(files_at(heir, run), wanted, "{what}");
    heir.world.run_program(&["runs", "replay", run]).code(0);
    check_merge(heir, run);
    Some(took)
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn files_of_runs_move_to_another_repository_when_hosts_and_server_are_killed_at_random_times() {
    let points = usize::try_from(number("RESTATE_KILLS").unwrap_or(FEW)).unwrap();
    let seed = number("RESTATE_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("RESTATE_SEED={seed}");
    let mut luck = Luck(seed);
    let mut server = RestateServer::start();
    let (left, right) = two_repositories(&server);
    let log = left.root().join("effects.log");
    write_work(&left, log.to_str().unwrap());
    let machine = |name, world: World| {
        let [address] = free_addresses();
        let worker = start_host(&world, name, &address, &[]);
        Machine { name, world, address, worker }
    };
    let mut machines = [machine("left", left), machine("right", right)];
    let (mut times, mut asked, mut moved) = (TakeoverTimes::default(), 0, 0);
    for point in 0..2 * points {
        thread::sleep(Duration::from_millis(1_300));
        let _ = fs::remove_file(&log);
        let here = machines.iter().position(|machine| machine.name == "left").unwrap();
        let world = &machines[here].world;
        let child = begin(world);
        let (run, host) = newest(world, point + 1);
        let time = luck.time(Duration::from_millis(1_500));
        thread::sleep(time);
        let at = machines.iter().position(|machine| machine.name == host).unwrap();
        let (killed, kills_server) = (now_ms(), point % 2 == 1);
        if kills_server {
            server.kill_and_restart();
        } else {
            machines[at].worker.kill();
        }
        let (report, answers) = lead_to_end(&machines[here].world, &log, end_of(child));
        let victim = if kills_server { "the server" } else { host.as_str() };
        let what = format!("point {point}: {victim} killed after {time:.1?}");
        assert_eq!(report["output"], "all done", "{what}");
        let wanted: Vec<String> = (0..COMMANDS).map(|at| format!("effect-{at}")).collect();
        assert_eq!(log_lines(&log), wanted, "{what}");
        asked += answers;
        if kills_server {
            println!("{what}, {answers} answers");
            machines.iter().for_each(clear_project);
            continue;
        }
        let took = check_heir(&machines[1 - at], &run, killed, &what);
        println!("{what}, {answers} answers, taken over after {took:?} ms");
        moved += usize::from(took.is_some());
        times.add(took, answers);
        machines.iter().for_each(clear_project);
        let Machine { name, world, address, .. } = &machines[at];
        machines[at].worker = start_host(world, name, address, &[]);
    }
    println!("{moved} of {points} runs of killed hosts moved, {asked} questions in all");
    times.check();
}
