//! Agents that agents start have rows of their own, below the run in which they work.

use serde_json::{Value, json};

use super::super::world::{World, workflow};
use super::{list_runs, run_question};

/// `lead` starts `helper` twice, and the first `helper` starts a `scout`.
pub fn team_world() -> World {
    let world = World::new();
    let states = json!([
        {"name": "start", "agent": "lead", "input": "common_data.task",
         "action": {"function": "sendUserMessage"}, "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "this.last_agent_response"}
    ]);
    let mut flow = workflow(&states);
    flow["agents"][0]["agent_role"] = json!("lead");
    world.write_json("team.json", &flow);
    let role = |enabled: &[&str]| json!({"level": "base", "systemMessage": "You work.", "includedTools": [], "enabled_agents": enabled});
    let roles = json!({"lead": role(&["helper"]), "helper": role(&["scout"]), "scout": role(&[])});
    world.write_user_file("roles/team.json", &roles.to_string());
    let spawn = |role: &str| json!({"tool_calls": [{"name": "spawn_agent", "arguments": {"role": role, "task": "look"}}]});
    let returns = json!({"tool_calls": [{"name": "return_results", "arguments": {"result": "seen"}}]});
    let fails = json!({"error": {"kind": "auth", "message": "no"}});
    let replies = json!({
        "lead": [spawn("helper"), spawn("helper"), {"text": "Done."}],
        "helper": [spawn("scout"), returns, fails],
        "scout": [returns]
    });
    world.write_json("replies.json", &json!({"replies": replies}));
    world
}

pub fn run_team(world: &World) -> String {
    let base = ["run", "--workflow-file", "team.json", "--replies", "replies.json", "look around", "--json"];
    world.run_program(&base).code(0).json()["run_id"].as_str().unwrap().to_owned()
}

/// Name, role and status, each with the agents below it.
fn agent_tree(agents: &Value) -> Value {
    let rows = agents.as_array().into_iter().flatten();
    rows.map(|agent| {
        let has_answered = agent["status"] == "completed";
        assert_eq!(agent["tokens"].as_u64().unwrap() > 0, has_answered, "{agent}");
        assert!(agent["duration_ms"].is_u64(), "{agent}");
        assert_eq!(agent["cost_usd"], 0.0, "{agent}");
        json!([agent["name"], agent["role"], agent["status"], agent_tree(&agent["agents"])])
    })
    .collect()
}

#[test]
fn started_agents_stand_below_the_agent_that_started_them() {
    let world = team_world();
    run_question(&world, "Shall I?");
    let id = run_team(&world);
    let expected = json!([
        ["helper-1", "helper", "completed", [["scout-2", "scout", "completed", []]]],
        ["helper-3", "helper", "failed", []]
    ]);
    for arguments in [&[][..], &["--tree"]] {
        let runs = list_runs(&world, arguments);
        assert_eq!((&runs[0]["id"], agent_tree(&runs[0]["agents"])), (&json!(id), expected.clone()));
        assert_eq!(runs[1].get("agents"), None, "a run without agents has no such field");
    }
    let shown = world.run_program(&["runs", "list", "--tree"]).code(0).stdout;
    let rows: Vec<&str> =
        shown.lines().filter(|line| line.contains("-1 (") || line.contains("-2 (")).collect();
    let indent = |row: &str| row.len() - row.trim_start().len();
    assert_eq!(rows.len(), 2, "{shown}");
    assert_eq!((indent(rows[0]), indent(rows[1])), (14, 16), "{shown}");
    for part in [
        "helper-1 (helper)  completed  ",
        "scout-2 (scout)  completed  ",
        "helper-3 (helper)  failed  ",
        " tokens",
    ] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    let plain = world.run_program(&["runs", "list"]).code(0).stdout;
    assert!(!plain.contains("helper-1"), "{plain}");
}
