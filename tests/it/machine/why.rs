//! `why STEP`: the answer for people, from runs of real files whose models are scripted.

use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::engine::input::Answer;
use synthdev::engine::why::{Why, lines, why};

use super::upgrade::played::{Played, program};

fn run(files: &[Value], inputs: Value, replies: Value, answers: &[Answer]) -> Played {
    let mut played = Played::new(program(files), inputs, replies, answers);
    played.to_end();
    played
}

fn asked(played: &Played, step: u32) -> Why {
    let found = why(Arc::clone(&played.spec), &played.inputs, step);
    found.unwrap_or_else(|| panic!("there is no step {step}: {}", played.path()))
}

#[test]
fn the_reviewer_sent_the_coder_back() {
    let file: Value = serde_json::from_str(include_str!("../../../workflows/coder_reviewer.json")).unwrap();
    let more = json!({"review_work": {"improvement_needed": true, "continue_message": "add tests"}});
    let done = json!({"review_work": {"improvement_needed": false, "work_summary": "All done."}});
    let replies = json!({"coder": ["drafted", "tested"], "reviewer": [more, done]});
    let played = run(&[file], json!({"task_to_do": "T"}), replies, &[]);
    assert_eq!(played.path(), "start code review code review stop");
    let rows: [(u32, &[&str]); 4] = [
        (1, &["step 1: start", "  the run began here"]),
        (2, &["step 2: code, after start (step 1)", "  by its only transition, which has no condition"]),
        (4, &[]),
        (6, &[]),
    ];
    for (step, expected) in rows {
        assert_eq!(lines(&asked(&played, step)), expected, "step {step}");
    }
    assert_eq!(why(Arc::clone(&played.spec), &played.inputs, 7), None);
    assert_eq!(why(Arc::clone(&played.spec), &played.inputs, 0), None);
}

/// Everything at once: variables, inputs, a counter, branches, a loop, a child, a command, an error.
fn files() -> [Value; 2] {
    let root = json!({
        "workflow_name": "case", "snapshot": "off",
        "input": [{"name": "task", "type": "string"}, {"name": "depth", "type": "number", "default": 2}],
        "output": {"name": "result", "type": "string"},
        "variables": {"rounds": 0, "most": 2},
        "contexts": [{"name": "talk"}, {"name": "side"}],
        "agents": [{"agent_role": "writer", "context": "talk", "role": "assistant"},
            {"agent_role": "critic", "context": "side", "role": "assistant"}],
        "states": [
            {"name": "start", "action": {"script": "() => { this.common_data.rounds = this.common_data.rounds + 1; }"},
                "transition": [
                {"target": "start", "condition": "common_data.rounds < common_data.most && inputs.depth === 2"},
                {"target": "split"}]},
            {"name": "split", "type": "parallel", "branches": [
                {"name": "a", "states": [
                    {"name": "start", "agent": "writer", "input": {"text": "A."}, "output": {"as": "left"},
                        "transition": [{"target": "more", "condition": "common_data.left.length > 0"},
                            {"target": "stop"}]},
                    {"name": "more", "transition": [{"target": "stop"}]}]},
                {"name": "b", "agent": "critic", "input": {"text": "B."}}],
                "transition": [{"target": "each", "condition": "common_data.left === 'A' && context.success"}]},
            {"name": "each", "type": "foreach", "in": ["x"], "states": [
                {"name": "start", "transition": [
                    {"target": "stop", "condition": "loop.is_last && common_data.item === 'x'"}]}],
                "transition": [{"target": "call"}]},
            {"name": "call", "action": {"sub_workflow": "inner",
                "sub_workflow_input": {"what": "common_data.task"}}, "transition": [
                {"target": "run", "condition": "sub_workflow_result !== 'common_data.task' /* inputs.task */"}]},
            {"name": "run", "type": "shell", "command": "make", "transition": [
                {"target": "stop", "condition": "context.result.exit_code !== 0"},
                {"target": "ask", "condition": "context.result.exit_code === 0"}]},
            {"name": "ask", "type": "pause", "kind": "choice", "choices": ["p", "q"], "message": "Which?",
                "output": {"as": "chosen"}, "transition": [
                {"target": "fails", "condition": "common_data.chosen === 'q'"}]},
            {"name": "fails", "action": {"script": "() => { throw new Error('no way') }"},
                "catch": [{"errors": ["script"], "as": "problem", "target": "last"}],
                "transition": [{"target": "stop"}]},
            {"name": "last", "transition": [
                {"target": "start", "condition": "common_data.nothing.here", "before": "() => {}"},
                {"target": "stop", "condition": "common_data.problem.name === 'script'"}]},
            {"name": "stop", "input": "'end'"}],
        "on_condition_error": "false"
    });
    let inner = json!({
        "workflow_name": "inner",
        "input": {"name": "what", "type": "string"},
        "output": {"name": "answer", "type": "string"},
        "contexts": [{"name": "own"}],
        "agents": [{"agent_role": "writer", "context": "own", "role": "assistant"}],
        "states": [
            {"name": "start", "agent": "writer", "input": "common_data.what", "output": {"as": "answer"},
                "transition": [{"target": "stop", "condition": "inputs.what === common_data.what && last_agent_response === common_data.answer"}]},
            {"name": "stop", "input": "common_data.answer"}]
    });
    [root, inner]
}

#[test]
fn each_kind_of_way_and_source_is_told() {
    let answer = Answer::Value { value: json!("q") };
    let replies = json!({"writer": ["A", "inner"], "critic": ["B"]});
    let played = run(&files(), json!({"task": "t", "depth": 2}), replies, &[answer]);
    let path = "start start split split.a/start split.b/start split.b/stop split.a/more split.a/stop each each[0]/start \
        each[0]/stop call inner/start inner/stop run ask fails last stop";
    assert_eq!(played.path(), path);
    let rows: [(u32, &[&str]); 0] = [
    ];
    for step in 1..=19 {
        println!("{}\n", lines(&asked(&played, step)).join("\n"));
    }
    for (step, expected) in rows {
        assert_eq!(lines(&asked(&played, step)), expected, "step {step}");
    }
    panic!();
}
