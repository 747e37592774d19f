//! A key is used and never shown: not on a screen, not in a file of ours.

use serde_json::json;

use super::world::{Ran, World, talk_workflow};
use crate::support::model_server::{Behaviour, ModelServer};

const KEY: &str = "sk-Grep-me-9f2c41d7";

fn assert_clean(ran: &Ran) {
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{}\n{}", ran.stdout, ran.stderr);
}

/// The key is in no file, neither as it is nor inside of other text, except in the settings file in which the user
/// stored it.
fn assert_nothing_kept(world: &World) {
    let files = World::files(world.root());
    assert!(files.iter().any(|(path, _)| path.contains("runs.sqlite")), "there is something to search");
    for (path, bytes) in files {
        let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!found || path == "config/synthdev/settings.json", "the key is in {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_printed_or_kept_whatever_server_and_tools_say() {
    let command = |text: &str| json!({"command": text}).to_string();
    let script = vec![
        Behaviour::calls(&[(
            "c1",
            "execute_terminal",
            &command("env; cat ../config/synthdev/settings.json"),
        )]),
        Behaviour::text("Seen."),
        Behaviour::status(
            401,
            &json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}).to_string(),
        ),
    ];
    let server = ModelServer::start_server(script).await;
    let mut world = World::new();
    world.write_user_file(
        "settings.json",
        &json!({"levels": {"smart": {"api_key": KEY}}, "keys": {"openai": KEY}}).to_string(),
    );
    world.write_json("talk.json", &talk_workflow());
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    world.set_variable("OPENAI_API_KEY", KEY);
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    let file = ["--no-sandbox", "run", "--workflow-file", "talk.json", "hello", "--yes", "--verbosity", "5"];
    let good = world.run_program(&[&file[..], &["--events", "--json"]].concat()).code(0);
    assert_clean(&good);
    assert!(good.stdout.contains("[redacted:key]"), "the tool did print it, blotted out: {}", good.stdout);
    let bad = world.run_program(&[&file[..], &["--json"]].concat()).code(1);
    assert_clean(&bad);
    assert_eq!(bad.json()["error"]["code"], "model.auth");
    let sent: Vec<_> = server.requests();
    assert!(
        sent.iter().all(|one| one.headers["authorization"] == format!("Bearer {KEY}")),
        "the key was used"
    );
    assert!(sent.iter().all(|one| !one.body.to_string().contains(KEY)), "no model ever reads it");
    for arguments in [
        &["config", "show", "--origin"][..],
        &["config", "show"],
        &["--api-key", KEY, "config", "show", "--origin"],
        &["--fast-api-key", KEY, "--verbosity", "9", "run", "talk", "x"],
        &["runs", "list", "--json"],
        &["check", "--json"],
        &["tools"],
        &["roles", "--json"],
    ] {
        assert_clean(&world.run_program(arguments));
    }
    let list = world.run_program(&["runs", "list", "--json"]).json();
    for run in list.as_array().unwrap() {
        let id = run["id"].as_str().unwrap();
        assert_clean(&world.run_program(&["runs", "show", id, "--json"]).code(0));
        assert_clean(&world.run_program(&["runs", "show", id]).code(0));
    }
    assert_nothing_kept(&world);
}

#[test]
fn a_broken_file_with_a_key_is_shown_without_it() {
    let world = World::new();
    world.write_user_file(
        "settings.json",
        &format!("{{\"levels\": {{\"base\": {{\"api_kye\": \"{KEY}\"}}}}, \"keys\": {{\"a\": [\"{KEY}\"]}}"),
    );
    world.write_file(".env", &format!("SYNTHDEV_API_KEY={KEY}\n{KEY}\n"));
    for arguments in [
        &["check"][..],
        &["--trust", "check"],
        &["config", "show", "--origin"],
        &["run", "coder_reviewer", "x"],
    ] {
        let ran = world.run_program(arguments);
        assert_ne!(ran.code, Some(0), "{arguments:?}");
        assert_clean(&ran);
    }
}

