//! Steps for sub-agents.

use serde_json::{Value, json};

use super::super::client::Client;
use super::super::flows::{flow, world};
use super::super::transcript::Transcript;

/// A task with a step of every kind that a sub-agent does, and of every kind that it does not.
fn task() -> Value {
    let next = |target: &str| json!([{"target": target}]);
    let body = json!([
        {"name": "start", "type": "shell", "command": "wc", "args": ["-l", "common_data.item"], "output": {"as": "ran"},
         "transition": next("look")},
        {"name": "look", "type": "mcp", "server": "files", "tool": "read", "arguments": {"path": {"expr": "common_data.item"}},
         "output": {"as": "read"}, "transition": next("confirm")},
        {"name": "confirm", "type": "pause", "kind": "boolean", "message": {"template": "Is {{common_data.item}} right?"},
         "output": {"as": "right"}, "transition": next("words")},
        {"name": "words", "type": "pause", "kind": "text", "message": "Why?", "output": {"as": "why"}, "transition": next("note")},
        {"name": "note", "action": {"set_state": {"noted": "common_data.read.lines + common_data.index"}},
         "transition": [{"target": "short", "condition": "common_data.noted < 10"}, {"target": "stop"}]},
        {"name": "short", "action": {"set_state": {"noted": "'few: ' + common_data.noted"}}, "transition": next("stop")},
        {"name": "stop", "input": "common_data.noted + ' ' + common_data.right + ' ' + common_data.why"},
    ]);
    let mut flow = flow(
        "check_files",
        &json!([{"name": "start", "type": "foreach", "in": "common_data.files", "agent": "@task", "needs_state": ["house"],
                 "states": body, "output": {"as": "result"}, "transition": next("stop")}]),
    );
    flow["input"] = json!({"name": "files", "type": "array"});
    flow["output"] = json!({"name": "result", "type": "array"});
    flow["variables"] = json!({"house": "rules", "secret": "PARENT-ONLY"});
    flow
}

/// The start, up to the first step.
const STARTED: &str = r#"
> check_files {"files": ["a.rs"]}
< {"status": "awaiting_sub_agents", "workflowId": "$run", "workflowName": "check_files", "completedSteps": [], "message": "$_",
   "subAgents": [{"workflow_id": "$task", "task": "start", "started": false, "index": 0, "total": 1, "prompt": "$prompt"}]}
> get_next_step {"workflow_id": "$task"}
< {"status": "pending_step", "step": {"step_id": "$shell", "type": "shell", "parameters": {"command": "wc", "args": ["-l", "a.rs"]},
   "timeout": 300, "state": "start", "attempt": 1, "state_version": 0}}
"#;

const SHELL_DONE: &str = r#"
> submit_step_result {"workflow_id": "$task", "step_id": "$shell", "result": {"stdout": "4 a.rs\n", "stderr": "", "exit_code": 0}}
< {"status": "accepted"}
"#;

const REST: &str = r#"
> get_next_step {"workflow_id": "$task"}
< {"status": "pending_step", "step": {"step_id": "$mcp", "type": "mcp_call",
   "parameters": {"server": "files", "tool": "read", "arguments": {"path": "a.rs"}},
   "timeout": 300, "state": "look", "attempt": 1, "state_version": 1}}
> submit_step_result {"workflow_id": "$task", "step_id": "$mcp", "result": {"data": {"lines": 4}}}
< {"status": "accepted"}
> get_next_step {"workflow_id": "$task"}
< {"status": "pending_step", "step": {"step_id": "$confirm", "type": "prompt",
   "parameters": {"prompt_type": "confirm", "message": "Is a.rs right?"},
   "timeout": 300, "state": "confirm", "attempt": 1, "state_version": 2}}
> get_workflow_state {"workflow_id": "$task"}
< {"workflow_id": "$task", "current_step": "$confirm", "completed_steps": ["$shell", "$mcp"], "remaining_steps": 1,
   "state": {"item": "a.rs", "index": 0, "total": 1, "is_first": true, "is_last": true, "house": "rules",
             "ran": {"stdout": "4 a.rs\n", "stderr": "", "exit_code": 0, "timed_out": false}, "read": {"lines": 4}}}
