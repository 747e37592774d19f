//! Tools that a user defines in a file: their commands, with real processes.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::domain::own_tool::OwnTool;
use synthdev::domain::sandbox::{NetworkAccess, SandboxLayer, SandboxMode, SandboxSettings};
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::tool::{CommandReach, RerunPolicy, ToolPreview, ToolRisk, ToolSpec};
use synthdev::ports::tool::ToolPort;

use super::{Project, invocation};

pub(super) fn own_tool(name: &str, command: &[&str], parameters: Value) -> OwnTool {
    OwnTool {
        spec: ToolSpec {
            name: name.to_owned(),
            description: "d".to_owned(),
            parameters,
            risk: ToolRisk::Execute,
            repeat: None,
        },
        layer: ConfigLayer::User,
        file: format!("user:tools/{name}.json"),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        timeout_seconds: Some(2),
        network: Some(NetworkAccess::Off),
        ports: BTreeSet::new(),
        writable: Vec::new(),
        readable: Vec::new(),
    }
}

fn project() -> Project {
    let schema = json!({"type": "object", "required": ["text"], "additionalProperties": false,
        "properties": {"text": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}});
    Project::with_files(&[("script.sh", "cat; echo; echo \"$1\"; pwd >&2")], |settings| {
        settings.own_tools = vec![
            own_tool("echo_json", &["sh", "script.sh", "it's $HOME"], schema),
            own_tool("fails", &["sh", "-c", "echo why; exit 3"], json!({"type": "object"})),
            own_tool("hangs", &["sleep", "1000"], json!({"type": "object"})),
            own_tool("missing", &["no-such-program-here"], json!({"type": "object"})),
            own_tool("wipes", &["rm", "-rf", "/"], json!({"type": "object"})),
        ];
    })
}

