//! Histories that cannot be trusted or written: what the program says, what it leaves alone, and what is still there
//! afterwards.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use synthdev::domain::snapshot::RunWorktree;

use super::world::{Ran, World, wait_for, workflow};
use crate::support::skip::skip_row;

/// A finished run in the history.
fn world() -> World {
    let world = World::new();
    world.write_talk(&json!([{"text": "Done."}]));
    world.run_talk(&[]).code(0);
    // the log goes into the file when the last one closes it in good order
    drop(rusqlite::Connection::open(history(&world)).unwrap().execute_batch("SELECT count(*) FROM runs"));
    world
}

fn history(world: &World) -> std::path::PathBuf {
    world.data().join("runs.sqlite")
}

fn runs(world: &World) -> Vec<Value> {
    world.run_program(&["runs", "list", "--json"]).code(0).json().as_array().unwrap().clone()
}

/// A shell line around the program, which is `"$@"`.
fn run_under_shell(world: &World, line: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("bash");
    world.isolate_command(command.args(["-c", line, "bash", env!("CARGO_BIN_EXE_synthdev")]).args(arguments));
    let done = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: done.status.code(),
        stdout: String::from_utf8(done.stdout).unwrap(),
        stderr: String::from_utf8(done.stderr).unwrap(),
    }
}

#[test]
fn a_damaged_history_is_named_with_what_to_do_and_salvaged() {
    let world = world();
    let path = history(&world);
    let mut bytes = fs::read(&path).unwrap();
    bytes[..200].fill(0);
    fs::write(&path, &bytes).unwrap();
    for arguments in [
        &["runs", "list"][..],
        &["runs", "show", "x"],
        &["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hello"],
        &["resume", "x"],
    ] {
        let ran = world.run_program(arguments).code(2);
        assert!(
            ran.stderr.contains("is damaged") && ran.stderr.contains(path.to_str().unwrap()),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("synthdev runs salvage"), "{}", ran.stderr);
    }
    assert!(fs::read(&path).unwrap() == bytes, "it was left as it is");
    let saved = world.run_program(&["runs", "salvage"]).code(1);
    assert!(
        saved.stdout.contains("saved 1 run") && saved.stdout.contains("runs-salvaged-"),
        "{}",
        saved.stdout
    );
    for words in ["SQLite says: file is not a database", "the beginning of the file is damaged"] {
        assert!(saved.stdout.contains(words), "{}", saved.stdout);
    }
    assert!(fs::read(&path).unwrap() == bytes, "looking changes nothing");
    // in the same second, too
    let twice = world.run_program(&["runs", "salvage", "--json"]).code(1).json();
    assert_ne!(twice["file"], world.run_program(&["runs", "salvage", "--json"]).code(1).json()["file"]);
    let replaced = world.run_program(&["runs", "salvage", "--replace", "--json"]).code(1).json();
    assert_eq!((&replaced["runs"], &replaced["file"]), (&json!(1), &json!(path)), "{replaced}");
    assert!(fs::read(replaced["damaged"].as_str().unwrap()).unwrap() == bytes, "it is kept");
    let runs = runs(&world);
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("completed")));
    let id = runs[0]["id"].as_str().unwrap();
    let shown = world.run_program(&["runs", "show", id]).code(0);
    assert!(shown.stdout.contains("Done."), "{}", shown.stdout);
    world.run_program(&["runs", "replay", id]).code(0);
    assert!(
        world.run_program(&["runs", "search", "done"]).code(0).stdout.contains(id),
        "the index was made anew"
    );
    world.run_talk(&[]).code(0);
    assert_eq!(
        world.run_program(&["runs", "salvage", "--json"]).code(0).json()["lost"],
        json!([]),
        "nothing was lost"
    );
}

