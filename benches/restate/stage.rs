//! A server, workers of the released program, and a client that begins many runs at once.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use serde::Deserialize;
use serde_json::Value;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::engine::run_spec::RunSpec;
use synthdev::ports::run_store::RunStore;
use synthdev::restate::journaled_step::{ProjectPlace, RunSubmission};
use synthdev::restate::server_client::{PlacedRun, RestateAddresses, RestateClient};

/// As the tests install it.
const SERVER: &str =
    "restate-server-1.7.12/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server";
const SLOTS: usize = 1_000;
/// Requests at the same time that begin runs.
const AT_ONCE: usize = 64;
/// A look costs the server some milliseconds.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(600);

pub struct RunningProgram(pub Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory.
pub fn memory_mb(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

#[derive(Deserialize)]
struct FoundRows {
    found: usize,
}

pub struct Stage {
    place: tempfile::TempDir,
    addresses: RestateAddresses,
    pub server: RunningProgram,
    client: RestateClient,
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    pub fn open() -> Self {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(&project).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
            assert!(command.args(arguments).status().unwrap().success());
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        let [ingress, admin, node] = std::array::from_fn(|_| free_address());
        let addresses = RestateAddresses {
            ingress: format!("http://{ingress}"),
            admin: format!("http://{admin}"),
            auth_token: None,
        };
        let program = std::env::var_os("RESTATE_SERVER")
            .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join(SERVER), PathBuf::from);
        let mut command = Command::new(&program);
        command.args(["--no-logo", "--listen-mode", "tcp", "--node-name", "bench", "--base-dir"]);
        command.arg(place.path().join("server")).env_clear().envs([
            ("RESTATE_INGRESS__BIND_ADDRESS", ingress.as_str()),
            ("RESTATE_ADMIN__BIND_ADDRESS", &admin),
            ("RESTATE_BIND_IP", "127.0.0.1"),
            ("RESTATE_BIND_PORT", node.rsplit(':').next().unwrap()),
            ("RESTATE_DISABLE_TELEMETRY", "true"),
            ("DO_NOT_TRACK", "1"),
            ("RESTATE_DEFAULT_NUM_PARTITIONS", "2"),
            ("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "128MB"),
            // one that waits counts for a minute
            ("RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT", "20000"),
        ]);
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = RunningProgram(started.unwrap_or_else(|error| {
            panic!("{}: {error}: install it with the tests of `just restate`", program.display())
        }));
        let client = RestateClient::new(addresses.clone()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stage = Self { place, addresses, server, client, runtime };
        stage.wait_until("the server answers", || {
            stage.runtime.block_on(stage.client.ingress_answers()).is_ok()
                && stage.runtime.block_on(stage.client.directory()).is_ok()
        });
        stage
    }

    pub fn root(&self) -> &Path {
        self.place.path()
    }

    fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    fn program(&self, home: &str, arguments: &[&str]) -> Command {
        let program = std::env::var("PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_synthdev").to_owned());
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env("HOME", self.root().join(home)).env("PATH", std::env::var("PATH").unwrap_or_default());
        command.env("SYNTHDEV_RESTATE_INGRESS", &self.addresses.ingress);
        command.env("SYNTHDEV_RESTATE_ADMIN", &self.addresses.admin);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A worker with a history of its own.
    pub fn start_host(&self, name: &str) -> RunningProgram {
        fs::create_dir_all(self.root().join(name)).unwrap();
        let (address, slots) = (free_address(), SLOTS.to_string());
        let worker = ["worker", "--host-id", name, "--listen", &address, "--slots", &slots];
        let host = RunningProgram(self.program(name, &worker).spawn().unwrap());
        self.wait_until("the worker has registered", || {
            let directory = self.runtime.block_on(self.client.directory());
            directory.is_ok_and(|directory| directory.home_of(name).is_some())
        });
        host
    }

    /// What the program makes of a workflow, of a run in its own process.
    pub fn spec_of(&self, workflow: &Value) -> RunSpec {
        let (home, file) = (tempfile::tempdir_in(self.root()).unwrap(), self.project().join("many.json"));
        fs::write(&file, workflow.to_string()).unwrap();
        let home = home.path();
        let mut command =
            self.program(home.to_str().unwrap(), &["run", "--workflow-file", "many.json", "go", "--yes"]);
        // a question is open at the end
        assert!(matches!(command.status().unwrap().code(), Some(0 | 3)));
        let store = SqliteStore::new(home.join(".local/share/synthdev/runs.sqlite"));
        let run = &store.list(&Default::default()).unwrap()[0].id;
        serde_json::from_str(&store.load(run).unwrap().0.spec).unwrap()
    }

    /// Seconds that so many runs take, all begun at once.
    pub fn run_many(&self, spec: &RunSpec, count: usize) -> f64 {
        let began = Instant::now();
        self.begin_many(spec, count);
        self.wait_until("the runs end", || {
            self.runtime.block_on(self.client.active_runs()).unwrap().values().sum::<usize>() == 0
        });
        began.elapsed().as_secs_f64()
    }

    /// The same until all of them wait for an answer.
    pub fn suspend_many(&self, spec: &RunSpec, count: usize) -> f64 {
        let (began, all) = (Instant::now(), self.waiting() + count);
        self.begin_many(spec, count);
        self.wait_until("the runs wait", || self.waiting() == all);
        began.elapsed().as_secs_f64()
    }

    fn waiting(&self) -> usize {
        let query = "SELECT count(*) AS found FROM state WHERE key = 'awaited_answer'";
        self.runtime.block_on(self.client.query::<FoundRows>(query)).unwrap()[0].found
    }

    fn begin_many(&self, spec: &RunSpec, count: usize) {
        let project = self.first_project();
        let submission =
            RunSubmission { project, spec: spec.clone(), replies: None, handed_over_by: Vec::new() };
        self.runtime.block_on(async {
            let hosts = self.client.directory().await.unwrap();
            let services: Vec<String> =
                hosts.takers(&submission.project.identity).iter().map(|host| host.service.clone()).collect();
            let submission = &submission;
            stream::iter(0..count)
                .map(|at| {
                    let service = services[at % services.len()].clone();
                    let id = RunId::from(uuid::Uuid::new_v4().simple().to_string().as_str());
                    async move { self.client.submit(&PlacedRun { service, id }, submission).await.unwrap() }
                })
                .buffer_unordered(AT_ONCE)
                .collect::<()>()
                .await;
        });
    }

    fn first_project(&self) -> ProjectPlace {
        let directory = self.runtime.block_on(self.client.directory()).unwrap();
        directory.entries[0].description.project.clone()
    }

    fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "never happened: {what}");
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
