//! What strangers named or wrote reaches the terminal as text, never as a command to it.

use serde_json::json;

use super::world::{Ran, World, talk_workflow, workflow};

/// Erases the line, turns the reading direction, sets the title, is a C1 introducer.
const EVIL: &str = "n\u{1b}[2K\u{202e}\u{2066}\u{200e}\u{61c}\u{1b}]0;t\u{7}\u{9b}1A\rx";

/// Neither stream holds anything that steers a terminal; what was evil is still to be seen.
#[track_caller]
fn assert_harmless(ran: &Ran) {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
    };
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(steers), "{text:?}");
    }
    let both = format!("{}{}", ran.stdout, ran.stderr);
    assert!(both.contains("␛[2K‹U+202E›"), "nothing evil was printed at all:\n{both}");
}

#[test]
fn file_names_in_the_trust_notice() {
    let world = World::new();
    world.write_file(&format!(".synthdev/workflows/{EVIL}\n.json"), "{");
    let ran = world.run_program(&["workflows"]).code(0);
    assert_harmless(&ran);
    assert_eq!(ran.stderr.lines().count(), 3, "a name stays in its line:\n{}", ran.stderr);
    assert_harmless(&world.run_program(&["--trust", "workflows"]));
    world.write_file(&format!(".synthdev/workflows/{EVIL}\n.json"), "{ ");
    assert_harmless(&world.run_program(&["roles"]));
}

#[test]
fn file_names_and_labels_of_snapshots() {
    let world = World::repository();
    world.run_program(&["snapshot", "create", EVIL]).code(0);
    let list = world.run_program(&["snapshot", "list", "--json"]).code(0).json();
    assert_eq!(list[0]["label"], EVIL, "JSON is data");
    let id = list[0]["id"].as_str().unwrap();
    assert_harmless(&world.run_program(&["snapshot", "list"]).code(0));
    let file = format!("{EVIL}\n  delete       y.txt");
    world.write_file(&file, &format!("{EVIL}\n"));
    let shown = world.run_program(&["snapshot", "show", id]).code(0);
    assert_harmless(&shown);
    assert_eq!(shown.stdout.matches("\n  delete ").count(), 1, "{}", shown.stdout);
    let patch = world.run_program(&["snapshot", "diff", id]).code(0).stdout;
    assert!(patch.contains(EVIL), "a redirected diff is data and must apply as it is");
    assert_harmless(&world.run_program(&["snapshot", "restore", id]).code(2));
    assert_harmless(&world.run_program(&["snapshot", "restore", id, "--yes"]).code(0));
    assert!(!world.project().join(file).exists());
    assert_harmless(&world.run_program(&["snapshot", "show", EVIL]).code(2));
}

#[test]
fn names_of_a_workflow_and_words_of_a_model() {
    let world = World::new();
    let mut evil = workflow(&json!([
        {"name": "start", "transition": [{"target": EVIL, "condition": "true"}]},
        {"name": EVIL, "agent": "coder", "input": "common_data.task", "action": {"function": "sendUserMessage"},
         "transition": [{"target": "stop", "condition": "true",
            "before": "() => { this.common_data.result = this.getAgent('coder').getLastResponse(); }"}]},
        {"name": "stop", "input": "common_data.result"}
    ]));
    evil["workflow_name"] = json!(EVIL);
    world.write_json("evil.json", &evil);
    let input = format!("do {EVIL}");
    for (name, reply) in [
        ("text", json!([{"text": EVIL}])),
        ("tool", json!([{"tool_calls": [{"name": EVIL, "arguments": {"a": EVIL}}]}, {"text": EVIL}])),
        ("none", json!([])),
    ] {
        world.write_json("replies.json", &json!({"replies": {"coder": reply}}));
        let ran =
            world.run_program(&["run", "--workflow-file", "evil.json", "--replies", "replies.json", &input]);
        assert!(ran.stderr.contains("synthdev runs show"), "{name}: {}", ran.stderr);
        assert_harmless(&ran);
    }
    let runs = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 3);
    assert_harmless(&world.run_program(&["runs", "list"]).code(0));
    for run in runs.as_array().unwrap() {
        assert_harmless(&world.run_program(&["runs", "show", run["id"].as_str().unwrap()]).code(0));
    }
    assert_harmless(&world.run_program(&["run", EVIL, "x"]).code(2));
    assert_harmless(&world.run_program(&["runs", "show", EVIL]).code(2));
    assert_data_harmless(&world, &input);
}

