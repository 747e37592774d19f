//! Runs that wait, failed or were interrupted are resumed.

use serde_json::{Value, json};

use super::contract::send_signal;
use super::world::{Ran, World, wait_for, workflow};

/// A workflow that asks for something and writes it into its output.
fn asking_workflow(pause: &Value) -> Value {
    let mut ask = json!({"name": "ask", "type": "pause", "message": {"text": "What now?"},
                         "output": {"as": "answer"}, "transition": [{"target": "stop"}]});
    ask.as_object_mut().unwrap().extend(pause.as_object().unwrap().clone());
    let mut flow = workflow(&json!([{"name": "start", "transition": [{"target": "ask"}]}, ask,
        {"name": "stop", "input": {"expr": "JSON.stringify(common_data.answer ?? common_data)"}}]));
    flow["input"]["required"] = json!(false);
    flow
}

fn paused_run(world: &World, flow: &Value) -> Value {
    world.write_json("flow.json", flow);
    world.write_file("replies.json", "{\"replies\": {}}");
    let report = start_run(world, &["--json"]).code(3).json();
    assert_eq!(report["status"], "paused", "{report}");
    report
}

fn start_run(world: &World, more: &[&str]) -> Ran {
    let base = ["run", "--workflow-file", "flow.json", "--replies", "replies.json", "x"];
    world.run_program(&[&base, more].concat())
}

fn resume_run(world: &World, run: &str, more: &[&str]) -> Ran {
    world.run_program(&[&["resume", run, "--replies", "replies.json"], more].concat())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn an_answer_is_given_by_id_and_checked_first() {
    let rows = [
        (json!({"kind": "approval"}), "maybe", "yes or no", "true", "true"),
        (json!({"kind": "number"}), "many", "is no number", "7", "7"),
        (json!({"kind": "choice", "choices": ["a", "b"]}), "c", "none of `a`, `b`", "b", "\"b\""),
        (json!({"kind": "text"}), "[1]", "a text is expected", "plain words", "\"plain words\""),
        (json!({"kind": "boolean"}), "7", "yes or no", "{\"value\": false}", "false"),
    ];
    for (pause, wrong, why, right, stored) in rows {
        let world = World::new();
        let report = paused_run(&world, &asking_workflow(&pause));
        let run = text(&report, "run_id");
        assert_eq!(report["pauses"][0]["state"], "ask", "{report}");
        assert_eq!(report["pauses"][0]["kind"], pause["kind"]);
        let nothing = resume_run(&world, run, &["--json"]).code(3).json();
        assert_eq!(nothing["pauses"][0]["message"], "What now?");
        let refused = resume_run(&world, run, &["--results", wrong]).code(2);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        let done = resume_run(&world, run, &["--results", right, "--json"]).code(0).json();
        assert_eq!((&done["output"], &done["path"]), (&json!(stored), &json!(["start", "ask", "stop"])));
        let over = resume_run(&world, run, &["--results", right]).code(2);
        assert!(over.stderr.contains("completed"), "{}", over.stderr);
    }
}

#[test]
fn a_token_answers_one_pause_once() {
    let outputs = json!({"kind": "outputs", "required_outputs": ["plan", "size"]});
    let mut flow = asking_workflow(&outputs);
    flow["states"][1].as_object_mut().unwrap().remove("output");
    flow["states"][2]["input"] = json!({"expr": "common_data.plan + common_data.size"});
    let world = World::new();
    let report = paused_run(&world, &flow);
    let token = text(&report["pauses"][0], "resume_token").to_owned();
    assert!(token.len() > 48 && report["pauses"][0]["expires_in_seconds"] == 1800, "{report}");
    let data = World::files(&world.data());
    assert!(
        data.iter().all(|(_, bytes)| !bytes.windows(token.len()).any(|part| part == token.as_bytes())),
        "the token is stored as a hash only"
    );
    let refused = |token: &str, results: &str, why: &str| {
        let ran = resume_run(&world, token, &["--results", results]).code(2);
        assert!(ran.stderr.contains(why), "{results}: no `{why}` in {}", ran.stderr);
    };
    let forged = format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { "1" } else { "0" });
    refused(&forged, "{}", "unknown");
    // All that is missing is listed, and the token stays good
    refused(&token, "{\"extra\": 1}", "4 tries are left");
    refused(&token, "{\"plan\": null}", "size");
    let given = "{\"plan\": \"p\", \"size\": 2, \"extra\": true}";
    let done = resume_run(&world, &token, &["--results", given, "--json"]).code(0);
    assert_eq!(done.json()["output"], "p2");
    assert!(done.stderr.contains("ignored: extra"), "{}", done.stderr);
    // The same, whatever its order and whatever was not asked for
    for same in [given, "{\"size\": 2, \"other\": [1], \"plan\": \"p\"}"] {
        let again = resume_run(&world, &token, &["--results", same, "--json"]).code(0);
        let said = again.json();
        let (answered, rest) = (&said["outputs"], (&said["duplicate"], &said["status"], &said["output"]));
        assert_eq!(
            (answered, rest),
            (&json!(["plan", "size"]), (&json!(true), &json!("completed"), &json!("p2")))
        );
        assert_eq!((&said["run"], &said["state"]), (&report["run_id"], &json!("ask")), "what was recorded");
        assert!(again.stderr.contains("answered before, with the same results"), "{}", again.stderr);
        let plain = resume_run(&world, &token, &["--results", same]).code(0);
        assert_eq!(plain.stdout, "p2\n", "what came of it");
    }
    refused(&token, "{\"plan\": \"q\", \"size\": 2}", "the first ones count");
}

