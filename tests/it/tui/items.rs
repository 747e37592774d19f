//! Entries of the conversation: chosen with keys, opened one by one, and how answers look as they come.

use super::*;

fn tool(call: u64, name: &str, arguments: serde_json::Value) -> RunEvent {
    RunEvent::ToolStarted { call: CallId(call), agent: "coder".into(), tool: name.into(), arguments }
}

fn tool_finished(call: u64, name: &str, content: &str) -> RunEvent {
    RunEvent::ToolFinished {
        call: CallId(call),
        agent: "coder".into(),
        tool: name.into(),
        ok: true,
        summary: "done".into(),
        content: content.into(),
        duration_ms: 1_200,
    }
}

#[test]
fn the_line_of_a_call_says_how_far_it_is() {
    let mut desk = TuiHarness::new();
    let progress =
        |call: u64, text: &str| RunEvent::ToolProgress { call: CallId(call), text: text.to_owned() };
    desk.start_chat()
        .run_event("c1", model_called(7, "coder", ConversationSide::Assistant))
        .run_event("c1", tool(8, "docs__index", json!({"path": "src"})))
        .run_event("c1", progress(8, "1 of 10"))
        .run_event("c1", progress(8, "3 of 10: reading page 3"))
        .run_event("c1", progress(99, "of a call that is not there"));
    let screen = desk.draw_screen(100, 40);
    assert!(screen.contains("docs__index src — running · 3 of 10: reading page 3"), "{screen}");
    assert!(!screen.contains("1 of 10") && !screen.contains("not there"), "{screen}");
    let finished = desk.run_event("c1", tool_finished(8, "docs__index", "x")).draw_screen(100, 40);
    assert!(finished.contains("docs__index src — done") && !finished.contains("page 3"), "{finished}");
}

/// A conversation with reasoning, a call and an edit.
fn desk_with_items() -> TuiHarness {
    let mut desk = TuiHarness::new();
    let edit =
        json!({"file_path": "a.rs", "old_text": "fn a() {\n    old();", "new_text": "fn a() {\n    new();"});
    desk.start_chat()
        .run_event("c1", model_called(7, "coder", ConversationSide::Assistant))
        .run_event(
            "c1",
            model_replied(7, "coder", ConversationSide::Assistant, "I look at it.", "One thing\nand another"),
        )
        .run_event("c1", tool(8, "execute_terminal", json!({"command": "ls"})))
        .run_event("c1", tool_finished(8, "execute_terminal", "one.rs\ntwo.rs\nthree.rs"))
        .run_event("c1", tool(9, "edit_file", edit))
        .run_event("c1", tool_finished(9, "edit_file", "{\"success\":true,\"line\":41}\n"));
    desk
}

#[test]
fn what_is_chosen_opens_and_closes() {
    let mut desk = desk_with_items();
    let screen = desk.draw_screen(100, 40);
    for shown in ["∴ thought, 2 lines (Ctrl+O)", "— done · 1.2 s · 3 lines", "✓ edit_file a.rs +1 −1 — 1.2 s"]
    {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    assert!(!screen.contains("one.rs") && !screen.contains("and another"), "{screen}");
    assert!(!screen.contains("old();"), "one line until it is opened: {screen}");
    desk.press_key(KeyCode::Char('1'), KeyModifiers::ALT);
    desk.draw_screen(100, 40);
    // the last one first: the edit, then the call
    desk.press_key(KeyCode::Up, KeyModifiers::ALT).key(KeyCode::Enter);
    let screen = desk.draw_screen(100, 40);
    assert!(screen.contains("   42 -    old();") && screen.contains("   42 +    new();"), "{screen}");
    desk.key(KeyCode::Enter).press_key(KeyCode::Up, KeyModifiers::ALT).key(KeyCode::Enter);
    let screen = desk.draw_screen(100, 40);
    assert!(!screen.contains("old();"), "{screen}");
    assert!(screen.contains("    three.rs") && !screen.contains("and another"), "{screen}");
    desk.press_key(KeyCode::Up, KeyModifiers::ALT).key(KeyCode::Enter);
    let screen = desk.draw_screen(100, 40);
    assert!(screen.contains("    and another") && screen.contains("    three.rs"), "{screen}");
    desk.press_key(KeyCode::Down, KeyModifiers::ALT).key(KeyCode::Enter);
    assert!(!desk.draw_screen(100, 40).contains("three.rs"));
    assert_eq!(
        desk.model
            .transcript
            .selected_index()
            .and_then(|at| desk.model.transcript.get(at))
            .map(|item| { item.text().lines().next().unwrap_or_default().to_owned() }),
        Some("coder execute_terminal ls".to_owned())
    );
    desk.key(KeyCode::Esc);
    assert_eq!(desk.model.transcript.selected_index(), None);
    desk.type_text("[hello");
    assert!(desk.draw_screen(100, 40).contains("❯ [hello"), "the input box has the keys again");
}

#[test]
fn an_interrupted_answer_leaves_a_line_even_without_text() {
    for text in ["", "half"] {
        let mut desk = TuiHarness::new();
        desk.start_chat().run_event("c1", model_called(7, "coder", ConversationSide::Assistant));
        if !text.is_empty() {
            desk.run_event("c1", delta_event(7, DeltaKind::Text, text));
        }
        let stopped = RunEvent::ModelStopped { call: CallId(7), agent: "coder".into(), spent: Vec::new() };
        desk.run_event("c1", stopped);
        desk.run_event("c1", user_question(8, UserQuestion::Message));
        let screen = desk.draw_screen(80, 24);
        assert_eq!(screen.matches("— interrupted").count(), 1, "{text:?}: {screen}");
    }
}

#[test]
fn a_call_that_ends_without_a_word_was_interrupted() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", model_called(7, "coder", ConversationSide::Assistant));
    desk.run_event("c1", user_question(8, UserQuestion::Message));
    let screen = desk.draw_screen(80, 24);
    assert_eq!(screen.matches("coder — interrupted").count(), 1, "{screen}");
}

#[test]
fn answers_look_the_same_as_they_come_and_in_the_end() {
    let answer = "# Plan\n\n1. **Read** `a.rs`\n   - [x] done\n   - [ ] open\n\n> a [link](https://x.y)\n\n| file | lines |\n|:-----|------:|\n\
        | a.rs | 12 |\n| 日本.rs | 1,234 |\n\n```rust\nfn main() { // start\n    println!(\"hi\");\n}\n```\n---\nThe *end*.";
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", model_called(7, "coder", ConversationSide::Assistant));
    for piece in answer.as_bytes().chunks(7).map(<[u8]>::to_vec).collect::<Vec<_>>() {
        // pieces of bytes that are no text come together with the next
        let text = String::from_utf8_lossy(&piece).replace('\u{fffd}', "");
        desk.run_event("c1", delta_event(7, DeltaKind::Text, &text));
        desk.draw_screen(80, 24);
    }
    desk.run_event("c1", model_replied(7, "coder", ConversationSide::Assistant, answer, ""));
    desk.check_frames("markdown");
}

/// Also where the line has all values, but no room for them.
#[test]
fn what_the_line_of_a_call_has_no_room_for_unfolds() {
    let arguments = json!({"a": "x".repeat(50), "b": "y".repeat(50), "c": "z".repeat(50)});
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", super::panes::tool(8, "query", arguments))
        .run_event("r1", super::panes::tool_done(8, "query", true, "ok"));
    assert!(!desk.draw_screen(80, 24).contains("c=zzz"));
    let screen = desk.press_control('o').draw_screen(80, 24);
    assert!(screen.contains("c=zzz"), "{screen}");
}
