//! Both complete workflows of the design documents, saved verbatim, from the command line (acceptance 2).

use serde_json::{Value, json};

use super::world::World;

fn seed_text(name: &str) -> String {
    format!("{}/tests/data/seed/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

fn review_call(arguments: Value) -> Value {
    json!({"tool_calls": [{"name": "review_work", "arguments": arguments}]})
}

fn check_run(name: &str, input: &str, replies: Value, output: &str, path: &str) {
    let world = World::repository();
    world.write_json("replies.json", &json!({"replies": replies}));
    let checked = world.run_program(&["check", &seed_text(name)]).code(0).stdout;
    assert!(checked.contains("no errors") || !checked.contains("error["), "{checked}");
    let file = seed_text(name);
    let ran = world.run_program(&[
        "run",
        "--workflow-file",
        &file,
        input,
        "--replies",
        "replies.json",
        "--yes",
        "--json",
    ]);
    let report = ran.code(0).json();
    assert_eq!((&report["output"], &report["warnings"]), (&json!(output), &json!([])), "{report}");
    let states: Vec<&str> = report["path"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(states.join(" > "), path);
}

#[test]
fn coder_reviewer_ends_with_the_reviewers_summary() {
    let write = json!([{"name": "write_file", "arguments": {"file_path": "a.txt", "content": "a"}}]);
    let replies = json!({
        "coder": [
            {"match": "^Perform following task: make a$", "reply": {"text": "I begin.", "tool_calls": write}},
            {"text": "Made."},
            {"match": "Say b, too.", "reply": {"text": "Said."}}
        ],
        "reviewer": [
            {"match": "review coder's work, provide continue_message or work_summary",
             "reply": review_call(json!({"improvement_needed": true, "continue_message": "Say b, too."}))},
            review_call(json!({"improvement_needed": false, "work_summary": "a was made, b was said"}))
        ]
    });
    let path = "start > code > review > code > review > stop";
    check_run("coder_reviewer", "make a", replies, "a was made, b was said", path);
}

#[test]
fn hierarchical_development_passes_each_result_on() {
    let replies = json!({
        "product_manager": [
            {"match": "Analyze these business requirements: sell tea", "reply": {"text": "ANALYSIS"}},
            {"match": "Requirements: sell tea, Business Analysis: ANALYSIS, Implementation: SUMMARY, \
                       Architect Review: REVIEW", "reply": {"text": "approved"}}
        ],
        "architect": [
            {"match": "technical specification for: ANALYSIS", "reply": {"text": "SPEC"}},
            {"match": "Original spec: SPEC. Implementation: SUMMARY", "reply": {"text": "REVIEW"}}
        ],
        "coder": [{"match": "Perform following task: SPEC", "reply": {"text": "Built."}}],
        "reviewer": [review_call(json!({"improvement_needed": false, "work_summary": "SUMMARY"}))]
    });
    let path = "start > business_analysis > technical_specification > implementation_with_review > \
                coder_reviewer/start > coder_reviewer/code > coder_reviewer/review > coder_reviewer/stop > \
                architecture_review > final_approval > stop";
    check_run("hierarchical_development", "sell tea", replies, "approved", path);
}

/// Names and messages as files of the older program have them.
#[test]
fn older_files_run_as_they_are() {
    let world = World::repository();
    world.write_user_file(
        "roles/shop.json",
        r#"{"clerk": {"systemMessage": "You sell.", "includedTools": [], "examples": [
            {"role": "user", "content": "Hi"},
            {"role": "function", "name": "offer", "content": "said", "arguments": "{\"needed\":false}"}]}}"#,
    );
    world.write_json(
        "shop.json",
        &json!({"workflow_name": "shop", "input": {"name": "task", "type": "string"},
            "output": {"name": "current_request", "type": "string"}, "contexts": [{"name": "c"}],
            "agents": [{"agent_role": "clerk", "context": "c", "role": "assistant"}],
            "states": [
                {"name": "start", "agent": "clerk", "input": "common_data.task", "transition": [{"target": "stop",
                    "before": "common_data.current_request = this.lastAgentResponse + this.lastToolCalls.length;"}]},
                {"name": "stop", "input": "common_data.current_request"}]}),
    );
    world.write_json("replies.json", &json!({"replies": {"clerk": [{"text": "Two apples."}]}}));
    let checked = world.run_program(&["check", "shop.json"]).code(0).stdout;
    assert!(checked.contains("no problems"), "{checked}");
    world.run_program(&["check"]).code(0);
    let run = ["run", "--workflow-file", "shop.json", "buy", "--replies", "replies.json", "--json"];
    assert_eq!(world.run_program(&run).code(0).json()["output"], "Two apples.0");
}