/// JSON is data, and the same data however its characters are spelled.
fn assert_data_harmless(world: &World, input: &str) {
    let reply = |text: &str| json!({"replies": {"coder": [{"text": text}]}});
    world.write_json("replies.json", &reply(EVIL));
    let base = ["run", "--workflow-file", "evil.json", "--replies", "replies.json", input];
    let report = world.run_program(&[&base[..], &["--json"]].concat()).code(0);
    assert_eq!(report.json()["output"], EVIL, "the value is the same");
    let id = report.json()["run_id"].as_str().unwrap().to_owned();
    world.write_json("replies.json", &reply("other"));
    let other = world.run_program(&[&base[..], &["--json"]].concat()).code(0).json();
    let other = other["run_id"].as_str().unwrap();
    let mut all = vec![report, world.run_program(&[&base[..], &["--events"]].concat()).code(0)];
    for arguments in [
        &["runs", "list", "--json"][..],
        &["runs", "list", "--tree", "--json"],
        &["runs", "show", &id, "--json"],
        &["runs", "steps", &id, "--json"],
        &["runs", "search", "do", "--json"],
        &["runs", "diff", &id, other, "--json"],
        &["runs", "export", &id],
        &["runs", "fork", &id, "--at", "2", "--json"],
        &["why", &id, "2", "--json"],
        &["graph", "evil.json", "--format", "json"],
        &["workflows", "--json"],
        &["check", "evil.json", "--json"],
    ] {
        all.push(world.run_program(arguments));
    }
    let steers = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
    };
    let mut evil = 0;
    for ran in &all {
        assert!(!ran.stdout.contains(steers) && !ran.stdout.is_empty(), "{:?}\n{}", ran.stdout, ran.stderr);
        evil += usize::from(ran.stdout.contains("\\u202e"));
    }
    assert!(evil >= 9, "only {evil} answers held anything evil");
    let bundle = world.write_file("run.json", &all[8].stdout);
    let there = World::new();
    there.run_program(&["runs", "import", bundle.to_str().unwrap()]).code(0);
    let here = there.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(here[0]["input"], input, "it arrives as it was");
    there.run_program(&["runs", "replay", here[0]["id"].as_str().unwrap()]).code(0);
}

#[test]
fn names_in_lists_and_findings_with_their_source_line() {
    let world = World::new();
    let mut evil = talk_workflow();
    evil["workflow_name"] = json!(EVIL);
    world.write_user_file("workflows/evil.json", &evil.to_string());
    let role = EVIL.replace('\r', ""); // a role's name has no blanks
    world.write_user_file(
        "roles/evil.json",
        &json!({ role: {"systemMessage": "m", "includedTools": []} }).to_string(),
    );
    assert_harmless(&world.run_program(&["workflows"]).code(0));
    assert_harmless(&world.run_program(&["roles"]).code(0));
    // Raw in the file, so that the source line itself is evil.
    let broken = format!("{{\"workflow_name\": \"{EVIL}\", \"{EVIL}\": 1,");
    let path = format!("{EVIL}.json");
    world.write_file(&path, &broken);
    assert_harmless(&world.run_program(&["check", &path]));
    assert_harmless(&world.run_program(&["run", "--workflow-file", &path, "x"]).code(2));
    assert_harmless(&world.run_program(&["-C", EVIL, "workflows"]).code(2));
}

#[test]
fn closed_streams_end_nothing_in_a_panic() {
    let world = World::new();
    world.write_file("broken.json", "{\"workflow_name\": 1}");
    let rows: [(&[&str], &[i32]); 6] = [
        (&["completions", "bash"], &[0]),
        (&["check"], &[0, 1]),
        (&["check", "--json"], &[0, 1]),
        (&["check", "broken.json"], &[0, 1]),
        (&["run", "--workflow-file", "broken.json", "x"], &[2]),
        (&["tools", "--json"], &[0]),
    ];
    for (arguments, codes) in rows {
        for (out, err) in [(true, false), (false, true), (true, true)] {
            let mut command = world.command(arguments);
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            if err {
                command.stderr(writer.try_clone().unwrap());
            }
            if out {
                command.stdout(writer);
            }
            let done = command.spawn().unwrap().wait_with_output().unwrap();
            let (code, err) = (done.status.code().unwrap(), String::from_utf8_lossy(&done.stderr));
            assert!(codes.contains(&code) && !err.contains("panicked"), "{arguments:?}: {code}\n{err}");
        }
    }
}

#[test]
fn gits_own_directory_is_no_project() {
    let world = World::repository();
    world.write_file(".git/inner/x", "");
    for place in [".git", ".git/inner"] {
        let ran = world.run_program(&["-C", place, "snapshot", "create"]).code(2);
        assert!(
            ran.stderr.contains("inside the .git directory") && ran.stderr.contains("hint: "),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.stdout, "");
    }
}
