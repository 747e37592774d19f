//! What only workflows run: `shell` and `mcp`. Run by name, offered to nobody.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::domain::tool::{ToolPreview, ToolSpec};
use synthdev::ports::mcp::{McpError, McpPort, McpToolAddress};
use synthdev::ports::tool::{ToolPort, ToolProgressSink};

use super::{Project, invocation};

/// The structured result, its duration checked and taken out.
async fn data(project: &Project, arguments: Value) -> (bool, Value) {
    let outcome = project.run_tool("shell", arguments).await;
    let mut data = outcome.data.unwrap_or_else(|| panic!("no data: {}", outcome.content));
    assert!(data.as_object_mut().unwrap().remove("duration_ms").unwrap().is_u64());
    (outcome.ok, data)
}

fn exit_data(code: i64, out: &str, err: &str) -> Value {
    json!({"exit_code": code, "stdout": out, "stderr": err, "timed_out": false})
}

#[test]
fn steps_are_offered_to_nobody() {
    let project = Project::new(&[]);
    for name in ["shell", "http_request", "mcp"] {
        assert!(project.tools.specs().iter().all(|spec| spec.name != name), "{name}");
    }
}

#[tokio::test]
async fn a_command_gives_its_code_and_both_streams() {
    let project = Project::new(&[("sub/a.txt", "x")]);
    let here = format!("{}/sub\n", project.root().canonicalize().unwrap().display());
    let rows = [
        (json!({"command": "echo a; echo b >&2"}), true, exit_data(0, "a\n", "b\n")),
        (json!({"command": "echo why >&2; exit 3"}), false, exit_data(3, "", "why\n")),
        (json!({"command": "kill -KILL $$"}), false, exit_data(137, "", "")),
        (json!({"command": "cat"}), true, exit_data(0, "", "")),
        (json!({"command": "pwd", "cwd": "sub"}), true, exit_data(0, &here, "")),
        // no shell reads a program's arguments
        (json!({"command": "printf", "args": ["%s|", "$HOME `id`", "a b", 5, true]}), true, {
            exit_data(0, "$HOME `id`|a b|5|true|", "")
        }),
        (json!({"command": "echo", "args": []}), true, exit_data(0, "\n", "")),
        (json!({"command": "echo $A-$B", "env": {"A": "x y", "B": 7}}), true, exit_data(0, "x y-7\n", "")),
        (json!({"command": "ls", "args": ["-1", "a.txt"], "cwd": "sub"}), true, exit_data(0, "a.txt\n", "")),
    ];
    for (arguments, ok, expected) in rows {
        assert_eq!(data(&project, arguments.clone()).await, (ok, expected), "{arguments}");
    }
    let (ok, missing) = data(&project, json!({"command": "no-such-program", "args": []})).await;
    assert_eq!((ok, &missing["exit_code"]), (false, &json!(127)));
    let told = project.run_tool("shell", json!({"command": "echo a; echo b >&2; exit 1"})).await;
    assert!(told.content.ends_with("\na\n--- errors ---\nb\n") && told.summary == "exit 1", "{told:?}");
}

#[tokio::test]
async fn a_command_that_takes_too_long_says_so() {
    let project = Project::new(&[]);
    let slow = json!({"command": "echo begun; sleep 60", "timeout_seconds": 1});
    let expected = json!({"exit_code": null, "stdout": "begun\n", "stderr": "", "timed_out": true});
    assert_eq!(data(&project, slow).await, (false, expected));
}

/// What a stream may hold, and whether the result says that something is missing.
struct ExpectedStream {
    name: &'static str,
    bytes: std::ops::Range<usize>,
    is_cut: bool,
}

#[tokio::test]
async fn scripts_get_the_whole_output_and_hear_what_is_missing() {
    let outputs = crate::support::temporary::temp_directory();
    let project = Project::with_files(&[], |settings| {
        settings.output_cap_bytes = 1000;
        settings.command_outputs = Some(outputs.path().to_owned());
    });
    let check = async |command: &str, expected: ExpectedStream, kept: Option<u64>| {
        let (_, data) = data(&project, json!({"command": command})).await;
        let text = data[expected.name].as_str().unwrap();
        let about = format!("{command} {}: {}", expected.name, text.len());
        assert!(text.starts_with("1\n2\n") && text.ends_with("0\n"), "{about}");
        assert!(expected.bytes.contains(&text.len()), "{about}");
        assert_eq!(text.contains("bytes left out"), expected.is_cut, "{about}");
        let told = data.get(format!("{}_cut", expected.name));
        assert_eq!(told, expected.is_cut.then_some(&json!(true)), "{about}");
        let Some(kept) = kept else { return assert_eq!(data.get("output_id"), None, "{about}") };
        let all = project.run_tool("read_output", json!({"id": data["output_id"], "from": 0})).await;
        assert!(all.content.contains(&format!("\"printed\":{kept}")), "{about}: {}", all.content);
    };
    let (all, cut) = (588_895, (1 << 20)..(1 << 20) + 100);
    let stdout = |bytes, is_cut| ExpectedStream { name: "stdout", bytes, is_cut };
    check("seq 1 100000", stdout(all..all + 1, false), None).await;
    check("seq 1 200000", stdout(cut, true), Some(1_288_895)).await;
    check("seq 1 100000 >&2", ExpectedStream { name: "stderr", bytes: 1000..1100, is_cut: true }, None).await;
}