> submit_step_result {"workflow_id": "$task", "step_id": "$confirm", "result": {"confirmed": true}}
< {"status": "accepted"}
> get_next_step {"workflow_id": "$task"}
< {"status": "pending_step", "step": {"step_id": "$words", "type": "prompt", "parameters": {"prompt_type": "text", "message": "Why?"},
   "timeout": 300, "state": "words", "attempt": 1, "state_version": 3}}
> submit_step_result {"workflow_id": "$task", "step_id": "$words", "result": {"input": "so"}}
< {"status": "accepted"}
> get_next_step {"workflow_id": "$task"}
< {"status": "complete", "final_result": "few: 4 true so"}
> get_workflow_state {"workflow_id": "$task"}
< {"workflow_id": "$task", "current_step": null, "completed_steps": ["$shell", "$mcp", "$confirm", "$words"], "remaining_steps": 0,
   "state": {"item": "a.rs", "index": 0, "total": 1, "is_first": true, "is_last": true, "house": "rules",
             "ran": {"stdout": "4 a.rs\n", "stderr": "", "exit_code": 0, "timed_out": false}, "read": {"lines": 4},
             "right": true, "why": "so", "noted": "few: 4"}}
> get_workflow_status {"workflowId": "$run", "wait": true}
< {"status": "completed", "success": true, "workflowId": "$run", "workflowName": "check_files", "completedSteps": "$_",
   "data": {"output": ["few: 4 true so"]}, "output": ["few: 4 true so"]}
"#;

fn transcript(parts: &[&str]) -> Transcript {
    Transcript::new(|| world(&[task()]), &[], &parts.concat())
}

#[test]
fn a_task_from_its_prompt_to_its_result() {
    transcript(&[STARTED, SHELL_DONE, REST]).check_transcript();
}

/// A result that does not fit; the step stays.
fn unfit_result_text(step: &str, result: &str, why: &str) -> String {
    r#"
> submit_step_result {"workflow_id": "$task", "step_id": "STEP", "result": RESULT}
< {"status": "error", "code": "validation_failed", "message": "WHY; the step stays yours: submit it again", "tries_left": "$_"}
"#
    .replace("STEP", step)
    .replace("RESULT", result)
    .replace("WHY", why)
}

#[test]
fn a_shell_result_needs_its_three() {
    let rows = [
        unfit_result_text(
            "$shell",
            "{}",
            "a shell result needs stdout, stderr and exit_code: `stdout` is missing; `stderr` is missing; `exit_code` is missing",
        ),
        unfit_result_text(
            "$shell",
            r#"{"stdout": "", "stderr": "", "exit_code": "0"}"#,
            "a shell result needs stdout, stderr and exit_code: `exit_code` must be a whole number",
        ),
    ];
    transcript(&[STARTED, &rows.concat(), SHELL_DONE]).check_transcript();
}

