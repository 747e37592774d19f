//! Servers that were written elsewhere, from the registries of npm and PyPI, each used by an agent and by an `mcp` state.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cli::mcp_agents::{last_tool_result, run_agent, run_state, use_model};
use crate::cli::world::World;
use crate::mcp::foreign::install_packages;
use crate::support::model_server::{Behaviour, ModelServer};
use crate::support::skip::require_programs;

/// One server of a row: how it is started, and a call of one of its tools.
struct ForeignServer {
    name: &'static str,
    command: String,
    arguments: Vec<String>,
    tool: &'static str,
    call: Value,
    /// In what the model and the state get.
    expected: &'static str,
}

/// A directory for programs of Python with these packages.
fn install_python_packages(packages: &[&str]) -> tempfile::TempDir {
    require_programs(&["python3"], "python3 with venv and pip");
    let home = tempfile::tempdir().unwrap();
    let run = |program: &Path, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
        let words = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: make the registry PyPI reachable:\n{words}");
    };
    run(Path::new("python3"), &["-m", "venv", &home.path().display().to_string()]);
    run(&home.path().join("bin/pip"), &[&["install", "-q"], packages].concat());
    home
}

async fn check_servers(world: &mut World, servers: Vec<ForeignServer>, path: &Path) {
    let variable = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
    let configured: serde_json::Map<String, Value> = servers
        .iter()
        .map(|server| {
            let entry = json!({"command": server.command, "args": server.arguments, "start_timeout": 60,
                "env": {"PATH": variable, "MEMORY_FILE_PATH": world.root().join("memory.json")}});
            (server.name.to_owned(), entry)
        })
        .collect();
    world.write_user_file("settings.json", &json!({"mcpServers": configured}).to_string());
    let model = ModelServer::start_server(Vec::new()).await;
    use_model(world, &model);
    for server in servers {
        let tool = format!("{}__{}", server.name, server.tool);
        let before = model.requests().len();
        model.queue_answer("mock-1", Behaviour::calls(&[("c1", &tool, &server.call.to_string())]));
        model.queue_answer("mock-1", Behaviour::text("Done."));
        assert_eq!(run_agent(world).code(0).json()["output"], "Done.", "{tool}");
        let told = last_tool_result(&model.requests()[before + 1]);
        assert!(told.contains(server.expected), "{tool}: {told}");
        let ran = run_state(world, server.name, server.tool, &server.call).code(0);
        assert!(ran.json()["output"].to_string().contains(server.expected), "{tool}: {}", ran.stdout);
    }
    let list = world.run_program(&["mcp", "list"]).code(0).stdout;
    assert_eq!(list.matches("ready, ").count(), configured.len(), "{list}");
    assert!(!list.contains("last error"), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "tool: needs node and npm, and the registry of npm"]
async fn reference_servers_of_npm_are_used_by_agents_and_states() {
    let home = install_packages(&[
        "@modelcontextprotocol/server-everything",
        "@modelcontextprotocol/server-filesystem",
        "@modelcontextprotocol/server-memory",
    ]);
    let bin = home.path().join("node_modules/.bin");
    let program = |name: &str| bin.join(name).display().to_string();
    let mut world = World::repository();
    let project = world.project().canonicalize().unwrap().display().to_string();
    let servers = vec![
        ForeignServer {
            name: "everything",
            command: program("mcp-server-everything"),
            arguments: Vec::new(),
            tool: "echo",
            call: json!({"message": "hello from here"}),
            expected: "Echo: hello from here",
        },
        ForeignServer {
            name: "filesystem",
            command: program("mcp-server-filesystem"),
            arguments: vec![project.clone()],
            tool: "list_directory",
            call: json!({"path": project}),
            expected: "[FILE] README.md",
        },
        ForeignServer {
            name: "memory",
            command: program("mcp-server-memory"),
            arguments: Vec::new(),
            tool: "read_graph",
            call: json!({}),
            expected: "entities",
        },
    ];
    check_servers(&mut world, servers, &bin).await;
    // its prompts and resources, from the input line
    let model = ModelServer::start_server(vec![Behaviour::text("One."), Behaviour::text("Two.")]).await;
    use_model(&mut world, &model);
    let lines = "see @everything:demo://resource/static/document/architecture.md\n/everything:args-prompt city=Oslo\n";
    let said = world.run_with(&["--linear"], lines).code(0).stdout;
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "{said}");
    let last = requests[1].body.to_string();
    assert!(last.contains("[everything:demo://resource/static/document/architecture.md]"), "{last}");
    assert!(last.contains("Oslo"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "tool: needs python3 with venv and pip, and the registry PyPI"]
async fn reference_servers_of_pypi_are_used_by_agents_and_states() {
    let home = install_python_packages(&["mcp-server-git", "mcp-server-time", "mcp-server-fetch"]);
    let bin = home.path().join("bin");
    let program = |name: &str| bin.join(name).display().to_string();
    let pages = ModelServer::start_server(Vec::new()).await;
    pages.add_document("/v1/page", json!({"said": "on a page of the test"}));
    let address = pages.base_url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
    let mut world = World::repository();
    let project = world.project().canonicalize().unwrap().display().to_string();
    let servers = vec![
        ForeignServer {
            name: "git",
            command: program("mcp-server-git"),
            arguments: Vec::new(),
            tool: "git_status",
            call: json!({"repo_path": project}),
            expected: "On branch main",
        },
        ForeignServer {
            name: "time",
            command: program("mcp-server-time"),
            arguments: Vec::new(),
            tool: "get_current_time",
            call: json!({"timezone": "Europe/Berlin"}),
            expected: "Europe/Berlin",
        },
        ForeignServer {
            name: "fetch",
            command: program("mcp-server-fetch"),
            arguments: ["--ignore-robots-txt", "--allow-private-ips"].map(str::to_owned).to_vec(),
            tool: "fetch",
            call: json!({"url": format!("{address}/v1/page"), "raw": true}),
            expected: "on a page of the test",
        },
    ];
    check_servers(&mut world, servers, &bin).await;
}
