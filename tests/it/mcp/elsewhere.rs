//! A run is the same wherever it is driven, in the server or in a command of a shell: each can ask the other to pause
//! or end.

use std::io::Write;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::super::cli::world::{World, wait_for};
use super::client::Client;
use super::flows::{asking_workflow, flow, world};
use super::pausing::token;

fn nap(seconds: f64) -> Value {
    let states = json!([{"name": "start", "transition": [{"target": "nap"}]},
        {"name": "nap", "type": "wait", "duration": seconds, "transition": [{"target": "stop"}]}]);
    flow("nap", &states)
}

/// The id of the running run, whichever process drives it.
fn working_run(world: &World) -> String {
    wait_for("a run works", || {
        let listed = world.run_program(&["runs", "list", "--json"]).json();
        let runs = listed["runs"].as_array().or_else(|| listed.as_array()).unwrap().clone();
        let works =
            runs.iter().find(|run| run["status"] == "running" && run["path"].to_string().contains("nap"));
        works.map(|run| run["run_id"].as_str().or(run["id"].as_str()).unwrap().to_owned())
    })
}

fn in_a_shell(world: &World) -> Child {
    world
        .command(&["run", "nap"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_command_pauses_and_ends_what_the_server_drives() {
    let world = world(&[nap(60.0)]);
    let mut client = Client::open_client(&world);
    let asked = client.begin_call("nap", json!({}));
    let run = working_run(&world);
    let said = world.run_program(&["runs", "pause", &run]).code(0).stdout;
    assert_eq!(said.trim(), format!("run {run} is paused; continue it with: synthdev resume {run}"));
    let told = client.call_result(asked);
    assert_eq!((&told["status"], &told["workflowId"]), (&json!("paused"), &json!(run)), "{told}");
    let again = world.run_program(&["runs", "pause", &run]).code(2).stderr;
    assert!(again.contains(&format!("run {run} is paused: there is nothing to pause")), "{again}");
    // it goes on where it was, and the end comes from a shell, too
    let asked = client.begin_call("continue_workflow", json!({"workflowId": run}));
    assert_eq!(working_run(&world), run);
    let said = world.run_program(&["runs", "cancel", &run]).code(0).stdout;
    assert_eq!(said.trim(), format!("run {run} is cancelled"));
    assert_eq!(client.call_result(asked)["status"], "cancelled");
    let again = world.run_program(&["runs", "cancel", &run]).code(2).stderr;
    assert!(again.contains("is cancelled already"), "{again}");
    client.close_client();
}

#[test]
fn a_client_pauses_and_ends_what_a_command_drives() {
    let world = world(&[nap(60.0)]);
    let mut client = Client::open_client(&world);
    let rows = [("pause_workflow", "paused", 3), ("cancel_workflow", "cancelled", 130)];
    for (tool, status, code) in rows {
        let child = in_a_shell(&world);
        let run = working_run(&world);
        let told = client.call_tool(tool, json!({"workflowId": run}));
        assert_eq!((&told["status"], &told["workflowId"]), (&json!(status), &json!(run)), "{told}");
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{tool}: {said}");
        let refused = client.call_tool("pause_workflow", json!({"workflowId": run}));
        assert_eq!(refused["error"]["type"], "not_paused", "{refused}");
        if status == "paused" {
            assert_eq!(
                client.call_tool("cancel_workflow", json!({"workflowId": run}))["status"],
                "cancelled"
            );
        }
    }
    client.close_client();
}

#[test]
fn what_a_client_paused_goes_on_with_its_time() {
    let world = world(&[nap(3.0)]);
    let mut client = Client::open_client(&world);
    let asked = client.begin_call("nap", json!({}));
    let run = wait_for("it works", || {
        client.call_tool("list_runs", json!({"status": "running"}))["runs"][0]["workflowId"]
            .as_str()
            .map(str::to_owned)
    });
    let paused = client.call_tool("pause_workflow", json!({"workflowId": run}));
    assert_eq!(paused["status"], "paused", "{paused}");
    assert!(paused["message"].as_str().unwrap().contains("continue_workflow"), "{paused}");
    assert_eq!(client.call_result(asked)["status"], "paused");
    let done = client.call_tool("continue_workflow", json!({"workflowId": run}));
    assert_eq!(done["status"], "completed", "{done}");
    client.close_client();
}

#[test]
fn what_a_person_is_asked_elsewhere_is_told() {
    let world = world(&[asking_workflow("ask", &json!({"kind": "text"}))]);
    let mut client = Client::open_client(&world);
    // a user at pipes: they stay open
    let mut child =
        world.command(&["--linear"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"/workflow ask\n").unwrap();
    let status = |client: &mut Client, run: &Value| {
        client.call_tool("get_workflow_status", json!({"workflowId": run}))
    };
    let run = wait_for("the person is asked", || {
        let run =
            client.call_tool("list_runs", json!({"status": "running"}))["runs"][0]["workflowId"].clone();
        let told = run.is_string().then(|| status(&mut client, &run))?;
        (told["waitsForPerson"][0]["state"] == "ask").then_some(run)
    });
    let told = client.call_tool("pause_workflow", json!({"workflowId": run}));
    let well = json!({"resumeToken": token(&told), "results": {"answer": "by a client"}});
    let done = client.call_tool("resume_workflow", well);
    assert_eq!(
        (&done["status"], &done["output"]),
        (&json!("completed"), &json!({"answer": "by a client"})),
        "{done}"
    );
    drop(input);
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("another process pauses this run"), "{said}");
    client.close_client();
}

#[test]
fn a_killed_server_is_not_asked() {
    let world = world(&[nap(60.0)]);
    let mut client = Client::open_client(&world);
    client.begin_call("nap", json!({}));
    let run = working_run(&world);
    client.kill_server();
    let said = world.run_program(&["runs", "pause", &run]).code(2).stderr;
    assert!(said.contains(&format!("run {run} is interrupted: there is nothing to pause")), "{said}");
    assert_eq!(
        world.run_program(&["runs", "cancel", &run]).code(0).stdout.trim(),
        format!("run {run} is cancelled")
    );
}

#[test]
fn a_question_to_a_client_stays_open_while_a_person_looks() {
    let world = world(&[asking_workflow("ask", &json!({"kind": "text"}))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("ask", json!({}));
    let run = told["workflowId"].as_str().unwrap().to_owned();
    let done =
        world.run_program(&["resume", &run, "--results", "{\"answer\": \"by a person\"}"]).code(0).stdout;
    assert!(done.contains("by a person"), "{done}");
    // the client comes too late, and the error says so
    let late = json!({"resumeToken": token(&told), "results": {"answer": "by a client"}});
    assert_eq!(client.call_tool("resume_workflow", late)["error"]["type"], "token_stale");
    client.close_client();
}

#[test]
fn a_run_that_a_restate_server_keeps_is_changed_by_nobody_here() {
    let mut world = world(&[asking_workflow("ask", &json!({"kind": "text"}))]);
    // a program that reaches servers finds none there, and a port that none listens at answers at once
    world.set_variable("SYNTHDEV_RESTATE_INGRESS", "http://127.0.0.1:1");
    world.set_variable("SYNTHDEV_RESTATE_ADMIN", "http://127.0.0.1:1");
    let asked = world.run_program(&["run", "ask", "--json"]).code(3).json();
    let run = asked["run_id"].as_str().unwrap().to_owned();
    let token = asked["pauses"][0]["resume_token"].as_str().unwrap().to_owned();
    let file = world.data().join("runs.sqlite");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("UPDATE runs SET keeper = 'http://server:8080'", ()).unwrap();
    drop(connection);
    let shown = world.run_program(&["runs", "show", &run, "--json"]).code(0).stdout;
    let words = format!("run {run} is kept by the Restate server at http://server:8080");
    let (resumes, ends) =
        (format!("`synthdev resume {run} --backend"), format!("`synthdev runs cancel {run} --backend"));
    let forks = format!("`synthdev runs fork {run} --at");
    let rows: [(&[&str], &str); 6] = [
        (&["resume", &run, "--results", "\"yes\""], &resumes),
        (&["resume", &token, "--results", "\"yes\""], &resumes),
        (&["resume", &run], &resumes),
        (&["runs", "retry", &run], &resumes),
        (&["runs", "cancel", &run], &ends),
        (&["runs", "rewind", &run, "--to", "1", "--yes"], &forks),
    ];
    for (row, hint) in rows {
        let refused = world.run_program(row);
        assert_ne!(refused.code, Some(0), "{row:?}");
        let said = format!("{}{}", refused.stdout, refused.stderr);
        if cfg!(feature = "restate") && *row == ["resume", run.as_str()] {
            // what it asks is known here
            assert!(said.contains("waits for 1 answer"), "{said}");
            continue;
        }
        let asks_server = cfg!(feature = "restate") && hint != forks && row[1] != "retry";
        let hint = if asks_server { "set backend.restate.ingress" } else { hint };
        assert!(said.contains(&words) && said.contains(hint), "{row:?}: {said}");
        assert!(said.contains(&forks) == (hint == forks), "{row:?}: {said}");
    }
    let mut client = Client::open_client(&world);
    let answer = json!({"resumeToken": token, "results": {"answer": "yes"}});
    for (tool, arguments) in [("resume_workflow", answer), ("cancel_workflow", json!({"workflowId": run}))] {
        let asked = client.begin_call(tool, arguments);
        let refused = client.wait_answer(asked).to_string();
        assert!(refused.contains(&words), "{tool}: {refused}");
    }
    client.close_client();
    let after = world.run_program(&["runs", "show", &run, "--json"]).code(0).stdout;
    assert_eq!(after, shown, "reading it is harmless, and nothing was changed");
    // a fork is kept here
    let forked = world.run_program(&["runs", "fork", &run, "--at", "1", "--json"]).code(0);
    let fork = forked.json()["run_id"].as_str().unwrap().to_owned();
    world.run_program(&["runs", "cancel", &fork]).code(0);
    // the server may be gone for good, and the copy of its run goes
    let gone = world.run_program(&["runs", "delete", &run, "--yes"]).code(0).stdout;
    assert!(gone.starts_with(&format!("removed run {run}: ")), "{gone}");
    assert!(gone.contains("only the copy here") && gone.contains("http://server:8080"), "{gone}");
    let other = world.run_program(&["runs", "delete", &fork, "--yes"]).code(0).stdout;
    assert!(!other.contains("server"), "{other}");
}