fn body(content: &str) -> String {
    content.split_once('\n').map(|(_, body)| body.to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn the_command_gets_the_arguments_on_its_input() {
    let project = project();
    let tricky = "a\nEND_x\n'\"$(touch made)`touch made`\\";
    let outcome = project.tools.run(&invocation("echo_json", json!({"text": tricky, "count": 2}))).await;
    assert!(outcome.ok, "{}", outcome.content);
    let text = body(&outcome.content);
    let mut lines = text.lines();
    let given: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(given, json!({"text": tricky, "count": 2}));
    assert!(text.contains("\nit's $HOME\n") && text.contains(&*project.root().to_string_lossy()), "{text}");
    assert_eq!(project.list_paths(), ["", "script.sh"]);
    let long = "x".repeat(50_000);
    let outcome = project.tools.run(&invocation("echo_json", json!({"text": long}))).await;
    assert!(outcome.ok && outcome.content.contains(&long[..1000]), "{}", &outcome.content[..200]);
}

#[tokio::test]
async fn failures_and_wrong_arguments_are_answers() {
    let project = project();
    for (tool, arguments, why) in [
        ("fails", json!({}), "exit code 3"),
        ("hangs", json!({}), "timed out after 2 s"),
        ("missing", json!({}), "exit code 127"),
        ("wipes", json!({}), "[sandbox] refused: removes / recursively"),
        ("echo_json", json!({}), "invalid arguments: \"text\" is a required property"),
        ("echo_json", json!({"text": "a", "count": 0}), "/count: 0 is less than the minimum of 1"),
        ("echo_json", json!({"text": "a", "more": 1}), "Additional properties are not allowed"),
        ("echo_json", json!({"text": "x".repeat(200_000)}), "the limit is 102400"),
    ] {
        let outcome = project.tools.run(&invocation(tool, arguments)).await;
        assert!(
            !outcome.ok && outcome.content.replace("\\\"", "\"").contains(why),
            "{tool}: {}",
            outcome.content
        );
    }
    let failed = project.tools.run(&invocation("fails", json!({}))).await;
    assert_eq!(body(&failed.content).trim(), "why");
}

#[tokio::test]
async fn it_is_asked_about_like_a_command() {
    let project = project();
    let call = invocation("echo_json", json!({"text": "a b"}));
    let Some(ToolPreview::Command { command, cwd, .. }) = project.tools.preview_call(&call).await else {
        panic!("no command")
    };
    assert_eq!(cwd, ".");
    assert_eq!(command, "sh script.sh 'it'\\''s $HOME' <<< '{\"text\":\"a b\"}'");
    assert_eq!(project.tools.rerun_policy(&call), RerunPolicy::Ask);
    let refusal = project.tools.refusal_reason(&invocation("wipes", json!({})));
    assert!(refusal.is_some_and(|why| why.contains("removes / recursively")));
}

/// A project in a sandbox, with a home directory that holds `open` and a hidden `secret/k`; `None`: this layer does not work
/// here.
fn confined_project(
    home: &Path,
    data: &Path,
    settings: &SandboxSettings,
    tools: Vec<OwnTool>,
) -> Option<Project> {
    std::fs::create_dir_all(home.join("open")).unwrap();
    std::fs::create_dir_all(home.join("secret")).unwrap();
    std::fs::write(home.join("secret/k"), "the secret").unwrap();
    let mut works = false;
    let project = Project::with_files(&[], |made| {
        let places = SandboxPlaces {
            data: data.to_owned(),
            home: Some(home.to_owned()),
            helper: env!("CARGO_BIN_EXE_synthdev").into(),
            ..SandboxPlaces::for_project(&made.root)
        };
        let settings = SandboxSettings { hidden: vec!["~/secret".to_owned()], ..settings.clone() };
        made.sandbox = Arc::new(CommandSandbox::new(settings, places));
        made.own_tools = tools;
        works = made.sandbox.prepare_current().is_ok();
    });
    works.then_some(project)
}

async fn shown_reach(project: &Project, tool: &str) -> (BTreeSet<u16>, CommandReach) {
    match project.tools.preview_call(&invocation(tool, json!({}))).await {
        Some(ToolPreview::Command { ports, reach, .. }) => (ports, reach),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn paths_of_its_definition_are_open_for_its_command_alone() {
    let check = async |layer: SandboxLayer, mode: SandboxMode, opens: bool, expected: [bool; 2]| {
        let (home, data) =
            (crate::support::temporary::temp_directory(), crate::support::temporary::temp_directory());
        let home = home.path().canonicalize().unwrap();
        let of = |name: &str, what: &str| {
            let line = format!("{what} {}", home.display());
            let mut tool = own_tool(name, &["sh", "-c", &line], json!({"type": "object"}));
            if opens {
                (tool.writable, tool.readable) = (vec!["~/open".to_owned()], vec!["~/secret".to_owned()]);
            }
            tool.command[2].push_str(if name == "writes" { "/open/new" } else { "/secret/k" });
            tool
        };
        let tools = vec![of("writes", "echo x >"), of("reads", "cat")];
        let settings = SandboxSettings { layer, mode, ..SandboxSettings::default() };
        let Some(project) = confined_project(&home, data.path(), &settings, tools) else { return };
        let about = format!("{layer:?} {mode:?} {opens}");
        let wrote = project.tools.run(&invocation("writes", json!({}))).await;
        let read = project.tools.run(&invocation("reads", json!({}))).await;
        assert_eq!([wrote.ok, read.ok], expected, "{about}: {}\n{}", wrote.content, read.content);
        assert_eq!(home.join("open/new").exists(), expected[0], "{about}");
        assert_eq!(read.content.contains("the secret"), expected[1], "{about}");
        let terminal = json!({"command": format!("cat {}/secret/k", home.display())});
        assert!(!project.tools.run(&invocation("execute_terminal", terminal)).await.ok, "{about}");
        let shown = shown_reach(&project, "reads").await.1;
        let paths = |shown: bool, path: &str| if shown { vec![path.to_owned()] } else { Vec::new() };
        let writable = paths(opens && mode == SandboxMode::Project, "~/open");
        let readable = paths(opens, "~/secret");
        assert_eq!(shown, CommandReach { network: false, writable, readable }, "{about}");
    };
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        check(layer, SandboxMode::Project, true, [true, true]).await;
        check(layer, SandboxMode::Project, false, [false, false]).await;
        check(layer, SandboxMode::ReadOnly, true, [false, true]).await;
    }
}

#[tokio::test]
async fn its_command_reaches_the_ports_of_its_definition() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in server.incoming() {
            // one that has gone is of no interest
            let _ = client.and_then(|mut client| client.write_all(b"hello"));
        }
    });
    let check = async |ports: &[u16], ports_are_closed: bool, network: NetworkAccess, expected: bool| {
        let (home, data) =
            (crate::support::temporary::temp_directory(), crate::support::temporary::temp_directory());
        let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3");
        let mut tool = own_tool("asks", &["bash", "-c", &line], json!({"type": "object"}));
        (tool.ports, tool.network) = (ports.iter().copied().collect(), Some(network));
        let layer = SandboxLayer::Bubblewrap;
        let settings = SandboxSettings { layer, ports_are_closed, ..SandboxSettings::default() };
        let Some(project) = confined_project(home.path(), data.path(), &settings, vec![tool]) else { return };
        let answer = project.tools.run(&invocation("asks", json!({}))).await;
        let about = format!("{ports:?} {ports_are_closed} {network:?}: {}", answer.content);
        assert_eq!(answer.ok && answer.content.contains("hello"), expected, "{about}");
        let (shown, reach) = shown_reach(&project, "asks").await;
        let forwarded = expected && network != NetworkAccess::On;
        assert_eq!(shown.contains(&port), forwarded, "{about}");
        assert_eq!(reach.network, network == NetworkAccess::On, "{about}");
    };
    check(&[port], false, NetworkAccess::Off, true).await;
    check(&[], false, NetworkAccess::Off, false).await;
    check(&[port], true, NetworkAccess::Off, false).await;
    check(&[port], false, NetworkAccess::On, true).await;
}
