//! A machine without a worker: runs that work elsewhere are followed, answered, ended and read there as its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::ports::run_store::RunStore;

use super::answers::{listed, report, write_question, write_states};
use super::{remote_run, start_host};
use crate::cli::world::{World, wait_for};
use crate::mcp::client::Client;
use crate::mcp::pausing::token;
use crate::pty::unfinished_answer;
use crate::support::model_server::ModelServer;
use crate::support::restate_server::{RestateServer, RunningProgram, free_addresses};

/// A machine with a worker, and one that has a clone of its project and reaches the server.
struct TwoMachines {
    server: RestateServer,
    host: World,
    client: World,
}

impl TwoMachines {
    fn new() -> Self {
        let server = RestateServer::start();
        let (host, client) = (World::repository(), World::new());
        let (from, to) = (host.project(), client.project());
        let cloned = Command::new("git").args(["clone", "-q"]).args([&from, &to]).output().unwrap();
        assert!(cloned.status.success(), "{}", String::from_utf8_lossy(&cloned.stderr));
        let machines = Self { server, host, client };
        let addresses = json!({"ingress": machines.server.ingress(), "admin": machines.server.admin()});
        machines.write_settings(&json!({"backend": {"restate": addresses}}));
        machines
    }

    fn write_settings(&self, settings: &Value) {
        for world in [&self.host, &self.client] {
            world.write_user_file("settings.json", &settings.to_string());
        }
    }

    /// For both: a file that is not committed is at each of them.
    fn write(&self, write: impl Fn(&World)) {
        write(&self.host);
        write(&self.client);
    }

    fn start_worker(&self) -> RunningProgram {
        let [address] = free_addresses();
        start_host(&self.host, "host", &address, &[])
    }

    /// The newest run of the server.
    fn newest(&self) -> String {
        wait_for("a run is at the server", || listed(&self.client)[0]["run"].as_str().map(str::to_owned))
    }
}

fn rows(world: &World, run: &str) -> Vec<synthdev::domain::journal::JournalRow> {
    SqliteStore::new(world.data().join("runs.sqlite")).load(&RunId::from(run)).unwrap().1
}

/// What lists of a machine say of its only run.
fn status(world: &World) -> Value {
    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    list[0]["status"].clone()
}

/// Both histories have the same rows, and tell the same.
fn check_copy(machines: &TwoMachines, run: &str) {
    let (there, here) = (rows(&machines.host, run), rows(&machines.client, run));
    assert_eq!(here, there);
    let shown = |world: &World| world.run_program(&["runs", "show", run, "--json"]).code(0).stdout;
    assert_eq!(shown(&machines.client), shown(&machines.host));
    machines.client.run_program(&["runs", "replay", run]).code(0);
}

