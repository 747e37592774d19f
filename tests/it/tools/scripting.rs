//! execute_script.

use std::time::{Duration, Instant};

use serde_json::json;
use synthdev::ports::tool::ToolPort;

use super::{Project, invocation};

#[tokio::test]
async fn results_output_and_errors() {
    let project = Project::new(&[("data.csv", "a,1\nb,2\n"), ("bin", "\u{0}")]);
    std::fs::write(project.root().join("latin"), [0xe9]).unwrap();
    let run = |script: &str| json!({"script": script});
    let body = |content: &str| content.split_once('\n').map(|(_, body)| body.to_owned()).unwrap_or_default();
    for (script, expected) in [
        ("return 6 * 7", "42"),
        ("return 'text'", "text"),
        ("console.log('a', {b: 1}); console.warn('c')", "a {\"b\":1}\nc"),
        ("console.log('a'); return [1]", "a\n==> result\n[\n  1\n]"),
        ("const state = 1, context = 2;\nreturn state + context", "3"),
        ("return 2n ** 70n", "1180591620717411303424"),
        ("return readFile('data.csv').trim().split('\\n').length", "2"),
        ("return typeof require + typeof fetch + typeof setTimeout + typeof process", &"undefined".repeat(4)),
    ] {
        let outcome = project.expect_success("execute_script", run(script), "").await;
        assert_eq!(body(&outcome.content), expected, "{script}");
    }
    project.expect_success("execute_script", run("let a = 1"), "end it with `return`").await;
    for (script, why) in [
        ("let a = 1;\nreturn a.b.c", "line 2: TypeError: cannot read property 'c' of undefined"),
        ("throw 'no'", "no"),
        ("let a = ;", "line 1: "),
        ("return 1 +", "line 1: "),
        ("return Math.max(1, 2;", "line 1: "),
        ("return (", "line 1: "),
        ("let a = 1;\nif (a) {\n\n", "line 2: "),
        ("return 1\n}\n{", "line "),
        ("return (async () => 1)()", "scripts cannot wait"),
        ("return new Function('return 1')()", "is not defined"),
        ("return readFile('none')", "`none` was not read: it does not exist"),
        ("return readFile('latin')", "`latin` was not read: it is no UTF-8 text"),
        ("let a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", "more than 64 MB"),
        ("(function f() { f() })()", "stack"),
    ] {
        project.expect_failure("execute_script", run(script), why).await;
    }
    let failed = project.run_tool("execute_script", run("console.log('before'); throw new Error('x')")).await;
    assert!(!failed.ok && body(&failed.content) == "before", "{}", failed.content);
    project.expect_failure("execute_script", json!({}), "`script` is missing").await;
    project
        .expect_failure("execute_script", run(&" ".repeat(51_201)), "has 51201 bytes and the limit is 51200")
        .await;
    let long = json!({"script": "1", "timeout_seconds": 31});
    project.expect_failure("execute_script", long, "at most 30").await;
}

#[tokio::test]
async fn an_endless_script_is_stopped() {
    let project = Project::new(&[]);
    let begun = Instant::now();
    let endless = json!({"script": "for (;;);", "timeout_seconds": 1});
    project.expect_failure("execute_script", endless, "did not end within 1 s").await;
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn files_only_for_those_who_may_read_them() {
    let project = Project::new(&[("a", "content")]);
    let mut call = invocation("execute_script", json!({"script": "return readFile('a')"}));
    assert!(project.tools.run(&call).await.content.ends_with("\ncontent"));
    call.reads_files = false;
    let refused = project.tools.run(&call).await;
    assert!(!refused.ok && refused.content.contains("may not read files"), "{}", refused.content);
    assert!(!refused.content.contains("content\n"));
}
