//! What undo says of files: which are the run's own, which do not come back, and where there is nothing to undo.

use serde_json::{Value, json};

use super::super::world::{Ran, World};

fn shell(name: &str, command: &str, next: &str) -> Value {
    json!({"name": name, "type": "shell", "command": command, "transition": [{"target": next}]})
}

/// Runs these states; its id.
fn run_states(world: &World, states: &[Value], more: &[&str], code: i32) -> String {
    let stop = json!({"name": "stop"});
    let states: Vec<Value> = states.iter().cloned().chain([stop]).collect();
    world.write_json("w.json", &json!({"workflow_name": "w", "states": states}));
    let base = ["run", "--workflow-file", "w.json", "--json"];
    let report = world.run_program(&[&base[..], more].concat()).code(code).json();
    report["run_id"].as_str().unwrap().to_owned()
}

fn line<'t>(told: &'t Ran, file: &str) -> &'t str {
    told.stderr.lines().find(|line| line.contains(file)).unwrap_or_else(|| panic!("{}", told.stderr))
}

#[test]
fn what_a_run_did_not_change_is_marked_however_it_ended() {
    let ask = json!({"name": "ask", "type": "pause", "kind": "text", "message": {"text": "?"},
        "transition": [{"target": "stop"}]});
    let own = "touch own.txt";
    // how it went, and the marks of the file of the run and of another one; none where it is known to have changed nothing
    let (no, perhaps) = ("  (not changed by this run)", "  (perhaps not changed by this run)");
    let yes = &["--yes"][..];
    let cut = format!("{own}; exit 1");
    let rows = [
        ("denied", vec![shell("start", own, "stop")], &[][..], 5, None),
        ("failed midway", vec![shell("start", &cut, "stop")], yes, 1, Some([perhaps, perhaps])),
        ("waits", vec![shell("start", own, "ask"), ask], yes, 3, Some(["", no])),
        ("completed", vec![shell("start", own, "stop")], yes, 0, Some(["", no])),
    ];
    for (name, states, more, code, marks) in rows {
        let world = World::repository();
        let run = run_states(&world, &states, more, code);
        world.write_file("own.txt", "");
        world.write_file("mine.txt", "mine");
        let Some(marks) = marks else {
            let told = world.run_program(&["runs", "undo", &run, "--yes"]).code(0).stdout;
            let nothing =
                format!("nothing to undo: run {run} changed no file. Others have changed files since");
            assert!(told.contains(&nothing) && told.contains("`synthdev snapshot restore "), "{told}");
            assert_eq!(world.read_file("mine.txt"), "mine", "{name}");
            continue;
        };
        let told = world.run_program(&["runs", "undo", &run]).code(2);
        for (file, mark) in ["own.txt", "mine.txt"].into_iter().zip(marks) {
            assert_eq!(line(&told, file), format!("  {:<12} {file}{mark}", "delete"), "{name}");
        }
    }
}

/// A person goes on with a file that the run has made.
#[test]
fn what_was_edited_after_a_run_is_marked() {
    let world = World::repository();
    let states = [shell("start", "echo 1 > own.txt; echo 1 > kept.txt", "stop")];
    let run = run_states(&world, &states, &["--yes"], 0);
    world.write_file("own.txt", "1\nmore\n");
    let told = world.run_program(&["runs", "undo", &run]).code(2);
    for (file, mark) in [("own.txt", "  (changed afterwards, not by this run)"), ("kept.txt", "")] {
        assert_eq!(line(&told, file), format!("  {:<12} {file}{mark}", "delete"));
    }
}

/// Between two turns of a run a person changes files by hand. Where only tools ran that name their file, it is known.
#[test]
fn what_was_edited_by_hand_between_two_steps_is_not_the_runs() {
    let ask = json!({"name": "ask", "type": "pause", "kind": "text", "message": {"text": "?"},
        "transition": [{"target": "second"}]});
    let write = |name: &str, file: &str, next: &str| {
        json!({"name": name, "type": "tool", "tool": "write_file",
            "arguments": {"file_path": file, "content": "own\n"}, "transition": [{"target": next}]})
    };
    let command = shell("second", "echo own > two.txt", "stop");
    let no = "  (not changed by this run)";
    for (second, mark) in [(write("second", "two.txt", "stop"), no), (command, "")] {
        let world = World::repository();
        let states = [write("start", "one.txt", "ask"), ask.clone(), second];
        let run = run_states(&world, &states, &["--yes"], 3);
        world.write_file("mine.txt", "mine\n");
        world.run_program(&["resume", &run, "--yes", "--results", "go"]).code(0);
        let told = world.run_program(&["runs", "undo", &run]).code(2);
        for (file, mark) in [("one.txt", ""), ("two.txt", ""), ("mine.txt", mark)] {
            assert_eq!(line(&told, file), format!("  {:<12} {file}{mark}", "delete"));
        }
    }
}

