//! A home, a project and an empty environment, so that no test sees this machine's configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pty::terminal::Terminal;

/// A hanging program fails its test instead of stopping all of them.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    dir: Arc<tempfile::TempDir>,
    variables: Vec<(String, String)>,
}

/// What a finished program left behind.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    /// An empty project that is no git repository.
    pub fn new() -> Self {
        let dir = Arc::new(crate::support::temporary::temp_directory());
        for name in ["home", "config/synthdev", "data", "tmp", "project"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        Self { dir, variables: Vec::new() }
    }

    /// A project with one commit.
    pub fn repository() -> Self {
        let world = Self::new();
        world.write_file("README.md", "# sample\n");
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "first"]);
        world
    }

    /// Sets an environment variable of every later start.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// The program's own data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data/synthdev")
    }

    /// Writes a file of the project.
    pub fn write_file(&self, path: &str, text: &str) -> PathBuf {
        put_file(&self.project().join(path), text)
    }

    pub fn write_json(&self, path: &str, value: &Value) -> PathBuf {
        self.write_file(path, &value.to_string())
    }

    /// Writes a file of the user's configuration.
    pub fn write_user_file(&self, path: &str, text: &str) -> PathBuf {
        put_file(&self.dir.path().join("config/synthdev").join(path), text)
    }

    pub fn read_file(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        self.isolate_command(&mut command);
        command.args(["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]);
        let done = command.args(arguments).output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Gives a command this world's directories and variables, and nothing else.
    pub fn isolate_command(&self, command: &mut Command) {
        let root = self.dir.path();
        command.env_clear().current_dir(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", root.join("home")).env("TMPDIR", root.join("tmp"));
        command.env("XDG_CONFIG_HOME", root.join("config")).env("XDG_DATA_HOME", root.join("data"));
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// The program, not started, with closed standard input.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_synthdev"));
        self.isolate_command(&mut command);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run_program(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// The program in a terminal, in this project and with this user's directories.
    pub fn terminal(&self, arguments: &[&str]) -> Terminal {
        let directory = |name: &str| self.root().join(name).display().to_string();
        let (config, data) = (directory("config"), directory("data"));
        let environment =
            [("XDG_CONFIG_HOME", config.as_str()), ("XDG_DATA_HOME", &data), ("GIT_CONFIG_NOSYSTEM", "1")];
        Terminal::at_home(Arc::clone(&self.dir), arguments, &environment)
    }

    /// Runs to the end with this standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let command = self.command(arguments);
        let done = assert_cmd::Command::from_std(command).write_stdin(input).timeout(PATIENCE).output();
        let done = done.unwrap();
        Ran {
            code: done.status.code(),
            stdout: String::from_utf8(done.stdout).unwrap(),
            stderr: String::from_utf8(done.stderr).unwrap(),
        }
    }

    /// A workflow of one agent that answers once, below the project's root, with its replies.
    pub fn write_talk(&self, replies: &Value) {
        self.write_json("talk.json", &talk_workflow());
        self.write_json("replies.json", &json!({"replies": {"coder": replies}}));
    }

    /// Runs `talk.json` on `replies.json`.
    pub fn run_talk(&self, more: &[&str]) -> Ran {
        let base = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hello"];
        self.run_program(&[&base, more].concat())
    }

    /// Every file below a directory with its bytes, paths relative to it.
    pub fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        let mut open = vec![directory.to_owned()];
        while let Some(next) = open.pop() {
            let Ok(entries) = fs::read_dir(&next) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                } else if let Ok(bytes) = fs::read(&path) {
                    found.push((path.strip_prefix(directory).unwrap().display().to_string(), bytes));
                }
            }
        }
        found.sort();
        found
    }
}

impl Ran {
    /// Fails with everything that was printed unless the program ended so.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// stdout as one JSON value, nothing else on it.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    /// stdout as JSON lines.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }
}

/// Tries until there is a value; for what another process does.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn put_file(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    path.to_owned()
}

/// One agent, one answer, which is the output.
pub fn talk_workflow() -> Value {
    workflow(&json!([
        {"name": "start", "transition": [{"target": "say", "condition": "true"}]},
        {"name": "say", "agent": "coder", "input": "common_data.task",
         "action": {"function": "sendUserMessage"},
         "transition": [{"target": "stop", "condition": "true",
            "before": "() => { this.common_data.result = this.getAgent('coder').getLastResponse(); }"}]},
        {"name": "stop", "input": "common_data.result"}
    ]))
}

/// A workflow named `talk` with these states.
pub fn workflow(states: &Value) -> Value {
    json!({
        "workflow_name": "talk", "description": "a test",
        "input": {"name": "task", "type": "string", "description": "what to do"},
        "output": {"name": "result", "type": "string"},
        "contexts": [{"name": "main", "starting_messages": []}],
        "agents": [{"agent_role": "coder", "context": "main", "role": "assistant"}],
        "states": states
    })
}
