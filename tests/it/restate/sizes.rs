//! What server and workers cost, printed for the table of `docs/scale.md`. `RESTATE_SIZES=1` measures with many runs.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::answers::report;
use super::hosts::{begin, write_talk};
use super::{start_host, world_of};
use crate::crash::number;
use crate::support::restate_server::{RestateServer, free_addresses};

const STATES: usize = 5;
const DELAY_MS: u64 = 50;
const IDLE: Duration = Duration::from_secs(10);

/// Milliseconds of a core that a process has used; the kernel counts in hundredths of a second.
fn cpu_ms(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
}

fn memory_mb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Of a core, in a hundredth of a percent.
fn idle_share(pid: u32) -> f64 {
    let before = cpu_ms(pid);
    thread::sleep(IDLE);
    (cpu_ms(pid) - before) as f64 / IDLE.as_millis() as f64 * 100.0
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn server_and_workers_are_measured() {
    let count = if number("RESTATE_SIZES").is_some() { 60 } else { 6 };
    let server = RestateServer::start();
    thread::sleep(Duration::from_secs(2));
    let world = world_of(&server);
    let alone = idle_share(server.pid());
    let [left, right] = free_addresses();
    let hosts = [
        start_host(&world, "left", &left, &["--slots", "40"]),
        start_host(&world, "right", &right, &["--slots", "40"]),
    ];
    thread::sleep(Duration::from_secs(2));
    let idle_worker = hosts[0].0.id();
    let worker_before = cpu_ms(idle_worker);
    let with_two = idle_share(server.pid());
    let worker = (cpu_ms(idle_worker) - worker_before) as f64 / IDLE.as_millis() as f64 * 100.0;
    println!(
        "idle server: {alone:.1} % of a core without workers, {with_two:.1} % with two; a worker {worker:.1} %"
    );
    println!("idle memory: server {} MB, a worker {} MB", memory_mb(server.pid()), memory_mb(idle_worker));

    write_talk(&world, STATES, DELAY_MS);
    let (server_before, hosts_before) =
        (cpu_ms(server.pid()), hosts.each_ref().map(|host| cpu_ms(host.0.id())));
    let began = Instant::now();
    let clients: Vec<Child> = (0..count).map(|_| begin(&world)).collect();
    for client in clients {
        let (code, done) = report(client);
        assert_eq!((code, &done["output"]), (Some(0), &json!("all said")), "{done}");
    }
    let took = began.elapsed();
    let states = (count * STATES) as f64;
    let server_ms = (cpu_ms(server.pid()) - server_before) as f64;
    let hosts_ms: u64 =
        hosts.iter().zip(hosts_before).map(|(host, before)| cpu_ms(host.0.id()) - before).sum();
    println!("{count} runs of {STATES} states that wait {DELAY_MS} ms for a model, two workers: {took:.1?}");
    println!(
        "server: {:.1} ms of a core for each state; workers: {:.1} ms",
        server_ms / states,
        hosts_ms as f64 / states
    );
    println!(
        "memory after it: server {} MB, a worker {} MB",
        memory_mb(server.pid()),
        memory_mb(idle_worker)
    );
    assert!(with_two < 20.0, "an idle server with two workers uses {with_two:.1} % of a core");
}
