//! Several calls in one: each is approved and run once, and the model gets one answer.

use synthdev::domain::approval::ApprovalDecision;

use super::*;

/// A writer that may make several calls at once.
fn stage_with(replies: Value) -> Stage {
    let mut texts = texts(&json!({}), json!({"writer": replies}));
    let widen = |roles: &String| roles.replace("\"list_directory\"", "\"list_directory\",\"multicall\"");
    texts.roles = texts.roles.iter().map(widen).collect();
    Stage::new(&texts)
}

fn tool_answers(stage: &Stage, request: usize) -> Vec<String> {
    let lines = message_lines(&stage.recorder.requests()[request].messages);
    lines.iter().filter_map(|line| line.strip_prefix("tool: ").map(str::to_owned)).collect()
}

fn started_tools(stage: &Stage) -> Vec<String> {
    let tool = |event: &RunEvent| match event {
        RunEvent::ToolStarted { tool, .. } => Some(tool.clone()),
        _ => None,
    };
    stage.seen_events().iter().filter_map(tool).collect()
}

#[tokio::test]
async fn each_inner_call_runs_once_under_its_own_approval() {
    let deny = ApprovalDecision::Deny { reason: Some("not that one".to_owned()) };
    for (decision, written) in [(ApprovalDecision::Allow, true), (deny, false)] {
        let calls = json!([
            {"tool": "read_files", "arguments": {"file_paths": ["a.txt"]}},
            {"tool": "write_file", "arguments": {"file_path": "b.txt", "content": "new"}},
            {"tool": "read_files", "arguments": "{\"file_paths\": [\"none\"]}"},
            {"tool": "missing"},
            {"tool": "list_directory", "arguments": {"directory_path": "."}}
        ]);
        let mut stage =
            stage_with(json!([call_json("multicall", json!({"calls": calls})), {"text": "done"}]));
        let run = stage.start_run(with_default_approvals(run_spec(&stage)));
        let asked = stage
            .wait_for(|event| match event {
                RunEvent::ApprovalAsked { call, tool, .. } => Some((*call, tool.clone())),
                _ => None,
            })
            .await;
        assert_eq!(asked.1, "write_file");
        stage.handle.send_command(&run, RunCommand::Approve { call: asked.0, decision });
        assert_eq!(run_end_facts(&stage.wait_end().await).0, "completed");
        assert_eq!(stage.path("b.txt").exists(), written);
        let expected = ["read_files", "write_file", "read_files", "list_directory"];
        let expected: Vec<&str> =
            expected.into_iter().filter(|tool| written || *tool != "write_file").collect();
        assert_eq!(started_tools(&stage), expected);
        let answers = tool_answers(&stage, 1);
        let [answer] = answers.as_slice() else { panic!("{answers:#?}") };
        let failed = if written { 2 } else { 3 };
        let head = format!("{{\"success\":false,\"tool\":\"multicall\",\"calls\":5,\"failed\":{failed}}}\n");
        assert!(answer.starts_with(&head), "{answer}");
        let marks = [
            "==> 1 read_files\n",
            "alpha",
            "==> 2 write_file\n",
            "==> 3 read_files\n",
            "it does not exist",
            "==> 4 missing\nnot executed: there is no tool `missing`",
            "==> 5 list_directory\n",
        ];
        let places: Vec<Option<usize>> = marks.iter().map(|mark| answer.find(mark)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{answer}");
        assert_eq!(answer.contains("not executed: the user denied this call: not that one"), !written);
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn calls_that_make_no_sense_are_answered_and_run_nothing() {
    let many: Vec<Value> = (0..17).map(|_| json!({"tool": "read_files"})).collect();
    let rows = [
        (json!({"calls": []}), "`calls` holds 0 calls; it takes 1 to 16"),
        (json!({"calls": many}), "`calls` holds 17 calls; it takes 1 to 16"),
        (json!({"calls": [{"tool": "multicall", "arguments": {"calls": []}}]}), "cannot hold another one"),
        (json!({"calls": [{"name": "read_files"}]}), "the arguments do not fit: unknown field `name`"),
        (json!({"files": []}), "the arguments do not fit: unknown field `files`"),
    ];
    for (arguments, why) in rows {
        let mut stage = stage_with(json!([call_json("multicall", arguments), {"text": "done"}]));
        let run = stage.start_run(with_default_approvals(run_spec(&stage)));
        assert_eq!(run_end_facts(&stage.wait_end().await).0, "completed");
        assert_eq!(started_tools(&stage), Vec::<String>::new());
        let answers = tool_answers(&stage, 1);
        assert!(
            answers.len() == 1 && answers[0].starts_with("not executed: ") && answers[0].contains(why),
            "{answers:?}"
        );
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn a_role_without_it_does_not_have_it() {
    let calls = json!({"calls": [{"tool": "read_files", "arguments": {"file_paths": ["a.txt"]}}]});
    let mut stage =
        Stage::new(&texts(&json!({}), json!({"writer": [call_json("multicall", calls), {"text": "done"}]})));
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    assert_eq!(run_end_facts(&stage.wait_end().await).0, "completed");
    assert!(tool_answers(&stage, 1)[0].contains("there is no tool `multicall`"));
    assert_eq!(started_tools(&stage), Vec::<String>::new());
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn beside_other_calls_each_answer_stays_with_its_call() {
    let calls = json!({"calls": [{"tool": "read_files", "arguments": {"file_paths": ["a.txt"]}}]});
    let reply = json!({"tool_calls": [
        {"name": "list_directory", "arguments": {"directory_path": "."}},
        {"name": "multicall", "arguments": calls.clone()},
        {"name": "read_files", "arguments": {"file_paths": ["none"]}},
        {"name": "multicall", "arguments": calls}]});
    let mut stage = stage_with(json!([reply, {"text": "done"}]));
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    assert_eq!(run_end_facts(&stage.wait_end().await).0, "completed");
    let tools: Vec<Option<String>> = tool_answers(&stage, 1)
        .iter()
        .map(|answer| {
            let head: Value = serde_json::from_str(answer.lines().next().unwrap()).unwrap();
            head["tool"].as_str().map(str::to_owned)
        })
        .collect();
    let expected = ["list_directory", "multicall", "read_files", "multicall"];
    assert_eq!(tools, expected.map(|tool| Some(tool.to_owned())));
    assert_eq!(started_tools(&stage), ["list_directory", "read_files", "read_files", "read_files"]);
    assert_sound(&stage, &run);
}
