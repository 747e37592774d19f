//! Questions as they look, at the sizes that a person has.

use synthdev::domain::workflow::PauseKind;

use super::*;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 36), (250, 70)];

/// A command as a model asks for it.
fn command_asked(call: u64, command: &str) -> RunEvent {
    RunEvent::ApprovalAsked {
        state: "code".into(),
        call: CallId(call),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: json!({"command": command}),
        preview: None,
        until: None,
    }
}

/// A run with something to read above the question.
fn desk() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", model_called(5, "coder", ConversationSide::Assistant)).run_event(
        "r1",
        model_replied(5, "coder", ConversationSide::Assistant, "I run the tests **before** I change it.", ""),
    );
    desk
}

fn pause(kind: PauseKind, message: &str) -> UserQuestion {
    UserQuestion::Pause {
        state: "gate".into(),
        kind,
        message: message.into(),
        choices: vec![],
        schema: None,
        required_outputs: vec![],
        default: None,
        until: None,
        problem: None,
    }
}

fn long_plan() -> String {
    let steps: String = (1..=60).map(|at| format!("{at}. step `{at}` with **care**\n")).collect();
    format!(
        "# Plan\n\nThe flag is added in three files.\n\n{steps}\n```rust\nfn main() {{}}\n```\n\nThat is all."
    )
}

#[test]
fn a_command_is_asked() {
    let mut desk = desk();
    desk.run_event("r1", command_asked(20, "cargo test --workspace"))
        .check_frames_at("question_command", &SIZES);
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", command_asked(20, "git push --force origin main"))
        .check_frames_at("question_risky", &SIZES);
}

#[test]
fn a_long_plan_is_read_to_its_end() {
    let mut desk = desk();
    desk.run_event("r1", user_question(20, pause(PauseKind::Approval, &long_plan())));
    desk.check_frames_at("question_plan_begin", &SIZES);
    for (width, height) in SIZES {
        desk.draw_screen(width, height);
        desk.advance_clock(2_000).key(KeyCode::End);
        desk.check_frames_at("question_plan_end", &[(width, height)]);
    }
}

#[test]
fn a_diff_shows_the_words_that_changed() {
    let diff = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,4 +1,5 @@\n fn main() {\n-    let name = old(1);\n\
        +    let name = new(1, \"x\");\n+    print(name);\n     done();\n }";
    let mut desk = desk();
    let preview = ToolPreview::Diff { path: "src/main.rs".into(), diff: diff.into() };
    desk.run_event("r1", approval_event(20, "edit_file", preview)).check_frames_at("question_diff", &SIZES);
}

#[test]
fn choices_and_forms_stand_in_the_same_place() {
    let mut question = pause(PauseKind::Choice, "Which **way**?");
    if let UserQuestion::Pause { choices, .. } = &mut question {
        *choices = ["ship it now", "test more", "drop it"].map(str::to_owned).to_vec();
    }
    let mut one = desk();
    one.run_event("r1", user_question(20, question))
        .key(KeyCode::Down)
        .check_frames_at("question_choice", &SIZES);
    let mut question = pause(PauseKind::Outputs, "Create the ticket in the browser.");
    if let UserQuestion::Pause { required_outputs, schema, .. } = &mut question {
        *required_outputs = ["ticket", "votes", "done"].map(str::to_owned).to_vec();
        *schema = Some(Box::new(json!({"properties": {
            "ticket": {"type": "string", "description": "its key"},
            "votes": {"type": "integer"}, "done": {"type": "boolean"}}})));
    }
    let mut other = desk();
    other.run_event("r1", user_question(20, question)).line("ABC-1").check_frames_at("question_form", &SIZES);
}

#[test]
fn several_questions_are_counted() {
    let mut desk = desk();
    desk.run_event("r1", command_asked(20, "cargo test")).run_event("r1", command_asked(21, "cargo doc"));
    desk.check_frames_at("question_first_of_two", &SIZES);
    desk.advance_clock(2_000).key(KeyCode::Tab).check_frames_at("question_second_of_two", &SIZES);
}

#[test]
fn what_is_typed_inside_of_a_question() {
    for (letter, name) in [('e', "question_edit"), ('a', "question_rule"), ('r', "question_reason")] {
        let mut desk = desk();
        desk.run_event("r1", command_asked(20, "cargo test")).advance_clock(2_000).key(KeyCode::Char(letter));
        desk.check_frames_at(name, &SIZES);
    }
}

#[test]
fn a_question_that_has_just_appeared_says_so() {
    let mut desk = desk();
    desk.run_event("r1", command_asked(20, "cargo test"));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("new: keys count in a moment"), "{screen}");
    let now = desk.clock;
    desk.send_message(UiMessage::Tick(Timestamp(now + 499)));
    assert!(desk.draw_screen(80, 24).contains("new: keys"));
    desk.send_message(UiMessage::Tick(Timestamp(now + 500)));
    let screen = desk.draw_screen(80, 24);
    assert!(!screen.contains("new: keys") && screen.contains("↑↓ and Enter, or a letter"), "{screen}");
}