fn begin(world: &World) -> Child {
    let mut command = world.command(&remote_run(&["--json"]));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn who_submits_a_run_has_it_in_the_history_and_answers_it_without_naming_the_server() {
    let machines = TwoMachines::new();
    machines.write(write_question);
    let _worker = machines.start_worker();
    let (code, asked) = report(begin(&machines.client));
    assert_eq!((code, &asked["status"]), (Some(3), &json!("paused")), "{asked}");
    let run = asked["run_id"].as_str().unwrap().to_owned();
    assert_eq!(status(&machines.client), "paused");
    check_copy(&machines, &run);
    let project = machines.client.run_program(&["runs", "list", "--json"]).json()[0]["project"].clone();
    assert_eq!(project, machines.client.project().canonicalize().unwrap().to_str().unwrap());

    // what the server has no way for
    for row in [&["runs", "retry", &run][..], &["runs", "rewind", &run, "--to", "1", "--keep-files", "--yes"]]
    {
        let refused = machines.client.run_program(row);
        assert!(refused.code != Some(0), "{row:?}");
        assert!(refused.stderr.contains("is kept by the Restate server"), "{row:?}: {}", refused.stderr);
    }
    let unfit = machines.client.run_program(&["resume", &run, "--results", "\"many\""]);
    assert!(!matches!(unfit.code, Some(0 | 3)), "{}{}", unfit.stdout, unfit.stderr);
    let done = machines.client.run_program(&["resume", &run, "--results", "7", "--json"]).code(0).json();
    assert_eq!(done["output"], "got 7");
    assert_eq!(status(&machines.client), "completed");
    check_copy(&machines, &run);

    // a token answers its pause, too
    let (_, asked) = report(begin(&machines.client));
    let token = asked["pauses"][0]["resume_token"].as_str().unwrap();
    let done = machines.client.run_program(&["resume", token, "--results", "8", "--json"]).code(0).json();
    assert_eq!(done["output"], "got 8");
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_run_that_was_started_elsewhere_is_copied_answered_and_ended() {
    let machines = TwoMachines::new();
    let _worker = machines.start_worker();
    let nap = json!([
        {"name": "start", "type": "wait", "duration": 60, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'done'"}
    ]);
    machines.write(|world| write_states(world, &nap));
    let working = begin(&machines.host);
    let run = machines.newest();
    wait_for("it works", || {
        let lines = machines.client.run_program(&["runs", "show", &run, "--backend", "restate", "--json"]);
        lines.stdout.contains("\"state_entered\"").then_some(())
    });
    // nobody drives it here, and it is not interrupted
    assert_eq!(status(&machines.client), "running");
    assert_eq!(status(&machines.host), "running");
    let refused = machines.client.run_program(&["runs", "pause", &run]);
    assert!(refused.code != Some(0) && refused.stderr.contains("is kept by"), "{}", refused.stderr);
    let said = machines.client.run_program(&["runs", "cancel", &run]).code(0).stdout;
    assert_eq!(said.trim(), format!("run {run} is cancelled"));
    assert_eq!(status(&machines.client), "cancelled");
    assert_eq!(report(working).0, Some(130));
    check_copy(&machines, &run);

    // the whole id is enough, and the copy of a run that only the server has can be deleted
    machines.write(write_question);
    assert_eq!(report(begin(&machines.host)).0, Some(3));
    let run = machines.newest();
    let done = machines.client.run_program(&["resume", &run, "--results", "9", "--json"]).code(0).json();
    assert_eq!(done["output"], "got 9");
    check_copy(&machines, &run);
    machines.client.run_program(&["runs", "delete", &run, "--yes"]).code(0);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_machine_that_has_a_copy_takes_the_run_over() {
    let mut machines = TwoMachines::new();
    let shared = machines.host.root().join("shared.git");
    let made = Command::new("git").args(["init", "-q", "--bare"]).arg(&shared).output().unwrap();
    assert!(made.status.success());
    for world in [&mut machines.host, &mut machines.client] {
        world.set_variable("SYNTHDEV_RESTATE_SNAPSHOT_REMOTE", shared.to_str().unwrap());
    }
    let states = json!([
        {"name": "start", "type": "wait", "duration": 3, "transition": [{"target": "more"}]},
        {"name": "more", "type": "wait", "duration": 1, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'done'"}
    ]);
    machines.write(|world| write_states(world, &states));
    let mut worker = machines.start_worker();
    let followed = begin(&machines.client);
    let run = machines.newest();
    wait_for("it is copied", || {
        let list = machines.client.run_program(&["runs", "list", "--json"]).json();
        list[0]["path"].to_string().contains("start").then_some(())
    });
    let [address] = free_addresses();
    let _heir = start_host(&machines.client, "client", &address, &[]);
    worker.kill();
    let (code, done) = report(followed);
    assert_eq!((code, &done["output"]), (Some(0), &json!("done")), "{done}");
    let lines = rows(&machines.client, &run);
    let resumed = lines.iter().filter(|row| row.body.contains(r#""input":"resumed""#)).count();
    assert_eq!(resumed, 1, "{lines:#?}");
    machines.client.run_program(&["runs", "replay", &run]).code(0);
    assert_eq!(status(&machines.client), "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "tool: needs node and npm, and the registry of npm"]
async fn who_follows_a_run_sees_an_answer_while_it_is_written() {
    let model = ModelServer::start_server(vec![unfinished_answer("Once upon a time")]).await;
    let mut machines = TwoMachines::new();
    for world in [&mut machines.host, &mut machines.client] {
        world.set_variable("SYNTHDEV_BASE_URL", &model.base_url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
        world.set_variable("SYNTHDEV_API_KEY", "sk-test");
        world.write_json("talk.json", &crate::cli::world::talk_workflow());
    }
    let _worker = machines.start_worker();
    let words = ["run", "--workflow-file", "talk.json", "hello", "--backend", "restate", "--events"];
    let mut command = machines.client.command(&words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let piece = lines.find(|line| line.contains("\"delta\"")).unwrap();
    assert!(piece.contains("Once upon a time"), "{piece}");
    let run = machines.newest();
    machines.client.run_program(&["runs", "cancel", &run]).code(0);
    let rest: Vec<String> = lines.collect();
    assert!(rest.last().unwrap().contains("\"cancelled\""), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let journal = format!("{:?}", rows(&machines.client, &run));
    assert!(!journal.contains("\"delta\""), "pieces are in no journal");
    check_copy(&machines, &run);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_session_takes_up_a_run_that_only_the_server_has() {
    let machines = TwoMachines::new();
    machines.write(write_question);
    let _worker = machines.start_worker();
    assert_eq!(report(begin(&machines.host)).0, Some(3));
    let run = machines.newest();
    let mut session = machines.client.terminal(&[]);
    session.wait_for("message, or / for commands");
    session.press_keys(&format!("/resume {run}\r"));
    session.wait_for("── resumed");
    session.wait_for("Enter answers");
    session.answer_question("many\r");
    session.wait_for("many");
    session.press_keys("\x1570\r");
    session.wait_for("✓ talk completed");
    session.wait_for("got 70");

    // one that works is only followed; it is ended from here
    let nap = json!([
        {"name": "start", "type": "wait", "duration": 60, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'done'"}
    ]);
    machines.write(|world| write_states(world, &nap));
    let working = begin(&machines.host);
    let napping =
        wait_for("the second run is there", || Some(machines.newest()).filter(|newest| *newest != run));
    session.press_keys(&format!("/resume {napping}\r"));
    session.wait_for("start waits");
    session.wait_for("Esc stops");
    session.press_keys(&format!("/stop {napping}\r"));
    session.wait_for("talk cancelled");
    assert_eq!(report(working).0, Some(130));
    session.press_keys("/exit\r");
    assert!(session.wait_end().contains("exit=0"));
    check_copy(&machines, &run);
    check_copy(&machines, &napping);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_client_of_the_workflow_server_answers_and_ends_a_run_that_works_elsewhere() {
    let machines = TwoMachines::new();
    machines.write(write_question);
    let _worker = machines.start_worker();
    assert_eq!(report(begin(&machines.host)).0, Some(3));
    let run = machines.newest();
    let mut client = Client::open_client(&machines.client);
    let told = client.call_tool("get_workflow_status", json!({"workflowId": run}));
    assert_eq!(told["workflowId"], json!(run), "{told}");
    let answer = json!({"resumeToken": token(&told), "results": {"answer": 11}});
    let done = client.call_tool("resume_workflow", answer);
    assert_eq!((&done["status"], &done["output"]), (&json!("completed"), &json!("got 11")), "{done}");
    let states = json!([
        {"name": "start", "type": "wait", "duration": 2, "transition": [{"target": "ask"}]},
        {"name": "ask", "type": "pause", "kind": "number", "message": {"text": "How many?"},
         "output": {"as": "many"}, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'got ' + common_data.many"}
    ]);
    machines.write(|world| write_states(world, &states));
    let working = begin(&machines.host);
    let second =
        wait_for("the second run is there", || Some(machines.newest()).filter(|newest| *newest != run));
    let told = client.call_tool("get_workflow_status", json!({"workflowId": second, "wait": true}));
    assert!(told["resumeToken"].is_string(), "{told}");
    let ended = client.call_tool("cancel_workflow", json!({"workflowId": second}));
    assert_eq!(ended["status"], "cancelled", "{ended}");
    client.close_client();
    assert_eq!(report(working).0, Some(3));
    check_copy(&machines, &second);
}

#[test]
#[ignore = "tool: needs node and npm, and the registry of npm"]
fn a_client_that_the_system_ends_leaves_its_run() {
    let machines = TwoMachines::new();
    let nap = json!([
        {"name": "start", "type": "wait", "duration": 3, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "'done'"}
    ]);
    machines.write(|world| write_states(world, &nap));
    let _worker = machines.start_worker();
    let mut child = begin(&machines.client);
    let run = machines.newest();
    thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("goes on at the Restate server"), "{said}");
    child.wait().unwrap();
    assert_eq!(status(&machines.client), "running");
    wait_for("it is over", || {
        let lines = machines.client.run_program(&["runs", "show", &run, "--backend", "restate", "--json"]);
        lines.stdout.contains("\"finished\"").then_some(())
    });
    assert_eq!(status(&machines.client), "completed");
}
