//! What a sub-agent is told, and what it is not.

use super::*;

#[test]
fn the_prompt_has_its_five_parts_and_nothing_of_the_parent() {
    let world = world(&[each_step_workflow(&names(&["a", "b"]))]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("each", json!({"task": "PARENT-INPUT"}));
    let task = told["subAgents"][1].clone();
    let id = text(&task["workflow_id"]);
    let prompt = text(&task["prompt"]);
    let parts = [
        "<workflow-server-rules>\nYou are executing a workflow task through the workflow server.\n\
         You must call the workflow server to get each next step to execute.",
        "1. Call `get_next_step(workflow_id)` to receive the next workflow step",
        "   - shell: Execute the command and return stdout/stderr/exit_code",
        "3. Call `submit_step_result(workflow_id, step_id, result)` with the result",
        "4. Repeat until you receive {status: \"complete\"}",
        &format!("- Workflow ID: {id}\n- Task: start\n- Input: {{"),
        "</workflow-server-rules>",
        "## Your task\nstart\nIt is item 2 of 2. Do only this one.",
        "## Available tools\n- get_next_step, submit_step_result: always\n- a shell, for shell steps\n- your user, for prompt steps",
        "## State\n{\n  \"house\": {\n    \"rules\": [",
        "## Success\nEvery step is done and submitted",
    ];
    let mut rest = prompt.as_str();
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in its place in\n{prompt}"));
        rest = &rest[at + part.len()..];
    }
    assert!(rest.ends_with("Begin by calling get_next_step with your workflow ID."), "{prompt}");
    // Every message to the sub-agent from here on
    let mut heard =
        vec![prompt.clone(), client.call_tool("get_workflow_state", json!({"workflow_id": id})).to_string()];
    loop {
        let said = next_step(&mut client, &id);
        heard.push(said.to_string());
        let Some(step) = said.get("step") else { break };
        heard.push(submit_step(&mut client, &id, step, &good_result(step)).to_string());
    }
    let run = text(&told["workflowId"]);
    for words in heard {
        for secret in ["PARENT-ONLY", "PARENT-KEYS", "PARENT-INPUT", "\"name\": \"a\"", &run, "secret"] {
            assert!(!words.contains(secret), "{secret}: {words}");
        }
    }
    assert!(!prompt.contains("get_workflow_state"), "{prompt}");
    client.close_client();
    let mut client = Client::open_with(&world, &["--serial"]);
    let told = client.call_tool("each", json!({}));
    assert!(
        text(&told["subAgents"][0]["prompt"]).contains("get_workflow_state(workflow_id) shows"),
        "{told}"
    );
    client.close_client();
}

#[test]
fn a_command_of_the_server_is_no_step_and_the_loop_is_described() {
    let body = json!([
        {"name": "start", "type": "shell", "command": "echo made >> made.txt", "execution": "server",
         "transition": [{"target": "ask"}]},
        {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "What of it?"}, "output": {"as": "said"},
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "common_data.said"},
    ]);
    let each = json!([{"name": "start", "type": "foreach", "in": [1, 2], "agent": "@task", "max_concurrency": 1,
                       "description": "Looks at one number.", "states": body, "output": {"as": "result"},
                       "transition": [{"target": "stop"}]}]);
    let mut flow = flow("each", &each);
    flow["output"] = json!({"name": "result", "type": "array"});
    let world = world(&[flow]);
    let mut client = Client::open_with(&world, &["--yes"]);
    let told = client.call_tool("each", json!({}));
    let prompt = text(&told["subAgents"][0]["prompt"]);
    assert!(prompt.contains("## Your task\nstart\nLooks at one number.\nIt is item 1 of 2."), "{prompt}");
    assert!(!prompt.contains("a shell, for shell steps") && prompt.contains("- your user"), "{prompt}");
    let mut open = tasks(&told);
    while let Some(id) = open.pop() {
        assert_eq!(work_through(&mut client, &id), "fine", "its only step is the question");
        let status = client.call_tool("get_workflow_status", json!({"workflowId": told["workflowId"]}));
        if status["status"] == "awaiting_sub_agents" {
            open = tasks(&status);
        }
    }
    let ended = wait_ended(&mut client, &told["workflowId"]);
    assert_eq!(
        (&ended["status"], &ended["output"]),
        (&json!("completed"), &json!(["fine", "fine"])),
        "{ended}"
    );
    assert_eq!(world.read_file("made.txt"), "made\nmade\n");
    client.close_client();
}