#[tokio::test]
async fn secrets_are_not_inherited_but_what_the_author_sets_is() {
    let project = Project::with_files(&[], |s| s.strip_env = vec!["*_PKG_NAME".to_owned()]);
    let line = "echo \"[$CARGO_PKG_NAME]\"";
    assert_eq!(data(&project, json!({"command": line})).await.1["stdout"], "[]\n");
    let own = json!({"command": line, "env": {"CARGO_PKG_NAME": "mine"}});
    assert_eq!(data(&project, own).await.1["stdout"], "[mine]\n");
}

#[tokio::test]
async fn what_cannot_be_run_is_refused_and_says_why() {
    let project = Project::new(&[("a.txt", "x")]);
    std::os::unix::fs::symlink("/", project.root().join("out")).unwrap();
    let rows = [
        (json!({"command": ""}), "`command` must not be empty"),
        (json!({"args": ["x"]}), "`command` is missing"),
        (json!({"command": "ls", "cmd": 1}), "`cmd` is not an argument"),
        (json!({"command": "ls", "cwd": "/etc"}), "outside the project"),
        (json!({"command": "ls", "cwd": "../.."}), "outside the project"),
        (json!({"command": "ls", "cwd": "out/etc"}), "outside the project"),
        (json!({"command": "ls", "cwd": "a.txt"}), "there is no directory `a.txt`"),
        (json!({"command": "ls", "cwd": "nope"}), "there is no directory `nope`"),
        (json!({"command": "ls", "args": [null]}), "`args`[0] must be a text"),
        (json!({"command": "ls", "args": "x"}), "`args` must be an array"),
        (json!({"command": "-c", "args": []}), "must not begin with `-`"),
        (json!({"command": "a\0b"}), "NUL"),
        (json!({"command": "ls", "env": {"A=B": "x"}}), "a name without `=`"),
        (json!({"command": "ls", "env": {"A": {}}}), "set to a text"),
        (json!({"command": "ls", "timeout_seconds": 0}), "at least 1"),
        // harmless if they ran: `rm` comes after `false`
        (json!({"command": "touch ran; false && rm -rf /"}), "refused: removes / recursively"),
        (json!({"command": "sh", "args": ["-c", "touch ran; false && rm -rf /"]}), "refused: removes /"),
    ];
    for (arguments, expected) in rows {
        project.expect_failure("shell", arguments, expected).await;
    }
}

#[tokio::test]
async fn previews_show_what_would_run() {
    let project = Project::new(&[]);
    let arguments = json!({"command": "rm", "args": ["-rf", "a b"], "cwd": "sub", "env": {"A": "x"}});
    let Some(ToolPreview::Command { command, cwd, warning, .. }) =
        project.preview_tool("shell", arguments).await
    else {
        panic!("no preview");
    };
    assert_eq!((command.as_str(), cwd.as_str()), ("A=x rm -rf 'a b'", "sub"));
    assert!(warning.is_some_and(|text| text.contains("deletes directories")));
    let mcp = json!({"server": "issues", "tool": "list", "arguments": {"open": true}});
    let shown = project.preview_tool("mcp", mcp).await;
    assert!(
        matches!(&shown, Some(ToolPreview::Text { text })
        if text.contains("`list` of MCP server `issues`") && text.contains("\"open\": true")),
        "{shown:?}"
    );
}

#[tokio::test]
async fn without_a_server_a_call_fails_and_says_what_to_do() {
    let project = Project::new(&[]);
    let call = json!({"server": "issues", "tool": "list"});
    project.expect_failure("mcp", call, "no MCP server named `issues` is configured; ").await;
    project.expect_failure("mcp", json!({"server": "issues"}), "`tool` is missing").await;
}

/// A server with one tool that gives its arguments back.
struct Echo;

impl McpPort for Echo {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: &'a Value,
        _: &'a dyn ToolProgressSink,
    ) -> BoxFuture<'a, Result<Value, McpError>> {
        let result = match tool {
            "echo" => Ok(json!({"server": server, "got": arguments})),
            "flood" => Ok(json!("x".repeat((1 << 20) - 1))),
            _ => Err(McpError::Failed { server: server.into(), tool: tool.into(), message: "no".into() }),
        };
        std::future::ready(result).boxed()
    }

    fn find_tool(&self, _: &str) -> Option<(McpToolAddress, ToolSpec)> {
        None
    }

    fn read_resource<'a>(&'a self, _: &'a str, uri: &'a str) -> BoxFuture<'a, Result<String, McpError>> {
        std::future::ready(Ok(uri.to_owned())).boxed()
    }

    fn get_prompt<'a>(
        &'a self,
        _: &'a str,
        prompt: &'a str,
        _: serde_json::Map<String, Value>,
    ) -> BoxFuture<'a, Result<String, McpError>> {
        std::future::ready(Ok(prompt.to_owned())).boxed()
    }
}

#[tokio::test]
async fn a_server_answers_with_data() {
    let directory = crate::support::temporary::temp_directory();
    let tools = ProjectTools::new(ToolSettings::new(directory.path())).with_servers(Arc::new(Echo));
    let call = |tool: &str| invocation("mcp", json!({"server": "s", "tool": tool, "arguments": {"n": 1}}));
    let good = tools.run(&call("echo")).await;
    assert_eq!((good.ok, good.data), (true, Some(json!({"server": "s", "got": {"n": 1}}))));
    let large = tools.run(&call("flood")).await;
    assert_eq!((large.ok, large.data), (true, Some(json!("x".repeat((1 << 20) - 1)))));
    let bad = tools.run(&call("other")).await;
    assert!(!bad.ok && bad.data.is_none() && bad.content.contains("`other` of MCP server `s` failed: no"));
}
