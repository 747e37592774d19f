//! The project's tools through their port, on real files and real processes.

mod background;
mod calculating;
mod coding_session;
pub(crate) mod commands;
mod confinement;
mod explaining;
mod fetching;
mod files;
mod foreign_servers;
mod http;
mod mcp_servers;
mod own_tools;
mod patching;
mod restart;
mod results;
mod scripting;
mod searching;
mod steps;

use std::path::Path;

use serde_json::Value;
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::domain::ids::RunId;
use synthdev::domain::tool::{ToolInvocation, ToolOutcome, ToolPreview, ToolRisk};
use synthdev::ports::tool::ToolPort;
use tempfile::TempDir;

/// A project of its own for one test.
struct Project {
    directory: TempDir,
    tools: ProjectTools,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_files(files, |_| {})
    }

    fn with_files(files: &[(&str, &str)], adjust: impl FnOnce(&mut ToolSettings)) -> Self {
        let directory = crate::support::temporary::temp_directory();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut settings = ToolSettings::new(directory.path());
        adjust(&mut settings);
        Self { tools: ProjectTools::new(settings), directory }
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root().join(path)).unwrap()
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// Every path below the project, sorted: what a tool left behind would show here.
    fn list_paths(&self) -> Vec<String> {
        let walk = ignore::WalkBuilder::new(self.root()).standard_filters(false).build();
        let mut paths: Vec<String> = walk
            .flatten()
            .map(|entry| entry.path().strip_prefix(self.root()).unwrap().to_string_lossy().into_owned())
            .collect();
        paths.sort();
        paths
    }

    async fn run_tool(&self, tool: &str, arguments: Value) -> ToolOutcome {
        let outcome = self.tools.run(&invocation(tool, arguments)).await;
        let head: Value = serde_json::from_str(outcome.content.lines().next().unwrap()).unwrap();
        assert_eq!(head["success"], outcome.ok, "{}", outcome.content);
        assert_eq!(head["tool"], tool);
        assert!(head["time_ms"].is_u64());
        assert_eq!(head["error"].is_string(), !outcome.ok, "{}", outcome.content);
        assert!(!outcome.summary.is_empty() && !outcome.summary.contains('\n'));
        let root = self.root().to_string_lossy().into_owned();
        let executes =
            matches!(tool, "execute_terminal" | "shell" | "read_output" | "send_input" | "stop_command");
        assert!(
            executes || !outcome.content.contains(&root),
            "shows the machine's paths: {}",
            outcome.content
        );
        outcome
    }

    /// Success whose text contains `expected`.
    async fn expect_success(&self, tool: &str, arguments: Value, expected: &str) -> ToolOutcome {
        let outcome = self.run_tool(tool, arguments).await;
        assert!(
            outcome.ok && outcome.content.contains(expected),
            "wanted {expected}\nin {}",
            outcome.content
        );
        outcome
    }

    /// Failure whose error contains `expected`, with no file changed.
    async fn expect_failure(&self, tool: &str, arguments: Value, expected: &str) {
        let before = self.list_paths();
        let outcome = self.run_tool(tool, arguments).await;
        let head: Value = serde_json::from_str(outcome.content.lines().next().unwrap()).unwrap();
        let error = head["error"].as_str().unwrap_or_default();
        assert!(!outcome.ok && error.contains(expected), "wanted {expected}\nin {}", outcome.content);
        assert_eq!(outcome.changed, Vec::<String>::new());
        assert_eq!(self.list_paths(), before, "a refused call left something behind");
    }

    async fn preview_tool(&self, tool: &str, arguments: Value) -> Option<ToolPreview> {
        self.tools.preview_call(&invocation(tool, arguments)).await
    }
}

fn invocation(tool: &str, arguments: Value) -> ToolInvocation {
    ToolInvocation {
        agent: "coder".to_owned(),
        tool: tool.to_owned(),
        arguments,
        network: None,
        loopback_ports: std::collections::BTreeSet::new(),
        reads_files: tool == "execute_script",
        original: None,
        run: Some(RunId::from("r1")),
    }
}

#[test]
fn the_tools_their_risks_and_their_schemas() {
    let project = Project::new(&[]);
    let table: Vec<(&str, ToolRisk)> =
        project.tools.specs().iter().map(|spec| (spec.name.as_str(), spec.risk)).collect();
    let expected = [
        ("read_files", ToolRisk::Read),
        ("list_directory", ToolRisk::Read),
        ("exact_search", ToolRisk::Read),
        ("glob", ToolRisk::Read),
        ("explain_codebase", ToolRisk::Read),
        ("write_file", ToolRisk::Write),
        ("edit_file", ToolRisk::Write),
        ("apply_patch", ToolRisk::Write),
        ("calculate", ToolRisk::Read),
        ("get_time", ToolRisk::Read),
        ("execute_script", ToolRisk::Read),
        ("web_fetch", ToolRisk::Execute),
        ("execute_terminal", ToolRisk::Execute),
        ("read_output", ToolRisk::Read),
        ("send_input", ToolRisk::Execute),
        ("stop_command", ToolRisk::Read),
    ];
    assert_eq!(table, expected);
    for spec in project.tools.specs() {
        assert!(jsonschema::validator_for(&spec.parameters).is_ok(), "{}", spec.name);
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        for (name, property) in spec.parameters["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{name}", spec.name);
        }
    }
}

#[tokio::test]
async fn calls_that_make_no_sense_are_answered_not_run() {
    use serde_json::json;
    let project = Project::new(&[("a.txt", "a")]);
    project
        .expect_failure("read_file", json!({}), "there is no tool `read_file`; there are: read_files, ")
        .await;
    project
        .expect_failure("read_files", json!("{\"file_paths\": "), "must be a JSON object, not a string")
        .await;
    project.expect_failure("read_files", json!({}), "`file_paths` is missing").await;
    project.expect_failure("read_files", json!({"file_paths": "a.txt"}), "must be an array of strings").await;
    project
        .expect_failure("read_files", json!({"file_paths": ["a.txt"], "start_line": "1"}), "a whole number")
        .await;
    project
        .expect_failure("read_files", json!({"file_paths": ["a.txt"], "encoding": "utf16"}), "must be one of")
        .await;
    project
        .expect_failure("list_directory", json!({"directory_path": ".", "max_depth": 11}), "at most 10")
        .await;
    project
        .expect_failure(
            "write_file",
            json!({"file_path": "b", "content": "", "mode": 1}),
            "`mode` is not an arg",
        )
        .await;
    project.expect_failure("execute_terminal", json!({"command": ""}), "must not be empty").await;
    project
        .expect_success("read_files", json!({"file_paths": ["a.txt"], "start_line": null}), "==> a.txt")
        .await;
}
