//! Single-agent mode: a conversation that waits, can be interrupted, and outlives failed answers.

use synthdev::domain::context::TrimPolicy;
use synthdev::engine::steering::SteeringAction;
use synthdev::runtime::resume::ResumeRequest;

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

#[tokio::test]
async fn a_conversation_that_is_left_waits_until_it_is_reopened() {
    for is_answering in [false, true] {
        let replies =
            if is_answering { json!([{"text": "two"}]) } else { json!([{"text": "one"}, {"text": "two"}]) };
        let texts = texts(&json!({}), json!({"writer": replies}));
        let mut stage = match is_answering {
            true => Stage::with_model(&texts, HangsOnce::wrap_model),
            false => Stage::new(&texts),
        };
        let run = start_chat(&stage);
        say_text(&mut stage, &run, "first words\n  of it").await;
        if is_answering {
            stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
        } else {
            question(&mut stage).await;
        }
        stage.handle.send_command(&run, RunCommand::Leave);
        let end = stage.wait_end().await;
        assert_eq!(run_end_facts(&end), ("paused", "chat".into(), "paused".into()), "{is_answering}");
        let cut_off = stage
            .seen_events()
            .iter()
            .any(|event| matches!(event, RunEvent::MessageAdded { text, .. } if text == "half an "));
        assert_eq!(cut_off, is_answering, "what was said so far is in the history");
        stage.handle.wait_until_released(&run).await;
        let left = stage.handle.summary(run.as_str()).unwrap();
        assert_eq!(left.input, "first words of it");
        assert_eq!(left.progress.pauses[0].message, "waits for your next message");
        let user = ResumeRequest { user_present: true, ..ResumeRequest::default() };
        stage.handle.resume(&run, user).await.unwrap();
        say_text(&mut stage, &run, "next").await;
        question(&mut stage).await;
        stage.handle.send_command(&run, RunCommand::Leave);
        stage.wait_end().await;
        let said = if is_answering { "assistant: half an  [interrupted]" } else { "assistant: one" };
        let last = stage.recorder.requests().pop().unwrap();
        assert_eq!(
            message_lines(&last.messages),
            ["system: You write.", "user: first words\n  of it", said, "user: next"]
        );
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn a_conversation_that_was_left_can_still_be_ended() {
    let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [{"text": "one"}]})));
    let run = start_chat(&stage);
    say_text(&mut stage, &run, "hello").await;
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::Leave);
    stage.wait_end().await;
    stage.handle.wait_until_released(&run).await;
    stage.handle.cancel(&run).await.unwrap();
    let ended = stage.handle.summary(run.as_str()).unwrap();
    assert!(ended.progress.status.is_over(), "{:?}", ended.progress.status);
    assert_eq!(ended.input, "hello");
}

fn steer(stage: &Stage, run: &RunId, action: SteeringAction) {
    stage.handle.send_command(run, RunCommand::Steer(action));
}

fn compact(stage: &Stage, run: &RunId, keep: &str) {
    steer(stage, run, SteeringAction::Compact { keep: keep.to_owned() });
}

#[tokio::test]
async fn a_name_takes_the_place_of_the_first_words() {
    let mut stage = Stage::new(&texts(&json!({}), json!({"writer": [{"text": "one"}, {"text": "two"}]})));
    let run = start_chat(&stage);
    say_text(&mut stage, &run, "hello").await;
    let (waiting, _) = question(&mut stage).await;
    steer(&stage, &run, SteeringAction::Rename { name: "  ".to_owned() });
    steer(&stage, &run, SteeringAction::Rename { name: " the parser\n and its errors".to_owned() });
    let named = |event: &RunEvent| match event {
        RunEvent::ConversationRenamed { name } => Some(name.clone()),
        _ => None,
    };
    assert_eq!(stage.wait_for(named).await, "the parser and its errors");
    send_answer(&stage, &run, waiting, UserAnswer::Text { text: "again".to_owned() });
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::Leave);
    stage.wait_end().await;
    stage.handle.wait_until_released(&run).await;
    assert_eq!(stage.handle.summary(run.as_str()).unwrap().input, "the parser and its errors");
    assert_sound(&stage, &run);
}

/// A conversation with one long answer.
async fn long_conversation(stage: &mut Stage) -> RunId {
    let run = start_chat(stage);
    say_text(stage, &run, "tell me all").await;
    question(stage).await;
    run
}

