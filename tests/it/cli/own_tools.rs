//! Tools that users and projects define: listed, checked, trusted, run.

use serde_json::json;

use super::world::World;

const GREET: &str = r#"{
  "description": "Greets someone.",
  "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
  "command": ["sh", "-c", "printf 'hello '; cat"]
}"#;

#[test]
fn mistakes_are_shown_with_their_place() {
    let world = World::new();
    let none = world.run_program(&["tools", "check"]).code(0);
    assert!(none.stdout.contains("no tools are defined"), "{}", none.stdout);
    world.write_user_file("tools/greet.json", GREET);
    let fine = world.run_program(&["tools", "check"]).code(0);
    assert!(
        fine.stdout.contains("greet") && fine.stdout.contains("1 tool file, no findings"),
        "{}",
        fine.stdout
    );
    world.write_user_file(
        "tools/broken.json",
        "{\n  \"description\": \"d\",\n  \"comand\": [],\n  \"parameters\": {\"type\": \"object\"}\n}",
    );
    let found = world.run_program(&["tools", "check"]).code(1);
    for part in ["tools/broken.json:3:3", "unknown key `comand`", "the tool `broken` lacks `command`"] {
        assert!(found.stdout.contains(part), "{part}\n{}", found.stdout);
    }
    let list = world.run_program(&["tools"]);
    assert!(list.stdout.contains("greet") && !list.stdout.contains("broken"), "{}", list.stdout);
    world.write_file(".synthdev/tools/x.json", "{\"description\": 1}");
    let file = world.run_program(&["check", ".synthdev/tools/x.json"]).code(1);
    assert!(file.stdout.contains("x.json:1:17"), "{}", file.stdout);
}

#[test]
fn a_project_s_tool_needs_trust_which_shows_its_command() {
    let world = World::new();
    world.write_file(".synthdev/tools/greet.json", GREET);
    let before = world.run_program(&["tools"]).code(0);
    assert!(!before.stdout.contains("greet"), "{}", before.stdout);
    let shown = before.stderr;
    assert!(shown.contains("a tool for agents: $ [\"sh\",\"-c\",\"printf 'hello '; cat\"]"), "{shown}");
    let after = world.run_program(&["--trust", "tools"]).code(0);
    let line = after.stdout.lines().find(|line| line.starts_with("greet ")).unwrap_or_default();
    assert!(line.contains("execute") && line.contains("ask") && line.contains("Greets someone."), "{line}");
}

#[test]
fn an_agent_and_a_state_call_it() {
    let world = World::new();
    world.write_user_file("tools/greet.json", GREET);
    let workflow = json!({
        "workflow_name": "greeting",
        "output": {"name": "said", "type": "string"},
        "states": [
            {"name": "start", "type": "tool", "tool": "greet", "arguments": {"name": "Ada"}, "transition": [
                {"target": "stop", "before": "() => { this.common_data.said = this.context.result; }"}]},
            {"name": "stop"}]
    });
    world.write_json("greeting.json", &workflow);
    let ran = world
        .run_program(&["run", "--workflow-file", "greeting.json", "--yes", "--no-sandbox", "--json"])
        .code(0);
    assert!(ran.stdout.contains("hello "), "{}", ran.stdout);
}
