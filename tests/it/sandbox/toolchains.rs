//! The sandbox is not in the way of ordinary work with the toolchains of a machine.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::skip::require_programs;

/// What needs the network, and a command that succeeds.
struct Work {
    network: bool,
    command: &'static str,
}

const fn work(command: &'static str) -> Work {
    Work { network: false, command }
}

const fn online(command: &'static str) -> Work {
    Work { network: true, command }
}

const GIT_AND_MAKE: &[Work] = &[
    work("git status"),
    work("echo new >new && git add -A && git commit -q -m second && git log --oneline"),
    work("git switch -q -c side && echo more >>README.md && git commit -q -a -m third && git switch -q main"),
    work("echo stashed >>README.md && git stash && git stash pop && git checkout README.md"),
    work("git merge -q side && git branch -d side && git gc -q && git fsck"),
    work("make"),
];

const CARGO: &[Work] = &[
    work("cd crate && cargo build --offline"),
    work("cd crate && cargo test --offline && cargo run --offline"),
];

const NPM: &[Work] = &[
    work("cd package && npm install ../local && node -e 'require(\"local\")'"),
    online("cd package && npm install left-pad@1.3.0 && node -e 'require(\"left-pad\")'"),
];

const PYTHON: &[Work] = &[
    work("python3 -m pytest -q test_it.py || python3 -m unittest -q test_it"),
    work("python3 -m venv venv && venv/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'"),
    online("venv/bin/pip install -q six && venv/bin/python -c 'import six'"),
];

const GO: &[Work] = &[work("cd module && go build ./... && go test ./...")];

fn files() -> [(&'static str, &'static str); 12] {
    [
        ("README.md", "# sample\n"),
        (".gitignore", "target\nvenv\nnode_modules\n"),
        (
            "crate/Cargo.toml",
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        ),
        ("crate/src/main.rs", "fn main() {}\n#[test]\nfn works() { assert_eq!(1 + 1, 2); }\n"),
        ("Makefile", "all: made\nmade:\n\techo made >made\n"),
        ("local/package.json", "{\"name\": \"local\", \"version\": \"1.0.0\", \"main\": \"index.js\"}\n"),
        ("local/index.js", "module.exports = 1;\n"),
        ("package/package.json", "{\"name\": \"package\", \"version\": \"1.0.0\"}\n"),
        (
            "test_it.py",
            "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 1)\n",
        ),
        ("module/go.mod", "module example.org/tiny\n\ngo 1.20\n"),
        ("module/main.go", "package main\n\nfunc main() {}\n"),
        ("module/main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {}\n"),
    ]
}

/// The real toolchains, a home directory of its own for the rest.
fn command(world: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(arguments[0]);
    let home = world.join("home");
    let real = std::env::var("HOME").unwrap_or_default();
    command.args(&arguments[1..]).current_dir(world.join("project")).env_clear().env("HOME", &home);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    for (name, place) in [("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")] {
        command.env(name, std::env::var(name).unwrap_or_else(|_| format!("{real}/{place}")));
    }
    for (name, value) in std::env::vars().filter(|(name, _)| {
        ["npm_config_", "PIP_", "PYENV_VERSION"].iter().any(|known| name.starts_with(known))
    }) {
        command.env(name, value);
    }
    command
}

fn prepare(world: &Path) {
    for (path, text) in files() {
        let path = world.join("project").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(world.join("home")).unwrap();
    for arguments in [
        &["git", "config", "--global", "user.name", "user"][..],
        &["git", "config", "--global", "user.email", "user@localhost"],
        &["git", "init", "-q", "-b", "main"],
        &["git", "add", "-A"],
        &["git", "commit", "-q", "-m", "first"],
    ] {
        assert!(command(world, arguments).status().unwrap().success(), "{arguments:?}");
    }
}

/// What the tool answers to each of the commands.
fn answers(world: &Path, works: &[&Work], network: bool) -> Vec<String> {
    let calls: Vec<Value> = works
        .iter()
        .map(|work| json!({"name": "execute_terminal", "arguments": {"command": work.command, "timeout_seconds": 300}}))
        .collect();
    let put = |name: &str, value: &Value| fs::write(world.join(name), value.to_string()).unwrap();
    put(
        "workflow.json",
        &super::root::agent_workflow(&json!({"name": "start", "transition": [{"target": "talk"}]})),
    );
    put("replies.json", &json!({"replies": {"coder": [{"tool_calls": calls}, {"text": "done"}]}}));
    let base = [
        "run",
        "--workflow-file",
        "../workflow.json",
        "--replies",
        "../replies.json",
        "go",
        "--yes",
        "--events",
    ];
    let mut line = vec![env!("CARGO_BIN_EXE_synthdev")];
    line.extend(base);
    line.extend(["--sandbox-network", if network { "on" } else { "off" }]);
    let done = command(world, &line).stdin(Stdio::null()).output().unwrap();
    let events = String::from_utf8_lossy(&done.stdout);
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let finished = events.filter(|event| event["event"] == "tool_finished");
    finished.map(|event| event["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn check_toolchain(programs: &[&str], packages: &str, works: &[Work]) {
    require_programs(programs, packages);
    let world = tempfile::tempdir().unwrap();
    prepare(world.path());
    let mut faults = Vec::new();
    for network in [false, true] {
        let works: Vec<&Work> = works.iter().filter(|work| work.network == network).collect();
        if works.is_empty() {
            continue;
        }
        let answers = answers(world.path(), &works, network);
        assert_eq!(answers.len(), works.len(), "{answers:#?}");
        for (work, answer) in works.iter().zip(answers) {
            if !answer.contains("\"exit_code\":0") {
                faults.push(format!("{}\n{answer}", work.command));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
#[ignore = "tool: needs git and make"]
fn git_and_make_work() {
    check_toolchain(&["git", "make"], "git and make", GIT_AND_MAKE);
}

#[test]
#[ignore = "tool: needs cargo and a linker"]
fn cargo_works() {
    check_toolchain(&["cargo", "cc"], "Rust (https://rustup.rs) and a C compiler", CARGO);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn npm_works() {
    check_toolchain(&["npm", "node"], "nodejs and npm", NPM);
}

#[test]
#[ignore = "tool: needs python3 with venv and pip, and the registry of Python packages"]
fn python_works() {
    check_toolchain(&["python3"], "python3 and python3-venv", PYTHON);
}

#[test]
#[ignore = "tool: needs go"]
fn go_works() {
    check_toolchain(&["go"], "golang-go (https://go.dev)", GO);
}
