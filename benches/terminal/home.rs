//! A home directory of its own with settings and workflows, an empty project, and the program in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::screen::Session;

/// Agents that speak at once.
pub const AGENTS: usize = 8;

pub struct Home {
    path: PathBuf,
    /// Removed at the end, by whoever made it.
    _directory: Option<tempfile::TempDir>,
    program: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = Self::again(directory.path());
        let home = Self { _directory: Some(directory), ..home };
        let user = home.path().join(".config/synthdev");
        for directory in [user.join("roles"), user.join("workflows"), home.project(), home.data()] {
            fs::create_dir_all(directory).unwrap();
        }
        let message = "You do what you are asked, with care, and say what you did. ".repeat(10);
        let role =
            json!({"writer": {"level": "base", "systemMessage": message, "includedTools": ["read_files"]}});
        fs::write(user.join("roles/own.json"), role.to_string()).unwrap();
        for workflow in [one(), again(), eight(), gated()] {
            let name = workflow["workflow_name"].as_str().unwrap();
            fs::write(user.join(format!("workflows/{name}.json")), workflow.to_string()).unwrap();
        }
        home
    }

    /// One that somebody else has made.
    pub fn again(path: impl Into<PathBuf>) -> Self {
        let program = std::env::var_os("PROGRAM")
            .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_synthdev")), PathBuf::from);
        Self { path: path.into(), _directory: None, program }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    fn data(&self) -> PathBuf {
        self.path().join(".local/share/synthdev")
    }

    /// Where the runs are stored.
    pub fn runs(&self) -> PathBuf {
        self.data().join("runs.sqlite")
    }

    /// What the program gets to know of the world.
    pub fn environment(&self, url: &str) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let home = self.path().display().to_string();
        let all = [
            ("HOME", home.as_str()),
            ("PATH", &path),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "C.UTF-8"),
            ("SYNTHDEV_BASE_URL", url),
            ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// The program at its prompt.
    pub fn session(&self, url: &str) -> Session {
        let session = Session::start(self, url, true);
        session.wait_for("❯");
        session
    }
}

fn workflow(name: &str, states: &Value) -> Value {
    let agent = |number: usize| json!({"name": format!("agent_{number}"), "agent_role": "writer", "context": "talk", "role": "assistant"});
    json!({
        "workflow_name": name, "description": "for a measurement", "snapshot": "off",
        "input": {"name": "task", "type": "string", "description": "what to do"},
        "output": {"name": "said", "type": "string"},
        "contexts": [{"name": "talk", "max_length": 1_000_000}],
        "agents": (1..=AGENTS).map(agent).collect::<Vec<_>>(),
        "states": states,
    })
}

/// One agent, one answer.
fn one() -> Value {
    let states = json!([
        {"name": "start", "agent": "agent_1", "input": "common_data.task",
            "transition": [{"target": "stop", "before": "common_data.said = 'done'"}]},
        {"name": "stop", "input": "common_data.said"}]);
    workflow("one", &states)
}

/// One agent, answer after answer.
fn again() -> Value {
    let states = json!([
        {"name": "start", "agent": "agent_1", "input": "common_data.task", "transition": [{"target": "start"}]},
        {"name": "stop", "input": "common_data.said"}]);
    workflow("again", &states)
}

/// All agents at once.
fn eight() -> Value {
    let branch = |number: usize| json!({"name": format!("branch_{number}"), "agent": format!("agent_{number}"), "input": "common_data.task"});
    let branches: Vec<Value> = (1..=AGENTS).map(branch).collect();
    let states = json!([
        {"name": "start", "type": "parallel", "branches": branches, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.said"}]);
    workflow("eight", &states)
}

/// Asks a person at once.
fn gated() -> Value {
    let states = json!([
        {"name": "start", "action": {"script": "common_data.said = 'ready'"}, "transition": [{"target": "gate"}]},
        {"name": "gate", "type": "pause", "kind": "approval",
            "message": {"template": "Is it {{common_data.said}}?"}, "output": {"as": "ok"},
            "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.said"}]);
    workflow("gated", &states)
}
