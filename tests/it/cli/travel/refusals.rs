//! What is refused, with its reason and what to do; nothing is changed by it.

use rusqlite::Connection;

use super::super::world::wait_for;
use super::*;

impl Past {
    fn open_database(&self) -> Connection {
        Connection::open(self.world.data().join("runs.sqlite")).unwrap()
    }
}

#[test]
fn bad_input_changes_nothing() {
    let past = Past::new();
    let (tree, shown) =
        (past.tree(), past.run_program(&["runs", "show", &past.run, "--json"]).code(0).stdout);
    let run = past.run.as_str();
    let rows: &[(&[&str], &[&str])] = &[
        (&["rewind", run, "--to", "0", "--yes"], &["no step 0", "1 to 5", "runs steps"]),
        (&["rewind", run, "--to", "6", "--yes"], &["no step 6"]),
        (&["rewind", run, "--to", "4294967295", "--yes"], &["no step"]),
        (&["rewind", run, "--to", "-1"], &["-1"]),
        (&["rewind", "nobody", "--to", "1", "--yes"], &["nobody"]),
        (&["fork", run, "--at", "0"], &["no step 0"]),
        (&["fork", run, "--at", "9", "--restore-files", "--yes"], &["no step 9"]),
        (&["fork", run, "--at", "2", "--set", "count=1"], &["count=1", "common_data.NAME=JSON"]),
        (&["fork", run, "--at", "2", "--set", "common_data.count"], &["write it as"]),
        (&["fork", run, "--at", "2", "--set", "common_data.a..b=1"], &["between two dots"]),
        (&["fork", run, "--at", "2", "--set", "common_data=1"], &["only common_data"]),
        (
            &["fork", run, "--at", "3", "--set", "common_data.cuont=1"],
            &["no `cuont`", "did you mean `count`? If `cuont` is new, write +cuont", "Nothing was forked"],
        ),
        (&["fork", run, "--at", "2", "--restore-files"], &["delete       second.made", "--yes"]),
        (&["undo", "nobody", "--yes"], &["nobody"]),
        (&["cancel", run], &["completed already"]),
        (&["replay", "nobody"], &["nobody"]),
        (&["steps", "nobody"], &["nobody"]),
    ];
    for (arguments, parts) in rows {
        let ran = past.run_program(&[&["runs"], *arguments].concat()).code(2);
        for part in *parts {
            assert!(ran.stderr.contains(part), "{arguments:?}: no `{part}` in\n{}", ran.stderr);
        }
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
    past.run_program(&["why", run, "6"]).code(2);
    assert_eq!((past.tree(), past.status(run)), (tree, "completed".to_owned()));
    assert_eq!(past.run_program(&["runs", "show", run, "--json"]).code(0).stdout, shown);
    assert_eq!(past.run_program(&["runs", "list", "--json"]).code(0).json().as_array().unwrap().len(), 1);
}

#[test]
fn files_go_back_only_where_the_run_worked() {
    let past = Past::new();
    let other = past.world.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("mine.txt"), "mine").unwrap();
    let at = other.display().to_string();
    let project = std::fs::canonicalize(past.world.project()).unwrap().display().to_string();
    let rows: [(&[&str], String); 3] = [
        (&["rewind", &past.run, "--to", "3"], format!("rewind {} --to 3", past.run)),
        (
            &["fork", &past.run, "--at", "3", "--restore-files"],
            format!("fork {} --at 3 --restore-files", past.run),
        ),
        (&["undo", &past.run], format!("undo {}", past.run)),
    ];
    for (arguments, command) in rows {
        let ran = past.run_program(&[&["-C", &at, "runs"], arguments, &["--yes"]].concat()).code(2);
        let belongs = format!("run {} belongs to {project}\nhint: ", past.run);
        let hint = format!("{belongs}synthdev -C {project} runs {command}\n");
        assert!(ran.stderr.ends_with(&hint), "{}", ran.stderr);
    }
    let shown = past.run_program(&["-C", &at, "runs", "show", &past.run]).code(0).stdout;
    assert!(shown.contains(&format!("(undo: synthdev -C {project} runs undo {})", past.run)), "{shown}");
    let (here, aside) = (past.world.project(), past.world.root().join("aside"));
    std::fs::rename(&here, &aside).unwrap();
    let ran = past.world.command(&["runs", "rewind", &past.run, "--to", "3"]).current_dir(&other).output();
    std::fs::rename(&aside, &here).unwrap();
    let said = String::from_utf8(ran.unwrap().stderr).unwrap();
    let missing = format!("run {} belongs to {project}, which is not on this machine", past.run);
    assert!(said.contains(&missing), "{said}");
    assert_eq!(std::fs::read_to_string(other.join("mine.txt")).unwrap(), "mine");
    assert_eq!((past.names().len(), past.status(&past.run)), (3, "completed".to_owned()));
    // without files it can go back from anywhere, and goes on at home
    let told =
        past.run_program(&["-C", &at, "runs", "rewind", &past.run, "--to", "3", "--keep-files", "--yes"]);
    assert!(told.code(0).stdout.contains(&format!("go on: synthdev -C {project} resume {}", past.run)));
    // nor does it matter from where it is cancelled
    past.run_program(&["-C", &at, "runs", "cancel", &past.run]);
    assert_eq!(past.status(&past.run), "cancelled");
    let shown = past.run_program(&["-C", &at, "runs", "show", &past.run]).code(0).stdout;
    let back = |command: &str| format!("synthdev -C {project} runs {command} {}", past.run);
    let next = format!("go back: {} --to STEP, or {} --at STEP", back("rewind"), back("fork"));
    assert!(shown.contains(&next), "{shown}");
}