#[test]
fn where_no_run_can_be_read_the_user_hears_what_is_kept_and_what_to_do() {
    let world = world();
    let path = history(&world);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let (bytes, place) = (fs::read(&path).unwrap(), path.to_str().unwrap());
    let saved = world.run_program(&["runs", "salvage"]).code(1);
    for words in [
        "saved 0 runs and 0 rows".to_owned(),
        "runs of which nothing can be read any more".to_owned(),
        format!("the damaged history {place} was left as it is"),
        format!("if you kept a copy of the history, put it in the place of {place}"),
        "to use what was saved: synthdev runs salvage --replace".to_owned(),
    ] {
        assert!(saved.stdout.contains(&words), "{words}: {}", saved.stdout);
    }
    let replaced = world.run_program(&["runs", "salvage", "--replace", "--json"]).code(1).json();
    assert!(fs::read(replaced["damaged"].as_str().unwrap()).unwrap() == bytes, "it is kept");
    assert_eq!(replaced["damage"][0], "database disk image is malformed");
    assert_eq!(runs(&world).len(), 0);
}

#[test]
fn a_replacement_that_was_cut_off_is_finished_first() {
    let world = world();
    let path = history(&world);
    let sound = fs::read(&path).unwrap();
    let beside = |name: &str| path.with_file_name(name);
    let note = json!({"from": "runs-salvaged-x.sqlite", "away": "runs.sqlite.damaged-x"});
    fs::write(beside("runs.sqlite-replacing"), note.to_string()).unwrap();
    fs::write(beside("runs-salvaged-x.sqlite"), &sound).unwrap();
    fs::rename(&path, beside("runs.sqlite.damaged-x")).unwrap();
    for arguments in [&["runs", "list"][..], &["runs", "salvage"]] {
        let refused = world.run_program(arguments).code(2);
        assert!(
            refused.stderr.contains("was cut off") && refused.stderr.contains("salvage --replace"),
            "{}",
            refused.stderr
        );
    }
    assert!(world.run_talk(&[]).code(2).stderr.contains("was cut off"));
    assert!(!path.exists(), "no empty one was made");
    let done = world.run_program(&["runs", "salvage", "--replace"]).code(0);
    assert!(
        done.stdout.contains("is finished") && done.stdout.contains("runs.sqlite.damaged-x"),
        "{}",
        done.stdout
    );
    assert_eq!(runs(&world).len(), 1);
    assert!(!beside("runs.sqlite-replacing").exists());
}

#[test]
fn a_run_whose_place_was_lost_is_not_taken_up_in_the_project() {
    let world = world();
    let id = runs(&world)[0]["id"].as_str().unwrap().to_owned();
    let sql = rusqlite::Connection::open(history(&world)).unwrap();
    let unknown = serde_json::to_string(&RunWorktree::unknown()).unwrap();
    sql.execute("UPDATE runs SET worktree = ?1", [unknown]).unwrap();
    drop(sql);
    for arguments in [
        &["resume", &id][..],
        &["runs", "undo", &id, "--yes"],
        &["runs", "merge", &id, "--yes"],
        &["runs", "discard", &id, "--yes"],
        &["runs", "rewind", &id, "--to", "1", "--yes"],
        &["runs", "fork", &id, "--at", "1", "--restore-files", "--yes"],
    ] {
        let refused = world.run_program(arguments).code(2);
        let reason = "was lost when the history was salvaged";
        assert!(refused.stderr.contains(reason), "{arguments:?}: {}", refused.stderr);
    }
    assert!(world.run_program(&["runs", "show", &id]).code(0).stdout.contains("unknown: it was lost"));
    world.run_program(&["runs", "fork", &id, "--at", "1"]).code(0);
}

#[test]
fn a_history_that_is_gone_or_empty_is_not_begun_anew_where_a_log_tells_of_it() {
    let world = world();
    let path = history(&world);
    fs::write(&path, "").unwrap();
    let ran = world.run_talk(&[]).code(2);
    assert!(ran.stderr.contains("it is empty") && ran.stderr.contains("runs salvage"), "{}", ran.stderr);
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    fs::remove_file(&path).unwrap();
    fs::write(path.with_extension("sqlite-wal"), "what is left").unwrap();
    let ran = world.run_talk(&[]).code(2);
    assert!(ran.stderr.contains("it is missing, though its log"), "{}", ran.stderr);
    assert!(!path.exists());
    fs::remove_file(path.with_extension("sqlite-wal")).unwrap();
    world.run_talk(&[]).code(0);
    let none = World::new();
    assert!(none.run_program(&["runs", "salvage"]).code(2).stderr.contains("there is no run history"));
}