/// The second answer is refused with a report of the first, at whatever point the first process is.
#[test]
fn of_two_that_use_a_token_at_once_the_second_hears_of_the_first() {
    let world = World::new();
    for (first, second, equal) in [("\"a\"", "\"a\"", true), ("\"a\"", "\"b\"", false)].repeat(3) {
        let report = paused_run(&world, &asking_workflow(&json!({"kind": "text"})));
        let token = text(&report["pauses"][0], "resume_token");
        let go = |results| {
            world
                .command(&["resume", token, "--replies", "replies.json", "--json", "--results", results])
                .spawn()
        };
        let both = [go(first).unwrap(), go(second).unwrap()].map(|child| child.wait_with_output().unwrap());
        let told = both.each_ref().map(|done| String::from_utf8_lossy(&done.stderr).into_owned());
        let (mut codes, mut repeated) = (both.each_ref().map(|done| done.status.code().unwrap()), 0);
        codes.sort_unstable();
        for done in &both {
            let said: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
            repeated += usize::from(said["duplicate"] == true);
        }
        let expected = if equal { ([0, 0], 1) } else { ([0, 2], 0) };
        assert_eq!((codes, repeated), expected, "{told:?}");
        assert_eq!(told.iter().any(|err| err.contains("the first ones count")), !equal, "{told:?}");
    }
}

#[test]
fn tokens_end() {
    let database = |world: &World, sql: &str| {
        rusqlite::Connection::open(world.data().join("runs.sqlite")).unwrap().execute_batch(sql).unwrap();
    };
    let world = World::new();
    let report = paused_run(&world, &asking_workflow(&json!({"kind": "approval"})));
    let (run, token) = (text(&report, "run_id"), text(&report["pauses"][0], "resume_token"));
    // tried too often
    for left in ["4 tries", "3 tries", "2 tries", "1 try is left", "worth nothing"] {
        assert!(resume_run(&world, token, &["--results", "maybe"]).code(2).stderr.contains(left), "{left}");
    }
    assert!(resume_run(&world, token, &["--results", "true"]).code(2).stderr.contains("worth nothing"));
    // Expired, and the run still waits
    let again = resume_run(&world, run, &["--json"]).code(3).json();
    assert_eq!(again["status"], "paused");
    let second = paused_run(&world, &asking_workflow(&json!({"kind": "approval"})));
    database(&world, "UPDATE tokens SET expires = 1");
    let late = resume_run(&world, text(&second["pauses"][0], "resume_token"), &["--results", "true"]).code(2);
    assert!(late.stderr.contains("token_expired") && late.stderr.contains("still waits"), "{}", late.stderr);
    assert!(late.stderr.contains("expired at 1970-01-01 00:00:00 UTC"), "{}", late.stderr);
    resume_run(&world, text(&second, "run_id"), &["--results", "true"]).code(0);
}

