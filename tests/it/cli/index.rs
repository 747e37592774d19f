//! `synthdev index` against a real model server: what is sent, what is kept, what it costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::real_http::KEY;
use super::world::{World, wait_for};
use crate::support::model_server::{Behaviour, ModelServer, Recorded, RequestResponder};

const INDEX: &str = ".synthdev/index/index.jsonl";

/// How something is answered.
type Answer = fn() -> Behaviour;

/// Says of each thing that it is about it; some are answered otherwise.
#[derive(Default)]
struct Author(Mutex<BTreeMap<&'static str, Answer>>);

impl RequestResponder for Author {
    fn reply_to(&self, request: &Recorded) -> Behaviour {
        let subject = subject(request);
        let other = self.0.lock().unwrap().get(subject.as_str()).copied();
        other.map_or_else(
            || Behaviour::text(&format!("All \u{1b}[31mabout\u{1b}[0m {subject}")),
            |other| other(),
        )
    }

    fn on_answered(&self, _: &Recorded) {}
}

/// `src/a.rs`, `src/` or `.`.
fn subject(request: &Recorded) -> String {
    let text = request.body["messages"][1]["content"].as_str().unwrap();
    let first = text.lines().next().unwrap().trim_end_matches(':');
    match first.strip_prefix("The file ").or(first.strip_prefix("The directory ")) {
        Some(path) => path.to_owned(),
        None => ".".to_owned(),
    }
}

struct Scene {
    world: World,
    server: ModelServer,
    author: Arc<Author>,
    requests_seen: usize,
}

impl Scene {
    /// A repository with `README.md`, `src/a.rs` and `src/b.rs`.
    async fn new() -> Self {
        let author = Arc::new(Author::default());
        let server = ModelServer::start_with(author.clone()).await;
        let mut world = World::repository();
        world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
        world.set_variable("SYNTHDEV_API_KEY", KEY);
        world.set_variable("SYNTHDEV_BASE_MODEL", "base-model");
        world.set_variable("SYNTHDEV_FAST_MODEL", "fast-model");
        world.write_user_file(
            "settings.json",
            r#"{"retry": {"attempts": 1}, "snapshots": {"exclude": ["*.secret"]}}"#,
        );
        world.write_file("src/a.rs", "fn a() {}\n");
        world.write_file("src/b.rs", &format!("// {KEY}\nfn b() {{}}\n"));
        Self { world, server, author, requests_seen: 0 }
    }

    fn answers(&self, subject: &'static str, other: Answer) {
        self.author.0.lock().unwrap().insert(subject, other);
    }

    /// What was asked about since the last time.
    fn take_asked_paths(&mut self) -> Vec<String> {
        let requests = self.server.requests();
        let mut subjects: Vec<String> = requests[self.requests_seen..].iter().map(subject).collect();
        self.requests_seen = requests.len();
        subjects.sort();
        subjects
    }

    fn index(&self, code: i32) -> Value {
        self.world.run_program(&["index", "--yes", "--json"]).code(code).json()
    }

    /// Path and summary of every entry.
    fn index_summaries(&self) -> BTreeMap<String, String> {
        let text = self.world.read_file(INDEX);
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        entries.map(|entry| (word(&entry["path"]), word(&entry["summary"]))).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_time_only_what_changed_is_asked_about() {
    let mut scene = Scene::new().await;
    let told = scene.index(0);
    assert_eq!(scene.take_asked_paths(), [".", "README.md", "src/", "src/a.rs", "src/b.rs"]);
    let counts =
        ["indexed", "files", "unchanged", "gone", "directories"].map(|key| told[key].as_u64().unwrap());
    assert_eq!((counts, &told["status"]), ([3, 3, 0, 0, 2], &json!("completed")));
    assert_eq!((&told["usage"]["prompt"], &told["usage"]["completion"]), (&json!(50), &json!(25)));
    assert_eq!(scene.index_summaries()["src/a.rs"], "All about src/a.rs", "no sequence of a model is kept");
    for request in scene.server.requests() {
        assert_eq!(request.body["model"], "fast-model");
        assert!(!request.body.to_string().contains(KEY), "a key went out");
    }
    // nothing
    let ran = scene.world.run_program(&["index"]).code(0);
    assert_eq!(ran.stdout, "indexed 0 of 3 files (3 unchanged, 0 gone), 0 tokens, $0\n");
    assert_eq!(scene.take_asked_paths(), [""; 0]);
    // one, and what it is in
    scene.world.write_file("src/a.rs", "fn other() {}\n");
    let ran = scene.world.run_program(&["index", "--yes"]).code(0);
    assert_eq!(ran.stdout, "indexed 1 of 3 files (2 unchanged, 0 gone), 45 tokens, price unknown\n");
    assert_eq!(scene.take_asked_paths(), [".", "src/", "src/a.rs"]);
    // what is gone leaves it; one thing alone in a directory says what that is
    std::fs::remove_file(scene.world.project().join("src/a.rs")).unwrap();
    let told = scene.index(0);
    assert_eq!((&told["gone"], &told["files"], &told["indexed"]), (&json!(1), &json!(2), &json!(0)));
    assert_eq!(scene.take_asked_paths(), ["."]);
    let kept = scene.index_summaries();
    assert_eq!(kept.keys().collect::<Vec<_>>(), [".", "README.md", "src", "src/b.rs"]);
    assert_eq!(kept["src"], kept["src/b.rs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_git_nor_snapshots_take_it() {
    let scene = Scene::new().await;
    scene.world.run_program(&["snapshot", "create"]).code(0);
    let list = scene.world.run_program(&["snapshot", "list", "--json"]).code(0).json();
    let id = list[0]["id"].as_str().unwrap();
    scene.index(0);
    assert!(scene.world.project().join(INDEX).exists());
    assert!(!scene.world.git(&["status", "--porcelain", "-uall"]).contains(".synthdev"));
    let shown = scene.world.run_program(&["snapshot", "show", id]).code(0).stdout;
    assert!(shown.contains("nothing has changed"), "{shown}");
    // it is no definition of the project that somebody would have to trust
    let again = scene.world.run_program(&["index"]).code(0);
    assert!(!again.stderr.contains("trust"), "{}", again.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_paid_before_somebody_agrees() {
    let mut scene = Scene::new().await;
    let ran = scene.world.run_program(&["index"]).code(2);
    assert!(
        ran.stderr.contains("3 files of 3 and 2 directories to describe\nabout 5 calls of fast-model, "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("price unknown"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("the question about the cost\nhint: add --yes\n"), "{}", ran.stderr);
    let refused = scene.world.run_program(&["index", "--json"]).code(2).json();
    assert_eq!(refused["error"]["hint"], "add --yes");
    assert_eq!(scene.take_asked_paths(), [""; 0]);
    assert!(!scene.world.project().join(".synthdev").exists());
    let ran = scene.world.run_program(&["index", "--max-size", "70"]).code(2);
    assert!(ran.stderr.contains("50, 100, 200, none"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_binary_and_large_files_are_left_out_and_told() {
    let mut scene = Scene::new().await;
    let secret = "hunter2 is the word";
    for path in [".env", "keys/id_rsa", "src/db.secret"] {
        scene.world.write_file(path, secret);
    }
    scene.world.write_file("notes.txt", &format!("-----BEGIN PRIVATE KEY-----\n{secret}\n"));
    scene.world.write_file("pic.png", "\0\0");
    scene.world.write_file("big.txt", &"word ".repeat(20 * 1024));
    let ran = scene.world.run_program(&["index", "--yes"]).code(0);
    for line in [
        "left out, no text: 1 file (pic.png)",
        "left out, larger than the limit: 1 file (big.txt)",
        "left out, may hold keys: 3 files (keys/id_rsa, notes.txt, src/db.secret)",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    assert_eq!(scene.take_asked_paths(), [".", "README.md", "src/", "src/a.rs", "src/b.rs"]);
    assert!(scene.server.requests().iter().all(|request| !request.body.to_string().contains("hunter2")));
    let told = scene.world.run_program(&["index", "--yes", "--json", "--max-size", "100"]).code(0).json();
    assert_eq!((&told["indexed"], &told["left_out"]["too_large"]), (&json!(1), &json!([])));
    assert_eq!(scene.take_asked_paths(), [".", "big.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_told_and_what_was_done_is_kept() {
    let mut scene = Scene::new().await;
    // one file only
    scene.answers("src/a.rs", || Behaviour::text(" "));
    let told = scene.index(1);
    let expected = json!([{"path": "src/a.rs", "reason": "the model answered nothing"}]);
    assert_eq!(
        (&told["failed"], &told["indexed"], &told["status"]),
        (&expected, &json!(2), &json!("completed"))
    );
    assert_eq!(scene.take_asked_paths(), ["README.md", "src/a.rs", "src/b.rs"], "what it is in waits for it");
    // the key does not count any more
    scene.answers("src/a.rs", || Behaviour::status(401, r#"{"error": {"message": "no such key"}}"#));
    let ran = scene.world.run_program(&["index", "--yes"]).code(1);
    assert!(
        ran.stderr.contains("the key was refused") && ran.stderr.contains("what was done is kept"),
        "{}",
        ran.stderr
    );
    scene.take_asked_paths();
    assert_eq!(scene.index_summaries().into_keys().collect::<Vec<_>>(), ["README.md", "src/b.rs"]);
    scene.author.0.lock().unwrap().clear();
    assert_eq!(scene.index(0)["indexed"], 1);
    assert_eq!(scene.take_asked_paths(), [".", "src/", "src/a.rs"]);
    // a directory with one thing in it is no further than that
    std::fs::remove_file(scene.world.project().join("src/b.rs")).unwrap();
    scene.world.write_file("src/a.rs", "fn other() {}\n");
    scene.answers("src/a.rs", || Behaviour::text(" "));
    scene.index(1);
    assert_eq!(scene.take_asked_paths(), ["src/a.rs"]);
    scene.author.0.lock().unwrap().clear();
    scene.answers("src/a.rs", || Behaviour::text("It is another."));
    scene.index(0);
    assert_eq!(scene.take_asked_paths(), [".", "src/a.rs"]);
    assert_eq!(scene.index_summaries()["src"], "It is another.");
    // damage is described again
    let text = scene.world.read_file(INDEX).replace("\"path\":\"src/a.rs\"", "\"path\":3");
    scene.world.write_file(INDEX, &text);
    assert_eq!(scene.index(0)["indexed"], 1);
    assert_eq!(scene.take_asked_paths(), ["src/a.rs"]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_cut_off_goes_on_from_there() {
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut scene = Scene::new().await;
        scene.answers("src/a.rs", Behaviour::total_silence);
        let mut child = scene.world.command(&["index", "--yes"]).spawn().unwrap();
        let kept = || std::fs::read_to_string(scene.world.project().join(INDEX)).ok();
        let both = || kept().filter(|text| text.contains("README.md") && text.contains("src/b.rs"));
        wait_for("two of three are described", both);
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        scene.take_asked_paths();
        scene.author.0.lock().unwrap().clear();
        assert_eq!(scene.index(0)["unchanged"], 2);
        assert_eq!(scene.take_asked_paths(), [".", "src/", "src/a.rs"], "{signal}");
    }
}
