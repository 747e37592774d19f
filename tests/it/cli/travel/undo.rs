//! What undo says of files: which are the run's own, which do not come back, and where there is nothing to undo.

use serde_json::{Value, json};

use super::super::world::{Ran, World};

fn shell(name: &str, command: &str, next: &str) -> Value {
    json!({"name": name, "type": "shell", "command": command, "transition": [{"target": next}]})
}

/// Runs these states; its id.
fn run(world: &World, states: &[Value], more: &[&str], code: i32) -> String {
    let stop = json!({"name": "stop"});
    let states: Vec<Value> = states.iter().cloned().chain([stop]).collect();
    world.write_json("w.json", &json!({"workflow_name": "w", "states": states}));
    let base = ["run", "--workflow-file", "w.json", "--json"];
    let report = world.run(&[&base[..], more].concat()).code(code).json();
    report["run_id"].as_str().unwrap().to_owned()
}

fn line<'t>(told: &'t Ran, file: &str) -> &'t str {
    told.err.lines().find(|line| line.contains(file)).unwrap_or_else(|| panic!("{}", told.err))
}

#[test]
fn what_a_run_did_not_change_is_marked_however_it_ended() {
    let ask = json!({"name": "ask", "type": "pause", "kind": "text", "message": {"text": "?"},
        "transition": [{"target": "stop"}]});
    let own = "touch own.txt";
    // how it went, and the marks of the file of the run and of another one
    let (no, perhaps) = ("  (not changed by this run)", "  (perhaps not changed by this run)");
    let yes = &["--yes"][..];
    let cut = format!("{own}; exit 1");
    let rows = [
        ("denied", vec![shell("start", own, "stop")], &[][..], 5, [no, no]),
        ("failed midway", vec![shell("start", &cut, "stop")], yes, 1, [perhaps, perhaps]),
        ("waits", vec![shell("start", own, "ask"), ask], yes, 3, ["", no]),
        ("completed", vec![shell("start", own, "stop")], yes, 0, ["", no]),
    ];
    for (name, states, more, code, marks) in rows {
        let world = World::repository();
        let run = run(&world, &states, more, code);
        world.write("own.txt", "");
        world.write("mine.txt", "mine");
        let told = world.run(&["runs", "undo", &run]).code(2);
        for (file, mark) in ["own.txt", "mine.txt"].into_iter().zip(marks) {
            assert_eq!(line(&told, file), format!("  {:<12} {file}{mark}", "delete"), "{name}");
        }
    }
}

#[test]
fn a_fork_that_has_not_begun_has_nothing_to_undo() {
    let world = World::repository();
    let run = run(&world, &[shell("start", "touch own.txt", "stop")], &["--yes"], 0);
    let fork = world.run(&["runs", "fork", &run, "--at", "1", "--json"]).code(0).json();
    let told = world.run(&["runs", "undo", fork["run_id"].as_str().unwrap()]).code(2);
    assert!(told.err.contains("has not begun yet"), "{}", told.err);
}

#[test]
fn what_does_not_come_back_is_said() {
    let world = World::repository();
    world.write(".gitignore", "*.log\n");
    world.git(&["init", "-q", "inner"]);
    let commit = "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m more";
    let command = format!("sleep 0.1; echo 1 > made.txt; echo 1 > build.log; echo 1 > inner/file; {commit}");
    let id = run(&world, &[shell("start", &command, "stop")], &["--yes"], 0);
    let told = world.run(&["runs", "undo", &id, "--yes"]).code(0);
    for part in ["build.log (ignored by git)", "inner (a repository of its own)", "HEAD is at another commit"]
    {
        assert!(told.err.contains(part), "no `{part}` in\n{}", told.err);
    }
    assert!(told.out.contains("but for what is noted above"), "{}", told.out);
    let again = world.run(&["runs", "undo", &id, "--yes"]).code(0);
    assert!(again.out.contains("nothing to do") && again.err.contains("build.log"), "{}", again.err);
    // a run that left nothing of that kind
    let id = run(&world, &[shell("start", "echo 2 > made.txt", "stop")], &["--yes"], 0);
    let told = world.run(&["runs", "undo", &id, "--yes"]).code(0);
    assert!(!told.err.contains("note:") && !told.out.contains("but for"), "{}", told.err);
}

/// It is undone to the files of here, whatever was stored where it came from.
#[test]
fn an_imported_run_is_undone_to_before_it_worked_here() {
    let there = World::repository();
    let ask = json!({"name": "ask", "type": "pause", "kind": "text", "message": {"text": "?"},
        "transition": [{"target": "more"}]});
    let states =
        [shell("start", "echo 1 > a.txt", "ask"), ask, shell("more", "echo 2 > a.txt; touch b.txt", "stop")];
    let run = run(&there, &states, &["--yes"], 3);
    let bundle = there.run(&["runs", "export", &run]).code(0).out;
    for steps in [&[][..], &["rewind"], &["fork"]] {
        let here = World::repository();
        here.write("in.run", &bundle);
        here.write("a.txt", "ours\n");
        here.run(&["runs", "import", "in.run"]).code(0);
        let refused = here.run(&["runs", "undo", &run, "--yes"]).code(2);
        assert!(refused.err.contains("came from a file"), "{}", refused.err);
        assert!(!here.run(&["runs", "show", &run]).code(0).out.contains("undo:"));
        let mut run = run.clone();
        match steps.first() {
            Some(&"rewind") => {
                here.run(&["runs", "rewind", &run, "--to", "2", "--keep-files", "--yes"]).code(0);
                here.run(&["resume", &run, "--yes"]).code(3);
            }
            Some(_) => {
                let fork = here.run(&["runs", "fork", &run, "--at", "2", "--json"]).code(0).json();
                run = fork["run_id"].as_str().unwrap().to_owned();
                here.run(&["resume", &run, "--yes"]).code(3);
            }
            None => {}
        }
        here.run(&["resume", &run, "--yes", "--results", "go"]).code(0);
        assert_eq!(here.read("a.txt"), "2\n");
        let asked = here.run(&["runs", "undo", &run]).code(2);
        assert!(asked.err.contains("began to work here"), "{}", asked.err);
        here.run(&["runs", "undo", &run, "--yes"]).code(0);
        assert_eq!(here.read("a.txt"), "ours\n", "{steps:?}");
        assert!(!here.project().join("b.txt").exists());
        let same = here.run(&["runs", "replay", &run]).code(0).out;
        assert!(same.contains("the same "), "{same}");
    }
}
