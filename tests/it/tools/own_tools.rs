//! Tools that a user defines in a file: their commands, with real processes.

use serde_json::{Value, json};
use synthdev::domain::own_tool::OwnTool;
use synthdev::domain::sandbox::NetworkAccess;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::tool::{RerunPolicy, ToolPreview, ToolRisk, ToolSpec};
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
