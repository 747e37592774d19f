//! What a definition warns of is said by each way of starting it: at this server, on screen, on the command line.

use serde_json::json;

use super::super::cli::world::World;
use super::client::Client;

#[test]
fn each_way_of_starting_tells_what_the_definition_warns_of_once() {
    let world = World::new();
    let flow = |held: bool| {
        let wanted = if held { 200 } else { 1 };
        let body = json!([{"name": "start", "action": {"script": "common_data.n = 1"}, "transition": [{"target": "stop"}]},
                          {"name": "stop"}]);
        let flow = json!({"workflow_name": "held", "input": {"name": "task", "type": "string", "required": false}, "states": [
            {"name": "start", "type": "pause", "message": {"text": "Now?"}, "output": {"as": "answer"},
             "transition": [{"target": "each"}]},
            {"name": "each", "type": "foreach", "in": "[1]", "max_concurrency": wanted, "states": body,
             "transition": [{"target": "stop"}]},
            {"name": "stop"}]});
        world.write_user_file("workflows/held.json", &flow.to_string())
    };
    let once = |text: &str, expected: usize, way: &str| {
        assert_eq!(
            text.matches("`each` asks for 200 at once and gets 10").count(),
            expected,
            "{way}\n{text}"
        );
    };
    flow(false);
    let began = world.run_program(&["run", "held", "x", "--json"]).code(3);
    once(&began.stderr, 0, "nothing to tell");
    let run = began.json()["run_id"].as_str().unwrap().to_owned();
    flow(true);
    let upgraded = world.run_program(&["resume", &run, "--upgrade", "--results", "yes", "--json"]).code(0);
    once(&upgraded.stderr, 1, "resume --upgrade");
    once(&upgraded.json()["warnings"].to_string(), 1, "its report");
    let plain = world.run_program(&["run", "held", "x"]);
    once(&plain.stderr, 1, "run");
    assert!(
        plain.stderr.contains("warning: ") && plain.stderr.contains("[W12]: `each` asks"),
        "{}",
        plain.stderr
    );
    let screen = world.run_with(&["--linear"], "/workflow held x\nyes\n");
    once(&screen.stdout, 1, "on screen");
    let mut client = Client::open_client(&world);
    for (tool, arguments) in
        [("held", json!({})), ("start_workflow", json!({"name": "held", "inputs": {}, "wait": false}))]
    {
        let id = client.begin_call(tool, arguments);
        let answer = client.wait_answer(id);
        once(&answer["result"]["structuredContent"]["warnings"].to_string(), 1, tool);
        once(answer["result"]["content"][0]["text"].as_str().unwrap(), 1, tool);
    }
    client.close_client();
}
