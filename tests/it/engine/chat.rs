//! Single-agent mode: a conversation that waits, can be interrupted, and outlives failed answers.

use synthdev::domain::context::TrimPolicy;

use super::*;

fn chatting(stage: &Stage) -> RunId {
    let program = stage.catalog.chat_program("writer").unwrap();
    stage.start(asking(spec(program, Map::new())))
}

async fn say(stage: &mut Stage, run: &RunId, text: &str) {
    let (id, asked) = question(stage).await;
    assert_eq!(asked, UserQuestion::Message);
    answer(stage, run, id, UserAnswer::Text { text: text.to_owned() });
}

#[tokio::test]
async fn a_cancel_ends_only_the_answer_and_keeps_what_was_said() {
    let replies = json!({"writer": [{"text": "whole"}]});
    let mut stage = Stage::with_model(&texts(&json!({}), replies), HangsOnce::around);
    let run = chatting(&stage);
    say(&mut stage, &run, "hello").await;
    stage.until(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
    stage.handle.send(&run, RunCommand::Cancel);
    say(&mut stage, &run, "again").await;
    question(&mut stage).await;
    stage.handle.send(&run, RunCommand::End);
    let end = stage.end().await;
    assert_eq!(ending(&end), ("completed", "chat".into(), String::new()));
    let requests = stage.heard.requests();
    assert_eq!(shown(&requests[0].messages), ["system: You write.", "user: hello"]);
    assert_eq!(
        shown(&requests[1].messages),
        ["system: You write.", "user: hello", "assistant: half an  [interrupted]", "user: again"]
    );
    sound(&stage, &run);
}

#[tokio::test]
async fn a_failed_answer_leaves_no_trace() {
    let failing = json!({"error": {"kind": "auth", "message": "no"}});
    let mut stage =
        Stage::new(&texts(&json!({}), json!({"writer": [{"text": "one"}, failing, {"text": "two"}]})));
    let run = chatting(&stage);
    for text in ["first", "lost", "second"] {
        say(&mut stage, &run, text).await;
    }
    question(&mut stage).await;
    stage.handle.send(&run, RunCommand::End);
    stage.end().await;
    let warned = stage
        .seen()
        .iter()
        .any(|event| matches!(event, RunEvent::Warning { code, .. } if code == "model.auth"));
    assert!(warned, "{:#?}", stage.seen());
    let last = &stage.heard.requests()[2];
    assert_eq!(
        shown(&last.messages),
        ["system: You write.", "user: first", "assistant: one", "user: second"]
    );
    sound(&stage, &run);
}

#[tokio::test]
async fn no_more_tool_rounds_ends_the_answer_not_the_conversation() {
    let read = || call("read_files", json!({"file_paths": ["a.txt"]}));
    let replies = json!({"writer": [read(), read(), {"text": "hello again"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let mut program = stage.catalog.chat_program("writer").unwrap();
    Arc::make_mut(&mut program.workflows[0]).agents[0].max_tool_rounds = 1;
    let run = stage.start(asking(spec(program, Map::new())));
    say(&mut stage, &run, "look").await;
    let (id, asked) = question(&mut stage).await;
    assert!(matches!(asked, UserQuestion::Limit { .. }), "{asked:?}");
    answer(&stage, &run, id, UserAnswer::Stop);
    say(&mut stage, &run, "hello").await;
    question(&mut stage).await;
    stage.handle.send(&run, RunCommand::End);
    let end = stage.end().await;
    assert_eq!(ending(&end), ("completed", "chat".into(), String::new()));
    let last = shown(&stage.heard.requests()[2].messages);
    assert_eq!((last[1].as_str(), last.len()), ("user: look", 7));
    assert_eq!(last[5..], ["tool: interrupted before this call ran", "user: hello"]);
    sound(&stage, &run);
}

#[tokio::test]
async fn cancelling_a_chat_that_waits_changes_nothing() {
    let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [{"text": "one"}]})));
    let run = chatting(&stage);
    let (id, _) = question(&mut stage).await;
    stage.handle.send(&run, RunCommand::Cancel);
    answer(&stage, &run, id, UserAnswer::Text { text: "hello".to_owned() });
    question(&mut stage).await;
    stage.handle.send(&run, RunCommand::End);
    stage.end().await;
    sound(&stage, &run);
}

#[tokio::test]
async fn a_workflow_run_ends_and_the_conversation_is_there_again() {
    let replies = json!({"writer": [{"text": "before"}, {"text": "inside"}, {"text": "after"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let chat = chatting(&stage);
    say(&mut stage, &chat, "hello").await;
    let (waiting, _) = question(&mut stage).await;
    let run = stage.start(asking(case(&stage)));
    stage.end().await;
    answer(&stage, &chat, waiting, UserAnswer::Text { text: "still there?".to_owned() });
    question(&mut stage).await;
    stage.handle.send(&chat, RunCommand::End);
    stage.end().await;
    assert_eq!(
        shown(&stage.heard.requests()[2].messages),
        ["system: You write.", "user: hello", "assistant: before", "user: still there?"]
    );
    sound(&stage, &chat);
    sound(&stage, &run);
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
    let run = stage.start(asking(spec(program, Map::new())));
    say(&mut stage, &run, &"a".repeat(100)).await;
    say(&mut stage, &run, &"b".repeat(30)).await;
    stage
        .until(|event| matches!(event, RunEvent::Delta { text, .. } if text == "half an ").then_some(()))
        .await;
    stage.handle.send(&run, RunCommand::Cancel);
    say(&mut stage, &run, &"b".repeat(30)).await;
    question(&mut stage).await;
    stage.handle.send(&run, RunCommand::End);
    stage.end().await;
    let requests = stage.heard.requests();
    assert_eq!(requests.len(), 4, "an answer, two summaries, an answer");
    assert!(requests[1].tools.is_empty() && requests[2].messages == requests[1].messages);
    let last = shown(&requests[3].messages);
    let expected = [
        "system: You write.",
        "user: [summary of 1 earlier message] It was about a.",
        "assistant: one",
        &format!("user: {}", "b".repeat(30)),
    ];
    assert_eq!(last, expected);
    sound(&stage, &run);
}