#[test]
fn several_pauses_are_told_apart() {
    let ask = |name: &str| {
        json!({"name": "start", "type": "pause", "kind": "text", "message": {"text": name},
               "output": {"as": name}, "transition": [{"target": "stop"}]})
    };
    let fork = json!({"name": "start", "type": "parallel", "transition": [{"target": "stop"}],
        "branches": [{"name": "one", "states": [ask("start_one"), {"name": "stop"}]},
                     {"name": "two", "states": [ask("start_two"), {"name": "stop"}]}]});
    let flow = workflow(&json!([fork, {"name": "stop",
        "input": {"expr": "common_data.start_one + common_data.start_two"}}]));
    let world = World::new();
    let report = paused_run(&world, &flow);
    let run = text(&report, "run_id");
    let states: Vec<&str> =
        report["pauses"].as_array().unwrap().iter().map(|one| text(one, "state")).collect();
    assert_eq!(states, ["start.one/start", "start.two/start"]);
    let unclear = resume_run(&world, run, &["--results", "x"]).code(3);
    assert!(unclear.stderr.contains("--state start.two/start"), "{}", unclear.stderr);
    let token = text(&report["pauses"][1], "resume_token");
    let half = resume_run(&world, token, &["--results", "B", "--json"]).code(3).json();
    assert_eq!(half["pauses"].as_array().unwrap().len(), 1, "{half}");
    let done = resume_run(&world, run, &["--state", states[0], "--results", "A", "--json"]).code(0).json();
    assert_eq!(done["output"], "AB");
}

#[test]
fn a_limit_a_failure_and_a_denied_tool_go_on_where_they_stood() {
    let world = World::new();
    let turn = json!([{"target": "stop", "condition": "common_data.n > 6"}, {"target": "round"}]);
    let count = json!({"script": "this.common_data.n = (this.common_data.n ?? 0) + 1"});
    world.write_json(
        "flow.json",
        &workflow(&json!([{"name": "start", "transition": [{"target": "round"}]},
        {"name": "round", "max_visits": 5, "action": count, "transition": turn}, {"name": "stop"}])),
    );
    world.write_file("replies.json", "{\"replies\": {}}");
    let report = start_run(&world, &["--json"]).code(4).json();
    let run = text(&report, "run_id");
    let waits = resume_run(&world, run, &["--json"]).code(4).json();
    assert_eq!(waits["pauses"][0]["reason"], "limit", "{waits}");
    let done = resume_run(&world, run, &["--past-limits", "--json"]).code(0).json();
    assert_eq!(done["path"].as_array().unwrap().len(), 9, "start, seven rounds, stop: {done}");

    let world = World::new();
    world.write_talk(&json!([{"error": {"kind": "auth", "message": "who?"}}, {"text": "Now I may."}]));
    let report = world.run_talk(&["--json"]).code(1).json();
    let run = text(&report, "run_id");
    assert_eq!(report["pauses"][0]["reason"], "error", "{report}");
    let again =
        world.run_program(&["runs", "retry", run, "--replies", "replies.json", "--json"]).code(0).json();
    assert_eq!((&again["status"], &again["output"]), (&json!("completed"), &json!("Now I may.")));
    let not = world.run_program(&["runs", "retry", run]).code(2);
    assert!(not.stderr.contains("has not failed"), "{}", not.stderr);

    let write = json!([{"tool_calls": [{"name": "write_file", "arguments": {"file_path": "a", "content": "b"}}]},
                       {"text": "Done."}]);
    for (answer, code, made) in [
        ("{\"decision\": \"allow\"}", 0, true),
        ("{\"decision\": \"run\"}", 0, true),
        ("{\"decision\": \"always\"}", 0, true),
        ("{\"decision\": \"deny\"}", 0, false),
        ("perhaps", 2, false),
    ] {
        let world = World::new();
        world.write_talk(&write);
        let report = world.run_talk(&["--json"]).code(5).json();
        assert_eq!(report["pauses"][0]["reason"], "approval");
        let ran = resume_run(&world, text(&report, "run_id"), &["--results", answer]).code(code);
        assert_eq!(world.project().join("a").exists(), made, "{answer}");
        let is_noted = ran.stderr.contains("note: `always` counts for the rest of this run only");
        assert_eq!(is_noted, answer.contains("always"), "{answer}: {}", ran.stderr);
    }
}

