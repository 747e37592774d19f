//! A client that none of us wrote. Only with `SYNTHDEV_SLOW_TESTS` set, and where Python can install the package `mcp`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::flows::{ticket_workflow, world};

const SCRIPT: &str = include_str!("official.py");

#[test]
fn the_package_mcp_gets_on_with_us() {
    if std::env::var_os("SYNTHDEV_SLOW_TESTS").is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let Some(python) = python(home.path()) else {
        println!("skipped: the package mcp cannot be installed here");
        return;
    };
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

/// A Python of its own with the package, if that can be had.
fn python(home: &Path) -> Option<PathBuf> {
    let worked = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let bin = home.join("venv/bin");
    let made = worked(Command::new("python3").args(["-m", "venv"]).arg(home.join("venv")));
    let installed = made && worked(Command::new(bin.join("pip")).args(["install", "-q", "mcp>=2,<3"]));
    installed.then(|| bin.join("python"))
}