#[test]
fn a_fork_that_has_not_begun_has_nothing_to_undo() {
    let world = World::repository();
    let run = run_states(&world, &[shell("start", "touch own.txt", "stop")], &["--yes"], 0);
    let fork = world.run_program(&["runs", "fork", &run, "--at", "1", "--json"]).code(0).json();
    let told = world.run_program(&["runs", "undo", fork["run_id"].as_str().unwrap()]).code(2);
    assert!(told.stderr.contains("has not begun yet"), "{}", told.stderr);
}

#[test]
fn what_does_not_come_back_is_said() {
    let world = World::repository();
    world.write_file(".gitignore", "*.log\n");
    world.git(&["init", "-q", "inner"]);
    let commit = "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m more";
    let command = format!("sleep 0.1; echo 1 > made.txt; echo 1 > build.log; echo 1 > inner/file; {commit}");
    let id = run_states(&world, &[shell("start", &command, "stop")], &["--yes"], 0);
    let told = world.run_program(&["runs", "undo", &id, "--yes"]).code(0);
    for part in ["build.log (ignored by git)", "inner (a repository of its own)", "HEAD is at another commit"]
    {
        assert!(told.stderr.contains(part), "no `{part}` in\n{}", told.stderr);
    }
    assert!(told.stdout.contains("except for the notes"), "{}", told.stdout);
    let again = world.run_program(&["runs", "undo", &id, "--yes"]).code(0);
    assert!(
        again.stdout.contains("nothing to undo") && again.stderr.contains("build.log"),
        "{}",
        again.stderr
    );
    // a run that left no such files
    let id = run_states(&world, &[shell("start", "echo 2 > made.txt", "stop")], &["--yes"], 0);
    let told = world.run_program(&["runs", "undo", &id, "--yes"]).code(0);
    assert!(!told.stderr.contains("note:") && !told.stdout.contains("but for"), "{}", told.stderr);
}

/// It is undone to the files of here, whatever was stored where it came from.
#[test]
fn an_imported_run_is_undone_to_before_it_worked_here() {
    let there = World::repository();
    let ask = json!({"name": "ask", "type": "pause", "kind": "text", "message": {"text": "?"},
        "transition": [{"target": "more"}]});
    let states =
        [shell("start", "echo 1 > a.txt", "ask"), ask, shell("more", "echo 2 > a.txt; touch b.txt", "stop")];
    let run = run_states(&there, &states, &["--yes"], 3);
    let bundle = there.run_program(&["runs", "export", &run]).code(0).stdout;
    for steps in [&[][..], &["rewind"], &["fork"]] {
        let here = World::repository();
        here.write_file("in.run", &bundle);
        here.write_file("a.txt", "ours\n");
        here.run_program(&["runs", "import", "in.run"]).code(0);
        let refused = here.run_program(&["runs", "undo", &run, "--yes"]).code(2);
        assert!(refused.stderr.contains("was imported"), "{}", refused.stderr);
        assert!(!here.run_program(&["runs", "show", &run]).code(0).stdout.contains("undo:"));
        let mut run = run.clone();
        match steps.first() {
            Some(&"rewind") => {
                here.run_program(&["runs", "rewind", &run, "--to", "2", "--keep-files", "--yes"]).code(0);
                here.run_program(&["resume", &run, "--yes"]).code(3);
            }
            Some(_) => {
                let fork = here.run_program(&["runs", "fork", &run, "--at", "2", "--json"]).code(0).json();
                run = fork["run_id"].as_str().unwrap().to_owned();
                here.run_program(&["resume", &run, "--yes"]).code(3);
            }
            None => {}
        }
        here.run_program(&["resume", &run, "--yes", "--results", "go"]).code(0);
        assert_eq!(here.read_file("a.txt"), "2\n");
        let asked = here.run_program(&["runs", "undo", &run]).code(2);
        assert!(asked.stderr.contains("began to work here"), "{}", asked.stderr);
        here.run_program(&["runs", "undo", &run, "--yes"]).code(0);
        assert_eq!(here.read_file("a.txt"), "ours\n", "{steps:?}");
        assert!(!here.project().join("b.txt").exists());
        let same = here.run_program(&["runs", "replay", &run]).code(0).stdout;
        assert!(same.contains("the same "), "{same}");
    }
}