#[tokio::test]
async fn a_summary_on_request_takes_the_place_of_what_was_said() {
    let long = "a long story ".repeat(200);
    let replies = json!({"writer": [
        {"text": long}, {"text": "short record"}, {"text": "after"}, {"text": "shorter"}, {"text": "end"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let run = long_conversation(&mut stage).await;
    compact(&stage, &run, " the names ");
    let saved = |event: &RunEvent| match event {
        RunEvent::ConversationCompacted { before_tokens, after_tokens } => {
            Some((*before_tokens, *after_tokens))
        }
        _ => None,
    };
    let (before, after) = stage.wait_for(saved).await;
    assert!(before > 600 && after < 30, "{before} {after}");
    // reopened, it still goes by the summary
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::Leave);
    stage.wait_end().await;
    stage.handle.wait_until_released(&run).await;
    let user = ResumeRequest { user_present: true, ..ResumeRequest::default() };
    stage.handle.resume(&run, user).await.unwrap();
    say_text(&mut stage, &run, &"and then? ".repeat(50)).await;
    question(&mut stage).await;
    compact(&stage, &run, "");
    stage.wait_for(saved).await;
    say_text(&mut stage, &run, "the end").await;
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    stage.wait_end().await;
    let requests = stage.recorder.requests();
    let instructions = &requests[1].messages[0].content;
    assert!(instructions.starts_with("You keep the record"), "{instructions}");
    assert!(instructions.ends_with("above all: the names"), "{instructions}");
    assert!(!requests[3].messages[0].content.contains("above all"));
    assert!(requests[3].messages[1].content.contains("[record so far]: short record"));
    assert_eq!(
        message_lines(&requests[2].messages)[..2],
        ["system: You write.", "user: [summary of 2 earlier messages] short record"]
    );
    assert_eq!(
        message_lines(&requests[4].messages),
        ["system: You write.", "user: [summary of 4 earlier messages] shorter", "user: the end"]
    );
    assert_sound(&stage, &run);
}

#[tokio::test]
async fn a_summary_that_fails_leaves_the_conversation_as_it_was() {
    let rows = [
        (json!({"error": {"kind": "auth", "message": "no"}}), "no"),
        (call_json("read_files", json!({"file_paths": ["a.txt"]})), "the model wrote nothing"),
        (json!({"text": "far longer than what was said".repeat(20)}), "is not shorter"),
    ];
    for (reply, expected) in rows {
        let replies = json!({"writer": [{"text": "one"}, reply, {"text": "two"}]});
        let mut stage = Stage::new(&texts(&json!({}), replies));
        let run = long_conversation(&mut stage).await;
        compact(&stage, &run, "");
        let warned = |event: &RunEvent| match event {
            RunEvent::Warning { code, text } if code == "compact" => Some(text.clone()),
            _ => None,
        };
        let text = stage.wait_for(warned).await;
        assert!(text.contains("it is as it was") && text.contains(expected), "{text}");
        say_text(&mut stage, &run, "next").await;
        question(&mut stage).await;
        stage.handle.send_command(&run, RunCommand::End);
        stage.wait_end().await;
        let last = stage.recorder.requests().pop().unwrap();
        assert_eq!(
            message_lines(&last.messages),
            ["system: You write.", "user: tell me all", "assistant: one", "user: next"],
            "{expected}"
        );
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn a_summary_can_be_stopped_and_is_refused_while_the_agent_answers() {
    let replies = json!({"writer": [{"text": "one"}, {"text": "two"}]});
    for leaves in [false, true] {
        let mut stage = Stage::with_model(&texts(&json!({}), replies.clone()), HangsOnce::at_summaries);
        let run = long_conversation(&mut stage).await;
        compact(&stage, &run, "");
        stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
        // nothing is summed up twice at once
        compact(&stage, &run, "");
        if leaves {
            stage.handle.send_command(&run, RunCommand::Leave);
            stage.wait_end().await;
            stage.handle.wait_until_released(&run).await;
            let user = ResumeRequest { user_present: true, ..ResumeRequest::default() };
            stage.handle.resume(&run, user).await.unwrap();
        } else {
            stage.handle.send_command(&run, RunCommand::Cancel);
        }
        say_text(&mut stage, &run, "next").await;
        question(&mut stage).await;
        stage.handle.send_command(&run, RunCommand::End);
        stage.wait_end().await;
        let last = stage.recorder.requests().pop().unwrap();
        assert_eq!(
            message_lines(&last.messages),
            ["system: You write.", "user: tell me all", "assistant: one", "user: next"]
        );
        assert_sound(&stage, &run);
    }
}

#[tokio::test]
async fn what_was_summed_up_is_not_summed_up_again() {
    let long = "a long story ".repeat(200);
    let replies = json!({"writer": [{"text": long}, {"text": "short"}]});
    let mut stage = Stage::new(&texts(&json!({}), replies));
    let run = long_conversation(&mut stage).await;
    compact(&stage, &run, "");
    question(&mut stage).await;
    compact(&stage, &run, "");
    let warned = |event: &RunEvent| match event {
        RunEvent::Warning { code, text } if code == "compact" => Some(text.clone()),
        _ => None,
    };
    assert!(stage.wait_for(warned).await.contains("nothing was said since"));
    question(&mut stage).await;
    stage.handle.send_command(&run, RunCommand::End);
    stage.wait_end().await;
    assert_eq!(stage.recorder.requests().len(), 2);
    assert_sound(&stage, &run);
}
