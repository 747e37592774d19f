//! Recorded model calls: a run over real HTTP, and the same run again when the server, the key and the directory are
//! gone; tests that are answered from a recording.

use std::sync::Arc;

use regex::Regex;
use serde_json::{Value, json};

use super::real_http::{KEY, script, world_asking};
use super::real_protocols::world_asking_in;
use super::world::{Ran, World, talk_workflow, workflow};
use crate::support::model_server::{Behaviour, Dialect, ModelServer, Recorded, RequestResponder, dead_url};

/// Events without what differs from run to run.
fn events(ran: &Ran, world: &World) -> Vec<Value> {
    let times = Regex::new(r#""(time_ms|duration_ms)":\d+"#).unwrap();
    let project = std::fs::canonicalize(world.project()).unwrap().display().to_string();
    let mut lines = ran.lines();
    for line in &mut lines {
        replace_texts(line, &|text| times.replace_all(&text.replace(&project, "HERE"), "TIME").into_owned());
    }
    lines
}

fn replace_texts(value: &mut Value, text: &dyn Fn(&str) -> String) {
    match value {
        Value::String(own) => *own = text(own),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_texts(item, text)),
        Value::Object(members) => {
            for key in ["run", "at", "id", "snapshot", "created", "duration_ms", "definition", "replayed"] {
                members.remove(key);
            }
            // pieces come as they were sent or all at once, snapshots whenever they are ready
            if members.get("event").is_some_and(|kind| kind == "delta" || kind == "snapshot_taken") {
                members.clear();
            }
            members.values_mut().for_each(|member| replace_texts(member, text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn sort_lines(lines: Vec<Value>) -> Vec<Value> {
    lines.into_iter().filter(|line| !line.as_object().is_some_and(|line| line.is_empty())).collect()
}

/// How a recording is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Made {
    /// While the run goes on.
    Meanwhile,
    /// From the history, by a command.
    Afterwards,
    /// The same on the screen.
    Inside,
}

/// Recorded with a server, played in another place without any.
async fn check_replay(dialect: Dialect, made: Made) {
    let server = ModelServer::start_per_model_in_dialect(dialect, script(dialect)).await;
    let first = world_asking_in(dialect, &server);
    first.write_user_file("AGENTS.md", "Mind the gap.");
    let run = ["run", "coder_reviewer", "count to three", "--yes", "--events"];
    let record = if made == Made::Meanwhile { &["--record", "it.cassette.jsonl"][..] } else { &[] };
    let recorded = first.run_program(&[&run[..], record].concat()).code(0);
    let told = server.requests()[0].body.to_string().contains("Mind the gap.");
    assert_eq!(told, made != Made::Meanwhile, "recordings do without guidance");
    let asked = server.requests().len();
    drop(server);
    let id = recorded.lines()[0]["run"].as_str().unwrap().to_owned();
    match made {
        Made::Meanwhile => {}
        Made::Afterwards => {
            let export = ["runs", "export", &id, "--format", "recording", "--to", "it.cassette.jsonl"];
            let told = first.run_program(&export).code(0).stderr;
            assert!(
                told.contains(&format!("{asked} model calls of run {id} written to it.cassette.jsonl")),
                "{told}"
            );
        }
        Made::Inside => {
            let told = first
                .run_with(&["--linear"], &format!("/export {id} it.cassette.jsonl\n/exit\n"))
                .code(0)
                .stdout;
            assert!(told.contains("written to") && told.contains("--replay"), "{told}");
        }
    }
    assert!(asked >= 7, "{asked} calls");

    let mut second = World::repository();
    second.write_user_file("roles/mine.json", "{\"reviewer\": {\"level\": \"smart\"}}");
    second.set_variable("SYNTHDEV_BASE_URL", &dead_url());
    second.write_file("it.jsonl", &first.read_file("it.cassette.jsonl"));
    let played = second.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(0);
    let (before, after) = (sort_lines(events(&recorded, &first)), sort_lines(events(&played, &second)));
    assert!(before.len() > 40, "{} events", before.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
    assert_eq!(second.read_file("new.txt"), "one", "tools run for real");
    let file = first.read_file("it.cassette.jsonl");
    let root = first.root().display().to_string();
    for trace in [KEY, root.as_str(), "127.0.0.1", "Mind the gap."] {
        assert!(!file.contains(trace), "{trace} is in the recording");
    }
    assert_eq!(file.lines().count(), asked + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_over_chat_completions_is_played_without_server_key_and_place() {
    check_replay(Dialect::Completions, Made::Meanwhile).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_over_anthropics_messages_is_played_without_server_key_and_place() {
    check_replay(Dialect::Messages, Made::Meanwhile).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_over_responses_is_played_without_server_key_and_place() {
    check_replay(Dialect::Responses, Made::Meanwhile).await;
}

/// A run without `--record` told its agents about this directory: the recording leaves that out, so that it can be
/// played elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_history_becomes_a_recording() {
    check_replay(Dialect::Completions, Made::Afterwards).await;
    check_replay(Dialect::Messages, Made::Inside).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_played_becomes_no_recording() {
    let refused = Behaviour::status(401, r#"{"error": {"message": "no"}}"#);
    let server =
        ModelServer::start_server(vec![Behaviour::text("Hello."), Behaviour::text("Hello."), refused]).await;
    let world = world_asking(&server);
    world.write_json("talk.json", &talk_workflow());
    world
        .write_user_file("workflows/mine.json", &talk_workflow().to_string().replace("\"talk\"", "\"mine\""));
    let id = |ran: Ran| ran.json()["run_id"].as_str().unwrap().to_owned();
    let by_file = id(world.run_program(&["run", "--workflow-file", "talk.json", "hello", "--json"]).code(0));
    let mine = id(world.run_program(&["run", "mine", "hello", "--json"]).code(0));
    let failed = id(world.run_program(&["run", "mine", "hello", "--json"]).code(1));
    let rows = [
        (&by_file, "new.jsonl", "the workflow `talk` of run"),
        (&mine, "talk.json", "talk.json exists: it was left as it is"),
        (&failed, "new.jsonl", "only one that is completed"),
    ];
    for (run, file, why) in rows {
        let ran = world.run_program(&["runs", "export", run, "--format", "recording", "--to", file]).code(2);
        assert!(ran.stderr.contains(why) && ran.stderr.contains("hint: "), "{why}: {}", ran.stderr);
        assert!(!world.project().join("new.jsonl").exists(), "{why}");
    }
    let ran = world.run_program(&["runs", "export", &mine, "--format", "recording"]).code(2);
    assert!(ran.stderr.contains("--to FILE") && ran.stdout.is_empty(), "{}", ran.stderr);
    world.run_program(&["runs", "export", &mine, "--format", "recording", "--to", "new.jsonl"]).code(0);
    let played =
        world.run_program(&["run", "mine", "hello", "--json", "--replay", "new.jsonl"]).code(0).json();
    assert_eq!(played["output"], "Hello.");
}

/// Which models are chosen is no part of what is defined; the rest is.
#[tokio::test(flavor = "multi_thread")]
async fn a_recording_of_a_past_run_is_of_the_present_definition_whatever_models_are_chosen_now() {
    let server = ModelServer::start_server(vec![Behaviour::text("Hello."), Behaviour::text("Hello.")]).await;
    let mut world = world_asking(&server);
    world
        .write_user_file("workflows/mine.json", &talk_workflow().to_string().replace("\"talk\"", "\"mine\""));
    let past = world.run_program(&["run", "mine", "hello", "--json"]).code(0).json()["run_id"].clone();
    let past = past.as_str().unwrap();
    world.run_program(&["run", "mine", "hello", "--record", "now.jsonl"]).code(0);
    let definition = |world: &World, file: &str| {
        let header: Value = serde_json::from_str(world.read_file(file).lines().next().unwrap()).unwrap();
        header["definition"].as_str().unwrap().to_owned()
    };
    let present = definition(&world, "now.jsonl");
    let export = |world: &World, file: &str| {
        world.run_program(&["runs", "export", past, "--format", "recording", "--to", file]).code(0);
        definition(world, file)
    };
    assert_eq!(export(&world, "same.jsonl"), present);
    world.set_variable("SYNTHDEV_BASE_MODEL", "another-model");
    assert_eq!(export(&world, "models.jsonl"), present);
    // a changed temperature or role makes another definition, unlike another model
    let warmer = talk_workflow()
        .to_string()
        .replace("\"talk\"", "\"mine\"")
        .replace("\"agent_role\"", "\"temperature\":0.9,\"agent_role\"");
    world.write_user_file("workflows/mine.json", &warmer);
    assert!(export(&world, "warmer.jsonl") != present);
    world
        .write_user_file("workflows/mine.json", &talk_workflow().to_string().replace("\"talk\"", "\"mine\""));
    assert_eq!(export(&world, "back.jsonl"), present);
    world.write_user_file("roles/more.json", "{\"coder\": {\"systemMessage\": \"You only joke.\"}}");
    let other = export(&world, "role.jsonl");
    let played = world.run_program(&["run", "mine", "hello", "--replay", "role.jsonl"]).code(1);
    assert!(
        other != present && played.stderr.contains("has changed since it was recorded"),
        "{}",
        played.stderr
    );
}

/// Answers each branch by what it is asked.
struct ByQuestion;

impl RequestResponder for ByQuestion {
    fn reply_to(&self, request: &Recorded) -> Behaviour {
        let said = request.body["messages"].to_string();
        let views = ["structure and design", "can be tested", "hard the following"];
        let view = views.iter().find(|view| said.contains(**view) && !said.contains("Summarize"));
        Behaviour::text(view.unwrap_or(&"All in all."))
    }

    fn on_answered(&self, _: &Recorded) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_at_once_are_played() {
    let server = ModelServer::start_with(Arc::new(ByQuestion)).await;
    let world = world_asking(&server);
    let run = ["run", "parallel_analysis_shared", "a cache", "--json"];
    let recorded = world.run_program(&[&run[..], &["--record", "it.jsonl"]].concat()).code(0).json();
    drop(server);
    for _ in 0..3 {
        let played = world.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(0).json();
        for key in ["output", "usage", "cost_usd", "warnings"] {
            assert_eq!(played[key], recorded[key], "{key}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_in_a_recording_wherever_it_was_said() {
    let show = json!({"command": "cat .key; echo"}).to_string();
    let server = ModelServer::start_server(vec![
        Behaviour::calls(&[("c1", "execute_terminal", &show)]),
        Behaviour::text(&format!("It is {KEY}.")),
    ])
    .await;
    let mut world = World::new();
    world.write_json("talk.json", &talk_workflow());
    world.write_file(".key", KEY);
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let prompt = format!("what about {KEY}?");
    let run = ["run", "--workflow-file", "talk.json", &prompt, "--yes", "--json"];
    world.run_program(&[&run[..], &["--record", "it.jsonl"]].concat()).code(0);
    assert_eq!(server.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
    drop(server);
    let file = world.read_file("it.jsonl");
    assert!(
        !file.contains(KEY)
            && file.contains("what about [redacted:key]?")
            && file.contains("It is [redacted:key]."),
        "{file}"
    );
    let played = world.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(0).json();
    assert_eq!(played["output"], "It is [redacted:key].");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_the_directory_is_said_of_another_one() {
    let asks = |world: &World, more: &[&str]| -> Vec<String> {
        let here = std::fs::canonicalize(world.project()).unwrap();
        let prompt = format!("see {}/a.rs", here.display());
        let run = ["run", "talk", &prompt, "--json"];
        run.iter().chain(more).map(|argument| (*argument).to_owned()).collect()
    };
    let run = |world: &World, more: &[&str]| {
        let arguments = asks(world, more);
        world.run_program(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).code(0).json()
    };
    for place in ["--share", "--isolate"] {
        let server = ModelServer::start_server(vec![Behaviour::text("Seen.")]).await;
        let mut world = World::repository();
        world.write_user_file("workflows/talk.json", &talk_workflow().to_string());
        world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "m");
        run(&world, &[place, "--record", "it.jsonl"]);
        drop(server);
        let file = world.read_file("it.jsonl");
        assert!(file.contains("see ⟨project⟩/a.rs"), "{file}");
        assert!(!file.contains(&world.root().display().to_string()), "{file}");
        let other = World::repository();
        other.write_user_file("workflows/talk.json", &talk_workflow().to_string());
        other.write_file("it.jsonl", &file);
        for place in ["--share", "--isolate"] {
            assert_eq!(run(&other, &[place, "--replay", "it.jsonl"])["output"], "Seen.");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_gets_over_a_difference_says_so() {
    let server = ModelServer::start_server(vec![Behaviour::text("Hello.")]).await;
    let mut world = World::new();
    let mut flow = talk_workflow();
    flow["states"][1]["catch"] = json!([{"errors": ["model.*"], "target": "stop",
        "before": "() => { this.common_data.result = 'caught'; }"}]);
    world.write_json("talk.json", &flow);
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    world.run_program(&["run", "--workflow-file", "talk.json", "hello", "--record", "it.jsonl"]).code(0);
    drop(server);
    let run = ["run", "--workflow-file", "talk.json", "bye", "--replay", "it.jsonl", "--json"];
    let warnings = world.run_program(&run).code(0).json()["warnings"].to_string();
    assert!(
        warnings.contains("cassette") && warnings.contains("asks what it.jsonl does not hold"),
        "{warnings}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_otherwise_is_shown_as_a_difference() {
    let server = ModelServer::start_server(vec![Behaviour::text("Hello.")]).await;
    let mut world = World::new();
    world.write_json("talk.json", &talk_workflow());
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let run = |input: &'static str| ["run", "--workflow-file", "talk.json", input, "--replay", "it.jsonl"];
    world.run_program(&["run", "--workflow-file", "talk.json", "hello", "--record", "it.jsonl"]).code(0);
    drop(server);
    assert_eq!(world.run_program(&run("hello")).code(0).stdout, "Hello.\n");
    let says = |ran: &Ran, parts: &[&str]| {
        for part in parts {
            assert!(ran.stderr.contains(part), "`{part}` is not in:\n{}", ran.stderr);
        }
        assert!(!ran.stderr.contains('\u{1b}'), "no colours where no terminal is: {}", ran.stderr);
    };
    let again = "to record it again: synthdev run --workflow-file talk.json … --record it.jsonl";
    let other = world.run_program(&run("good bye")).code(1);
    says(&other, &["error[model.drift]", "agent `coder` in state `say`", "- hello\n", "+ good bye\n", again]);
    world.write_user_file("roles/mine.json", "{\"coder\": {\"systemMessage\": \"You only joke.\"}}");
    let role = world.run_program(&run("hello")).code(1);
    says(&role, &["system prompt\n", "+ You only joke.", "has changed since it was recorded", again]);
    world.write_user_file("roles/mine.json", "{}");
    world.set_variable("SYNTHDEV_TEMPERATURE", "0.25");
    says(&world.run_program(&run("hello")).code(1), &["+ temperature: 0.25"]);
    let wrong = world.run_program(&["run", "coder_reviewer", "hello", "--replay", "it.jsonl"]).code(2);
    says(&wrong, &["it.jsonl is a recording of the workflow `talk`, not of `coder_reviewer`"]);
    for (arguments, part) in [
        (&["--replay", "none.jsonl"][..], "the recording none.jsonl cannot be read"),
        (&["--replay", "talk.json"], "talk.json is no recording of model calls"),
        (&["--record", "talk.json"], "talk.json is there and is no recording: it is not replaced"),
        (&["--record", "none/it.jsonl"], "none/it.jsonl cannot be recorded"),
        (&["--record", "a.jsonl", "--replay", "it.jsonl"], "cannot be used with"),
    ] {
        let run = [&["run", "--workflow-file", "talk.json", "hello"][..], arguments].concat();
        says(&world.run_program(&run).code(2), &[part]);
    }
    assert!(parts(&world).is_empty(), "{:?}", parts(&world));
    assert!(!other.stderr.contains("synthdev resume"), "it would only differ again: {}", other.stderr);
    assert!(other.stderr.contains("it cannot continue: revert the difference"), "{}", other.stderr);
}

/// Recordings that did not come to their end.
fn parts(world: &World) -> Vec<String> {
    let names = World::files(&world.project()).into_iter().map(|(name, _)| name);
    names.filter(|name| name.ends_with(".part")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_leaves_an_earlier_recording_alone() {
    let refused = || Behaviour::status(401, "{\"error\": {\"message\": \"no\"}}");
    let server = ModelServer::start_server(vec![refused(), Behaviour::text("Hello."), refused()]).await;
    let mut world = World::new();
    world.write_json("talk.json", &talk_workflow());
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let run = ["run", "--workflow-file", "talk.json", "hello"];
    let record = [&run[..], &["--record", "it.jsonl"]].concat();
    let first = world.run_program(&record).code(1).stderr;
    assert!(!world.project().join("it.jsonl").exists(), "{first}");
    assert!(
        first.contains("the run has failed, so it.jsonl is not written: what was recorded until then"),
        "{first}"
    );
    let part = parts(&world).remove(0);
    assert!(first.contains(&part), "{first}");
    let played = world.run_program(&[&run[..], &["--replay", &part]].concat()).code(1).stderr;
    assert!(played.contains("error[model.auth]"), "{played}");

    world.run_program(&record).code(0);
    let good = world.read_file("it.jsonl");
    let second = world.run_program(&record).code(1);
    assert_eq!(world.read_file("it.jsonl"), good);
    assert!(second.stderr.contains("it.jsonl stays as it was"), "{}", second.stderr);
    assert_eq!(parts(&world).len(), 2);
    assert_eq!(world.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(0).stdout, "Hello.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_and_its_retry_are_played() {
    let server = ModelServer::start_server(vec![
        Behaviour::status(503, "{\"error\": {\"message\": \"busy\"}}").header("retry-after", "0"),
        Behaviour::text("Hello."),
    ])
    .await;
    let mut world = World::new();
    world.write_json("talk.json", &talk_workflow());
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let run = ["run", "--workflow-file", "talk.json", "hello", "--events"];
    let recorded = world.run_program(&[&run[..], &["--record", "it.jsonl"]].concat()).code(0);
    drop(server);
    let played = world.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(0);
    assert_eq!(sort_lines(events(&played, &world)), sort_lines(events(&recorded, &world)));
    assert!(played.stdout.contains("model_retry") && played.stdout.contains("busy"), "{}", played.stdout);
}

/// One agent that may use a tool; a test of it that names a recording.
fn tested_workflow(expect: &Value) -> (Value, Value) {
    let flow = workflow(&json!([
        {"name": "start", "transition": [{"target": "say"}]},
        {"name": "say", "agent": "coder", "input": "common_data.task", "action": {"function": "sendUserMessage"},
         "transition": [{"target": "stop",
            "before": "() => { this.common_data.result = this.getAgent('coder').getLastResponse(); }"}]},
        {"name": "stop", "input": "common_data.result"}]));
    let test = json!({"name": "recorded", "input": "read a.txt", "cassette": "tapes/talk.jsonl",
        "tool_results": {"read_files": ["one"]}, "expect": expect});
    (flow, test)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_is_recorded_once_and_played_from_then_on() {
    let read = json!({"file_paths": ["a.txt"]}).to_string();
    let server = ModelServer::start_server(vec![
        Behaviour::status(429, "{\"error\": {\"message\": \"slow\"}}").header("retry-after", "0"),
        Behaviour::calls(&[("c1", "read_files", &read)]),
        Behaviour::text("It says one."),
    ])
    .await;
    let mut world = World::new();
    let (flow, test) = tested_workflow(&json!({"output": "It says one.", "cost": {"calls": 2}}));
    world.write_json("f/talk.json", &flow);
    world.write_json("f/talk.test.json", &test);
    let missing = world.run_program(&["test", "f/talk.json"]).code(2);
    let hint = "record it: synthdev test --record f/talk.test.json";
    assert!(
        missing.stderr.contains("there is no f/tapes/talk.jsonl") && missing.stderr.contains(hint),
        "{}",
        missing.stderr
    );

    let unset = world.run_program(&["test", "--record", "f/talk.json"]).code(2);
    assert!(unset.stderr.contains("no model is set for level base"), "{}", unset.stderr);
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    world.set_variable("SYNTHDEV_API_KEY", KEY);
    let nowhere = world.run_program(&["test", "--record", "f/talk.json"]).code(2);
    assert!(nowhere.stderr.contains("f/tapes/talk.jsonl cannot be recorded"), "{}", nowhere.stderr);
    std::fs::create_dir(world.project().join("f/tapes")).unwrap();
    let made = world.run_program(&["test", "--record", "f/talk.json"]).code(0);
    assert_eq!(made.stdout, "ok    talk › recorded\n1 passed\n");
    assert_eq!(server.requests().len(), 3);
    drop(server);
    assert!(!world.read_file("f/tapes/talk.jsonl").contains(KEY));
    let files = World::files(&world.project().join("f/tapes"));
    assert_eq!(files.len(), 1, "nothing else is left");

    let mut bare = World::new();
    for (name, bytes) in World::files(&world.project()) {
        bare.write_file(&name, std::str::from_utf8(&bytes).unwrap());
    }
    assert_eq!(
        bare.run_program(&["test", "f/talk.json"]).code(0).stdout,
        "ok    talk › recorded\n1 passed\n"
    );
    bare.set_variable("SYNTHDEV_BASE_MODEL", "another");
    bare.set_variable("SYNTHDEV_BASE_URL", &dead_url());
    // a file that is named and is in a named directory is one file
    let both = bare.run_program(&["test", "f/talk.test.json", "f", "./f"]).code(0).stdout;
    assert_eq!(both, "ok    talk › recorded\n1 passed\n");

    bare.write_user_file("roles/mine.json", "{\"coder\": {\"systemMessage\": \"You only joke.\"}}");
    let changed = bare.run_program(&["test", "f/talk.json"]).code(1).stdout;
    let again = "to record it again: synthdev test --record f/talk.test.json";
    for part in ["agent `coder` in state `say`", "tapes/talk.jsonl", "+ You only joke.", again] {
        assert!(changed.contains(part), "`{part}` is not in:\n{changed}");
    }
    bare.write_user_file("roles/mine.json", "{}");
    let (_, longer) = tested_workflow(&json!({"status": "completed"}));
    let mut other = longer.clone();
    other["tool_results"]["read_files"] = json!(["two"]);
    bare.write_json("f/talk.test.json", &other);
    let result = bare.run_program(&["test", "f/talk.json"]).code(1).stdout;
    assert!(result.contains("- one") && result.contains("+ two"), "{result}");
}

#[test]
fn what_is_wrong_with_a_named_recording_is_said_at_its_place() {
    let world = World::new();
    let (flow, good) = tested_workflow(&json!({}));
    world.write_json("talk.json", &flow);
    world.write_file("tapes/talk.jsonl", "{\"cassette\":9}\n");
    world.write_file("broken.jsonl", "hello\n");
    let both = json!({"replies": {"coder": []}});
    let row = |path: &str, more: &Value, says: &[&str]| {
        let mut test = good.clone();
        test["cassette"] = json!(path);
        more.as_object().into_iter().flatten().for_each(|(key, value)| test[key] = value.clone());
        world.write_file("talk.test.json", &serde_json::to_string_pretty(&test).unwrap());
        let ran = world.run_program(&["test", "talk.json"]).code(2);
        for part in [&["talk.test.json:"][..], says].concat() {
            assert!(ran.stderr.contains(part), "`{part}` is not in:\n{}", ran.stderr);
        }
    };
    row("tapes/talk.jsonl", &json!({}), &["error[T06]", "by a newer program", "update synthdev"]);
    row("broken.jsonl", &json!({}), &["error[T06]", "is no recording of model calls"]);
    row("../x.jsonl", &json!({}), &["error[T06]", "leaves the directory"]);
    row("tapes/talk.jsonl", &both, &["error[C07]", "`replies` and `cassette` exclude each other"]);
    let mut test = good.clone();
    test["cassette"] = json!("broken.jsonl");
    world.write_json("talk.test.json", &test);
    let simulated = world.run_program(&["simulate", "talk.json", "talk.test.json"]).code(2).stderr;
    assert!(simulated.contains("hint: synthdev test talk.test.json"), "{simulated}");
    world.write_json("talk.test.json", &json!({"replies": {"coder": [{"text": "x"}]}, "input": "x"}));
    let unknown = world.run_program(&["test", "--record", "tolk"]).code(2).stderr;
    assert!(unknown.contains("there is no workflow `tolk`"), "{unknown}");
    let none = world.run_program(&["test", "--record", "talk.json"]);
    assert!(none.code == Some(2) && none.stderr.contains("no test names a cassette"), "{}", none.stderr);
}

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workflows");

/// The recording beside a shipped workflow is what its agents ask today; `UPDATE_CASSETTE=1` writes it anew.
#[tokio::test(flavor = "multi_thread")]
async fn the_shipped_recording_is_what_is_asked_today() {
    const NAME: &str = "coder_reviewer.cassette.jsonl";
    let review =
        |id: &str, arguments: Value| Behaviour::calls(&[(id, "review_work", &arguments.to_string())]);
    let write = json!({"file_path": "hi.txt", "content": "hi"}).to_string();
    let server = ModelServer::start_server(vec![
        Behaviour::calls(&[("call_1", "write_file", &write)]),
        Behaviour::text("The greeting is in hi.txt."),
        review(
            "call_2",
            json!({"improvement_needed": true, "continue_message": "It greets nobody by name."}),
        ),
        Behaviour::text("Now it greets by name."),
        review("call_3", json!({"improvement_needed": false, "work_summary": "hi.txt greets by name"})),
    ])
    .await;
    let mut world = World::new();
    for name in ["coder_reviewer.json", "coder_reviewer.test.json"] {
        world.write_file(name, &std::fs::read_to_string(format!("{SHIPPED}/{name}")).unwrap());
    }
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    world.run_program(&["test", "--record", "coder_reviewer.test.json"]).code(0);
    let asked = |text: &str| {
        let line = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("reply");
            line
        };
        text.lines().skip(1).map(line).collect::<Vec<_>>()
    };
    let now = world.read_file(NAME);
    if std::env::var("UPDATE_CASSETTE").is_ok() {
        std::fs::write(format!("{SHIPPED}/{NAME}"), &now).unwrap();
    }
    let shipped = std::fs::read_to_string(format!("{SHIPPED}/{NAME}")).unwrap();
    let hint = "UPDATE_CASSETTE=1 cargo test --test it shipped_recording writes it anew";
    assert_eq!(asked(&now), asked(&shipped), "{hint}");
}

/// Asks a model, then the user, then the model again.
fn interview_workflow() -> Value {
    let say = |name: &str, input: &str, target: &str| {
        json!({"name": name, "agent": "coder", "input": input, "action": {"function": "sendUserMessage"},
            "transition": [{"target": target,
                "before": "() => { this.common_data.result = this.getAgent('coder').getLastResponse(); }"}]})
    };
    workflow(&json!([
        {"name": "start", "transition": [{"target": "say"}]},
        say("say", "common_data.task", "ask"),
        {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "And?"}, "output": {"as": "answer"},
            "transition": [{"target": "more"}]},
        say("more", "common_data.answer", "stop"),
        {"name": "stop", "input": "common_data.result"}]))
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
async fn a_run_that_is_taken_up_is_recorded_and_played_as_a_whole() {
    let busy = || Behaviour::status(401, "{\"error\": {\"message\": \"no\"}}");
    let answers = vec![Behaviour::text("One."), Behaviour::text("Two."), Behaviour::text("One."), busy()];
    let server = ModelServer::start_server(answers).await;
    let mut world = World::new();
    world.write_json("talk.json", &interview_workflow());
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let run = ["run", "--workflow-file", "talk.json", "hello"];
    let id = |ran: &Ran| {
        let at = ran.stderr.find("\nrun ").unwrap() + 5;
        ran.stderr[at..].split(':').next().unwrap().to_owned()
    };
    let waits = world.run_program(&[&run[..], &["--record", "it.jsonl"]].concat()).code(3);
    let first = id(&waits);
    let more = format!("to record the rest, too: synthdev resume {first} … --record it.jsonl");
    assert!(
        waits.stderr.contains("the run is not over, so it.jsonl is not written")
            && waits.stderr.contains(&more),
        "{}",
        waits.stderr
    );
    // nothing was asked: nothing more is left
    let unanswered = world.run_program(&["resume", &first, "--record", "it.jsonl"]).code(3).stderr;
    assert_eq!(parts(&world).len(), 1, "{unanswered}");
    let done = world.run_program(&["resume", &first, "--results", "more", "--record", "it.jsonl"]).code(0);
    assert_eq!(done.stdout, "Two.\n");
    assert!(done.stderr.contains("recorded 2 model calls in it.jsonl"), "{}", done.stderr);

    let other = world.run_program(&run).code(3);
    let refused = world
        .run_program(&["resume", &id(&other), "--results", "more", "--record", "no.jsonl"])
        .code(2)
        .stderr;
    assert!(
        refused.contains("was started without --record") && refused.contains("hint: record a new run"),
        "{refused}"
    );
    assert_eq!(parts(&world).len(), 1, "{refused}");
    assert_eq!(server.requests().len(), 3);
    drop(server);

    let bare = World::new();
    for name in ["talk.json", "it.jsonl"] {
        bare.write_file(name, &world.read_file(name));
    }
    let waits = bare.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(3);
    let second = id(&waits);
    assert!(waits.stderr.contains(&format!("go on: synthdev resume {second} ")), "{}", waits.stderr);
    assert!(waits.stderr.contains(" --replay it.jsonl\n"), "{}", waits.stderr);
    assert!(!waits.stderr.contains("never used"), "{}", waits.stderr);
    for more in [&[][..], &["--record", "no.jsonl"]] {
        let nobody =
            bare.run_program(&[&["resume", &second, "--results", "more"], more].concat()).code(2).stderr;
        assert!(
            nobody.contains(&format!("hint: play on: synthdev resume {second} --replay it.jsonl")),
            "{nobody}"
        );
    }
    let played = bare.run_program(&["resume", &second, "--results", "more", "--replay", "it.jsonl"]).code(0);
    assert_eq!(played.stdout, "Two.\n", "{}", played.stderr);
    assert!(!played.stderr.contains("never used"), "{}", played.stderr);
    let waits = bare.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(3);
    let differs = bare
        .run_program(&["resume", &id(&waits), "--results", "less", "--replay", "it.jsonl"])
        .code(1)
        .stderr;
    assert!(differs.contains("- more\n") && differs.contains("+ less\n"), "{differs}");
    assert!(differs.contains("to record it again: synthdev run talk … --record it.jsonl"), "{differs}");
}

/// A call that took too long and was stopped is in the recording of the whole run, too.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_stopped_before_a_run_is_taken_up_is_recorded_with_it() {
    let server = ModelServer::start_server(vec![Behaviour::total_silence(), Behaviour::text("Two.")]).await;
    let mut world = World::new();
    let mut flow = interview_workflow();
    flow["states"][1]["timeout"] = json!(0.4);
    flow["states"][1]["catch"] = json!([{"errors": ["timeout"], "target": "ask"}]);
    world.write_json("talk.json", &flow);
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let run = ["run", "--workflow-file", "talk.json", "hello", "--json"];
    let waits = |world: &World, tape: &str| {
        let report = world.run_program(&[&run[..], &[tape, "it.jsonl"]].concat()).code(3).json();
        report["run_id"].as_str().unwrap().to_owned()
    };
    let first = waits(&world, "--record");
    world.run_program(&["resume", &first, "--results", "more", "--record", "it.jsonl"]).code(0);
    assert_eq!(server.requests().len(), 2);
    drop(server);
    let lines: Vec<Value> =
        world.read_file("it.jsonl").lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() == 2 && lines[0]["stopped"]["after_ms"].as_u64() > Some(0), "{lines:#?}");
    let bare = World::new();
    for name in ["talk.json", "it.jsonl"] {
        bare.write_file(name, &world.read_file(name));
    }
    let second = waits(&bare, "--replay");
    let played = bare.run_program(&["resume", &second, "--results", "more", "--replay", "it.jsonl"]).code(0);
    assert_eq!(played.stdout, "Two.\n", "{}", played.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_fails_while_it_is_recorded_keeps_the_recording_that_it_had() {
    let server =
        ModelServer::start_server(vec![Behaviour::text("It says one."), Behaviour::text("Something else.")])
            .await;
    let mut world = World::new();
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    let (flow, mut test) = tested_workflow(&json!({"output": "It says one."}));
    test.as_object_mut().unwrap().remove("tool_results");
    world.write_json("f/talk.json", &flow);
    std::fs::create_dir(world.project().join("f/tapes")).unwrap();
    world.write_json("f/talk.test.json", &test);
    world.run_program(&["test", "--record", "f/talk.json"]).code(0);
    let before = world.read_file("f/tapes/talk.jsonl");
    let failed = world.run_program(&["test", "--record", "f/talk.json"]).code(1).stdout;
    assert_eq!(world.read_file("f/tapes/talk.jsonl"), before);
    let told = "the test has failed, so f/tapes/talk.jsonl stays as it was: what was recorded until then, 1 model call";
    assert!(failed.contains(told), "{failed}");
}
