//! `why STEP`: the answer for people, from runs of real files whose models are scripted.

use std::sync::Arc;

use serde_json::{Value, json};
use synthdev::engine::explain::{StepExplanation, explain_step, report_lines};
use synthdev::engine::input::{Input, RewindInput, UserAnswer};

use super::upgrade::played::{Played, program};

fn run(files: &[Value], inputs: Value, replies: Value, answers: &[UserAnswer]) -> Played {
    let mut played = Played::new(program(files), inputs, replies, answers);
    played.play_to_end();
    played
}

fn explain_played_step(played: &Played, step: u32) -> StepExplanation {
    let found = explain_step(Arc::clone(&played.spec), &played.inputs, step);
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
    check_golden(&played, "coder_reviewer", include_str!("../../data/why/coder_reviewer.txt"));
    assert_eq!(explain_step(Arc::clone(&played.spec), &played.inputs, 7), None);
    assert_eq!(explain_step(Arc::clone(&played.spec), &played.inputs, 0), None);
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
    let answer = UserAnswer::Value { value: json!("q") };
    let replies = json!({"writer": ["A", "inner"], "critic": ["B"]});
    let played = run(&files(), json!({"task": "t", "depth": 2}), replies, &[answer]);
    let path = "start start split split.a/start split.b/start split.b/stop split.a/more split.a/stop each each[0]/start \
        each[0]/stop call inner/start inner/stop run ask fails last stop";
    assert_eq!(played.path(), path);
    check_golden(&played, "each_kind", include_str!("../../data/why/each_kind.txt"));
}

#[test]
fn limits_unasked_words_and_no_match_lead_on() {
    let file = json!({
        "workflow_name": "case", "snapshot": "off", "on_no_match": "odd",
        "contexts": [{"name": "talk"}],
        "agents": [{"agent_role": "critic", "context": "talk", "role": "assistant"}],
        "states": [
            {"name": "start", "max_visits": 2, "on_limit": "tired",
                "transition": [{"target": "start", "condition": "state.count === undefined"}]},
            {"name": "tired", "agent": "critic", "input": {"text": "T."}, "transition": [
                {"target": "stop", "condition": "function.verdict.arguments.good || getToolCalls('critic').length > 1"}]},
            {"name": "resume", "transition": [
                {"target": "stop", "condition": "h => h.common_data.resume_input === 'no' && !last_agent_response"}]},
            {"name": "odd", "transition": [{"target": "stop"}]}]
    });
    let good = json!({"critic": [{"verdict": {"good": true, "note": "fine"}}]});
    let mut played = Played::new(program(&[file]), json!({}), good.clone(), &[]);
    played.play_until("model critic in tired", 1);
    played.feed_input(Input::Said { text: "wait".to_owned() });
    played.play_to_end();
    assert_eq!(played.path(), "start start tired resume odd stop");
    check_golden(&played, "edges", include_str!("../../data/why/edges.txt"));

    // a fork before the fourth step: the queued message still leads to `resume`, although its value is another one now
    let set = vec![
        (vec!["resume_input".to_owned()], json!("no")),
        (vec!["spaced".to_owned(), "text".to_owned()], json!("two  blanks\nand a line")),
    ];
    played
        .rewind_to(RewindInput { step: 4, fork_of: Some("r1".into()), set, ..RewindInput::default() }, &good);
    played.play_to_end();
    assert_eq!(played.path(), "start start tired resume stop");
    check_golden(&played, "fork", include_str!("../../data/why/fork.txt"));
    played.assert_replays();
}

/// Every step of a run, its answers as they are shown; `UPDATE_WHY=1` writes them anew.
fn check_golden(played: &Played, name: &str, expected: &str) {
    let steps = (1..).map_while(|step| explain_step(Arc::clone(&played.spec), &played.inputs, step));
    let told: Vec<String> = steps.map(|why| report_lines(&why).join("\n") + "\n").collect();
    assert_eq!(told.len(), played.path().split(' ').count());
    let told = told.join("\n");
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    if std::env::var("UPDATE_WHY").is_ok() {
        let path = format!("{}/tests/data/why/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        return std::fs::write(path, told).unwrap();
    }
    assert_eq!(told, expected, "{name}");
}

#[test]
fn the_answer_is_plain_data() {
    let file = json!({
        "workflow_name": "case", "snapshot": "off", "variables": {"n": 0},
        "states": [{"name": "start", "transition": [{"target": "stop", "condition": "common_data.n === 0"}]}]
    });
    let played = run(&[file], json!({}), json!({}), &[]);
    let found = explain_played_step(&played, 2);
    let data = serde_json::to_value(&found).unwrap();
    assert_eq!(
        data,
        json!({"step": 2, "state": "stop", "from": {"step": 1, "state": "start"},
            "how": {"by": "transition", "number": 1, "of": 1, "unconditional": false},
            "tried": [{"condition": "common_data.n === 0", "place": "w0.json:13", "target": "stop", "gave": "truthy",
                "value": "true", "reads": [{"path": "common_data.n", "value": 0, "from": {"by": "variables"}}]}]})
    );
    assert_eq!(serde_json::from_value::<StepExplanation>(data).unwrap(), found);
}
