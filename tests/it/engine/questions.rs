//! Limits, missing snapshots and cancelling: the questions to the user, and the possible answers.

use synthdev::engine::steering::Breakpoint;

use super::*;

/// A loop that ends by itself after five rounds.
fn counting_files(limits: &Value) -> Texts {
    let states = json!([
        {"name": "start", "transition": [{"target": "loop", "before": "() => { this.common_data.n = 0; }"}]},
        {"name": "loop", "action": {"script": "() => { this.common_data.n += 1; }"},
         "transition": [{"target": "stop", "condition": "common_data.n >= 5"}, {"target": "loop"}]},
        {"name": "stop", "input": "'n' + common_data.n"}]);
    texts(&json!({"agents": [], "states": states, "limits": limits}), Value::Null)
}

#[tokio::test]
async fn a_limit_can_be_passed_or_end_the_run() {
    let loops = |n: usize| vec!["loop"; n].join(" > ");
    let rows = [
        (
            json!({"max_visits": 2}),
            "max_visits",
            2,
            ("completed", format!("start > {} > stop", loops(5)), ""),
        ),
        (json!({"max_visits": 2}), "max_visits", 1, ("paused", format!("start > {}", loops(4)), "limit")),
        (json!({"max_steps": 3}), "max_steps", 2, ("completed", format!("start > {} > stop", loops(5)), "")),
        (json!({"max_steps": 3}), "max_steps", 0, ("paused", format!("start > {}", loops(2)), "limit")),
    ];
    for (limits, name, mut continues, expected) in rows {
        let about = format!("{limits} with {continues} continues");
        let mut stage = Stage::new(&counting_files(&limits));
        let run = stage.start_run(with_default_approvals(run_spec(&stage)));
        let end = loop {
            match stage.next_event().await {
                RunEvent::PersonAsked { call, question: UserQuestion::Limit { limit, .. } } => {
                    assert_eq!(limit, name);
                    let next = if continues == 0 { UserAnswer::Stop } else { UserAnswer::Continue };
                    continues = usize::saturating_sub(continues, 1);
                    send_answer(&stage, &run, call, next);
                }
                end @ RunEvent::Finished { .. } => break end,
                _ => {}
            }
        };
        assert_eq!(run_end_facts(&end), (expected.0, expected.1, expected.2.to_owned()), "{about}");
        assert_sound(&stage, &run);
    }
}

fn busy_files() -> Texts {
    let read = || call_json("read_files", json!({"file_paths": ["a.txt"]}));
    let agent =
        json!([{"agent_role": "writer", "context": "talk", "role": "assistant", "max_tool_rounds": 1}]);
    texts(&json!({"agents": agent}), json!({"writer": [read(), read(), {"text": "done"}]}))
}

#[tokio::test]
async fn tool_rounds_are_limited_per_visit() {
    let mut stage = Stage::new(&busy_files());
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    let (id, asked) = question(&mut stage).await;
    assert!(
        matches!(&asked, UserQuestion::Limit { limit, value: 1, .. } if limit == "max_tool_rounds"),
        "{asked:?}"
    );
    send_answer(&stage, &run, id, UserAnswer::Continue);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("completed", "start > stop".into(), String::new()));
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn tool_rounds_pause_a_headless_run() {
    let mut stage = Stage::new(&busy_files());
    let run = stage.start_run(run_spec(&stage));
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("paused", "start".into(), "limit".into()));
    assert_eq!(stage.run_faults(&run), ["reply 2 of `writer` was not used"]);
}

#[tokio::test]
async fn without_a_snapshot_a_person_decides() {
    for (choice, expected, written) in [
        (UserAnswer::Continue, ("completed", "start > stop".into(), String::new()), true),
        (UserAnswer::Stop, ("failed", "start".to_owned(), "snapshot".to_owned()), false),
    ] {
        let done = if written {
            vec![write_call_json("b.txt"), json!({"text": "done"})]
        } else {
            vec![write_call_json("b.txt")]
        };
        let mut stage = Stage::new(&texts(&json!({}), json!({"writer": done})));
        stage.break_snapshots();
        let run = stage.start_run(RunSpec { interactive: true, ..run_spec(&stage) });
        let (id, asked) = question(&mut stage).await;
        assert!(matches!(asked, UserQuestion::NoSnapshot { .. }), "{asked:?}");
        assert!(!stage.path("b.txt").exists(), "nothing is changed before the answer");
        send_answer(&stage, &run, id, choice);
        let end = stage.wait_end().await;
        assert_eq!((run_end_facts(&end), stage.path("b.txt").exists()), (expected, written));
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn a_cancel_ends_a_workflow_in_the_middle_of_an_answer() {
    let mut stage = Stage::with_model(&texts(&json!({}), Value::Null), HangsOnce::wrap_model);
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
    stage.handle.send_command(&run, RunCommand::Cancel);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("cancelled", "start".into(), String::new()));
    assert_sound(&stage, &run);
    let summary = stage.handle.load_record(run.as_str()).unwrap().summary;
    assert_eq!(
        (summary.progress.status.as_str(), summary.progress.path),
        ("cancelled", vec!["start".into()])
    );
}

#[tokio::test]
async fn an_interrupted_answer_is_kept_and_goes_on_with_what_the_person_says() {
    for (said, expected) in [
        (
            UserAnswer::Text { text: "in verse".to_owned() },
            vec!["assistant: half an  [interrupted]".to_owned(), "user: in verse".to_owned()],
        ),
        (UserAnswer::Continue, vec!["assistant: half an  [interrupted]".to_owned()]),
    ] {
        let replies = json!({"writer": [{"text": "whole"}]});
        let mut stage = Stage::with_model(&texts(&json!({}), replies), HangsOnce::wrap_model);
        let run = stage.start_run(with_default_approvals(run_spec(&stage)));
        stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
        stage.handle.send_command(&run, RunCommand::Interrupt);
        let (id, asked) = question(&mut stage).await;
        let UserQuestion::Break { state, point } = asked else { panic!("{asked:?}") };
        assert_eq!((state.as_str(), point), ("start", Some(Breakpoint::Now)));
        send_answer(&stage, &run, id, said);
        let end = stage.wait_end().await;
        assert_eq!(run_end_facts(&end), ("completed", "start > stop".into(), String::new()));
        let requests = stage.recorder.requests();
        let before = message_lines(&requests[0].messages);
        assert_eq!(message_lines(&requests[1].messages), [before, expected].concat());
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn a_run_that_stands_interrupted_can_be_ended_or_left() {
    let mut stage = Stage::with_model(&texts(&json!({}), Value::Null), HangsOnce::wrap_model);
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
    stage.handle.send_command(&run, RunCommand::Interrupt);
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::Cancel);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("cancelled", "start".into(), String::new()));
    assert_sound(&stage, &run);
}