/// A run of several states, each with an answer of some length.
fn write_long_workflow(world: &World) {
    let say = |number: usize| {
        json!({"name": format!("s{number}"), "agent": "coder", "input": "go on",
               "action": {"function": "sendUserMessage"}, "transition": [{"target": if number == 11 { "stop".to_owned() } else { format!("s{}", number + 1) }}]})
    };
    let mut states = vec![json!({"name": "start", "transition": [{"target": "s0"}]})];
    states.extend((0..12).map(say));
    states.push(json!({"name": "stop", "input": {"expr": "'over'"}}));
    let mut flow = workflow(&json!(states));
    flow["contexts"][0]["max_length"] = json!(1_000_000);
    world.write_json("talk.json", &flow);
    // text that does not shrink to nothing
    let text =
        |number: usize| (0..4_000).map(|at| format!("{:x} ", at * 7_919 * (number + 1))).collect::<String>();
    let replies: Vec<Value> = (0..12).map(|number| json!({"text": text(number)})).collect();
    world.write_json("replies.json", &json!({"replies": {"coder": replies}}));
}

/// A run that cannot be recorded stops, and says once why and what to do: no call is paid for that is not recorded.
/// What was recorded until then can be listed, shown and resumed.
fn check_full(world: &World, ran: &Ran, why: &str) {
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.stdout, ran.stderr);
    // files of others that go meanwhile may make room for a while
    let again = ran.stderr.matches("warning: this run is recorded again").count();
    assert_eq!(
        ran.stderr.matches("warning: this run cannot be recorded").count(),
        1 + again,
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(why) && ran.stderr.contains("error[unrecorded]"), "{}", ran.stderr);
    let runs = runs(world);
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("interrupted")), "{runs:?}");
    let id = runs[0]["id"].as_str().unwrap();
    assert!(ran.stderr.contains(&format!("go on: synthdev resume {id}")), "{}", ran.stderr);
    let shown = world.run_program(&["runs", "show", id]).code(0);
    assert!(shown.stdout.contains("s0"), "{}", shown.stdout);
    let going = world.run_program(&["resume", id, "--replies", "replies.json", "--json"]).code(0).json();
    assert_eq!(going["output"], "over", "the room is back, and so is the run: {going}");
}

const START: [&str; 6] = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hello"];

/// Recording is tried for seconds: both are waited for at once.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_holds_the_run_until_it_can_be_recorded() {
    std::thread::scope(|scope| {
        scope.spawn(check_full_for_a_file);
        scope.spawn(check_full_file_system);
    });
}

#[cfg(target_os = "linux")]
fn check_full_for_a_file() {
    let world = World::new();
    write_long_workflow(&world);
    let line = "trap '' XFSZ; ulimit -f 400; exec \"$@\"";
    let ran = run_under_shell(&world, line, &START);
    check_full(&world, &ran, "the disk refused");
}

/// On a disk of its own; if none can be mounted, the limit on files above has to do.
#[cfg(target_os = "linux")]
fn check_full_file_system() {
    let world = World::new();
    write_long_workflow(&world);
    fs::create_dir_all(world.data()).unwrap();
    let data = world.data().display().to_string();
    let can = run_under_shell(&world, "unshare -m mount -t tmpfs -o size=400k none \"$2\"", &[&data]);
    if can.code != Some(0) {
        skip_row(&format!("no file system can be mounted: {}", can.stderr));
        return;
    }
    let line = format!(
        "exec unshare -m bash -c 'mount -t tmpfs -o size=400k none {data} && {{ \"$@\"; code=$?; cp {data}/runs.sqlite* {}; exit $code; }}' bash \"$@\"",
        world.root().display()
    );
    let ran = run_under_shell(&world, &line, &START);
    for entry in fs::read_dir(world.root()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("runs.sqlite") && !name.ends_with("-shm") {
            fs::copy(entry.path(), world.data().join(name)).unwrap();
        }
    }
    check_full(&world, &ran, "the disk is full");
}

/// As an earlier program left it: runs had no `keeper`.
fn make_version_4(history: &rusqlite::Connection) {
    history.execute_batch("ALTER TABLE runs DROP COLUMN keeper; PRAGMA user_version = 4").unwrap();
}

/// Without the rights of root, for which no mode counts.
const BOUND: &str =
    "if [ $(id -u) = 0 ]; then exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"; fi; exec \"$@\"";

