//! Runs on a Restate server, which comes from its npm package, with workers and clients of the real program.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::cli::world::{World, wait_for, workflow};
use crate::support::skip::require_programs;

const PACKAGE: &str = "@restatedev/restate-server@1.7.12";

/// What differs from run to run: chance, times and commits. The content of a result says how long its tool took.
const CHANCE: [&str; 7] = ["seed", "id", "run", "created", "content", "duration_ms", "elapsed_ms"];

/// A program that ends with its test.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// As a kill that it cannot see.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with data of its own.
struct Server {
    _process: Running,
    _data: tempfile::TempDir,
    ingress: String,
    admin: String,
}

impl Server {
    fn start(home: &Path) -> Self {
        let data = tempfile::tempdir().unwrap();
        let [ingress, admin, node] = free_addresses();
        let mut command = Command::new(server_program(home));
        command.args(["--no-logo", "--listen-mode", "tcp", "--node-name", "test"]);
        command.arg("--base-dir").arg(data.path()).env_clear();
        let port = node.rsplit(':').next().unwrap();
        let variables = [
            ("RESTATE_INGRESS__BIND_ADDRESS", ingress.as_str()),
            ("RESTATE_ADMIN__BIND_ADDRESS", &admin),
            ("RESTATE_BIND_IP", "127.0.0.1"),
            ("RESTATE_BIND_PORT", port),
            ("RESTATE_DISABLE_TELEMETRY", "true"),
            ("DO_NOT_TRACK", "1"),
            ("RESTATE_DEFAULT_NUM_PARTITIONS", "2"),
            ("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "128MB"),
        ];
        let process = Running::start(std::mem::replace(command.envs(variables), Command::new("true")));
        wait_for("the server opens its addresses", || {
            [&ingress, &admin]
                .iter()
                .all(|address| std::net::TcpStream::connect(address).is_ok())
                .then_some(())
        });
        Self {
            _process: process,
            _data: data,
            ingress: format!("http://{ingress}"),
            admin: format!("http://{admin}"),
        }
    }

    fn world(&self) -> World {
        let mut world = World::repository();
        world.set_variable("SYNTHDEV_RESTATE_INGRESS", &self.ingress);
        world.set_variable("SYNTHDEV_RESTATE_ADMIN", &self.admin);
        world
    }
}

/// Without scripts of packages: one of them reports installations.
fn install_server() -> tempfile::TempDir {
    require_programs(&["npm"], "npm");
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("package.json"), "{\"private\": true}").unwrap();
    let mut command = Command::new("npm");
    command
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE])
        .current_dir(home.path());
    let done = command.stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "npm cannot install {PACKAGE}: make its registry reachable:\n{words}");
    home
}

/// The package of the platform has the program.
fn server_program(home: &Path) -> PathBuf {
    let packages = home.join("node_modules/@restatedev");
    let found =
        fs::read_dir(&packages).unwrap().flatten().map(|entry| entry.path().join("bin/restate-server"));
    let mut found = found.filter(|program| program.is_file());
    found
        .next()
        .unwrap_or_else(|| panic!("no package of {} has the server for this machine", packages.display()))
}

fn free_addresses<const N: usize>() -> [String; N] {
    let listeners: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().to_string())
}

/// A worker that has registered.
fn start_worker(world: &World, address: &str) -> (Running, BufReader<ChildStderr>) {
    let mut command = world.command(&["worker", "--listen", address, "--host-id", "here"]);
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let worker = Running(child);
    let mut line = String::new();
    while !line.contains("worker here serves") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the worker has ended");
        print!("{line}");
    }
    (worker, said)
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

/// The rows of the only run, without chance.
fn journal(world: &World) -> (RunId, Vec<String>) {
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let run = RunId::from(list[0]["id"].as_str().unwrap());
    let (_, rows) = SqliteStore::new(world.data().join("runs.sqlite")).load(&run).unwrap();
    let lines = rows.iter().map(|row| {
        let mut body: Value = serde_json::from_str(&row.body).unwrap();
        forget_chance(&mut body);
        format!("{} {:?} {body}", row.kind.as_str(), row.call)
    });
    (run, lines.collect())
}

fn forget_chance(value: &mut Value) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
            if CHANCE.contains(&name.as_str()) {
                *member = Value::Null;
            } else {
                forget_chance(member);
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(forget_chance),
        _ => {}
    }
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_run_on_a_restate_server_is_the_run_of_this_process_and_survives_its_worker() {
    let home = install_server();
    let server = Server::start(home.path());

    let embedded = World::repository();
    write_two_states(&embedded, 0);
    let expected = embedded.run_program(&[&RUN[..], &["--json"]].concat()).code(0).json();

    let world = server.world();
    write_two_states(&world, 0);
    let [address] = free_addresses();
    let worker = start_worker(&world, &address);
    let remote = [&RUN[..], &["--backend", "restate", "--json"]].concat();
    let done = world.run_program(&remote).code(0).json();
    for part in ["status", "output", "path", "usage", "cost_usd", "warnings", "error", "pauses"] {
        assert_eq!(done[part], expected[part], "{part}");
    }
    let ((_, here), (run, there)) = (journal(&embedded), journal(&world));
    // snapshots are taken beside the work: where their rows are is chance
    let apart = |rows: Vec<String>| -> (Vec<String>, Vec<String>) {
        rows.into_iter().partition(|row| row.contains(r#""input":"snapshot_taken""#))
    };
    assert_eq!(apart(here), apart(there));
    world.run_program(&["runs", "replay", run.as_str()]).code(0);
    drop(worker);

    let world = server.world();
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
    worker.0.kill();
    let _worker = start_worker(&world, &address);
    let ended = client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let done: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&done["run_id"], &done["output"]), (&json!(id), &json!("Both are done.")), "{done}");
    let (run, rows) = journal(&world);
    let resumed = rows.iter().filter(|row| row.contains(r#""input":"resumed""#)).count();
    assert_eq!(resumed, 1, "{rows:#?}");
    world.run_program(&["runs", "replay", run.as_str()]).code(0);
    assert_eq!(world.read_file("made.txt"), "made");
}
