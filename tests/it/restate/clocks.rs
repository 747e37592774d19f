//! Hosts whose clocks are an hour apart: what a run waits for comes at its time, wherever the run is.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::answers::{report, write_states};
use super::hosts::{begin, now_ms};
use super::repositories::two_repositories;
use super::{host_command, spawn_host};
use crate::cli::world::{World, wait_for};
use crate::support::restate_server::{RestateServer, RunningProgram, free_addresses};
use crate::support::skip::require_programs;

/// What the runs wait for, and when their host is killed.
const WAIT_S: u64 = 9;
const KILLED_AFTER: Duration = Duration::from_secs(5);

/// The library of Debian's package.
fn faketime_library() -> PathBuf {
    require_programs(&["faketime"], "faketime (Debian packages faketime and libfaketime)");
    let found = fs::read_dir("/usr/lib").unwrap().flatten();
    let mut found = found.map(|entry| entry.path().join("faketime/libfaketime.so.1"));
    found.find(|library| library.is_file()).expect("no libfaketime.so.1 below /usr/lib/*/faketime")
}

/// A worker whose clock is ahead by so many seconds; what it measures time with is right.
fn start_skewed(world: &World, name: &str, ahead_s: u64) -> RunningProgram {
    let [address] = free_addresses();
    let mut command = host_command(world, name, &address, &[]);
    if ahead_s > 0 {
        command.env("LD_PRELOAD", faketime_library());
        command.env("FAKETIME", format!("+{ahead_s}")).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
    spawn_host(command, name)
}

fn states() -> [(&'static str, Value, &'static str); 2] {
    let wait = json!([
        {"name": "start", "transition": [{"target": "nap"}]},
        {"name": "nap", "type": "wait", "duration": WAIT_S, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'it waited'"}
    ]);
    let pause = json!([
        {"name": "start", "transition": [{"target": "asked"}]},
        {"name": "asked", "type": "pause", "kind": "text", "message": {"text": "Well?"}, "ttl": WAIT_S,
         "output": {"as": "said"}, "on_timeout": "late", "transition": [{"target": "stop"}]},
        {"name": "late", "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'nobody answered'"}
    ]);
    [("nap", wait, "it waited"), ("asked", pause, "nobody answered")]
}

/// The time at which a client ended, and its report.
fn ends_at(client: Child) -> thread::JoinHandle<(Instant, (Option<i32>, Value))> {
    thread::spawn(move || {
        let ended = report(client);
        (Instant::now(), ended)
    })
}

/// Runs begin at a host, which is killed, and go on at the other one.
fn check(first_ahead_s: u64, second_ahead_s: u64) {
    let server = RestateServer::start();
    let (left, right) = two_repositories(&server);
    let mut first = start_skewed(&left, "first", first_ahead_s);
    let began_ms = now_ms();
    let clients = states().map(|(state, states, output)| {
        write_states(&left, &states);
        let began = Instant::now();
        let client = begin(&left);
        wait_for("the run begins", || {
            let runs = left.run_program(&["runs", "list", "--json"]).json();
            runs.to_string().contains(state).then_some(())
        });
        (state, output, began, ends_at(client))
    });
    let _second = start_skewed(&right, "second", second_ahead_s);
    let said = left.run_program(&["backend", "doctor"]).code(0).stdout;
    let skewed = if first_ahead_s > 0 { "first" } else { "second" };
    assert!(said.contains(&format!("the clock of {skewed} is 3")), "{said}");
    thread::sleep(KILLED_AFTER.saturating_sub(clients[0].2.elapsed()));
    first.kill();
    let killed = Instant::now();
    for (name, output, began, ended) in clients {
        let (ended, (code, done)) = ended.join().unwrap();
        assert_eq!((code, &done["output"]), (Some(0), &json!(output)), "{done}");
        let (took, at) = (ended - began, killed - began);
        println!(
            "{name} of {WAIT_S} s, +{first_ahead_s} s to +{second_ahead_s} s: killed after {at:.1?}, ended after {took:.1?}"
        );
        let wanted = Duration::from_secs(WAIT_S)..Duration::from_secs(WAIT_S + 3);
        assert!(wanted.contains(&took), "{name}: {took:.1?}");
        let store = SqliteStore::new(right.data().join("runs.sqlite"));
        let (_, rows) = store.load(&RunId::from(done["run_id"].as_str().unwrap())).unwrap();
        assert!(rows.iter().any(|row| row.body.contains(r#""input":"resumed""#)), "{name} was not moved");
        let times: Vec<i64> = rows.iter().map(|row| row.at.0).collect();
        assert!(times.is_sorted(), "{name}: {times:?}");
        let (first, last) = (times[0], times[times.len() - 1]);
        assert!(first >= began_ms - 1_000 && last <= now_ms() + 1_000, "{name}: {times:?}");
    }
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm, and faketime"]
fn runs_that_move_between_hosts_an_hour_apart_wait_as_long_as_they_say() {
    check(0, 3_600);
    check(3_600, 0);
}
