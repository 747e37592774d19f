//! web_fetch, against servers on this machine: their ports are declared as a workflow declares them.

use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::domain::sandbox::SandboxSettings;
use synthdev::domain::tool::{ToolInvocation, ToolOutcome};
use synthdev::ports::tool::ToolPort;

use super::http::Server;
use super::{Project, invocation};

/// A call of a workflow that declares the ports of these servers.
fn call_with_ports(arguments: Value, servers: &[&Server]) -> ToolInvocation {
    let port = |server: &&Server| server.url.rsplit(':').next().unwrap().parse().unwrap();
    ToolInvocation {
        loopback_ports: servers.iter().map(port).collect(),
        ..invocation("web_fetch", arguments)
    }
}

async fn fetch(project: &Project, server: &Server, path: &str) -> ToolOutcome {
    let url = format!("{}{path}", server.url);
    project.tools.run(&call_with_ports(json!({"url": url, "timeout_seconds": 2}), &[server])).await
}

fn body(outcome: &ToolOutcome) -> String {
    outcome.content.split_once('\n').map(|(_, body)| body.to_owned()).unwrap_or_default()
}

const PAGE: &str = "<html><head><title>The page</title><script>no()</script></head>\
    <body><h1>Head</h1><p>Some <b>text</b> and <a href=\"other\">a link</a>.</p></body></html>";

#[tokio::test]
async fn pages_files_and_what_is_no_text() {
    let project = Project::new(&[]);
    let html = "200 OK|content-type: text/html; charset=utf-8".to_owned();
    let big: &'static str = String::leak("x".repeat(6 * 1024 * 1024));
    let server = Server::start_server(vec![
        ("/page", html.clone(), PAGE),
        ("/empty", html.clone(), "<script>render()</script>"),
        ("/meta", "200 OK|content-type: text/html".to_owned(), "<meta charset='iso-8859-1'><p>plain"),
        ("/data.json", "200 OK|content-type: application/json".to_owned(), "{\"a\": 1}"),
        ("/image", "200 OK|content-type: image/png".to_owned(), "\u{0}\u{1}PNG"),
        ("/big", "200 OK|content-type: text/plain".to_owned(), big),
        ("/moved", "302 Found|location: /page".to_owned(), ""),
        ("/round", "302 Found|location: /round".to_owned(), ""),
        ("/scheme", "302 Found|location: file:///etc/passwd".to_owned(), ""),
        ("/echo", "200 OK|content-type: text/plain".to_owned(), "echo"),
    ])
    .await;
    let page = fetch(&project, &server, "/page").await;
    assert!(page.ok && page.content.contains("\"title\":\"The page\""), "{}", page.content);
    assert_eq!(body(&page), format!("# Head\n\nSome text and [a link]({}/other).", server.url));
    let moved = fetch(&project, &server, "/moved").await;
    assert!(moved.content.contains(&format!("\"url\":\"{}/page\"", server.url)), "{}", moved.content);
    let source = json!({"url": format!("{}/page", server.url), "form": "source"});
    let source = project.tools.run(&call_with_ports(source, &[&server])).await;
    assert_eq!(body(&source), PAGE);
    assert_eq!(body(&fetch(&project, &server, "/data.json").await), "{\"a\": 1}");
    assert_eq!(body(&fetch(&project, &server, "/meta").await), "plain");
    let empty = fetch(&project, &server, "/empty").await;
    assert!(empty.ok && empty.content.contains("the page has no text"), "{}", empty.content);
    let sent = body(&fetch(&project, &server, "/echo").await).to_lowercase();
    assert!(
        sent.starts_with("get /echo http/1.1") && !sent.contains("cookie") && !sent.contains("authorization")
    );
    let big = fetch(&project, &server, "/big").await;
    assert!(
        big.ok
            && big.content.contains("only the first 5242880 bytes were read")
            && big.content.len() < 100_000
    );
    for (path, why) in [
        ("/image", "is no text but image/png"),
        ("/missing", "answered with status 404 Not Found"),
        ("/round", "redirects more than 5 times"),
        ("/scheme", "redirects to something that is no http or https address"),
        ("/silent", "did not answer within 2 s"),
    ] {
        let outcome = fetch(&project, &server, path).await;
        assert!(!outcome.ok && outcome.content.contains(why), "{path}: {}", outcome.content);
    }
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_before_any_question() {
    let project = Project::new(&[]);
    let inner =
        Server::start_server(vec![("/", "200 OK|content-type: text/plain".to_owned(), "SECRET")]).await;
    let away = String::leak(format!("302 Found|location: {}/", inner.url)).to_owned();
    let outer = Server::start_server(vec![("/away", away, "")]).await;
    let redirected = fetch(&project, &outer, "/away").await;
    assert!(
        !redirected.ok && redirected.content.contains("its address is not public"),
        "{}",
        redirected.content
    );
    for url in [
        inner.url.as_str(),
        "http://localhost:1/",
        "http://2130706433/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data/",
        "https://192.168.0.1/",
    ] {
        let call = invocation("web_fetch", json!({"url": url}));
        let refusal = project.tools.refusal_reason(&call);
        assert!(refusal.is_some_and(|why| why.contains("its address is not public")), "{url}");
        project.expect_failure("web_fetch", json!({"url": url}), "its address is not public").await;
    }
    assert!(inner.requests().is_empty());
    for (url, why) in [
        ("example.org", "`url` is no address"),
        ("file:///etc/passwd", "must begin with http:// or https://, not file:"),
        ("http://user:secret@example.org/", "must not hold a name or password"),
    ] {
        project.expect_failure("web_fetch", json!({"url": url}), why).await;
    }
    project.expect_failure("web_fetch", json!({}), "`url` is missing").await;
    project
        .expect_failure("web_fetch", json!({"url": "http://a.example", "form": "pdf"}), "must be one of")
        .await;
}

#[tokio::test]
async fn the_network_of_commands_is_that_of_fetching() {
    let project = Project::with_files(&[], |settings| {
        let places = SandboxPlaces::for_project(&settings.root);
        settings.sandbox = Arc::new(CommandSandbox::new(SandboxSettings::default(), places));
    });
    let outcome = project.tools.run(&invocation("web_fetch", json!({"url": "https://example.org/"}))).await;
    assert!(!outcome.ok && outcome.network_denied, "{}", outcome.content);
    assert!(outcome.content.contains("[sandbox] network is off: the user allows it"), "{}", outcome.content);
    let server =
        Server::start_server(vec![("/", "200 OK|content-type: text/plain".to_owned(), "declared")]).await;
    assert_eq!(body(&fetch(&project, &server, "/").await), "declared");
}
