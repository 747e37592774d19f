//! `http_request` against servers on this machine.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use synthdev::domain::tool::ToolPreview;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Project;

/// Set by cargo for every test: nothing needs to be planted in our own environment.
const VARIABLE: &str = "CARGO_PKG_DESCRIPTION";
const SECRET: &str = env!("CARGO_PKG_DESCRIPTION");

/// A server that records requests and answers by path.
pub(super) struct Server {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answers`: path to head lines (status first) and body. `echo` as a body is the request itself.
    pub(super) async fn start_server(answers: Vec<(&'static str, String, &'static str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, answers) = (Arc::clone(&requests), Arc::new(answers));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve_connection(socket, Arc::clone(&seen), Arc::clone(&answers)));
            }
        });
        Self { url, requests }
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

type Answers = Arc<Vec<(&'static str, String, &'static str)>>;

async fn serve_connection(mut socket: TcpStream, seen: Arc<Mutex<Vec<String>>>, answers: Answers) {
    let mut buffer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&buffer).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
            });
            body.len() >= length.unwrap_or(0)
        });
        if whole {
            break;
        }
        if socket.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8_lossy(&buffer).into_owned();
    seen.lock().unwrap().push(request.clone());
    let path = request.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
    if path == "/silent" {
        let _ = socket.read(&mut [0; 8]).await;
        return;
    }
    let (head, body) = match answers.iter().find(|(at, ..)| *at == path) {
        Some((_, head, "echo")) => (head.clone(), request),
        Some((_, head, body)) => (head.clone(), (*body).to_owned()),
        None => ("404 Not Found".to_owned(), "no such place".to_owned()),
    };
    let head = head.replace('|', "\r\n");
    let answer =
        format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let _ = socket.write_all(answer.as_bytes()).await;
}

fn json_head() -> String {
    "200 OK|content-type: application/json; charset=utf-8|set-cookie: a=b|etag: \"1\"".to_owned()
}

#[tokio::test]
async fn a_request_carries_everything_and_its_answer_is_data() {
    let server = Server::start_server(vec![("/items", json_head(), "{\"n\": 1, \"list\": [true]}")]).await;
    let project = Project::new(&[]);
    let arguments = json!({
        "method": "post", "url": format!("{}/items?first=1", server.url), "query": {"q": "a b&c", "tag": ["x", 2]},
        "headers": {"X-Plain": "yes", "Authorization": {"env": VARIABLE, "prefix": "Bearer "}},
        "body": {"name": "é", "n": 5},
    });
    let outcome = project.run_tool("http_request", arguments).await;
    assert!(outcome.ok, "{}", outcome.content);
    let data = outcome.data.unwrap();
    assert_eq!(data["status"], 200);
    assert_eq!(data["body"], json!({"n": 1, "list": [true]}));
    assert_eq!(data["headers"]["etag"], "\"1\"");
    assert_eq!(data["headers"]["set-cookie"], Value::Null);
    let sent = server.requests().pop().unwrap();
    assert!(sent.starts_with("POST /items?first=1&q=a+b%26c&tag=x&tag=2 HTTP/1.1\r\n"), "{sent}");
    assert!(sent.ends_with("\r\n\r\n{\"name\":\"é\",\"n\":5}"), "{sent}");
    let lower = sent.to_lowercase();
    for line in ["x-plain: yes", "content-type: application/json", "user-agent: synthdev/"] {
        assert!(lower.contains(line), "{line}\n{sent}");
    }
    assert!(sent.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{sent}");
}

#[tokio::test]
async fn a_secret_that_is_sent_back_is_not_seen() {
    let server = Server::start_server(vec![
        (
            "/text",
            "200 OK|content-type: text/plain|x-request-id: REPEATED".replace("REPEATED", SECRET),
            "echo",
        ),
        ("/failed", "500 Oops|content-type: text/plain".to_owned(), "echo"),
        ("/json", json_head(), concat!("{\"said\": \"", env!("CARGO_PKG_DESCRIPTION"), "\"}")),
    ])
    .await;
    let project = Project::with_files(&[], |settings| settings.output_cap_bytes = 2_000);
    for path in ["text", "failed", "json"] {
        let headers = json!({"X-Key": {"env": VARIABLE}});
        let url = format!("{}/{path}", server.url);
        let outcome = project.run_tool("http_request", json!({"url": url, "headers": headers})).await;
        let everything = serde_json::to_string(&outcome).unwrap();
        assert!(
            !everything.contains(SECRET) && everything.contains("[redacted:key]"),
            "{path}: {everything}"
        );
    }
    assert!(server.requests().iter().all(|request| request.contains(SECRET)), "it was sent");
}

#[tokio::test]
async fn answers_of_every_kind() {
    let long: &'static str = Box::leak("0123456789".repeat(1_000).into_boxed_str());
    let server = Server::start_server(vec![
        ("/none", "204 No Content".into(), ""),
        ("/gone", "410 Gone|content-type: text/html".into(), "<p>gone</p>"),
        ("/liar", json_head(), "{\"n\": "),
        ("/vendor", "200 OK|content-type: application/vnd.x+json".into(), "[1]"),
        ("/long", "200 OK|content-type: text/plain".into(), long),
        ("/binary", "200 OK|content-type: image/png".into(), "\u{89}PNG\u{0}"),
    ])
    .await;
    let project = Project::with_files(&[], |settings| settings.output_cap_bytes = 1_000);
    let rows = [
        ("none", true, 204, Value::Null, false),
        ("gone", false, 410, json!("<p>gone</p>"), false),
        ("liar", true, 200, json!("{\"n\": "), false),
        ("vendor", true, 200, json!([1]), false),
        ("nowhere", false, 404, json!("no such place"), false),
    ];
    for (path, ok, status, body, cut) in rows {
        let outcome =
            project.run_tool("http_request", json!({"url": format!("{}/{path}", server.url)})).await;
        let data = outcome.data.unwrap();
        let seen = (outcome.ok, &data["status"], &data["body"], &data["truncated"]);
        assert_eq!(seen, (ok, &json!(status), &body, &json!(cut)), "{path}");
    }
    let outcome = project.run_tool("http_request", json!({"url": format!("{}/long", server.url)})).await;
    let data = outcome.data.unwrap();
    let text = data["body"].as_str().unwrap();
    assert!(text.len() < 1_100 && text.contains("bytes left out"), "{}", text.len());
    assert_eq!(data["truncated"], true);
    assert!(outcome.content.contains("only the first 4000 bytes"), "{}", outcome.content);
}

#[tokio::test]
async fn redirects_never_carry_secrets_elsewhere() {
    let other = Server::start_server(vec![("/there", "200 OK".into(), "arrived")]).await;
    let there = format!("302 Found|location: {}/there", other.url);
    let server = Server::start_server(vec![
        ("/away", there.clone(), ""),
        ("/see", "303 See Other|location: /end".into(), ""),
        ("/same", "307 Temporary|location: end".into(), ""),
        ("/end", "200 OK|content-type: text/plain".into(), "here"),
        ("/round", "302 Found|location: /round".into(), ""),
        ("/file", "302 Found|location: file:///etc/passwd".into(), ""),
    ])
    .await;
    let project = Project::new(&[]);
    let get =
        |path: &str, headers: Value| json!({"url": format!("{}{path}", server.url), "headers": headers});
    let secret = || json!({"X-Key": {"env": VARIABLE}});
    // a plain request may go anywhere
    project.expect_success("http_request", get("/away", json!({"X-Plain": "1"})), "arrived").await;
    assert_eq!(other.requests().len(), 1);
    // one with credentials, wherever they come from, stays
    for headers in [secret(), json!({"Authorization": "Basic abcdefgh"}), json!({"cookie": "a=b"})] {
        let outcome = project.run_tool("http_request", get("/away", headers)).await;
        assert!(!outcome.ok && outcome.content.contains("credentials do not belong"), "{}", outcome.content);
        assert_eq!(outcome.data.unwrap()["status"], 302);
    }
    assert_eq!(other.requests().len(), 1, "nothing more arrived elsewhere");
    project.expect_success("http_request", get("/same", secret()), "here").await;
    project.expect_failure("http_request", get("/round", secret()), "redirects more than 5 times").await;
    project.expect_failure("http_request", get("/file", json!({})), "no http or https address").await;
    let post = json!({"method": "POST", "url": format!("{}/see", server.url), "body": {"a": 1}});
    project.expect_success("http_request", post.clone(), "here").await;
    assert!(server.requests().pop().unwrap().starts_with("GET /end "), "303 asks again with GET");
    let mut again = post;
    again["url"] = format!("{}/same", server.url).into();
    project.expect_success("http_request", again, "here").await;
    let last = server.requests().pop().unwrap();
    assert!(last.starts_with("POST /end ") && last.ends_with("{\"a\":1}"), "307 repeats: {last}");
}

#[tokio::test]
async fn what_does_not_answer_is_told() {
    let server = Server::start_server(vec![]).await;
    let project = Project::new(&[]);
    let silent = json!({"url": format!("{}/silent?token=x", server.url), "timeout_seconds": 1});
    let outcome = project.run_tool("http_request", silent).await;
    assert_eq!(outcome.data.unwrap()["timed_out"], true);
    assert!(outcome.content.contains("did not answer within 1 s"), "{}", outcome.content);
    assert!(!outcome.content.contains("token"), "{}", outcome.content);
    let dead = crate::support::model_server::dead_url();
    project.expect_failure("http_request", json!({"url": dead}), "onnection refused").await;
}

#[tokio::test]
async fn what_makes_no_sense_is_not_sent() {
    let server = Server::start_server(vec![]).await;
    let project = Project::new(&[]);
    let with = |key: &str, value: Value| {
        let mut arguments = json!({"url": server.url});
        arguments[key] = value;
        arguments
    };
    let rows = [
        (json!({}), "`url` is missing"),
        (json!({"url": "not an address"}), "it begins with http:// or https://"),
        (json!({"url": "file:///etc/passwd"}), "not file:"),
        (json!({"url": "ftp://x/y"}), "not ftp:"),
        (json!({"url": "http://me:pass@127.0.0.1/"}), "must not hold a name or password"),
        (with("method", json!("BREW")), "`method` must be one of GET"),
        (with("headers", json!({"Host": "x"})), "set by the connection itself"),
        (with("headers", json!({"a b": "x"})), "is no name of a header"),
        (with("headers", json!({"a": "x\r\ny: z"})), "characters that no header can carry"),
        (
            with("headers", json!({"a": {"env": "NO_SUCH_VARIABLE_HERE"}})),
            "`NO_SUCH_VARIABLE_HERE` is not set",
        ),
        (with("headers", json!({"a": {"enw": "X"}})), "must be a text or {\"env\""),
        (with("headers", json!({"a": []})), "must be a text, a number"),
        (with("query", json!({"a": {"env": "HOME"}})), "`query`.`a` must be"),
        (with("timeout_seconds", json!(9_999)), "at most 3600"),
        (with("bdy", json!(1)), "`bdy` is not an argument"),
    ];
    for (arguments, expected) in rows {
        project.expect_failure("http_request", arguments, expected).await;
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn the_preview_names_variables_and_shows_no_value() {
    let project = Project::new(&[]);
    let arguments = json!({"method": "POST", "url": "https://api.example/x", "query": {"a": 1},
        "headers": {"Authorization": {"env": VARIABLE, "prefix": "Bearer "}}, "body": {"b": 2}});
    let Some(ToolPreview::Text { text }) = project.preview_tool("http_request", arguments).await else {
        panic!("no preview");
    };
    let expected = format!(
        "POST https://api.example/x\n  a = 1\nAuthorization: Bearer (value of ${VARIABLE})\n\n{{\n  \"b\": 2\n}}"
    );
    assert_eq!(text, expected);
}
