//! `backend move`: what cannot be moved stays where it was, and the report says so.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::restate::host_move::{MoveReport, move_runs};

use super::answers::{listed, report, write_question, write_states};
use super::hosts::{begin, newest};
use super::repositories::two_repositories;
use super::scripted_server::{Asked, ScriptedServer, deployment};
use super::{start_host, world_of};
use crate::cli::world::wait_for;
use crate::support::restate_server::{RestateServer, free_addresses};

const OLD: &str = "http://old:1";
const NEW: &str = "http://new:1";

/// Moves two services of `a` to `b` at a server that refuses what contains these words; what was asked of it, in short.
fn moved_with(refused: &'static [&'static str]) -> (MoveReport, Vec<String>) {
    let shown = |(method, path, body): &Asked| {
        let to = body["uri"].as_str().map_or("", |uri| if uri.starts_with(OLD) { " old" } else { " new" });
        let service = path.trim_start_matches("/deployments/dp_").trim_start_matches('/');
        format!("{method} {}{to}", service.replace("SynthdevRun.", "").replace("/host/", " "))
    };
    let server = ScriptedServer::start(move |asked| match (asked.0.as_str(), asked.1.as_str()) {
        ("GET", _) => {
            let entries =
                [deployment("a", 1, "a", OLD), deployment("a", 2, "a", OLD), deployment("b", 1, "b", NEW)];
            (200, json!({"deployments": entries}))
        }
        ("POST", "/query") => (200, json!({"rows": []})),
        _ if refused.iter().any(|words| shown(asked).contains(words)) => (422, json!({"message": "no"})),
        _ => (200, Value::Null),
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(move_runs(&server.client(), "a", "b")).unwrap();
    let changes = server
        .seen()
        .into_iter()
        .filter(|(method, path, _)| method != "GET" && path != "/query" && path != "/deployments");
    (report, changes.map(|asked| shown(&asked)).collect())
}

#[test]
fn a_service_that_cannot_be_moved_is_given_back() {
    let first = ["POST a.1 leave", "PATCH a.1 new", "POST a.1 take"];
    let second = ["POST a.2 leave", "PATCH a.2 new", "POST a.2 take"];
    for (refused, first, second, unmoved) in [
        (&[][..], &first[..], &second[..], &[][..]),
        // its host does not stop the runs
        (&["a.1 leave"], &["POST a.1 leave", "POST a.1 take"], &second, &["SynthdevRun.a.1"]),
        // the server does not move it
        (
            &["a.1 new"],
            &["POST a.1 leave", "PATCH a.1 new", "PATCH a.1 old", "POST a.1 take"],
            &second,
            &["SynthdevRun.a.1"],
        ),
        // the new host cannot be told
        (
            &["a.2 take"],
            &first,
            &["POST a.2 leave", "PATCH a.2 new", "POST a.2 take", "PATCH a.2 old", "POST a.2 take"],
            &["SynthdevRun.a.2"],
        ),
    ] {
        let (report, asked) = moved_with(refused);
        assert_eq!(asked, [first, second].concat(), "{refused:?}");
        let left: Vec<&str> = report.unmoved.iter().map(|left| left.service.as_str()).collect();
        assert_eq!((left, report.moved.len()), (unmoved.to_vec(), 2 - unmoved.len()), "{refused:?}");
        // as the list of the server says
        assert!(report.unmoved.iter().all(|left| left.host.as_deref() == Some("a")), "{report:?}");
    }
}

/// Whether a process with this id lives; one that is dead and not collected does not.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(stat.rsplit(')').next().unwrap_or_default().split_whitespace().next(), None | Some("Z" | "X"))
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn no_command_of_a_moved_run_goes_on_at_the_old_host() {
    let server = RestateServer::start();
    let world = world_of(&server);
    // the process ids are those of this machine
    world.write_user_file("settings.json", r#"{"sandbox": {"mode": "off"}}"#);
    let command = "echo $$ > pid.txt; sleep 60; echo > ended.txt";
    write_states(
        &world,
        &json!([
            {"name": "start", "type": "shell", "command": command, "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'done'"}
        ]),
    );
    let [left, right] = free_addresses();
    let _old = start_host(&world, "left", &left, &[]);
    let client = begin(&world);
    newest(&world, 1);
    let pid = wait_for("the command begins", || {
        let text = fs::read_to_string(world.project().join("pid.txt")).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    });
    let _new = start_host(&world, "right", &right, &[]);
    assert!(lives(&pid));
    world.run_program(&["backend", "move", "left", "right"]).code(0);
    assert!(!lives(&pid), "the command goes on at the old host");
    // it is not done again without a question
    let ended = report(client);
    assert_eq!(
        (ended.0, &ended.1["pauses"][0]["reason"]),
        (Some(3), &json!("uncertain_effect")),
        "{ended:?}"
    );
    assert_eq!(newest(&world, 1).1, "right");
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn runs_that_their_host_cannot_stop_are_not_moved() {
    let server = RestateServer::start();
    let (left, right) = two_repositories(&server);
    write_states(
        &left,
        &json!([
            {"name": "start", "type": "wait", "duration": 3, "transition": [{"target": "made"}]},
            {"name": "made", "type": "shell", "command": "echo > made.txt", "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "'done'"}
        ]),
    );
    let [first, second] = free_addresses();
    let _stuck = start_host(&left, "stuck", &first, &[]);
    let mut client = begin(&left);
    wait_for("the run begins", || {
        let runs = left.run_program(&["runs", "list", "--json"]).json();
        (runs.as_array()?.len() == 1).then_some(())
    });
    thread::sleep(Duration::from_secs(1));
    // who reads the repository for files waits for ever: the run cannot go on after its command
    let config = left.root().join("shared.git/config");
    fs::remove_file(&config).unwrap();
    let made = Command::new("mkfifo").arg(&config).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is missing: install coreutils");
    wait_for("the command is done", || left.project().join("made.txt").exists().then_some(()));
    let _free = start_host(&right, "free", &second, &[]);
    let began = Instant::now();
    let refused = left.run_program(&["backend", "move", "stuck", "free"]).code(2);
    let took = began.elapsed();
    let said = format!("{}{}", refused.stdout, refused.stderr);
    println!("refused after {took:.1?}: {said}");
    assert!(said.contains("they are at stuck: worker stuck could not stop"), "{said}");
    assert!(said.contains("hint: move them when they have come further"), "{said}");
    assert!(took < Duration::from_secs(15), "{took:.1?}");
    assert_eq!(listed(&left)[0]["host"], "stuck");
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_run_that_waits_for_an_answer_is_known_where_it_was_moved() {
    let server = RestateServer::start();
    let (left, right) = two_repositories(&server);
    write_question(&left);
    let [near, far] = free_addresses();
    let mut old = start_host(&left, "left", &near, &[]);
    let (code, asked) = report(begin(&left));
    assert_eq!(code, Some(3), "{asked}");
    let run = asked["run_id"].as_str().unwrap();
    let _new = start_host(&right, "right", &far, &[]);
    left.run_program(&["backend", "move", "left", "right"]).code(0);
    old.kill();
    let shown = right.run_program(&["runs", "show", run, "--backend", "restate", "--json"]).code(0).stdout;
    assert!(shown.contains("How many?"), "{shown}");
    let answer = |text: &str| right.run_program(&["resume", run, "--json", "--results", text]);
    let refused = answer("\"many\"");
    assert!(!matches!(refused.code, Some(0 | 3)), "{}{}", refused.stdout, refused.stderr);
    assert_eq!(answer("7").code(0).json()["output"], "got 7");
    right.run_program(&["runs", "replay", run]).code(0);
}