#[test]
fn what_the_settings_leave_out_comes_back_all_the_same() {
    let world = World::repository();
    world.write_file(".env", "KEY=mine\n");
    let command = "echo KEY=theirs > .env; echo 1 > code.txt";
    let id = run_states(&world, &[shell("start", command, "stop")], &["--yes"], 0);
    let told = world.run_program(&["runs", "undo", &id]).code(2);
    for (file, what) in [(".env", "revert"), ("code.txt", "delete")] {
        assert!(told.stderr.contains(&format!("\n  {what:<12} {file}\n")), "{}", told.stderr);
    }
    let told = world.run_program(&["runs", "undo", &id, "--yes"]).code(0);
    assert!(
        told.stdout.contains("the files are as before run") && !told.stdout.contains("but for"),
        "{}",
        told.stdout
    );
    assert_eq!(world.read_file(".env"), "KEY=mine\n");
    // back and forth: with a step, and with the snapshot that undoes it
    let undo = told.stdout.lines().find_map(|line| line.strip_prefix("undo this: synthdev ")).unwrap();
    world.run_program(&[undo.split(' ').collect::<Vec<_>>(), vec!["--yes"]].concat()).code(0);
    assert_eq!(world.read_file(".env"), "KEY=theirs\n");
    world.run_program(&["runs", "rewind", &id, "--to", "1", "--yes"]).code(0);
    assert_eq!(world.read_file(".env"), "KEY=mine\n");
}

#[test]
fn what_a_snapshot_lacks_is_said_before_and_after() {
    let world = World::repository();
    let large = |size| {
        let mut options = std::fs::File::options();
        let file =
            options.write(true).create(true).truncate(false).open(world.project().join("large.bin")).unwrap();
        file.set_len(size).unwrap();
    };
    large((100 << 20) + 1);
    let workflow = |policy: &str| {
        let states =
            [shell("start", "echo 1 >> large.bin; echo 1 > code.txt", "stop"), json!({"name": "stop"})];
        world.write_json("w.json", &json!({"workflow_name": "w", "snapshot": policy, "states": states}));
        ["run", "--workflow-file", "w.json", "--yes", "--json"]
    };
    let refused = world.run_program(&workflow("required")).code(1).json();
    assert_eq!(refused["error"]["code"], "snapshot", "{refused}");
    assert!(refused["error"]["detail"].to_string().contains("large.bin (larger than 100 MB)"), "{refused}");
    assert!(!world.project().join("code.txt").exists(), "nothing was begun");

    let report = world.run_program(&workflow("auto")).code(0).json();
    let warning = &report["warnings"][0];
    assert_eq!(warning["code"], "snapshot_partial", "{report}");
    assert!(warning["text"].to_string().contains("large.bin (larger than 100 MB)"), "{warning}");
    let (run, snapshot) = (report["run_id"].as_str().unwrap(), report["snapshot"].as_str().unwrap());
    for command in [
        vec!["runs", "rewind", run, "--to", "1", "--yes"],
        vec!["runs", "undo", run, "--yes"],
        vec!["snapshot", "restore", snapshot, "--yes"],
    ] {
        let told = world.run_program(&command).code(0);
        let all = format!("{}{}", told.stdout, told.stderr);
        assert!(all.contains("stays as it is: large.bin (over the limits"), "{command:?}: {all}");
        assert!(command[1] == "rewind" || told.stdout.contains("except for the notes"), "{command:?}: {all}");
    }
}

/// An earlier version or another program may have made it.
#[test]
fn a_data_directory_that_others_may_read_is_closed_at_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::repository();
    run_states(&world, &[shell("start", "echo 1 > code.txt", "stop")], &["--yes"], 0);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let inside = || std::fs::read_dir(world.data()).unwrap().map(|item| item.unwrap().path());
    for path in inside().chain([world.data()]) {
        let open = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(open)).unwrap();
    }
    world.run_program(&["runs", "list"]).code(0);
    for path in inside().chain([world.data()]) {
        let closed = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), closed, "{}", path.display());
    }
}

#[test]
fn a_run_that_only_computes_stores_no_files_and_still_goes_back() {
    let world = World::repository();
    let count = json!({"name": "count", "transition": [{"target": "stop"}],
        "action": {"script": "() => { this.common_data.n = 1; }"}});
    let id =
        run_states(&world, &[json!({"name": "start", "transition": [{"target": "count"}]}), count], &[], 0);
    assert_eq!(world.git(&["for-each-ref", "refs/synthdev"]), "");
    world.write_file("mine.txt", "mine");
    let told = world.run_program(&["runs", "undo", &id, "--yes"]).code(2);
    assert!(told.stderr.contains("it has changed no file"), "{}", told.stderr);
    for arguments in
        [&["runs", "rewind", &id, "--to", "2", "--yes"][..], &["runs", "rewind", &id, "--to", "1", "--yes"]]
    {
        world.run_program(arguments).code(0);
        let done = world.run_program(&["resume", &id, "--json"]).code(0).json();
        assert_eq!(done["status"], "completed", "{done}");
    }
    world.run_program(&["runs", "fork", &id, "--at", "2", "--restore-files", "--yes"]).code(0);
    assert_eq!(world.git(&["for-each-ref", "refs/synthdev"]), "");
    assert_eq!(world.read_file("mine.txt"), "mine");
}
