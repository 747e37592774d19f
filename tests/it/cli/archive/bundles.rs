//! Runs in files: they arrive whole or not at all.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::real_http::world_asking;
use super::super::world::{World, workflow};
use super::{list_runs, reviewed_world, run_question, run_review};
use crate::support::model_server::{Behaviour, ModelServer};

fn export_run(world: &World, run: &str) -> Vec<u8> {
    let file = world.root().join("tmp").join(format!("{run}.run"));
    let path = file.display().to_string();
    let told = world.run_program(&["runs", "export", run, "--to", &path]).code(0);
    assert!(told.stdout.is_empty() && told.stderr.contains("snapshots"), "{}", told.stderr);
    std::fs::read(file).unwrap()
}

fn only_run(world: &World) -> String {
    list_runs(world, &[])[0]["id"].as_str().unwrap().to_owned()
}

fn import_bundle(world: &World, bytes: &[u8]) -> super::super::world::Ran {
    std::fs::write(world.project().join("in.run"), bytes).unwrap();
    world.run_program(&["runs", "import", "in.run"])
}

fn events(world: &World, run: &str) -> Vec<Value> {
    world.run_program(&["runs", "show", run, "--json"]).code(0).lines()
}

/// The bundle with other lines and a checksum that is right again.
fn edit_bundle(bytes: &[u8], edit: impl Fn(usize, &str) -> String) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (_, body) = lines.split_last().unwrap();
    let body: Vec<String> = body.iter().enumerate().map(|(at, line)| edit(at, line)).collect();
    let rows = body.iter().filter(|line| line.starts_with("{\"row\"")).count();
    let body: String = body.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    let sum: String = Sha256::digest(body.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{body}{}\n", json!({"end": {"rows": rows, "sha256": sum}})).into_bytes()
}