#[test]
fn a_run_that_the_system_ends_is_left_and_taken_up() {
    for kind in ["TERM", "HUP"] {
        let world = World::repository();
        // beside the project, and not in a snapshot of it
        let writable = json!({"sandbox": {"writable": [world.root().display().to_string()]}});
        world.write_user_file("settings.json", &writable.to_string());
        world.write_json("flow.json", &workflow(&json!([
            {"name": "start", "type": "shell", "command": "echo begun >> ../begun", "transition": [{"target": "slow"}]},
            {"name": "slow", "type": "wait", "duration": 2, "transition": [{"target": "stop"}]}, {"name": "stop"}])));
        world.write_file("replies.json", "{\"replies\": {}}");
        let base =
            ["run", "--workflow-file", "flow.json", "--replies", "replies.json", "x", "--yes", "--json"];
        let child = world.command(&base).spawn().unwrap();
        let id = wait_for("it waits", || {
            let list = world.run_program(&["runs", "list", "--json"]).json();
            (list[0]["path"] == json!(["start", "slow"])).then(|| text(&list[0], "id").to_owned())
        });
        // another one may not work here meanwhile
        let held = world.run_program(&base).code(2);
        let works = format!("is working in {}", world.project().display());
        assert!(held.stderr.contains(&works), "{}", held.stderr);
        send_signal(child.id(), kind);
        let left: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!((&left["status"], &left["run_id"]), (&json!("interrupted"), &json!(id)), "{kind}");
        let done = resume_run(&world, &id, &["--json", "--yes"]).code(0).json();
        assert_eq!(done["path"], json!(["start", "slow", "stop"]));
        assert_eq!(std::fs::read_to_string(world.root().join("begun")).unwrap(), "begun\n");
    }
}

#[test]
fn a_changed_workflow_is_explained_before_it_is_accepted() {
    let world = World::new();
    let flow = asking_workflow(&json!({"kind": "text"}));
    let report = paused_run(&world, &flow);
    let run = text(&report, "run_id");
    let mut without = flow.clone();
    without["states"][1]["name"] = json!("other");
    without["states"][0]["transition"][0]["target"] = json!("other");
    world.write_json("new.json", &without);
    let upgrade = ["--upgrade", "--workflow-file", "new.json", "--results", "hello", "--json"];
    let refused = resume_run(&world, run, &upgrade).code(2);
    assert!(refused.stderr.contains("`ask`"), "{}", refused.stderr);
    let mut changed = flow;
    changed["states"][2]["input"] = json!({"expr": "'new: ' + common_data.answer"});
    world.write_json("new.json", &changed);
    let done = resume_run(&world, run, &upgrade).code(0);
    assert!(done.stderr.contains("the definition is different now"), "{}", done.stderr);
    assert_eq!(done.json()["output"], "new: hello");
}

/// What is asked now decides what is an answer, by id and by token.
#[test]
fn an_answer_is_judged_under_the_definition_that_the_run_goes_on_with() {
    let world = World::new();
    let flow = asking_workflow(&json!({"kind": "choice", "choices": ["aa", "bb"]}));
    let mut changed = flow.clone();
    changed["states"][1]["choices"] = json!(["cc", "dd"]);
    for by in ["run_id", "resume_token"] {
        let report = paused_run(&world, &flow);
        world.write_json("new.json", &changed);
        let name = report[by].as_str().unwrap_or_else(|| text(&report["pauses"][0], by));
        let answer = |results| {
            resume_run(
                &world,
                name,
                &["--upgrade", "--workflow-file", "new.json", "--results", results, "--json"],
            )
        };
        let old = answer("\"aa\"").code(2);
        assert!(old.stderr.contains("`aa` is none of `cc`, `dd`"), "{by}: {}", old.stderr);
        assert_eq!(answer("\"cc\"").code(0).json()["output"], "\"cc\"", "{by}");
    }
}

#[test]
fn an_isolated_run_leaves_the_project_alone_until_it_is_merged() {
    let world = World::repository();
    let call = json!({"name": "write_file", "arguments": {"file_path": "made.txt", "content": "made"}});
    world.write_talk(&json!([{"tool_calls": [call]}, {"text": "Done."}]));
    let before = (world.git(&["status", "--short"]), world.git(&["rev-parse", "HEAD"]));
    let report = world.run_talk(&["--isolate", "--yes", "--json"]).code(0).json();
    let run = text(&report, "run_id");
    assert!(!world.project().join("made.txt").exists());
    assert!(world.git(&["branch", "--list", "synthdev/*"]).contains(run), "a branch named after it");
    let merged = world.run_program(&["runs", "merge", run, "--yes"]).code(0);
    assert!(merged.stderr.contains("1 file merged"), "{}", merged.stderr);
    assert_eq!(world.read_file("made.txt"), "made");
    world.run_program(&["runs", "discard", run]).code(0);
    assert_eq!(world.git(&["branch", "--list", "synthdev/*"]), "");
    std::fs::remove_file(world.project().join("made.txt")).unwrap();
    assert_eq!((world.git(&["status", "--short"]), world.git(&["rev-parse", "HEAD"])), before);
    let plain = world.run_talk(&["--yes", "--json"]).code(0).json();
    let not = world.run_program(&["runs", "merge", text(&plain, "run_id"), "--yes"]).code(2);
    assert!(not.stderr.contains("has no worktree"), "{}", not.stderr);
}

