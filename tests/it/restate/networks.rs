//! Hosts and server as machines of a network, each a namespace of the kernel: a worker that is killed, and a machine that
//! is lost without closing its connections.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::answers::report;
use super::hosts::{now_ms, resumed_after, write_talk};
use super::repositories::clone_to_second;
use super::{host_command, remote_run, spawn_host};
use crate::cli::world::{World, wait_for};
use crate::support::restate_server::{RunningProgram, server_program};
use crate::support::skip::require_programs;
use crate::support::temporary::temp_directory;

/// The server notices a lost machine with the settings of `docs/scale.md` within about so long.
const MACHINE_LOST_MS: i64 = 3_000;
/// Of `docs/scale.md`.
const WATCHFUL: [(&str, &str); 3] = [
    ("RESTATE_HTTP_KEEP_ALIVE_OPTIONS__INTERVAL", "400ms"),
    ("RESTATE_HTTP_KEEP_ALIVE_OPTIONS__TIMEOUT", "400ms"),
    ("RESTATE_CONNECT_TIMEOUT", "500ms"),
];

fn ip(arguments: &[&str]) -> Output {
    Command::new("ip").args(arguments).output().unwrap()
}

/// Namespaces with an address each, at one bridge, which is in the first of them. Nothing of it is seen outside.
struct Network {
    /// Those that were made, and are deleted.
    names: Vec<String>,
}

impl Network {
    fn new(machines: usize) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        require_programs(&["ip", "openssl", "bash"], "iproute2, openssl and bash");
        let own = format!("synthdev-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut network = Self { names: Vec::new() };
        for at in 0..machines {
            let name = format!("{own}-{at}");
            let made = ip(&["netns", "add", &name]);
            assert!(
                made.status.success(),
                "a network of the kernel cannot be made ({}): start this test as root, on Linux",
                String::from_utf8_lossy(&made.stderr).trim()
            );
            network.names.push(name);
        }
        network.connect();
        network
    }

    fn connect(&self) {
        let hub = self.names[0].as_str();
        let done = |arguments: &[&str]| {
            let done = ip(arguments);
            let words = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "ip {arguments:?}: {words}");
        };
        done(&["-n", hub, "link", "add", "bridge", "type", "bridge"]);
        done(&["-n", hub, "addr", "add", &format!("{}/24", self.address(0)), "dev", "bridge"]);
        for link in ["lo", "bridge"] {
            done(&["-n", hub, "link", "set", link, "up"]);
        }
        for (at, machine) in self.names.iter().enumerate().skip(1) {
            let port = port_of(at);
            done(&[
                "link", "add", &port, "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", machine,
            ]);
            done(&["-n", hub, "link", "set", &port, "master", "bridge", "up"]);
            done(&["-n", machine, "addr", "add", &format!("{}/24", self.address(at)), "dev", "eth0"]);
            for link in ["lo", "eth0"] {
                done(&["-n", machine, "link", "set", link, "up"]);
            }
        }
    }

    fn address(&self, at: usize) -> String {
        format!("10.77.0.{}", at + 1)
    }

    /// Cuts a machine off, or connects it again. Nobody is told: packets are lost.
    fn set_link(&self, at: usize, state: &str) {
        assert!(ip(&["-n", &self.names[0], "link", "set", &port_of(at), state]).status.success());
    }

    /// The same command at a machine.
    fn command(&self, at: usize, from: &Command) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[at]]).arg(from.get_program()).args(from.get_args());
        command.env_clear().envs(from.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(from.get_current_dir().unwrap_or(Path::new("/")));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&["netns", "del", name]);
        }
    }
}

fn port_of(at: usize) -> String {
    format!("port{at}")
}

/// A server at the first machine, which signs its calls; and its key.
fn start_server(network: &Network, data: &Path) -> (RunningProgram, String) {
    let (pem, log): (PathBuf, PathBuf) = (data.join("restate.pem"), data.join("restate.log"));
    let mut made = Command::new("openssl");
    made.args(["genpkey", "-algorithm", "ed25519", "-out"]).arg(&pem);
    assert!(made.status().unwrap().success());
    let address = network.address(0);
    let mut command = Command::new(server_program());
    command
        .args(["--no-logo", "--listen-mode", "tcp", "--node-name", "test", "--base-dir"])
        .arg(data.join("data"));
    command.envs([
        ("PATH", std::env::var("PATH").unwrap().as_str()),
        ("RESTATE_BIND_IP", &address),
        // there is no way out of which it could guess it
        ("RESTATE_ADVERTISED_HOST", &address),
        ("RESTATE_INGRESS__BIND_ADDRESS", &format!("{address}:8080")),
        ("RESTATE_ADMIN__BIND_ADDRESS", &format!("{address}:9070")),
        ("RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", pem.to_str().unwrap()),
        ("RESTATE_DISABLE_TELEMETRY", "true"),
        ("DO_NOT_TRACK", "1"),
        ("RESTATE_DEFAULT_NUM_PARTITIONS", "2"),
        ("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "128MB"),
    ]);
    command.envs(WATCHFUL);
    let mut command = network.command(0, &command);
    let server = RunningProgram(
        command.stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null()).spawn().unwrap(),
    );
    let key = wait_for("the server says its key", || {
        let text = fs::read_to_string(&log).ok()?;
        let at = text.find("publickeyv1_")?;
        let key: String =
            text[at..].chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        (text.len() > at + key.len()).then_some(key)
    });
    for page in ["8080/restate/health", "9070/version"] {
        let (port, path) = page.split_once('/').unwrap();
        let script = format!(
            "exec 3<>/dev/tcp/{address}/{port}; printf 'GET /{path} HTTP/1.0\\r\\n\\r\\n' >&3; timeout 2 cat <&3 | grep -q 200"
        );
        wait_for("the server answers", || {
            let mut look = Command::new("bash");
            look.args(["-c", &script]).env("PATH", std::env::var("PATH").unwrap());
            network.command(0, &look).status().unwrap().success().then_some(())
        });
    }
    (server, key)
}