#[test]
#[cfg(target_os = "linux")]
fn a_history_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    let mode =
        |path: &std::path::Path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    let id = runs(&world)[0]["id"].as_str().unwrap().to_owned();
    let places = [(0o400, 0o700), (0o600, 0o500), (0o400, 0o500)];
    for (number, (file, directory)) in places.into_iter().chain(places).enumerate() {
        if number == places.len() {
            make_version_4(&rusqlite::Connection::open(history(&world)).unwrap());
        }
        mode(&history(&world), file);
        mode(&world.data(), directory);
        let list = run_under_shell(&world, BOUND, &["runs", "list", "--json"]);
        let shown = run_under_shell(&world, BOUND, &["runs", "show", &id]);
        let started = run_under_shell(&world, BOUND, &START);
        mode(&world.data(), 0o700);
        mode(&history(&world), 0o600);
        assert_eq!(list.code, Some(0), "{file:o} {directory:o}: {}", list.stderr);
        assert_eq!(list.json()[0]["status"], "completed");
        assert!(shown.stdout.contains("Done."), "{file:o} {directory:o}: {}", shown.stderr);
        assert_eq!(started.code, Some(2), "{file:o} {directory:o}: {}{}", started.stdout, started.stderr);
        assert!(
            started.stderr.contains("runs.sqlite") && started.stderr.contains("writable"),
            "{}",
            started.stderr
        );
    }
    assert_eq!(runs(&world).len(), 1);
}

#[test]
fn a_run_that_goes_on_elsewhere_is_left_to_it() {
    let world = World::new();
    world.write_talk(&json!([{"text": "late", "delay_ms": 600_000}]));
    let mut other = world.command(&START).spawn().unwrap();
    let id = wait_for("the other one begins", || {
        let ran = world.run_program(&["runs", "list", "--json"]);
        let runs: Value = serde_json::from_str(&ran.stdout).ok()?;
        Some(runs[0]["id"].as_str()?.to_owned())
    });
    for arguments in
        [&["resume", &id, "--replies", "replies.json"][..], &["runs", "gc", "--keep", "0", "--yes"]]
    {
        let ran = world.run_program(arguments);
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        if arguments[1] == "gc" {
            assert_eq!(runs(&world).len(), 1, "{}{}", ran.stdout, ran.stderr);
            continue;
        }
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(lines.len(), 1, "one line: {}", ran.stderr);
        let said = format!("run {id} is running in process {}", other.id());
        assert!(lines[0].contains(&said), "{}", ran.stderr);
    }
    // from where the other one's process cannot be seen
    let apart = run_under_shell(
        &world,
        "exec unshare --pid --fork --mount-proc \"$@\"",
        &["resume", &id, "--replies", "replies.json", "--share"],
    );
    if apart.stderr.contains("unshare:") {
        skip_row(&format!("no namespace of process ids can be had: {}", apart.stderr));
    } else {
        assert_eq!(apart.code, Some(2), "{}{}", apart.stdout, apart.stderr);
        assert!(apart.stderr.contains("is running in process"), "{}", apart.stderr);
    }
    let salvage = world.run_program(&["runs", "salvage", "--replace"]).code(2);
    assert!(
        salvage.stderr.contains(&format!("process {} has the run history", other.id())),
        "{}",
        salvage.stderr
    );
    assert_eq!(runs(&world)[0]["status"], "running", "it was not disturbed");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(runs(&world)[0]["status"], "interrupted");
}

