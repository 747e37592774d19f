//! A client that was written elsewhere: the Python package `mcp`, from its registry.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::flows::{ticket_workflow, world};
use crate::support::skip::require_programs;

const SCRIPT: &str = include_str!("official.py");

#[test]
#[ignore = "tool: needs python3 with venv and pip, and the registry of Python packages"]
fn the_package_mcp_gets_on_with_us() {
    require_programs(&["python3"], "python3 and python3-venv");
    let home = tempfile::tempdir().unwrap();
    let python = install_python_package(home.path());
    let script = home.path().join("official.py");
    std::fs::write(&script, SCRIPT).unwrap();
    // with a handshake, without one, and whatever the package thinks best
    for mode in ["legacy", "2026-07-28", "auto"] {
        let world = world(&[ticket_workflow()]);
        let place = world.command(&[]);
        let variables: serde_json::Map<String, Value> = place
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), json!(value?.to_str()?))))
            .collect();
        let mut command = Command::new(&python);
        command.arg(&script).arg(env!("CARGO_BIN_EXE_synthdev")).arg(world.project()).arg(mode);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(Value::Object(variables).to_string().as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{mode}");
        let seen: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert!(seen["tools"].as_array().unwrap().contains(&json!("ticket")), "{mode}: {seen}");
        assert_eq!(seen["asked"]["status"], "awaiting_llm_action", "{mode}: {seen}");
        assert_eq!(
            (&seen["lacking"][0], &seen["lacking"][1]["error"]["type"]),
            (&json!(true), &json!("validation"))
        );
        assert_eq!(
            (&seen["done"]["status"], &seen["run"]),
            (&json!("completed"), &json!("completed")),
            "{seen}"
        );
        assert_eq!(seen["refused"], "Unknown tool: nope", "{mode}: {seen}");
        assert_eq!(seen["progress"][0], json!([1.0, "start"]), "{mode}: {seen}");
        assert_eq!(seen["resources"], 2, "{mode}: {seen}");
    }
}

/// A Python of its own with the package.
fn install_python_package(home: &Path) -> PathBuf {
    let run = |command: &mut Command, advice: &str| {
        let done = command.stdin(Stdio::null()).output().unwrap();
        let words = [done.stdout, done.stderr].concat();
        assert!(done.status.success(), "{advice}:\n{}", String::from_utf8_lossy(&words));
    };
    let bin = home.join("venv/bin");
    let make = &mut Command::new("python3");
    run(make.args(["-m", "venv"]).arg(home.join("venv")), "python3 makes no venv: install python3-venv");
    let install = &mut Command::new(bin.join("pip"));
    run(
        install.args(["install", "-q", "mcp>=2,<3"]),
        "pip cannot install mcp>=2,<3: make its registry reachable",
    );
    bin.join("python")
}
