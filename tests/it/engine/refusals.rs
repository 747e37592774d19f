//! Calls that are not executed are answered, and the run goes on. Forced choices of a tool.

use synthdev::domain::model::ToolChoice;

use super::*;

#[tokio::test]
async fn a_call_that_cannot_be_made_is_answered_to_the_model() {
    let rows = [
        (
            "hidden from the role",
            call_json("execute_terminal", json!({"command": "touch b.txt"})),
            "there is no tool",
        ),
        ("unknown", call_json("writefile", json!({"file_path": "b.txt"})), "there is no tool `writefile`"),
        ("broken JSON", call_json("write_file", json!("{\"file_path\": \"b.txt\",")), "not valid JSON"),
        ("no object", call_json("write_file", json!("[1]")), "must be a JSON object"),
    ];
    for (about, first, answer) in rows {
        let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [first, {"text": "I see"}]})));
        let run = stage.start_run(run_spec(&stage));
        let end = stage.wait_end().await;
        assert_eq!(run_end_facts(&end), ("completed", "start > stop".into(), String::new()), "{about}");
        let seen = stage.seen_events();
        let refused = seen.iter().any(|event| matches!(event, RunEvent::ToolRefused { .. }));
        let ran = seen.iter().any(|event| matches!(event, RunEvent::ToolStarted { .. }));
        assert!(refused && !ran && !stage.path("b.txt").exists(), "{about}");
        let told = message_lines(&stage.recorder.requests()[1].messages).pop().unwrap();
        assert!(told.starts_with("tool: not executed: ") && told.contains(answer), "{about}: {told}");
        assert_sound(&stage, &run);
    }
}

/// The critic decides; `only` makes its decision the one thing it may do.
fn deciding_files(only: bool, replies: Value) -> Texts {
    let states = json!([
        {"name": "start", "agent": "critic", "input": "'judge'", "transition": [
            {"target": "stop", "condition": "function.verdict.arguments.good"}, {"target": "stop"}]},
        {"name": "stop", "input": "'end'"}]);
    let agents = json!([{"agent_role": "critic", "context": "talk", "role": "user"}]);
    let mut texts = texts(&json!({"agents": agents, "states": states}), replies);
    if only {
        let mut roles: Value = serde_json::from_str(&texts.roles[0]).unwrap();
        roles["critic"]["parsingTools"][0]["parsingOnly"] = json!(true);
        texts.roles = vec![roles.to_string()];
    }
    texts
}

#[tokio::test]
async fn a_decision_is_forced_after_words_or_from_the_start() {
    let verdict = || call_json("verdict", json!({"good": true}));
    let named = || ToolChoice::Named("verdict".to_owned());
    let rows = [
        (false, json!({"critic": [verdict()]}), vec![ToolChoice::Auto]),
        (false, json!({"critic": [{"text": "hm"}, verdict()]}), vec![ToolChoice::Auto, named()]),
        (true, json!({"critic": [verdict()]}), vec![named()]),
    ];
    for (only, replies, expected) in rows {
        let mut stage = Stage::new(&deciding_files(only, replies));
        let run = stage.start_run(run_spec(&stage));
        let end = stage.wait_end().await;
        assert_eq!(run_end_facts(&end).0, "completed");
        let choices: Vec<ToolChoice> =
            stage.recorder.requests().into_iter().map(|request| request.tool_choice).collect();
        assert_eq!(choices, expected);
        assert_sound(&stage, &run);
    }
}