/// A command sees neither keys nor, where the system can hide it, the environment of the program that started it.
#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn commands_see_no_keys() {
    const MARK: &str = "plain-text-of-the-environment";
    let line = "echo \"[$SYNTHDEV_API_KEY][$COPY_OF_IT][$DB_PASSWORD][$SSH_AUTH_SOCK]\"; \
        cat /proc/$PPID/stat > /dev/null && echo readable; cat /proc/$PPID/environ";
    let script = vec![
        Behaviour::calls(&[("c1", "execute_terminal", &json!({"command": line}).to_string())]),
        Behaviour::text("Seen."),
    ];
    let server = ModelServer::start_server(script).await;
    let mut world = World::new();
    world.write_json("talk.json", &talk_workflow());
    for (name, value) in [
        ("SYNTHDEV_API_KEY", KEY),
        ("SYNTHDEV_BASE_URL", &server.base_url),
        ("SYNTHDEV_BASE_MODEL", "mock-1"),
        ("COPY_OF_IT", KEY),
        ("DB_PASSWORD", "hunter2"),
        ("SSH_AUTH_SOCK", "/agent"),
        ("UNSUSPICIOUS", MARK),
    ] {
        world.set_variable(name, value);
    }
    // root may read everything: there, the program is started without that right
    let start =
        "if [ $(id -u) = 0 ]; then exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"; fi; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_synthdev");
    let mut command = std::process::Command::new("sh");
    let typed = ["-c", start, "sh", program, "run", "--workflow-file", "talk.json", "hello", "--yes"];
    world.isolate_command(command.args(typed).stdin(std::process::Stdio::null()));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let answer = server.requests().last().unwrap().body.to_string();
    assert!(answer.contains("[][][][/agent]"), "{answer}");
    assert!(answer.contains("readable") && answer.contains("Permission denied"), "{answer}");
    assert!(!answer.contains(MARK), "{answer}");
}

/// What local servers are given for a key is a word like any other, and a real key in a command is executed as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_the_text_of_a_key_is_executed_as_it_is() {
    for key in ["lm-studio", KEY] {
        let remove = json!({"command": format!("rm -r cache/{key}; ls cache")}).to_string();
        let write =
            json!({"file_path": "made.toml", "content": format!("provider = \"{key}\"\n")}).to_string();
        let script = vec![
            Behaviour::calls(&[("c1", "execute_terminal", &remove), ("c2", "write_file", &write)]),
            Behaviour::text("Seen."),
        ];
        let server = ModelServer::start_server(script).await;
        let mut world = World::new();
        world.write_json("talk.json", &talk_workflow());
        world.write_file(&format!("cache/{key}/old"), "");
        world.write_file("cache/keep/new", "");
        world.set_variable("SYNTHDEV_API_KEY", key);
        world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
        world.run_program(&["run", "--workflow-file", "talk.json", "hello", "--yes", "--json"]).code(0);
        let left = |name: &str| world.project().join("cache").join(name).exists();
        assert_eq!((left(key), left("keep")), (false, true), "{key}");
        assert_eq!(world.read_file("made.toml"), format!("provider = \"{key}\"\n"));
    }
}

#[test]
fn a_workflow_with_the_text_of_a_key_is_not_started() {
    for (key, code) in [("lm-studio", 0), (KEY, 2)] {
        let mut world = World::new();
        let states = json!([
            {"name": "start", "type": "shell", "command": format!("mkdir -p cache/{key}"), "transition": [{"target": "stop"}]},
            {"name": "stop"}]);
        world.write_json("talk.json", &super::world::workflow(&states));
        world.write_json("replies.json", &json!({"replies": {}}));
        world.set_variable("SYNTHDEV_API_KEY", key);
        let ran = world.run_talk(&["--yes"]).code(code);
        assert_eq!(world.project().join("cache").join(key).exists(), code == 0, "{}", ran.stderr);
        assert_eq!(
            ran.stderr.contains("holds the text of an API key in state `start`"),
            code != 0,
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
    }
}
