//! Single-agent mode: a conversation that waits, can be interrupted, and outlives failed answers.

use synthdev::domain::context::TrimPolicy;

use super::*;

fn start_chat(stage: &Stage) -> RunId {
    let program = stage.catalog.chat_program("writer").unwrap();
    stage.start_run(with_default_approvals(spec(program, Map::new())))
}

async fn say_text(stage: &mut Stage, run: &RunId, text: &str) {
    let (id, asked) = question(stage).await;
    assert_eq!(asked, UserQuestion::Message);
    send_answer(stage, run, id, UserAnswer::Text { text: text.to_owned() });
}

#[tokio::test]
async fn a_cancel_ends_only_the_answer_and_keeps_what_was_said() {
    let replies = json!({"writer": [{"text": "whole"}]});
    let mut stage = Stage::with_model(&texts(&json!({}), replies), HangsOnce::wrap_model);
    let run = start_chat(&stage);
    say_text(&mut stage, &run, "hello").await;
    stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
    stage.handle.send_command(&run, RunCommand::Cancel);
    say_text(&mut stage, &run, "again").await;
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("completed", "chat".into(), String::new()));
    let requests = stage.recorder.requests();
    assert_eq!(message_lines(&requests[0].messages), ["system: You write.", "user: hello"]);
    assert_eq!(
        message_lines(&requests[1].messages),
        ["system: You write.", "user: hello", "assistant: half an  [interrupted]", "user: again"]
    );
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn an_image_that_the_user_names_is_a_part_of_the_message() {
    let replies = json!({"writer": [{"text": "a cat"}, {"text": "nothing"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    std::fs::write(stage.path("shot.png"), crate::providers::images::png(7)).unwrap();
    let run = start_chat(&stage);
    for text in ["what is on @shot.png?", "and on @none.png or me@host.png"] {
        say_text(&mut stage, &run, text).await;
    }
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    stage.wait_end().await;
    let requests = stage.recorder.requests();
    let said: Vec<&str> = requests[1].messages.iter().map(|message| message.content.as_str()).collect();
    let image = "what is on @shot.png?\n[image: shot.png · png · 7x9 · 45 bytes · sha256:";
    assert!(said[1].starts_with(image), "{said:?}");
    assert_eq!(said[3], "and on @none.png or me@host.png\n[@none.png is not attached: it does not exist]");
    // replayed from its journal it is the same
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn a_failed_answer_leaves_no_trace() {
    let failing = json!({"error": {"kind": "auth", "message": "no"}});
    let mut stage =
        Stage::new(&texts(&json!({}), json!({"writer": [{"text": "one"}, failing, {"text": "two"}]})));
    let run = start_chat(&stage);
    for text in ["first", "lost", "second"] {
        say_text(&mut stage, &run, text).await;
    }
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    stage.wait_end().await;
    let warned = stage
        .seen_events()
        .iter()
        .any(|event| matches!(event, RunEvent::Warning { code, .. } if code == "model.auth"));
    assert!(warned, "{:#?}", stage.seen_events());
    let last = &stage.recorder.requests()[2];
    assert_eq!(
        message_lines(&last.messages),
        ["system: You write.", "user: first", "assistant: one", "user: second"]
    );
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn no_more_tool_rounds_ends_the_answer_not_the_conversation() {
    let read = || call_json("read_files", json!({"file_paths": ["a.txt"]}));
    let replies = json!({"writer": [read(), read(), {"text": "hello again"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let mut program = stage.catalog.chat_program("writer").unwrap();
    Arc::make_mut(&mut program.workflows[0]).agents[0].max_tool_rounds = 1;
    let run = stage.start_run(with_default_approvals(spec(program, Map::new())));
    say_text(&mut stage, &run, "look").await;
    let (id, asked) = question(&mut stage).await;
    assert!(matches!(asked, UserQuestion::Limit { .. }), "{asked:?}");
    send_answer(&stage, &run, id, UserAnswer::Stop);
    say_text(&mut stage, &run, "hello").await;
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    let end = stage.wait_end().await;
    assert_eq!(run_end_facts(&end), ("completed", "chat".into(), String::new()));
    let last = message_lines(&stage.recorder.requests()[2].messages);
    assert_eq!((last[1].as_str(), last.len()), ("user: look", 7));
    assert_eq!(last[5..], ["tool: interrupted before this call ran", "user: hello"]);
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn cancelling_a_chat_that_waits_changes_nothing() {
    let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [{"text": "one"}]})));
    let run = start_chat(&stage);
    let (id, _) = question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::Cancel);
    send_answer(&stage, &run, id, UserAnswer::Text { text: "hello".to_owned() });
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    stage.wait_end().await;
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn a_workflow_run_ends_and_the_conversation_is_there_again() {
    let replies = json!({"writer": [{"text": "before"}, {"text": "inside"}, {"text": "after"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let chat = start_chat(&stage);
    say_text(&mut stage, &chat, "hello").await;
    let (waiting, _) = question(&mut stage).await;
    let run = stage.start_run(with_default_approvals(run_spec(&stage)));
    stage.wait_end().await;
    send_answer(&stage, &chat, waiting, UserAnswer::Text { text: "still there?".to_owned() });
    question(&mut stage).await;
    stage.handle.send_command(&chat, RunCommand::End);
    stage.wait_end().await;
    assert_eq!(
        message_lines(&stage.recorder.requests()[2].messages),
        ["system: You write.", "user: hello", "assistant: before", "user: still there?"]
    );
    assert_sound(&stage, &chat);
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn a_cancelled_summary_leaves_no_trace_and_is_asked_for_again() {
    let replies = json!({"writer": [
        {"text": "one"}, {"match": "a{100}", "reply": {"text": "It was about a."}}, {"text": "three"}]});
    let mut stage = Stage::with_model(&texts(&json!({}), replies), HangsOnce::at_summaries);
    let mut program = stage.catalog.chat_program("writer").unwrap();
    let context = &mut Arc::make_mut(&mut program.workflows[0]).contexts[0];
    context.max_length = 130;
    context.trim = TrimPolicy::Summarize;
    let run = stage.start_run(with_default_approvals(spec(program, Map::new())));
    say_text(&mut stage, &run, &"a".repeat(100)).await;
    say_text(&mut stage, &run, &"b".repeat(30)).await;
    stage
        .wait_for(|event| matches!(event, RunEvent::Delta { text, .. } if text == "half an ").then_some(()))
        .await;
    stage.handle.send_command(&run, RunCommand::Cancel);
    say_text(&mut stage, &run, &"b".repeat(30)).await;
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    stage.wait_end().await;
    let requests = stage.recorder.requests();
    assert_eq!(requests.len(), 4, "an answer, two summaries, an answer");
    assert!(requests[1].tools.is_empty() && requests[2].messages == requests[1].messages);
    let last = message_lines(&requests[3].messages);
    let expected = [
        "system: You write.",
        "user: [summary of 1 earlier message] It was about a.",
        "assistant: one",
        &format!("user: {}", "b".repeat(30)),
    ];
    assert_eq!(last, expected);
    assert_sound(&stage, &run);
}
