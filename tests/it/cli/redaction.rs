//! A key leaves no trace: the test puts it into every place that keys can come from, lets it appear in everything that
//! runs take in, and searches all that the program wrote or printed, also for other spellings.
//!
//! It skips the files into which the test, or a model that knew the key, wrote it. A key in an ordinary file of the
//! project is in its snapshots by nature; snapshots leave out `.env` and the like, which the test checks.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::world::{Ran, World, workflow};
use crate::support::model_server::{Behaviour, ModelServer};

/// With characters that JSON, addresses and base64 write in ways of their own.
const KEY: &str = "sk-Grep/me+\"9f2c~41d7";

#[derive(Clone, Copy, PartialEq, Debug)]
enum From {
    Environment,
    Settings,
    Dotenv,
    CommandLine,
}

struct Scene {
    world: World,
    from: From,
    /// Everything that was printed.
    printed: Vec<(String, String)>,
}

impl Scene {
    fn new(from: From, base_url: &str) -> Self {
        let mut world = World::repository();
        let level = |key: Value| json!({"levels": {"base": key}}).to_string();
        match from {
            From::Environment => world.set_variable("SYNTHDEV_API_KEY", KEY),
            From::Settings => {
                let own = json!({"api_key": {"key": KEY, "for": base_url}});
                drop(world.write_user_file("settings.json", &level(own)));
            }
            From::Dotenv => drop(world.write_user_file(".env", &format!("SYNTHDEV_API_KEY='{KEY}'\n"))),
            From::CommandLine => {}
        }
        world.set_variable("SYNTHDEV_BASE_URL", base_url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
        world.set_variable("COPY_OF_IT", KEY);
        // put by hand: a file of the project that snapshots leave out, and one beside it
        world.write_file(".env", &format!("OTHER='{KEY}'\n"));
        std::fs::write(world.root().join("outside.txt"), KEY).unwrap();
        world.write_json("flow.json", &key_workflow());
        Self { world, from, printed: Vec::new() }
    }

    fn run_program(&mut self, arguments: &[&str]) -> Ran {
        let key = if self.from == From::CommandLine { &["--api-key", KEY][..] } else { &[] };
        let ran = self.world.run_program(&[key, arguments].concat());
        self.printed.push((format!("{arguments:?}: stdout"), ran.stdout.clone()));
        self.printed.push((format!("{arguments:?}: stderr"), ran.stderr.clone()));
        ran
    }

    fn by_hand(&self, path: &str) -> bool {
        matches!(path, "project/.env" | "project/.env.local" | "outside.txt")
            // private copies of what snapshots leave out
            || path.contains("/snapshots/") && path.contains("/kept/")
            || path == "config/synthdev/settings.json" && self.from == From::Settings
            || path == "config/synthdev/.env" && self.from == From::Dotenv
    }

    fn check_everything(&self) {
        let traces = traces();
        let mut places: Vec<(String, Vec<u8>)> =
            World::files(self.world.root()).into_iter().filter(|(path, _)| !self.by_hand(path)).collect();
        assert!(places.iter().any(|(path, _)| path.ends_with("runs.sqlite")));
        assert!(places.iter().any(|(path, _)| path.ends_with("synthdev.log")), "{:?}", paths(&places));
        let objects = repository_objects(self.world.root());
        assert!(objects.len() >= 2, "the project's and its snapshots: {:?}", paths(&objects));
        places.extend(objects);
        places.extend(self.printed.iter().map(|(what, text)| (what.clone(), text.clone().into_bytes())));
        let found: Vec<String> = places
            .iter()
            .flat_map(|(path, bytes)| {
                let hits = traces
                    .iter()
                    .filter(|(_, trace)| bytes.windows(trace.len()).any(|window| window == trace.as_bytes()));
                hits.map(move |(form, _)| format!("{form} in {path}"))
            })
            .collect();
        assert!(found.is_empty(), "{:?}: {found:#?}", self.from);
    }
}

fn paths(places: &[(String, Vec<u8>)]) -> Vec<&str> {
    places.iter().map(|(path, _)| path.as_str()).collect()
}

/// All objects of every git repository below a directory, unpacked.
fn repository_objects(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<PathBuf> = World::files(root)
        .into_iter()
        .filter(|(path, _)| path.ends_with("/HEAD"))
        .map(|(path, _)| root.join(path).parent().unwrap().to_owned())
        .filter(|directory| directory.join("objects").is_dir())
        .collect();
    found.sort();
    let unpacked = found.into_iter().map(|directory| {
        let done = Command::new("git")
            .arg("--git-dir")
            .arg(&directory)
            .args(["-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch"])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        (directory.display().to_string(), done.stdout)
    });
    // one repository holds all: the objects of snapshots are in the project's own
    let mut all: Vec<(String, Vec<u8>)> = unpacked.collect();
    let refs = Command::new("git")
        .arg("--git-dir")
        .arg(root.join("project/.git"))
        .arg("for-each-ref")
        .output()
        .unwrap();
    all.push(("names of snapshots".to_owned(), refs.stdout));
    all
}

/// The spellings that are looked for. Written apart from what the program does, on purpose.
fn traces() -> Vec<(&'static str, String)> {
    let percent = |byte: u8| match byte {
        b'/' | b'+' | b'"' => format!("%{byte:02X}"),
        other => char::from(other).to_string(),
    };
    let mut traces = vec![
        ("the key", KEY.to_owned()),
        ("the key in JSON", KEY.replace('"', "\\\"")),
        ("the key in JSON in JSON", KEY.replace('"', "\\\\\\\"")),
        ("the key in JSON with \\/", KEY.replace('"', "\\\"").replace('/', "\\/")),
        ("the key in an address", KEY.bytes().map(percent).collect()),
        ("the key in hexadecimal", KEY.bytes().map(|byte| format!("{byte:02x}")).collect()),
        // quotes and slashes of the key come and go: its halves are as good
        ("a half of the key", KEY[12..].to_owned()),
    ];
    traces.push(("the key in base64", base64(KEY.as_bytes())));
    traces.push(("the key in base64 after a letter", base64(format!("x{KEY}").as_bytes())[2..].to_owned()));
    traces
        .push(("the key in base64 after two letters", base64(format!("xy{KEY}").as_bytes())[3..].to_owned()));
    traces
}

/// Without the last letters, which depend on what follows.
fn base64(bytes: &[u8]) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let three = |chunk: &[u8]| {
        let number = chunk.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| letters[number >> shift & 63])
    };
    bytes.chunks_exact(3).flat_map(three).collect()
}

