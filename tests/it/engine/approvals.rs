//! What each decision about a tool does, and who hears of it.

use synthdev::domain::approval::{ApprovalDecision, ApprovalPolicy};
use synthdev::domain::ids::Timestamp;
use synthdev::engine::event::StepEvent;
use synthdev::runtime::resume::ResumeRequest;
use synthdev::tui::run_view::timeline::{BarKind, RunTimeline, TimelineRow};

use super::*;

/// Answers each question with the next decision; returns how many were asked.
async fn play_decisions(decisions: &[ApprovalDecision]) -> (Stage, RunId, usize) {
    let replies =
        json!({"writer": [write_call_json("one.txt"), write_call_json("two.txt"), {"text": "done"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    let mut asked = 0;
    loop {
        match stage.next_event().await {
            RunEvent::ApprovalAsked { call, tool, preview, .. } => {
                assert_eq!((tool.as_str(), preview.is_some()), ("write_file", true));
                let decision = decisions[asked].clone();
                asked += 1;
                stage.handle.send_command(&run, RunCommand::Approve { call, decision });
            }
            RunEvent::Finished { .. } => return (stage, run, asked),
            _ => {}
        }
    }
}

#[tokio::test]
async fn each_decision_counts_as_far_as_it_says() {
    let deny = |reason: Option<&str>| ApprovalDecision::Deny { reason: reason.map(str::to_owned) };
    let rows: [(&str, Vec<ApprovalDecision>, usize, [bool; 2]); 4] = [
        ("each is asked", vec![ApprovalDecision::Allow, ApprovalDecision::Allow], 2, [true, true]),
        ("the tool is allowed from now on", vec![ApprovalDecision::AllowTool], 1, [true, true]),
        ("denied with a reason", vec![deny(Some("not that one")), ApprovalDecision::Allow], 2, [false, true]),
        ("denied without", vec![ApprovalDecision::Allow, deny(None)], 2, [true, false]),
    ];
    for (about, decisions, asked, written) in rows {
        let (stage, run, count) = play_decisions(&decisions).await;
        let there = ["one.txt", "two.txt"].map(|name| stage.path(name).exists());
        assert_eq!((count, there), (asked, written), "{about}");
        assert_eq!(
            run_end_facts(stage.seen_events().last().unwrap()),
            ("completed", "start > stop".into(), String::new())
        );
        let requests = stage.recorder.requests();
        let told: Vec<String> =
            message_lines(&requests[2].messages).into_iter().filter(|line| line.contains("denied")).collect();
        let expected: Vec<&str> = match about {
            "denied with a reason" => vec!["tool: not executed: the user denied this call: not that one"],
            "denied without" => vec!["tool: not executed: the user denied this call"],
            _ => Vec::new(),
        };
        assert_eq!(told, expected, "{about}");
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn a_call_runs_as_the_user_has_changed_it_and_the_model_is_told() {
    let edited = |arguments| ApprovalDecision::AllowEdited { arguments };
    let (stage, run, asked) = play_decisions(&[
        edited(json!({"file_path": "other.txt", "content": "changed"})),
        edited(json!("no object")),
    ])
    .await;
    assert_eq!(asked, 2);
    let read = |name: &str| std::fs::read_to_string(stage.path(name)).ok();
    assert_eq!((read("one.txt"), read("two.txt")), (None, None), "the calls of the model do not run");
    assert_eq!(read("other.txt").as_deref(), Some("changed"));
    let requests = stage.recorder.requests();
    let lines = message_lines(&requests[2].messages);
    let told = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    let changed = r#"the user changed this call before allowing it; it ran with {"file_path":"other.txt""#;
    assert_eq!((told(changed), told("the arguments must be a JSON object")), (1, 1), "{lines:#?}");
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn what_no_answer_allows_is_refused_before_the_question() {
    // harmless if it ran: `rm` comes after `false`
    let asks = call_json("execute_terminal", json!({"command": "touch ran; false && rm -rf /"}));
    let mut texts = texts(&json!({}), json!({"writer": [asks, {"text": "done"}]}));
    texts.roles = texts.roles.iter().map(|roles| roles.replace("write_file", "execute_terminal")).collect();
    let mut stage = Stage::new(&texts);
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    assert_eq!(run_end_facts(&stage.wait_end().await), ("completed", "start > stop".into(), String::new()));
    assert!(!stage.seen_events().iter().any(|event| matches!(event, RunEvent::ApprovalAsked { .. })));
    assert!(!stage.path("ran").exists());
    let told = message_lines(&stage.recorder.requests()[1].messages);
    let refused = "tool: not executed: [sandbox] refused: removes / recursively. No setting allows this";
    assert!(told.iter().any(|line| line.starts_with(refused)), "{told:#?}");
    assert_sound(&stage, &run);
}

/// Plays calls that cannot run, between two that can; returns what was asked about, and the answers that the model read.
async fn play_wrong_calls(approvals: ApprovalPolicy) -> (Vec<String>, Vec<String>) {
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let wrong = [
        call("write_file", json!({"file_path": "missing.txt"})),
        call("write_file", json!({"file_path": "type.txt", "content": 5})),
        call("write_file", json!({"file_path": "unknown.txt", "content": "", "mode": "append"})),
        call("write_file", json!({"file_path": "a.txt/below.txt", "content": ""})),
        call("write_file", json!({"file_path": "a.txt", "content": "", "overwrite": false})),
        call("edit_file", json!({"file_path": "a.txt", "old_text": "beta", "new_text": "gamma"})),
        call("edit_file", json!({"file_path": "none.txt", "old_text": "a", "new_text": "b"})),
        call("apply_patch", json!({"patch": "*** Begin Patch"})),
        call("execute_terminal", json!({"directory": "."})),
        call("execute_terminal", json!({"command": "true", "directory": "none"})),
    ];
    let good = |path: &str| call("write_file", json!({"file_path": path, "content": "new"}));
    let calls = [&[good("one.txt")], &wrong[..], &[good("two.txt")]].concat();
    let mut texts = texts(&json!({}), json!({"writer": [{"tool_calls": calls}, {"text": "done"}]}));
    let tools = "\"write_file\",\"edit_file\",\"apply_patch\",\"execute_terminal\"";
    texts.roles = texts.roles.iter().map(|roles| roles.replace("\"write_file\"", tools)).collect();
    let mut stage = Stage::new(&texts);
    let run = stage.start_run(RunSpec { approvals, interactive: true, ..run_spec(&stage) });
    let mut asked = Vec::new();
    loop {
        match stage.next_event().await {
            RunEvent::ApprovalAsked { call, arguments, .. } => {
                asked.push(arguments["file_path"].as_str().unwrap_or_default().to_owned());
                let decision = ApprovalDecision::Allow;
                stage.handle.send_command(&run, RunCommand::Approve { call, decision });
            }
            RunEvent::Finished { .. } => break,
            _ => {}
        }
    }
    assert_eq!(run_end_facts(stage.seen_events().last().unwrap()).0, "completed");
    assert_sound(&stage, &run);
    // the chart of the past run shows no question that nobody was asked
    let count = |asked: &mut usize, _, event: StepEvent| {
        *asked += usize::from(matches!(event.event, RunEvent::ApprovalAsked { .. }));
    };
    let told = stage.handle.replay_events_and_approvals(run.as_str(), || 0, count);
    assert_eq!(told.unwrap().1, asked.len());
    let lines = message_lines(&stage.recorder.requests()[1].messages);
    let untimed = |line: &String| line.split("\"time_ms\":").next().unwrap_or_default().to_owned();
    let error = |line: &String| line.split("\"error\":").nth(1).unwrap_or_default().to_owned();
    let answers = lines.iter().filter(|line| line.starts_with("tool: "));
    (asked, answers.map(|line| format!("{} {}", untimed(line), error(line))).collect())
}

/// The model reads what it would read if the calls were allowed, and run.
#[tokio::test]
async fn a_call_that_its_tool_refuses_is_refused_before_the_question() {
    let asks = ApprovalPolicy::default();
    let (unasked, expected) = play_wrong_calls(asks.clone().approving_all()).await;
    assert_eq!((unasked.len(), expected.len()), (0, 12), "{expected:#?}");
    let (asked, told) = play_wrong_calls(asks).await;
    assert_eq!(asked, ["one.txt", "two.txt"]);
    assert_eq!(told, expected);
}

/// It is not checked before: without a user, no call has a row for that.
#[tokio::test]
async fn a_call_that_waited_for_a_user_is_checked_when_one_resumes_the_run() {
    let wrong = json!({"tool_calls": [{"name": "write_file", "arguments": {"file_path": "missing.txt"}}]});
    let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [wrong, {"text": "done"}]})));
    let spec = RunSpec { interactive: false, ..with_default_approvals(run_spec(&stage)) };
    let run = stage.start_run(spec);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("paused", "start".into(), "tool.denied".into()));
    stage
        .handle
        .resume(&run, ResumeRequest { user_present: true, ..ResumeRequest::default() })
        .await
        .unwrap();
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end).0, "completed", "nobody was asked");
    let told = message_lines(&stage.recorder.requests()[1].messages).join("\n");
    assert!(told.contains("`content` is missing"), "{told}");
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn headless_nobody_approves() {
    let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [write_call_json("one.txt")]})));
    let spec = RunSpec { interactive: false, ..with_default_approvals(run_spec(&stage)) };
    let run = stage.start_run(spec);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("paused", "start".into(), "tool.denied".into()));
    assert!(!stage.path("one.txt").exists());
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn a_change_of_agents_md_is_asked_each_time_whatever_approvals_say() {
    let replies = json!({"writer": [write_call_json("AGENTS.md"), write_call_json("one.txt"), write_call_json("docs/agents.md"), {"text": "done"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let spec = with_default_approvals(run_spec(&stage));
    let run = stage.start_run(RunSpec { approvals: spec.approvals.clone().approving_all(), ..spec });
    let mut asked = Vec::new();
    loop {
        match stage.next_event().await {
            RunEvent::ApprovalAsked { call, preview, .. } => {
                asked.push(preview);
                stage
                    .handle
                    .send_command(&run, RunCommand::Approve { call, decision: ApprovalDecision::AllowTool });
            }
            RunEvent::Finished { .. } => break,
            _ => {}
        }
    }
    assert!(asked.len() == 2 && asked.iter().all(Option::is_some), "{asked:?}");
    assert!(["AGENTS.md", "one.txt"].iter().all(|name| stage.path(name).exists()));
    assert_sound(&stage, &run);
}

/// The chart of the history is drawn from a replay, the one of a running workflow from what is published.
#[tokio::test]
async fn a_replay_for_the_chart_tells_each_approval_that_was_asked_for_and_other_replays_none() {
    let waits = |events: &[RunEvent]| -> Vec<(String, String)> {
        let mut timeline = RunTimeline::default();
        (1..).zip(events).for_each(|(at, event)| timeline.apply_event(Timestamp(at), event));
        let rows = (0..timeline.len()).filter_map(|at| timeline.row(at));
        let waits = rows.filter(|row| row.bar.as_ref().is_some_and(|bar| bar.kind == BarKind::UserWait));
        let track =
            |row: &TimelineRow| timeline.tracks()[row.bar.as_ref().unwrap().track as usize].agent.clone();
        waits.map(|row| (track(row), row.text.to_string())).collect()
    };
    let (stage, run, asked) = play_decisions(&[ApprovalDecision::Allow, ApprovalDecision::AllowTool]).await;
    let tell = |events: &mut Vec<RunEvent>, _, event: StepEvent| events.push(event.event);
    let told = stage.handle.replay_events_and_approvals(run.as_str(), Vec::new, tell);
    let (_, replayed) = told.unwrap();
    assert_eq!(waits(&replayed), waits(&stage.seen_events()));
    assert_eq!(waits(&replayed).len(), asked);
    let (_, plain) = stage.handle.replay_events(run.as_str(), Vec::new, tell).unwrap();
    assert!(!plain.iter().any(|event| matches!(event, RunEvent::ApprovalAsked { .. })));
    assert_eq!(plain.len() + asked, replayed.len());
}
