//! Clients of npm that were written elsewhere, from their registry.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Map, Value, json};

use super::super::cli::world::{World, talk_workflow};
use super::flows::{asking_workflow, quick_workflow, slow_workflow, ticket_workflow, world};
use super::web::Web;
use crate::support::skip::require_programs;

const SCRIPT: &str = include_str!("official.mjs");
const PROXY: &str = include_str!("proxy.mjs");
const OURS: [&str; 6] =
    ["--provider", "agentllm", "--smart-provider", "agentllm", "--fast-provider", "agentllm"];

/// A directory with these packages and a Node that is new enough for them.
pub fn install_packages(packages: &[&str]) -> tempfile::TempDir {
    require_programs(&["npm", "node"], "nodejs and npm");
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("package.json"), "{\"private\": true}").unwrap();
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "node@22"]).args(packages).current_dir(home.path());
    let done = command.stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "npm cannot install {packages:?}: make its registry reachable:\n{words}");
    home
}

/// A program of the packages.
fn program(home: &Path, name: &str) -> Command {
    let bin = home.join("node_modules/.bin");
    let mut command = Command::new(bin.join(name));
    let path = std::env::var("PATH").unwrap();
    command.current_dir(home).env("PATH", format!("{}:{path}", bin.display()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run_with_input(mut command: Command, input: &str) -> Output {
    let mut child = command.spawn().unwrap();
    // one that reads nothing is all right
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn variables(world: &World) -> String {
    let place = world.command(&[]);
    let all: Map<String, Value> = place
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), json!(value?.to_str()?))))
        .collect();
    Value::Object(all).to_string()
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn the_package_of_typescript_gets_on_with_us_both_ways() {
    let home = install_packages(&["@modelcontextprotocol/sdk@1"]);
    fs::write(home.path().join("official.mjs"), SCRIPT).unwrap();
    for http in [false, true] {
        let world = world(&[ticket_workflow(), slow_workflow(), talk_workflow()]);
        let web = http.then(|| Web::start_server(&world, &OURS));
        let mut command = program(home.path(), "node");
        command.arg("official.mjs").arg(env!("CARGO_BIN_EXE_synthdev")).arg(world.project());
        if let Some(web) = &web {
            command.args([&web.url(), &web.token]);
        }
        let done = run_with_input(command, &variables(&world));
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        let seen: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert!(seen["tools"].as_array().unwrap().contains(&json!("ticket")), "{seen}");
        assert_eq!(seen["asked"]["status"], "awaiting_llm_action", "{seen}");
        assert_eq!(seen["lacking"][1]["error"]["type"], "validation", "{seen}");
        assert_eq!(
            (&seen["done"]["status"], &seen["run"]),
            (&json!("completed"), &json!("completed")),
            "{seen}"
        );
        assert_eq!(seen["refused"], json!([-32602, "MCP error -32602: Unknown tool: nope"]), "{seen}");
        assert_eq!(seen["cancelled"], json!(["given up", "cancelled"]), "{seen}");
        assert_eq!(seen["progress"][0], json!([1, "start"]), "{seen}");
        assert_eq!((&seen["sampled"]["output"], &seen["samples"]), (&json!("Bonjour"), &json!(1)), "{seen}");
        if let Some(web) = web {
            web.terminate_server();
        }
    }
}

/// Puts the token into every request: for programs that cannot send one.
struct Proxy {
    child: Child,
    url: String,
}

impl Proxy {
    fn start_proxy(home: &Path, web: &Web) -> Self {
        fs::write(home.join("proxy.mjs"), PROXY).unwrap();
        let mut command = program(home, "node");
        let mut child = command.args(["proxy.mjs", &web.url(), &web.token]).spawn().unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        Self { child, url: format!("http://localhost:{}/mcp", line.trim()) }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn the_inspector_lists_and_calls() {
    let home = install_packages(&["@modelcontextprotocol/inspector@0.15.0"]);
    let world = world(&[quick_workflow()]);
    let web = Web::start_server(&world, &[]);
    let proxy = Proxy::start_proxy(home.path(), &web);
    for http in [true, false] {
        let asked = |more: &[&str]| {
            let mut command = program(home.path(), "mcp-inspector");
            for (name, value) in world.command(&[]).get_envs() {
                command.env(name, value.unwrap());
            }
            let bin = home.path().join("node_modules/.bin");
            command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
            command.arg("--cli");
            match http {
                true => command.arg(&proxy.url),
                false => {
                    command.arg(env!("CARGO_BIN_EXE_synthdev")).arg("-C").arg(world.project()).arg("mcp")
                }
            };
            let done = run_with_input(
                {
                    command.args(more);
                    command
                },
                "",
            );
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "{said}");
            serde_json::from_slice::<Value>(&done.stdout).unwrap()
        };
        let listed = asked(&["--method", "tools/list"]);
        assert!(listed.to_string().contains("get_workflow_status"), "{listed}");
        let done = asked(&["--method", "tools/call", "--tool-name", "quick", "--tool-arg", "task=go"]);
        assert_eq!(done["structuredContent"]["output"], json!({"said": "go"}), "{done}");
    }
    drop(proxy);
    web.terminate_server();
}

/// What the public suite checks of any server. Left out: scenarios that call tools of a server made for the suite.
const SCENARIOS: [&str; 13] = [
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "ping",
    "tools-list",
    "resources-list",
    "server-sse-multiple-streams",
    "server-sse-polling",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "sep-2164-resource-not-found",
    "input-required-result-unsupported-methods",
];

/// Checks of prompts, of which there are none, and of a tool that refuses clients without sampling: ours ask these
/// clients in another way.
const NOT_OURS: [&str; 3] = [
    "sep-2549-prompts-list-caching-hints",
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
];

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn the_public_conformance_suite_finds_nothing() {
    let home = install_packages(&["@modelcontextprotocol/conformance@0.2.0-alpha.12"]);
    // what the suite calls: one that asks its user, one that has something to tell
    let asks = asking_workflow("test_streaming_elicitation", &json!({"kind": "text"}));
    let mut tells = quick_workflow();
    tells["workflow_name"] = json!("test_logging_tool");
    let world = world(&[quick_workflow(), ticket_workflow(), asks, tells]);
    let web = Web::start_server(&world, &[]);
    let proxy = Proxy::start_proxy(home.path(), &web);
    for scenario in SCENARIOS {
        let mut command = program(home.path(), "conformance");
        command.args(["server", "--url", &proxy.url, "--scenario", scenario]);
        let done = run_with_input(command, "");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(said.contains("Passed: "), "{scenario}: {said}{}", String::from_utf8_lossy(&done.stderr));
        let failures: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("FAILURE") && !NOT_OURS.iter().any(|known| line.contains(known)))
            .collect();
        assert!(failures.is_empty(), "{scenario}: {failures:#?}\n{said}");
    }
    drop(proxy);
    web.terminate_server();
}
