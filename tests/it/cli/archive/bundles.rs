//! Runs in files: they arrive whole or not at all.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::world::World;
use super::{ask, list, review, reviewed};

fn exported(world: &World, run: &str) -> Vec<u8> {
    let file = world.root().join("tmp").join(format!("{run}.run"));
    let path = file.display().to_string();
    let told = world.run(&["runs", "export", run, "--to", &path]).code(0);
    assert!(told.out.is_empty() && told.err.contains("snapshots"), "{}", told.err);
    std::fs::read(file).unwrap()
}

fn only(world: &World) -> String {
    list(world, &[])[0]["id"].as_str().unwrap().to_owned()
}

fn import(world: &World, bytes: &[u8]) -> super::super::world::Ran {
    std::fs::write(world.project().join("in.run"), bytes).unwrap();
    world.run(&["runs", "import", "in.run"])
}

fn events(world: &World, run: &str) -> Vec<Value> {
    world.run(&["runs", "show", run, "--json"]).code(0).lines()
}

/// The bundle with other lines and a checksum that is right again.
fn edited(bytes: &[u8], edit: impl Fn(usize, &str) -> String) -> Vec<u8> {
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
    let here = reviewed();
    let run = only(&here);
    let bytes = exported(&here, &run);
    let piped = here.run(&["runs", "export", &run[..10]]).code(0).out;
    assert_eq!(piped.lines().count(), String::from_utf8(bytes.clone()).unwrap().lines().count());
    assert!(piped.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "JSON lines");

    let there = World::repository();
    let told = import(&there, &bytes).code(0).out;
    assert!(told.contains(&run) && told.contains("did not travel"), "{told}");
    assert_eq!(events(&here, &run), events(&there, &run), "the same events");
    let (old, new) = (&list(&here, &[])[0], &list(&there, &["--here"])[0]);
    for key in ["id", "workflow", "definition_hash", "input", "started", "status", "path", "usage", "output"]
    {
        assert_eq!(old[key], new[key], "{key}");
    }
    assert_eq!(new["origin"], json!({"run": run, "kind": "import"}));
    assert_eq!(new["snapshot"], Value::Null, "it cannot be undone where its files never were");
    let found = there.run(&["runs", "search", "kettle", "--json"]).code(0).json();
    assert_eq!(found[0]["run"], json!(run));
    assert!(there.run(&["runs", "list", "--tree"]).code(0).out.contains("imported"));
    assert!(there.run(&["runs", "replay", &run]).code(0).out.contains("the same"));
    let back = String::from_utf8(exported(&there, &run)).unwrap();
    let rows = |text: &str| {
        text.lines().filter(|line| line.starts_with("{\"row\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&back), rows(&piped), "nothing is lost by travelling twice");

    let fork = there.run(&["runs", "fork", &run, "--at", "2", "--json"]).code(0).json();
    let (fork, tree) = (fork["run_id"].as_str().unwrap(), list(&there, &["--tree"]));
    assert_eq!((tree.len(), &tree[0]["children"][0]["id"]), (1, &json!(fork)));
    let third = World::new();
    let told = import(&third, &exported(&there, fork)).code(0).out;
    assert!(told.contains(&format!("there a fork of {run} at step 2")), "{told}");

    let again = import(&there, &bytes).code(2);
    assert!(again.err.contains("is here already, just as in this file"), "{}", again.err);
    there.write("flow.json", &here.read("flow.json"));
    let next = review(&there, "more", "More.");
    let shortened = edited(&exported(&there, &next), |_, line| line.replace(&next, &run));
    assert!(import(&there, &shortened).code(2).err.contains("another run with the id"));
    assert_eq!(list(&there, &[]).len(), 3);
}

#[test]
fn runs_that_wait_or_were_left_arrive_so() {
    let here = World::new();
    let run = ask(&here, "Shall I?");
    let there = World::new();
    let bytes = exported(&here, &run);
    let told = import(&there, &bytes).code(0).out;
    assert!(told.contains("paused") && told.contains("decided elsewhere"), "{told}");
    assert!(there.run(&["runs", "list"]).code(0).out.contains("waits for approval in ask: Shall I?"));
    let running =
        edited(
            &bytes,
            |at, line| if at == 2 { line.replace("\"paused\"", "\"running\"") } else { line.into() },
        );
    let third = World::new();
    import(&third, &running).code(0);
    assert_eq!(list(&third, &[])[0]["status"], "interrupted");
    let done =
        edited(
            &bytes,
            |at, line| if at == 2 { line.replace("\"paused\"", "\"completed\"") } else { line.into() },
        );
    let refused = import(&World::new(), &done).code(2);
    assert!(refused.err.contains("its journal says paused"), "{}", refused.err);
}

/// What, the bytes, a part of the refusal.
type Row = (&'static str, Vec<u8>, &'static str);

fn refused(there: &World, rows: Vec<Row>) {
    for (what, bytes, part) in rows {
        let refused = import(there, &bytes).code(2);
        let said = refused.err.contains(part) && refused.err.contains("nothing was changed");
        assert!(said, "{what}: {}", refused.err);
        assert!(!refused.err.contains('\u{1b}') && refused.out.is_empty(), "{what}");
        assert!(!refused.err.contains("panicked"), "{what}: {}", refused.err);
        assert_eq!(list(there, &[]), Vec::<Value>::new(), "{what}");
    }
}

/// With another text on one line, and a right checksum.
fn on(good: &[u8], place: usize, from: &str, to: &str) -> Vec<u8> {
    let change =
        |at: usize, line: &str| if at == place { line.replacen(from, to, 1) } else { line.to_owned() };
    let changed = edited(good, change);
    assert_ne!(changed, good, "{from} stands in line {place}");
    changed
}

#[test]
fn a_damaged_file_is_refused_and_changes_nothing() {
    let here = reviewed();
    let good = exported(&here, &only(&here));
    let text = String::from_utf8(good.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let said = lines.iter().position(|line| line.contains("The kettle is on.")).unwrap();
    let gone = edited(&good, |at, line| if at == said { String::new() } else { line.to_owned() });
    let deep =
        format!(r#"{{"row":{{"kind":"input","at":1,"body":{}1{}}}}}"#, "[".repeat(5000), "]".repeat(5000));
    let there = World::new();
    refused(
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
            ("another word", on(&good, said, "kettle is on", "kettle is off"), "leads to other events"),
            ("a wrong type", on(&good, 3, r#""kind":"input""#, r#""kind":7"#), "line 4 cannot be read"),
            ("an unknown kind", on(&good, 3, r#""kind":"input""#, r#""kind":"x""#), "line 4 cannot be read"),
            ("no input", on(&good, 3, "\"started\"", "\"begun\""), "cannot be read"),
            ("deep", on(&good, 3, lines[3], &deep), "cannot be read"),
            ("heads", on(&good, 2, lines[2], lines[1]), "line 3 should be the progress"),
        ],
    );
    for (path, part) in [(".", "not a regular file"), ("nowhere.run", "nowhere.run")] {
        let refused = there.run(&["runs", "import", path]).code(2);
        assert!(refused.err.contains(part), "{}", refused.err);
    }
    let large = std::fs::File::create(there.project().join("large.run")).unwrap();
    large.set_len(600 << 20).unwrap();
    assert!(there.run(&["runs", "import", "large.run"]).code(2).err.contains("larger than 512 MiB"));
    import(&there, &good).code(0);
}

#[test]
fn a_file_that_says_what_cannot_be_is_refused_and_changes_nothing() {
    let here = reviewed();
    let run = only(&here);
    let good = exported(&here, &run);
    let head = |from: &str, to: &str| on(&good, 1, from, to);
    let id = |other: &str| head(&format!("\"{run}\""), &format!("\"{other}\""));
    let newer = ("\"machine_version\":", "\"machine_version\":9");
    refused(
        &World::new(),
        vec![
            ("a newer format", on(&good, 0, "\"version\":1", "\"version\":2"), "newer version"),
            ("a newer machine", on(&good, 0, newer.0, newer.1), "newer version"),
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
    here.talk(&json!([{"text": "Hi."}]));
    here.run_talk(&[]).code(0);
    let good = exported(&here, &only(&here));
    let there = World::new();
    for number in 0..24_usize {
        let mut bytes = good.clone();
        let at = number * (good.len() - 1) / 23;
        bytes[at] ^= 1 << (number % 8);
        let refused = import(&there, &bytes);
        assert_eq!(refused.code, Some(2), "bit {number} at {at}: {}", refused.out);
        assert!(!refused.err.contains("panicked"), "{}", refused.err);
    }
    assert_eq!(list(&there, &[]), Vec::<Value>::new());
    import(&there, &good).code(0);
}

#[test]
fn a_key_that_became_known_later_does_not_travel() {
    const KEY: &str = "sk-became-known-9f2c41d7";
    let mut here = World::new();
    here.talk(&json!([{"text": format!("The key is {KEY}, I think.")}]));
    here.run_talk(&[]).code(0);
    let run = only(&here);
    assert!(here.run(&["runs", "export", &run]).code(0).out.contains(KEY), "nobody knew that it is one");
    here.set("SYNTHDEV_API_KEY", KEY);
    for arguments in [&["runs", "export", &run][..], &["runs", "export", &run, "--format", "markdown"]] {
        let told = here.run(arguments).code(0);
        assert!(!told.out.contains(KEY) && told.out.contains("[redacted:key]"), "{}", told.out);
    }
    let bytes = exported(&here, &run);
    assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
    let there = World::new();
    import(&there, &bytes).code(0);
    let shown = there.run(&["runs", "show", &run]).code(0).out;
    assert!(shown.contains("The key is [redacted:key], I think."), "{shown}");
}

#[test]
fn files_are_written_whole_and_never_over_another() {
    let world = World::new();
    world.talk(&json!([{"text": "Hi."}]));
    world.run_talk(&[]).code(0);
    let run = only(&world);
    world.write("mine.txt", "mine");
    for format in ["bundle", "markdown"] {
        let there = world.run(&["runs", "export", &run, "--to", "mine.txt", "--format", format]).code(2);
        assert!(there.err.contains("mine.txt exists"), "{}", there.err);
        assert_eq!(world.read("mine.txt"), "mine");
        let nowhere = world.run(&["runs", "export", &run, "--to", "no/dir/x", "--format", format]).code(2);
        assert!(nowhere.err.contains("cannot be written"), "{}", nowhere.err);
    }
    let unknown = world.run(&["runs", "export", "nowhere", "--to", "x.run"]).code(2);
    assert!(unknown.err.contains("there is no run `nowhere`"), "{}", unknown.err);
    assert!(!world.project().join("x.run").exists(), "nothing is left of what failed");
    world.run(&["runs", "export", &run, "--format", "pdf"]).code(2);
}

#[test]
fn people_read_a_run_as_markdown() {
    let world = reviewed();
    let evil = "</details>\n```\n# not a heading\n| a |\n<script>x</script>\u{1b}[2J";
    let run = review(&world, evil, "Here:\n````sh\nls\n````\n# no heading of ours");
    let text = world.run(&["runs", "export", &run, "--format", "markdown"]).code(0).out;
    for part in [
        "# coder\\_reviewer: run ",
        "- **Status**: completed",
        "### 2. code (coder)",
        "**coder** calls `write_file`:\n\n```json\n",
        "\"content\": \"earl grey\"",
        "decides `review_work`",
        "`common_data.current_task` is set",
        "## Output",
        "| Agent | coder |",
        "`````\nHere:\n````sh\nls\n````\n# no heading of ours\n`````",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    // nothing foreign stands outside of a fence
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