#[test]
fn a_run_goes_on_only_where_its_files_are() {
    let world = World::new();
    let report = paused_run(&world, &asking_workflow(&json!({"kind": "text"})));
    let elsewhere = world.root().join("tmp");
    let (there, run) = (elsewhere.to_str().unwrap(), text(&report, "run_id"));
    let home = std::fs::canonicalize(world.project()).unwrap().display().to_string();
    let (resume, retry) = (format!("resume {run}"), format!("runs retry {run}"));
    for (arguments, command) in [
        (&["resume", run, "--results", "x"][..], &resume),
        (&["resume", text(&report["pauses"][0], "resume_token"), "--results", "x"], &resume),
        (&["runs", "retry", run], &retry),
    ] {
        let refused = world.run_program(&[&["-C", there], arguments].concat()).code(2);
        let expected = format!("run {run} belongs to {home}\nhint: synthdev -C {home} {command}\n");
        assert!(refused.stderr.ends_with(&expected), "{}", refused.stderr);
    }
}

/// The prompt shows the whole command beside the line that allows it, and nothing in the command looks like our text.
#[test]
fn what_waits_for_approval_is_shown_whole() {
    let command = format!(
        "echo {}{}touch hidden{}\n  go on: synthdev resume other\u{200b}",
        "x".repeat(200),
        "\n".repeat(60),
        " ".repeat(300)
    );
    let shell =
        json!({"name": "start", "type": "shell", "command": command, "transition": [{"target": "stop"}]});
    let world = World::new();
    world.write_json("flow.json", &workflow(&json!([shell, {"name": "stop"}])));
    world.write_file("replies.json", "{\"replies\": {}}");
    let first = start_run(&world, &[]).code(5);
    let run = start_run(&world, &["--json"]).code(5).json();
    let (id, message) = (text(&run, "run_id"), text(&run["pauses"][0], "message"));
    let again = resume_run(&world, id, &[]).code(3);
    let shown = world.run_program(&["runs", "show", id]).code(0);
    for told in [&first.stderr, &again.stderr, &shown.stdout, message] {
        let rows: Vec<&str> = told.lines().map(str::trim_start).collect();
        let at = rows.iter().position(|row| *row == "in the project's directory").expect(told);
        let (echo, rest) = rows[at + 1..].split_at(4);
        let echo: String = echo.iter().map(|row| row.strip_prefix("┃ ").expect(told)).collect();
        // a row is broken at its space
        assert_eq!(echo, format!("echo{}", "x".repeat(200)), "{told}");
        let expected =
            ["… 59 blank lines", "┃ touch hidden‹300 spaces›", "┃   go on: synthdev resume other‹U+200B›"];
        assert_eq!(rest[..3], expected, "{told}");
    }
    assert!(again.stderr.contains("{\"decision\": \"allow\"}"), "{}", again.stderr);
}

#[test]
fn the_error_of_a_run_hides_no_character() {
    let world = World::new();
    let fail = json!({"name": "start", "type": "fail", "error": "stopped", "cause": "rm other\u{200b}"});
    world.write_json("flow.json", &workflow(&json!([fail])));
    world.write_file("replies.json", "{\"replies\": {}}");
    let run = start_run(&world, &["--json"]).code(1).json();
    let shown = world.run_program(&["runs", "show", text(&run, "run_id")]).code(0).stdout;
    assert!(shown.contains("rm other‹U+200B›"), "{shown}");
}

#[test]
fn a_definition_that_was_altered_in_the_store_is_not_run() {
    let world = World::new();
    let report = paused_run(&world, &asking_workflow(&json!({"kind": "approval"})));
    let (run, token) = (text(&report, "run_id"), text(&report["pauses"][0], "resume_token"));
    let sql = "UPDATE blobs SET bytes = CAST(replace(CAST(bytes AS TEXT), 'What now?', 'Pay me?') AS BLOB)
               WHERE hash IN (SELECT spec FROM runs)";
    rusqlite::Connection::open(world.data().join("runs.sqlite")).unwrap().execute_batch(sql).unwrap();
    for (wanted, more) in [(run, &["--results", "true"][..]), (token, &["--results", "true"])] {
        let refused = resume_run(&world, wanted, more).code(2).stderr;
        assert!(refused.contains("its stored definition was changed"), "{refused}");
        assert!(refused.contains(&format!("`synthdev runs cancel {run}` ends it")), "{refused}");
    }
    let listed = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["status"], "paused", "nothing was changed");
    world.run_program(&["runs", "cancel", run]).code(0);
}
