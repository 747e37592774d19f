//! A program that was killed leaves everything that had finished, and says what was open (acceptance 7).

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::{Value, json};

use super::contract::send_signal;
use super::world::{World, wait_for, workflow};

#[test]
fn a_killed_run_is_interrupted_and_shows_what_was_done_and_what_was_open() {
    let world = World::repository();
    let next = |target: &str| json!([{"target": target, "condition": "true"}]);
    let say = |name: &str, target: &str| {
        json!({"name": name, "agent": "coder", "input": format!("say {name}"),
               "action": {"function": "sendUserMessage"}, "transition": next(target)})
    };
    let states = json!([
        {"name": "start", "action": {"script": "this.common_data.colour = 'green';"}, "transition": next("first")},
        say("first", "second"), say("second", "stop"), {"name": "stop"}
    ]);
    world.write_json("talk.json", &workflow(&states));
    let call = json!([{"name": "write_file", "arguments": {"file_path": "made.txt", "content": "made"}}]);
    let replies =
        json!([{"tool_calls": call}, {"text": "First is done."}, {"text": "never", "delay_ms": 600_000}]);
    world.write_json("replies.json", &json!({"replies": {"coder": replies}}));
    let arguments =
        ["run", "--workflow-file", "talk.json", "--replies", "replies.json", "go", "--yes", "--events"];
    let mut child = world.command(&arguments).spawn().unwrap();
    let id = wait_for("the second state is reached", || {
        let list = world.run_program(&["runs", "list", "--json"]).json();
        let there = list[0]["path"] == json!(["start", "first", "second"]);
        there.then(|| list[0]["id"].as_str().unwrap().to_owned())
    });
    let alive = world.run_program(&["runs", "list", "--json"]).json();
    assert_eq!(alive[0]["status"], "running", "readable while it runs");
    wait_for("the model is asked, and the files are stored beside that", || {
        let lines = world.run_program(&["runs", "show", &id, "--json"]).code(0).lines();
        let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
        (count("model_called") == 3 && count("snapshot_taken") == 2).then_some(())
    });
    send_signal(child.id(), "KILL");
    child.wait().unwrap();

    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(list[0]["status"], "interrupted");
    assert!(world.run_program(&["runs", "list"]).code(0).stdout.contains("interrupted"));
    let shown = world.run_program(&["runs", "show", &id]).code(0).stdout;
    let finished = [
        "status     interrupted",
        "start > first > second",
        "common_data: colour",
        "✓ write_file",
        "First is done.",
        "● 3 second (coder)",
        "calls that never finished",
        "call_model",
    ];
    for part in finished {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    let open = shown.split_once("never finished").unwrap().1;
    assert_eq!(open.trim().lines().count(), 2, "only the model call was open: {open}");
    assert_eq!(world.read_file("made.txt"), "made");
    let snapshot = list[0]["snapshot"].as_str().unwrap();
    world.run_program(&["snapshot", "restore", snapshot, "--yes"]).code(0);
    assert!(!world.project().join("made.txt").exists(), "an interrupted run can be undone");
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&["--json"]).code(0);
}

#[test]
fn a_killed_run_goes_on_with_the_agents_that_its_agent_has_started() {
    let world = World::repository();
    let states = json!([
        {"name": "start", "agent": "orchestrator", "input": "common_data.task",
         "action": {"function": "sendUserMessage"}, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "this.last_agent_response"}
    ]);
    let mut flow = workflow(&states);
    flow["agents"][0]["agent_role"] = json!("orchestrator");
    world.write_json("team.json", &flow);
    let spawn = |background: bool| {
        json!({"name": "spawn_agent",
               "arguments": {"role": "coder", "task": "write made.txt", "background": background}})
    };
    let write = json!([{"name": "write_file", "arguments": {"file_path": "made.txt", "content": "made"}}]);
    let lead = json!([{"tool_calls": [spawn(true), spawn(false)]}]);
    let never = json!({"text": "never", "delay_ms": 600_000});
    let coder = json!([{"tool_calls": write}, never, never]);
    world.write_json("replies.json", &json!({"replies": {"orchestrator": lead, "coder": coder}}));
    let returns = json!({"tool_calls": [{"name": "return_results", "arguments": {"result": "written"}}]});
    // the script goes on behind the replies of before; once more, if the agent in the background ends last
    let said = json!({"text": "Both are done."});
    let after = json!({"orchestrator": [said, said, said], "coder": [returns, returns, returns]});
    world.write_json("after.json", &json!({"replies": after}));
    let arguments =
        ["run", "--workflow-file", "team.json", "--replies", "replies.json", "go", "--yes", "--events"];
    let mut child = world.command(&arguments).spawn().unwrap();
    let events = |id: &str| world.run_program(&["runs", "show", id, "--json"]).code(0).lines();
    let count = |id: &str, event: &str| events(id).iter().filter(|line| line["event"] == event).count();
    let id = wait_for("both agents ask their models", || {
        let list = world.run_program(&["runs", "list", "--json"]).json();
        let id = list[0]["id"].as_str()?.to_owned();
        (count(&id, "agent_spawned") == 2 && count(&id, "model_called") == 4).then_some(id)
    });
    send_signal(child.id(), "KILL");
    child.wait().unwrap();

    let done =
        world.run_program(&["resume", &id, "--replies", "after.json", "--yes", "--json"]).code(0).json();
    assert_eq!((&done["status"], &done["output"]), (&json!("completed"), &json!("Both are done.")), "{done}");
    assert_eq!((count(&id, "agent_spawned"), count(&id, "agent_ended")), (2, 2));
    assert_eq!(world.read_file("made.txt"), "made");
    let shown = world.run_program(&["runs", "show", &id]).code(0).stdout;
    for part in ["started agent coder-1 in the background", "agent coder-2 completed"] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    world.run_program(&["runs", "replay", &id]).code(0);
}

/// The command leaves a process that nobody reaps after its end: the watcher takes it for one that is still ending.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_is_not_taken_up_before_its_commands_have_ended() {
    let world = World::repository();
    let began = world.project().join("began");
    let states = json!([
        {"name": "start", "type": "shell", "command": "echo > began; sleep 1000",
         "transition": [{"target": "stop"}]},
        {"name": "stop"}
    ]);
    world.write_json("slow.json", &json!({"workflow_name": "slow", "states": states}));
    let arguments = ["run", "--workflow-file", "slow.json", "--yes", "--no-sandbox"];
    let mut child = world.command(&arguments).spawn().unwrap();
    wait_for("the command runs", || began.exists().then_some(()));
    let mut locks = fs::read_dir(world.data().join("drivers")).unwrap().flatten();
    let lock = File::open(locks.next().unwrap().path()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // the watcher of the command holds the lock until the command has ended; here that takes longer
    lock.lock().unwrap();
    let run = world.run_program(&["runs", "list", "--json"]).code(0).json()[0].clone();
    assert_eq!(run["status"], "interrupted");
    let id = run["id"].as_str().unwrap();
    let mut resumed =
        world.command(&["resume", id, "--yes", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let waits = resumed.try_wait().unwrap().is_none();
    lock.unlock().unwrap();
    let told = resumed.wait_with_output().unwrap();
    assert!(waits, "{}", String::from_utf8_lossy(&told.stdout));
    let report: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(report["pauses"][0]["reason"], "uncertain_effect", "{report:#}");
}