/// Server, two hosts with repositories of their own, and clients at the machine of the server.
struct ThreeMachines {
    hosts: [Option<RunningProgram>; 2],
    worlds: [World; 2],
    key: String,
    _server: RunningProgram,
    _data: tempfile::TempDir,
    network: Network,
}

const NAMES: [&str; 2] = ["one", "two"];

impl ThreeMachines {
    fn start() -> Self {
        let (network, data) = (Network::new(3), temp_directory());
        let (server, key) = start_server(&network, data.path());
        let mut worlds = [World::repository(), World::new()];
        let shared = clone_to_second(&worlds[0], &worlds[1]);
        for world in &mut worlds {
            let address = network.address(0);
            world.set_variable("SYNTHDEV_RESTATE_INGRESS", &format!("http://{address}:8080"));
            world.set_variable("SYNTHDEV_RESTATE_ADMIN", &format!("http://{address}:9070"));
            world.set_variable("SYNTHDEV_RESTATE_SNAPSHOT_REMOTE", shared.to_str().unwrap());
        }
        let mut machines = Self { hosts: [None, None], worlds, key, _server: server, _data: data, network };
        (0..2).for_each(|at| machines.start_host(at));
        machines
    }

    fn start_host(&mut self, at: usize) {
        let address = format!("{}:9080", self.network.address(at + 1));
        let command = host_command(&self.worlds[at], NAMES[at], &address, &["--identity-key", &self.key]);
        self.hosts[at] = Some(spawn_host(self.network.command(at + 1, &command), NAMES[at]));
    }

    /// A program of the machine where the server is.
    fn client(&self, arguments: &[&str]) -> Command {
        self.network.command(0, &self.worlds[0].command(arguments))
    }

    fn listed(&self) -> Value {
        let done = self.client(&["runs", "list", "--backend", "restate", "--json"]).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap_or_default()
    }

    /// A run at a host, which `lose` takes away; after how many milliseconds it went on at the other one.
    fn time_of_loss(&mut self, count: usize, lose: impl FnOnce(&mut Self, usize)) -> i64 {
        // they see each other
        thread::sleep(Duration::from_millis(1_500));
        let client = self.client(&remote_run(&["--json"])).spawn().unwrap();
        let newest = wait_for("the run is at the server", || {
            let runs = self.listed();
            runs.as_array().filter(|runs| runs.len() == count).map(|runs| runs[0].clone())
        });
        let (run, host) = (newest["run"].as_str().unwrap(), newest["host"].as_str().unwrap());
        let at = NAMES.iter().position(|name| *name == host).unwrap();
        thread::sleep(Duration::from_millis(700));
        let lost = now_ms();
        lose(self, at);
        let (code, done) = report(client);
        assert_eq!((code, &done["output"]), (Some(0), &json!("all said")), "{done}");
        let heir = &self.worlds[1 - at];
        heir.run_program(&["runs", "replay", run]).code(0);
        assert_eq!(self.listed()[0]["host"], NAMES[1 - at]);
        let took = resumed_after(heir, run, lost).unwrap();
        println!("{host} is lost: its run went on after {took} ms");
        took
    }
}

#[test]
#[ignore = "tool: needs root, iproute2, openssl, node and npm, and the registry of npm"]
fn runs_go_on_at_another_machine_when_a_worker_is_killed_or_its_machine_is_lost() {
    let mut machines = ThreeMachines::start();
    write_talk(&machines.worlds[0], 12, 150);
    for round in 0..3 {
        let mut killed = 0;
        let took = machines.time_of_loss(round + 1, |machines, at| {
            killed = at;
            machines.hosts[at].as_mut().unwrap().kill();
        });
        assert!(took <= 1_000, "a worker was killed: {took} ms");
        machines.start_host(killed);
    }
    for round in 3..5 {
        let mut cut = 0;
        let took = machines.time_of_loss(round + 1, |machines, at| {
            cut = at;
            machines.network.set_link(at + 1, "down");
        });
        assert!(took <= MACHINE_LOST_MS, "a machine was lost: {took} ms");
        // the host has lived on, and takes new runs when it is connected again
        machines.network.set_link(cut + 1, "up");
        wait_for("both hosts are in order", || {
            let done = machines.client(&["backend", "doctor"]).output().unwrap();
            (done.status.code() == Some(0)).then_some(())
        });
    }
}