/// A clock that went back is, for what was recorded, a record from the future.
#[test]
fn a_clock_that_went_back_loses_nothing_and_shows_no_negative_time() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Done."}]));
    world.run_talk(&[]).code(0);
    let states = json!([
        {"name": "start", "transition": [{"target": "ask"}]},
        {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "Now?"}, "output": {"as": "answer"},
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": {"expr": "common_data.answer"}}
    ]);
    world.write_json("ask.json", &workflow(&states));
    let ask = ["run", "--workflow-file", "ask.json", "--replies", "replies.json", "hello", "--json"];
    let paused = world.run_program(&ask).code(3).json();
    let (id, token) =
        (paused["run_id"].as_str().unwrap(), paused["pauses"][0]["resume_token"].as_str().unwrap());
    let by_id = world.run_program(&ask).code(3).json();
    let month: i64 = 30 * 86_400_000;
    rusqlite::Connection::open(history(&world))
        .unwrap()
        .execute_batch(&format!(
            "UPDATE runs SET started = started + {month}; UPDATE progress SET updated = updated + {month};
             UPDATE rows SET at = at + {month}; UPDATE tokens SET created = created + {month}, expires = expires + {month};"
        ))
        .unwrap();
    let list = world.run_program(&["runs", "list"]).code(0);
    assert!(list.stdout.contains("now") && !list.stdout.contains(" -"), "{}", list.stdout);
    for run in runs(&world) {
        let shown = world.run_program(&["runs", "show", run["id"].as_str().unwrap()]).code(0);
        assert!(!shown.stdout.contains(" -") || shown.stdout.contains(" - "), "{}", shown.stdout);
        world.run_program(&["runs", "replay", run["id"].as_str().unwrap()]).code(0);
    }
    let replies = ["--replies", "replies.json", "--json", "--results", "\"yes\""];
    let done = world.run_program(&[&["resume", token], &replies[..]].concat()).code(0).json();
    assert_eq!(
        (&done["run_id"], &done["output"]),
        (&json!(id), &json!("yes")),
        "a token is good until its time has come"
    );
    let other = by_id["run_id"].as_str().unwrap();
    let done = world.run_program(&[&["resume", other], &replies[..]].concat()).code(0).json();
    assert_eq!(done["output"], "yes", "its time had not run out");
    world.run_program(&["runs", "replay", other]).code(0);
    let usual = world.run_talk(&["--json"]).code(0).json();
    let ids: Vec<Value> = runs(&world).into_iter().map(|run| run["id"].clone()).collect();
    assert_eq!(
        (ids.len(), ids.last()),
        (4, Some(&usual["run_id"])),
        "lists go by the time that was recorded"
    );
}

#[test]
fn where_there_is_no_room_the_history_can_still_be_read() {
    let world = world();
    let id = runs(&world)[0]["id"].as_str().unwrap().to_owned();
    // no file may grow by a byte, as on a full disk
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let log = world.data().join("runs.sqlite-wal");
    for (with_log, is_older) in [(false, false), (true, false), (false, true), (true, true)] {
        if is_older && !with_log {
            make_version_4(&rusqlite::Connection::open(history(&world)).unwrap());
        }
        if with_log {
            // a reader that stays open: the log is not folded into the file
            let reader = rusqlite::Connection::open(history(&world)).unwrap();
            reader.query_row("SELECT count(*) FROM runs", [], |_| Ok(())).unwrap();
            world.run_talk(&[]).code(0);
            if is_older {
                // the reader knows the tables from before the run
                make_version_4(&rusqlite::Connection::open(history(&world)).unwrap());
            }
            let kept = fs::read(&log).unwrap();
            drop(reader);
            let _ = fs::remove_file(world.data().join("runs.sqlite-shm"));
            fs::write(&log, kept).unwrap();
        }
        for arguments in [&["runs", "list"][..], &["runs", "show", &id]] {
            let shown = run_under_shell(&world, full, arguments).code(0);
            assert!(
                shown.stdout.contains(&id),
                "{with_log} {is_older} {arguments:?}: {}{}",
                shown.stdout,
                shown.stderr
            );
        }
    }
}

#[test]
fn a_result_that_is_neither_printed_nor_recorded_is_a_failure_and_is_made_again() {
    let world = world();
    let answer = "hello ".repeat(60_000);
    world.write_talk(&json!([{"text": answer}]));
    let arguments = ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "hello", "--json"];
    // no file may grow beyond 300 KiB: neither the history nor the output takes the answer
    let ran = run_under_shell(&world, "trap '' XFSZ; ulimit -f 300; exec \"$@\" >out.json", &arguments);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for part in ["the history does not have it either", "`synthdev resume "] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("has all of it"), "{}", ran.stderr);
    let id = runs(&world)[0]["id"].as_str().unwrap().to_owned();
    let done = world.run_program(&["resume", &id, "--replies", "replies.json", "--json"]).code(0).json();
    assert_eq!(done["output"], json!(answer));
}