#[test]
fn a_run_travels_to_another_machine() {
    let here = reviewed_world();
    let run = only_run(&here);
    let bytes = export_run(&here, &run);
    let piped = here.run_program(&["runs", "export", &run[..10]]).code(0).stdout;
    assert_eq!(piped.lines().count(), String::from_utf8(bytes.clone()).unwrap().lines().count());
    assert!(piped.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "JSON lines");

    let there = World::repository();
    let told = import_bundle(&there, &bytes).code(0).stdout;
    assert!(told.contains(&run) && told.contains("not part of an export"), "{told}");
    assert_eq!(events(&here, &run), events(&there, &run), "the same events");
    let (old, new) = (&list_runs(&here, &[])[0], &list_runs(&there, &["--here"])[0]);
    for key in ["id", "workflow", "definition_hash", "input", "started", "status", "path", "usage", "output"]
    {
        assert_eq!(old[key], new[key], "{key}");
    }
    assert_eq!(new["origin"], json!({"run": run, "kind": "import"}));
    assert_eq!(new["snapshot"], Value::Null, "it cannot be undone where its files never were");
    let found = there.run_program(&["runs", "search", "kettle", "--json"]).code(0).json();
    assert_eq!(found[0]["run"], json!(run));
    assert!(there.run_program(&["runs", "list", "--tree"]).code(0).stdout.contains("imported"));
    assert!(there.run_program(&["runs", "replay", &run]).code(0).stdout.contains("the same"));
    let back = String::from_utf8(export_run(&there, &run)).unwrap();
    let rows = |text: &str| {
        text.lines().filter(|line| line.starts_with("{\"row\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&back), rows(&piped), "nothing is lost by travelling twice");

    let fork = there.run_program(&["runs", "fork", &run, "--at", "2", "--json"]).code(0).json();
    let (fork, tree) = (fork["run_id"].as_str().unwrap(), list_runs(&there, &["--tree"]));
    assert_eq!((tree.len(), &tree[0]["children"][0]["id"]), (1, &json!(fork)));
    let third = World::new();
    let told = import_bundle(&third, &export_run(&there, fork)).code(0).stdout;
    assert!(told.contains(&format!("there a fork of {run} at step 2")), "{told}");

    let again = import_bundle(&there, &bytes).code(2);
    assert!(again.stderr.contains("is here already, just as in this file"), "{}", again.stderr);
    there.write_file("flow.json", &here.read_file("flow.json"));
    let next = run_review(&there, "more", "More.");
    let shortened = edit_bundle(&export_run(&there, &next), |_, line| line.replace(&next, &run));
    assert!(import_bundle(&there, &shortened).code(2).stderr.contains("another run with the id"));
    assert_eq!(list_runs(&there, &[]).len(), 3);
}

#[test]
fn runs_that_wait_or_were_left_arrive_so() {
    let here = World::new();
    let run = run_question(&here, "Shall I?");
    let there = World::new();
    let bytes = export_run(&here, &run);
    let told = import_bundle(&there, &bytes).code(0).stdout;
    assert!(told.contains("paused") && told.contains("defined on another machine"), "{told}");
    assert!(
        there.run_program(&["runs", "list"]).code(0).stdout.contains("waits for approval in ask: Shall I?")
    );
    let running =
        edit_bundle(
            &bytes,
            |at, line| if at == 2 { line.replace("\"paused\"", "\"running\"") } else { line.into() },
        );
    let third = World::new();
    import_bundle(&third, &running).code(0);
    assert_eq!(list_runs(&third, &[])[0]["status"], "interrupted");
    let done =
        edit_bundle(
            &bytes,
            |at, line| if at == 2 { line.replace("\"paused\"", "\"completed\"") } else { line.into() },
        );
    let refused = import_bundle(&World::new(), &done).code(2);
    assert!(refused.stderr.contains("its journal says paused"), "{}", refused.stderr);
}

/// What, the bytes, a part of the refusal.
type Row = (&'static str, Vec<u8>, &'static str);

fn assert_refused(there: &World, rows: Vec<Row>) {
    for (what, bytes, part) in rows {
        let refused = import_bundle(there, &bytes).code(2);
        let said = refused.stderr.contains(part) && refused.stderr.contains("nothing was changed");
        assert!(said, "{what}: {}", refused.stderr);
        assert!(!refused.stderr.contains('\u{1b}') && refused.stdout.is_empty(), "{what}");
        assert!(!refused.stderr.contains("panicked"), "{what}: {}", refused.stderr);
        assert_eq!(list_runs(there, &[]), Vec::<Value>::new(), "{what}");
    }
}

/// With another text on one line, and a right checksum.
fn replace_on_line(good: &[u8], place: usize, from: &str, to: &str) -> Vec<u8> {
    let change =
        |at: usize, line: &str| if at == place { line.replacen(from, to, 1) } else { line.to_owned() };
    let changed = edit_bundle(good, change);
    assert_ne!(changed, good, "{from} stands in line {place}");
    changed
}

#[test]
fn a_damaged_file_is_refused_and_changes_nothing() {
    let here = reviewed_world();
    let good = export_run(&here, &only_run(&here));
    let text = String::from_utf8(good.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let said = lines.iter().position(|line| line.contains("The kettle is on.")).unwrap();
    let gone = edit_bundle(&good, |at, line| if at == said { String::new() } else { line.to_owned() });
    let deep =
        format!(r#"{{"row":{{"kind":"input","at":1,"body":{}1{}}}}}"#, "[".repeat(5000), "]".repeat(5000));
    let there = World::new();
    assert_refused(
        &there,
        vec![
            ("empty", Vec::new(), "no exported run"),
            ("other", b"{\"a\": 1}\n".to_vec(), "no exported run"),
            ("binary", vec![0xff; 9000], "no exported run"),
            ("one long line", vec![b'{'; 9000], "no exported run"),
            ("half a line", good[..good.len() / 2].to_vec(), "it ends in the middle of line"),
            ("no end", format!("{}\n", lines[..6].join("\n")).into_bytes(), "ends before its end"),
            ("more behind", [&good[..], &[b'x'; 5000]].concat(), "something follows"),
            ("twice", [&good[..], &good].concat(), "something follows"),
            ("checksum", text.replace("earl grey", "earl gray").into_bytes(), "checksum"),
            ("a row is gone", gone, "leads to other events"),
            (
                "another word",
                replace_on_line(&good, said, "kettle is on", "kettle is off"),
                "leads to other events",
            ),
            (
                "a wrong type",
                replace_on_line(&good, 3, r#""kind":"input""#, r#""kind":7"#),
                "line 4 cannot be read",
            ),
            (
                "an unknown kind",
                replace_on_line(&good, 3, r#""kind":"input""#, r#""kind":"x""#),
                "line 4 cannot be read",
            ),
            ("no input", replace_on_line(&good, 3, "\"started\"", "\"begun\""), "cannot be read"),
            ("deep", replace_on_line(&good, 3, lines[3], &deep), "cannot be read"),
            ("heads", replace_on_line(&good, 2, lines[2], lines[1]), "line 3 should be the progress"),
        ],
    );
    for (path, part) in [(".", "not a regular file"), ("nowhere.run", "nowhere.run")] {
        let refused = there.run_program(&["runs", "import", path]).code(2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let large = std::fs::File::create(there.project().join("large.run")).unwrap();
    large.set_len(600 << 20).unwrap();
    assert!(
        there.run_program(&["runs", "import", "large.run"]).code(2).stderr.contains("larger than 512 MiB")
    );
    import_bundle(&there, &good).code(0);
}

#[test]
fn a_file_that_says_what_cannot_be_is_refused_and_changes_nothing() {
    let here = reviewed_world();
    let run = only_run(&here);
    let good = export_run(&here, &run);
    let head = |from: &str, to: &str| replace_on_line(&good, 1, from, to);
    let id = |other: &str| head(&format!("\"{run}\""), &format!("\"{other}\""));
    let newer = ("\"machine_version\":", "\"machine_version\":9");
    assert_refused(
        &World::new(),
        vec![
            ("a newer format", replace_on_line(&good, 0, "\"version\":1", "\"version\":2"), "newer version"),
            ("a newer machine", replace_on_line(&good, 0, newer.0, newer.1), "newer version"),
            ("newer inside", head(newer.0, newer.1), "newer version"),
            ("path tricks", id("../../x"), "`../../x` is no id"),
            ("escapes", id("\\u001b[2Jabcdefgh"), "is no id"),
            ("an empty id", id(""), "is no id"),
            ("a long id", id(&"a".repeat(65)), "is no id"),
            ("another workflow", head("\"coder_reviewer\"", "\"tea\""), "another workflow"),
            ("no time", head("\"started\":", "\"started\":-"), "is no time"),
            (
                "no definition",
                head("\"program\":{", "\"program\":[],\"x\":{"),
                "its definition cannot be read",
            ),
        ],
    );
}

/// Every byte in turn would be slow: so many, spread over the file.
#[test]
fn no_flipped_bit_is_taken_in() {
    let here = World::new();
    here.write_talk(&json!([{"text": "Hi."}]));
    here.run_talk(&[]).code(0);
    let good = export_run(&here, &only_run(&here));
    let there = World::new();
    for number in 0..24_usize {
        let mut bytes = good.clone();
        let at = number * (good.len() - 1) / 23;
        bytes[at] ^= 1 << (number % 8);
        let refused = import_bundle(&there, &bytes);
        assert_eq!(refused.code, Some(2), "bit {number} at {at}: {}", refused.stdout);
        assert!(!refused.stderr.contains("panicked"), "{}", refused.stderr);
    }
    assert_eq!(list_runs(&there, &[]), Vec::<Value>::new());
    import_bundle(&there, &good).code(0);
}

#[test]
fn a_key_that_became_known_later_does_not_travel() {
    const KEY: &str = "sk-became-known-9f2c41d7";
    let mut here = World::new();
    here.write_talk(&json!([{"text": format!("The key is {KEY}, I think.")}]));
    here.run_talk(&[]).code(0);
    let run = only_run(&here);
    assert!(
        here.run_program(&["runs", "export", &run]).code(0).stdout.contains(KEY),
        "nobody knew that it is one"
    );
    here.set_variable("SYNTHDEV_API_KEY", KEY);
    for arguments in [&["runs", "export", &run][..], &["runs", "export", &run, "--format", "markdown"]] {
        let told = here.run_program(arguments).code(0);
        assert!(!told.stdout.contains(KEY) && told.stdout.contains("[redacted:key]"), "{}", told.stdout);
    }
    let bytes = export_run(&here, &run);
    assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
    let there = World::new();
    import_bundle(&there, &bytes).code(0);
    let shown = there.run_program(&["runs", "show", &run]).code(0).stdout;
    assert!(shown.contains("The key is [redacted:key], I think."), "{shown}");
}

#[test]
fn files_are_written_whole_and_never_over_another() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&[]).code(0);
    let run = only_run(&world);
    world.write_file("mine.txt", "mine");
    for format in ["bundle", "markdown"] {
        let there =
            world.run_program(&["runs", "export", &run, "--to", "mine.txt", "--format", format]).code(2);
        assert!(there.stderr.contains("mine.txt exists"), "{}", there.stderr);
        assert_eq!(world.read_file("mine.txt"), "mine");
        let nowhere =
            world.run_program(&["runs", "export", &run, "--to", "no/dir/x", "--format", format]).code(2);
        assert!(nowhere.stderr.contains("no/dir/x cannot be written: "), "{}", nowhere.stderr);
        assert!(nowhere.stderr.contains("hint: make its directory first"), "{}", nowhere.stderr);
    }
    let unknown = world.run_program(&["runs", "export", "nowhere", "--to", "x.run"]).code(2);
    assert!(unknown.stderr.contains("there is no run `nowhere`"), "{}", unknown.stderr);
    assert!(!world.project().join("x.run").exists(), "nothing is left of what failed");
    world.run_program(&["runs", "export", &run, "--format", "pdf"]).code(2);
}

#[test]
fn people_read_a_run_as_markdown() {
    let world = reviewed_world();
    let evil = "</details>\n```\n# not a heading\n| a |\n<script>x</script>\u{1b}[2J";
    let run = run_review(&world, evil, "Here:\n````sh\nls\n````\n# no heading of ours");
    let text = world.run_program(&["runs", "export", &run, "--format", "markdown"]).code(0).stdout;
    for part in [
        "# coder\\_reviewer: run ",
        "- **Status**: completed",
        "### 2. code \\(coder\\)",
        "**coder calls write\\_file**:\n\n```json\n",
        "\"content\": \"earl grey\"",
        "◆ **reviewer decided review\\_work**:\n",
        "**common\\_data**:\n\n`current_task`:\n",
        "## Output",
        "| Agent | coder |",
        "`````\nHere:\n````sh\nls\n````\n# no heading of ours\n`````",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    // foreign text is inside of a fence only
    let mut fence: Option<usize> = None;
    for line in text.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match fence {
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 && !line[ticks..].contains('`') => fence = Some(ticks),
            None => {
                for part in ["# not a heading", "<script>", "</details>", "# no heading"] {
                    assert!(!line.contains(part), "`{line}` is outside of a fence");
                }
            }
        }
    }
    assert_eq!(fence, None, "every fence is closed");
}

#[test]
fn a_question_and_its_answer_are_in_the_markdown() {
    let check = |pause: Value, results: &str, parts: &[&str]| {
        let world = World::new();
        let mut ask = json!({"name": "ask", "type": "pause", "message": {"text": "Shall it *go*?\n\n```\n# no heading"},
            "output": {"as": "answer"}, "transition": [{"target": "stop"}]});
        ask.as_object_mut().unwrap().extend(pause.as_object().unwrap().clone());
        let states = json!([{"name": "start", "transition": [{"target": "ask"}]}, ask,
            {"name": "stop", "input": {"expr": "'done'"}}]);
        world.write_json("asking.json", &workflow(&states));
        world.write_file("none.json", "{\"replies\": {}}");
        world.run_program(&["run", "--workflow-file", "asking.json", "--replies", "none.json", "x"]).code(3);
        let run = only_run(&world);
        let export = || world.run_program(&["runs", "export", &run, "--format", "markdown"]).code(0).stdout;
        let asked = export();
        assert!(asked.contains("- **Status**: paused") && asked.contains("Shall it"), "{asked}");
        world.run_program(&["resume", &run, "--replies", "none.json", "--results", results]).code(0);
        let answered = export();
        for part in parts {
            assert!(answered.contains(part), "no `{part}` in\n{answered}");
        }
    };
    check(json!({"kind": "approval"}), "yes", &["**answered \\(ask asks: Shall it \\*go\\*? …\\)**: yes"]);
    check(json!({"kind": "choice", "choices": ["now", "later `x`"]}), "later `x`", &[": later \\`x\\`"]);
    check(json!({"kind": "text"}), "# mine", &[": \\# mine"]);
}

#[test]
fn the_end_of_the_name_says_what_is_written() {
    let world = reviewed_world();
    let run = only_run(&world);
    for (file, begin) in [("it.md", "# "), ("it.run", "{"), ("it.MD", "# ")] {
        world.run_program(&["runs", "export", &run, "--to", file]).code(0);
        let text = std::fs::read_to_string(world.project().join(file)).unwrap();
        assert!(text.starts_with(begin), "{file}: {}", &text[..20]);
    }
    world.run_program(&["runs", "export", &run, "--to", "all.md", "--format", "bundle"]).code(0);
    assert!(std::fs::read_to_string(world.project().join("all.md")).unwrap().starts_with('{'));
}

/// An agent speaks, a person is asked, the agent speaks again.
fn asking_workflow() -> Value {
    let speak = |name: &str, input: &str, next: &str| json!({"name": name, "agent": "coder", "input": input, "transition": [{"target": next}]});
    workflow(&json!([
        speak("start", "common_data.task", "ask"),
        {"name": "ask", "type": "pause", "message": "Go on?", "output": {"as": "answer"},
         "transition": [{"target": "again"}]},
        speak("again", "common_data.answer", "stop"),
        {"name": "stop", "input": "agents.coder.getLastResponse()"}
    ]))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_run_asks_its_model_the_same_and_counts_the_same() {
    let answers = ["The kettle is on.", "Tea.", "Tea."].map(Behaviour::text);
    let server = ModelServer::start_server(Vec::from(answers)).await;
    let here = world_asking(&server);
    here.write_json("ask.json", &asking_workflow());
    here.run_program(&["run", "--workflow-file", "ask.json", "make tea", "--json"]).code(3);
    let run = only_run(&here);
    let there = world_asking(&server);
    import_bundle(&there, &export_run(&here, &run)).code(0);

    let count = |world: &World| world.run_program(&["runs", "contexts", &run, "--json"]).code(0).json();
    let counted = count(&here);
    assert_eq!(counted, count(&there));
    let context = &counted["contexts"][0];
    assert_eq!(
        (&context["context"], &context["messages"], &context["characters"]),
        (&json!("main"), &json!(2), &json!(25))
    );
    let authors = context["authors"].as_array().unwrap();
    let rows: Vec<_> = authors.iter().map(|one| (&one["author"], &one["role"], &one["tokens"])).collect();
    let coder = json!("coder");
    assert_eq!(rows, [(&json!("workflow"), &Value::Null, &json!(2)), (&coder, &coder, &json!(5))]);
    let text = there.run_program(&["runs", "contexts", &run]).code(0).stdout;
    assert!(text.contains("main: 2 messages, 25 characters, about 7 tokens\n  workflow "), "{text}");

    for world in [&here, &there] {
        world.run_program(&["resume", &run, "--results", "yes"]).code(0);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].body, requests[2].body, "the next request");
}