/// The key in a script's value, in what a model and a tool say, and in an answer. No state has it as it is.
fn key_workflow() -> Value {
    let script = "this.common_data.found = ['sk-Grep/me', '+', '\"9f2c', '~41d7'].join('');
                  this.common_data.packed = JSON.stringify({deep: JSON.stringify({it: this.common_data.found})});";
    workflow(&json!([
        {"name": "start", "action": {"script": script}, "transition": [{"target": "say"}]},
        {"name": "say", "agent": "coder", "input": "common_data.task + common_data.found",
         "action": {"function": "sendUserMessage"}, "transition": [{"target": "ask"}]},
        {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "What is it?"},
         "output": {"as": "answer"}, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": {"expr": "common_data.answer + common_data.packed"}}
    ]))
}

/// What the model does: has a command print the key in many forms, writes it into a file, and says it in pieces.
fn script() -> Vec<Behaviour> {
    let line = "env; cat ../outside.txt .env ../config/synthdev/settings.json ../config/synthdev/.env; \
                base64 -w0 ../outside.txt; base64 -w0 .env; od -An -v -tx1 ../outside.txt | tr -d ' \\n'; \
                sed 's/\"/\\\\\"/g' ../outside.txt; sed 's/\"/%22/; s/[/]/%2F/; s/+/%2B/' ../outside.txt";
    let command = json!({"command": line}).to_string();
    let write = json!({"file_path": ".env.local", "content": format!("it is {KEY}\n")}).to_string();
    let mut pieces = vec![json!({"role": "assistant", "content": "It is sk"})];
    pieces.extend(
        ["-", "Grep/", "me+\"9f2c~", "41d7", ", as base64 ", &base64(KEY.as_bytes())[..9]]
            .map(|text| json!({"content": text})),
    );
    pieces.extend([
        json!({"content": &base64(KEY.as_bytes())[9..]}),
        json!({"content": " and sk"}),
        json!({"content": "ipped."}),
    ]);
    vec![
        Behaviour::calls(&[("c1", "execute_terminal", &command), ("c2", "write_file", &write)]),
        Behaviour::from_chunks(&pieces, "stop"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_found_in_anything_that_was_written_or_printed() {
    for from in [From::Environment, From::Settings, From::Dotenv, From::CommandLine] {
        let denied = json!({"error": {"message": format!("Incorrect API key provided: {KEY}. In short: {}", base64(KEY.as_bytes()))}});
        let mut replies = script();
        replies.extend([
            Behaviour::status(401, &denied.to_string()),
            Behaviour::status(503, &denied.to_string()),
            Behaviour::status(401, &denied.to_string()),
        ]);
        let server = ModelServer::start_server(replies).await;
        let mut scene = Scene::new(from, &server.base_url);
        let task = format!("what is {KEY}?");
        let start = ["run", "--workflow-file", "flow.json", &task, "--yes", "--verbosity", "5"];
        let paused = scene.run_program(&[&start[..], &["--events"]].concat()).code(3);
        let streamed: String = paused
            .lines()
            .iter()
            .filter(|event| event["event"] == "delta")
            .map(|event| event["text"].as_str().unwrap().to_owned())
            .collect();
        assert!(
            streamed.contains("[redacted:key]") && streamed.contains("and skipped."),
            "{from:?}: {streamed}\n{}",
            paused.stdout
        );
        let list = scene.run_program(&["runs", "list", "--json"]).json();
        let run = list[0]["id"].as_str().unwrap().to_owned();
        let answer = json!({"answer": format!("it is {KEY}")}).to_string();
        let done = scene.run_program(&["resume", &run, "--results", &answer, "--json"]).code(0);
        assert!(done.json()["output"].as_str().unwrap().contains("[redacted:key]"), "{}", done.stdout);
        let failed = scene.run_program(&[&start[..], &["--json"]].concat()).code(1);
        assert_eq!(failed.json()["error"]["code"], "model.auth");
        let retried = scene.run_program(&[&start[..], &["--events", "--isolate"]].concat()).code(1);
        assert!(retried.stdout.contains("model_retry"), "{}", retried.stdout);
        check_history(&mut scene, &run);
        assert_eq!(scene.world.read_file(".env.local"), format!("it is {KEY}\n"), "as the model decided");
        let sent = server.requests();
        assert!(
            sent.iter().all(|one| one.headers["authorization"] == format!("Bearer {KEY}")),
            "it was used"
        );
        for request in sent {
            scene.printed.push(("a request".to_owned(), request.body.to_string()));
        }
        scene.check_everything();
    }
}

fn check_history(scene: &mut Scene, run: &str) {
    let bundle = scene.world.root().join("bundle.json").display().to_string();
    let pages = scene.world.root().join("run.md").display().to_string();
    let set = format!("common_data.found=\"{}\"", KEY.replace('"', "\\\""));
    for arguments in [
        &["runs", "list"][..],
        &["runs", "show", run],
        &["runs", "show", run, "--json"],
        &["runs", "steps", run, "--json"],
        &["runs", "search", "sk-Grep"],
        &["runs", "search", "base64", "--json"],
        &["runs", "export", run, "--to", &bundle],
        &["runs", "export", run, "--to", &pages, "--format", "markdown"],
        &["runs", "export", run],
        &["runs", "replay", run],
        &["runs", "fork", run, "--at", "2", "--set", &set, "--json"],
        &["snapshot", "list", "--json"],
        &["runs", "du"],
    ] {
        scene.run_program(arguments).code(0);
    }
    let other = World::new();
    std::fs::copy(&bundle, other.root().join("bundle.json")).unwrap();
    let taken = other
        .run_program(&["runs", "import", &other.root().join("bundle.json").display().to_string()])
        .code(0);
    scene.printed.push(("import".to_owned(), taken.stdout));
    for (path, bytes) in World::files(other.root()) {
        scene.printed.push((format!("imported: {path}"), String::from_utf8_lossy(&bytes).into_owned()));
    }
}