#[test]
fn an_mcp_result_needs_data_or_an_error() {
    let step = REST.split("> submit_step_result").next().unwrap();
    let rows = [
        unfit_result_text("$mcp", r#"{"stdout": ""}"#, "an mcp_call result needs `data` or `error`"),
        unfit_result_text(
            "$mcp",
            r#"{"data": 1, "error": "no"}"#,
            "an mcp_call result has `data` or `error`, not both",
        ),
    ];
    let failed = r#"
> submit_step_result {"workflow_id": "$task", "step_id": "$mcp", "result": {"error": "no such file"}}
< {"status": "accepted"}
> get_next_step {"workflow_id": "$task"}
< {"status": "error", "code": "workflow_failed", "error": "$_"}
"#;
    transcript(&[STARTED, SHELL_DONE, step, &rows.concat(), failed]).check_transcript();
}

#[test]
fn a_prompt_result_needs_what_its_type_asks_for() {
    let (confirm, rest) = REST.split_once("> get_workflow_state").unwrap();
    let words = rest.split_once("> submit_step_result").unwrap().1;
    let words = words.split("> submit_step_result").next().unwrap();
    let given = format!("> submit_step_result{words}");
    transcript(&[
        STARTED,
        SHELL_DONE,
        confirm,
        &unfit_result_text("$confirm", "{}", "`confirmed` is missing (true or false)"),
        &unfit_result_text("$confirm", r#"{"confirmed": "yes"}"#, "`confirmed` must be true or false"),
        &given,
        &unfit_result_text("$words", "{}", "`input` is missing (a text)"),
        &unfit_result_text("$words", r#"{"input": 1}"#, "`input` must be a text"),
    ])
    .check_transcript();
}

#[test]
fn what_is_refused() {
    let invalid = r#"
> get_next_step {"workflow_id": "nope"}
< {"status": "error", "code": "unknown_workflow", "error": "there is no workflow with this workflow_id"}
> submit_step_result {"workflow_id": "nope", "step_id": "$shell", "result": {}}
< {"status": "error", "code": "unknown_workflow", "message": "there is no workflow with this workflow_id"}
> get_workflow_state {"workflow_id": "nope"}
< {"status": "error", "code": "unknown_workflow", "error": "there is no workflow with this workflow_id"}
> submit_step_result {"workflow_id": "$task", "step_id": "step-999", "result": {}}
< {"status": "error", "code": "unknown_step", "message": "there is no step with this step_id, or it is not wanted any more; call get_next_step"}
"#;
    let completed = r#"
> submit_step_result {"workflow_id": "$task", "step_id": "$shell", "result": {"stdout": "4 a.rs\n", "stderr": "", "exit_code": 0}}
< {"status": "accepted", "duplicate": true}
> submit_step_result {"workflow_id": "$task", "step_id": "$shell", "result": {"stdout": "other", "stderr": "", "exit_code": 0}}
< {"status": "error", "code": "step_already_completed", "message": "the step was completed with another result: the first one counts"}
"#;
    let over = r#"
> submit_step_result {"workflow_id": "$task", "step_id": "step-999", "result": {}}
< {"status": "error", "code": "workflow_complete", "message": "the workflow is complete"}
> get_next_step {"workflow_id": "$task"}
< {"status": "complete", "final_result": "few: 4 true so"}
"#;
    transcript(&[STARTED, invalid, SHELL_DONE, completed, REST, over]).check_transcript();
}

/// The template of the example, line by line.
const TEMPLATE: &str = "<workflow-server-rules>
You are executing a workflow task through the Temporal workflow server.
You must call the workflow server to get each next step to execute.

## How to interact with the workflow server:
1. Call `get_next_step(workflow_id)` to receive the next workflow step
2. Execute the step based on its type:
   - shell: Execute the command and return stdout/stderr/exit_code
   - mcp_call: Call the specified MCP tool with parameters
   - set_state: Acknowledge state updates (server handles internally)
   - return: Acknowledge completion
3. Call `submit_step_result(workflow_id, step_id, result)` with the result
4. Repeat until you receive {status: \"complete\"}

## Workflow Context:
- Workflow ID: {workflow_id}
- Task: {task_name}
- Input: {item_from_foreach}
</workflow-server-rules>

Begin by calling get_next_step with your workflow ID.";

#[test]
fn the_prompt_is_the_template_but_for_what_the_server_does_itself() {
    let world = world(&[task()]);
    let mut client = Client::open_client(&world);
    let told = client.call_tool("check_files", json!({"files": ["a.rs"]}));
    let task = &told["subAgents"][0];
    let (prompt, id) = (task["prompt"].as_str().unwrap(), task["workflow_id"].as_str().unwrap());
    let expected = TEMPLATE
        .replace("the Temporal workflow server", "the workflow server")
        .replace("{workflow_id}", id)
        .replace("{task_name}", "start")
        .replace("{item_from_foreach}", "a.rs");
    let mut rest = prompt;
    // The server does them, and there is nothing to acknowledge
    for line in expected.lines().filter(|line| !line.contains("Acknowledge")) {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} is not in its place in\n{prompt}"));
        rest = &rest[at + line.len()..];
    }
    assert!(
        prompt.contains("set_state, condition, return: The server does them itself; you get none"),
        "{prompt}"
    );
    client.close_client();
}