#[test]
fn a_missing_snapshot_is_said_and_needs_keep_files() {
    let past = Past::new();
    let files = past.steps(&past.run)[3]["files"].as_str().unwrap().to_owned();
    past.run_program(&["snapshot", "delete", &files, "--yes"]).code(0);
    let (tree, run) = (past.tree(), past.run.as_str());
    for arguments in
        [&["rewind", run, "--to", "4", "--yes"][..], &["fork", run, "--at", "4", "--restore-files", "--yes"]]
    {
        let ran = past.run_program(&[&["runs"], arguments].concat()).code(2);
        let parts = [
            "files of step 4",
            "cannot be restored",
            if arguments[0] == "fork" { "without --restore-files" } else { "--keep-files" },
        ];
        assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
    }
    // the screen asks whether to keep them
    let asked = past.world.run_with(&["--linear"], &format!("/rewind {run} 4\nn\n"));
    let asked = asked.stdout + &asked.stderr;
    for part in ["and keep the present files?", "the files of step 4", "If you agree"] {
        assert!(asked.contains(part), "no {part} in {asked}");
    }
    assert_eq!((past.tree(), past.status(run)), (tree, "completed".to_owned()));
    past.run_program(&["runs", "rewind", run, "--to", "4", "--keep-files", "--yes"]).code(0);
    assert_eq!(past.resume_run(run).code(0).json()["output"], "count 3");

    // a run that takes none
    let mut off = written("third");
    off["snapshot"] = "off".into();
    past.world.write_json("off.json", &off);
    let base = ["run", "--workflow-file", "off.json", "go", "--yes", "--json"];
    let bare = past.run_program(&[&base[..], &REPLIES].concat()).code(0).json()["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for arguments in [&["runs", "rewind", &bare, "--to", "2", "--yes"][..], &["runs", "undo", &bare, "--yes"]]
    {
        let ran = past.run_program(arguments).code(2);
        assert!(
            ran.stderr.contains("none were stored") || ran.stderr.contains("no snapshot was taken"),
            "{}",
            ran.stderr
        );
    }
    let kept = past.world.run_with(&["--linear"], &format!("/rewind {bare} 2\ny\n"));
    assert!(kept.stdout.contains("is back before step 2"), "{}{}", kept.stdout, kept.stderr);
    assert_eq!(past.resume_run(&bare).code(0).json()["output"], "count 3");
}

#[test]
fn a_restore_that_fails_rewinds_nothing() {
    let past = Past::new();
    // the present cannot be stored first: the place for that is a file
    let lock = past.world.data().join("snapshots");
    let corner = std::fs::read_dir(&lock).unwrap().next().unwrap().unwrap().path();
    let aside = past.world.root().join("aside");
    std::fs::rename(&corner, &aside).unwrap();
    std::fs::write(&corner, "in the way").unwrap();
    let before = past.tree();
    let ran = past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--yes"]).code(2);
    assert!(!ran.stderr.is_empty());
    assert_eq!((past.tree(), past.status(&past.run)), (before, "completed".to_owned()));
    assert_eq!(past.steps(&past.run).len(), 5);
    std::fs::remove_file(&corner).unwrap();
    std::fs::rename(&aside, &corner).unwrap();
    past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--yes"]).code(0);
}

#[test]
fn a_run_that_is_driven_is_left_alone() {
    let past = Past::new();
    let slow = json!({"replies": {"coder": [{"text": "never", "delay_ms": 600_000}]}});
    past.world.write_json("slow.json", &slow);
    let arguments = ["run", "--workflow-file", "talk.json", "go", "--yes", "--replies", "slow.json"];
    let mut child = past.world.command(&arguments).spawn().unwrap();
    let running = wait_for("it runs", || {
        let list = past.run_program(&["runs", "list", "--json"]).json();
        (list[0]["path"] == json!(["start", "first"])).then(|| list[0]["id"].as_str().unwrap().to_owned())
    });
    let tree = past.tree();
    for arguments in [
        &["rewind", &running, "--to", "1", "--yes"][..],
        &["rewind", &running, "--to", "1", "--keep-files", "--yes"],
        &["undo", &running, "--yes"],
        // nor are the files changed under its hands
        &["rewind", &past.run, "--to", "3", "--yes"],
        &["undo", &past.run, "--yes"],
        &["fork", &past.run, "--at", "3", "--restore-files", "--yes"],
    ] {
        let ran = past.run_program(&[&["runs"], arguments].concat()).code(2);
        assert!(
            ran.stderr.contains(&running) || ran.stderr.contains(&child.id().to_string()),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(
        (past.tree(), past.status(&past.run), past.status(&running)),
        (tree, "completed".to_owned(), "running".to_owned())
    );
    // looking and forking do not disturb it
    past.run_program(&["runs", "steps", &running]).code(0);
    past.run_program(&["runs", "fork", &running, "--at", "2"]).code(0);
    child.kill().unwrap();
    child.wait().unwrap();
    past.run_program(&["runs", "rewind", &running, "--to", "2", "--yes"]).code(0);
    assert_eq!(past.resume_run(&running).code(0).json()["output"], "count 3");
}

#[test]
fn a_replay_that_comes_out_otherwise_shows_how() {
    let mut past = Past::new();
    // by the second call of a visit no snapshot is on its way any more: it leads to the tool at once
    let write = json!({"file_path": "also.made", "content": "also\n"});
    let call = json!({"tool_calls": [{"name": "write_file", "arguments": write}]});
    let mut list = replies().as_array().unwrap().clone();
    list.insert(3, call);
    past.world.write_json("replies.json", &json!({"replies": {"coder": list}}));
    let base = ["run", "--workflow-file", "talk.json", "go", "--yes", "--json"];
    past.run = past.run_program(&[&base[..], &REPLIES].concat()).code(0).json()["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let sql = past.open_database();
    // somebody changed what a tool was asked to do
    let changed = sql
        .execute(
            "UPDATE rows SET body = replace(body, 'also.made', 'alsx.made') WHERE kind = 'input' AND body LIKE '%also.made%' AND body LIKE '%replied%'",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    let told = past.run_program(&["runs", "replay", &past.run]).code(1).stdout;
    for part in ["(replied", "-       \"file_path\": \"also.made\"", "+       \"file_path\": \"alsx.made\""] {
        assert!(told.contains(part), "no `{part}` in\n{told}");
    }
    let data = past.run_program(&["runs", "replay", &past.run, "--json"]).code(1).json();
    assert_eq!(
        (&data["same"], data["recorded"][0]["arguments"]["file_path"].as_str()),
        (&json!(false), Some("also.made"))
    );
    // only what was said is another: nothing else is asked for
    sql.execute(
        "UPDATE rows SET body = replace(replace(body, 'alsx.made', 'also.made'), 'first is done', 'first iz done')",
        [],
    )
    .unwrap();
    let told = past.run_program(&["runs", "replay", &past.run]).code(1).stdout;
    assert!(told.contains("only their fingerprint") && told.contains("first iz done"), "{told}");
    // a row that is no input any more
    sql.execute(
        "UPDATE rows SET body = replace(body, '{', '[') WHERE kind = 'input' AND body LIKE '%third is done%'",
        [],
    )
    .unwrap();
    let told = past.run_program(&["runs", "replay", &past.run]).code(2).stderr;
    assert!(told.contains("cannot be read"), "{told}");
}

#[test]
fn a_run_that_had_ended_is_not_taken_for_an_interrupted_one() {
    let past = Past::new();
    // a process took it to bring it back, and died before it wrote so
    let taken = "UPDATE progress SET status = 'running', process = 'gone'";
    assert_eq!(past.open_database().execute(taken, []).unwrap(), 1);
    assert_eq!(past.status(&past.run), "interrupted");
    let over = past.resume_run(&past.run).code(2);
    assert!(over.stderr.contains("is completed\n"), "{}", over.stderr);
    assert_eq!(past.status(&past.run), "completed");
}
