//! What a user who looks at another window is told.

use super::*;

impl TuiHarness {
    fn take_notices(&mut self) -> Vec<String> {
        let text = |cmd| match cmd {
            UiCommand::Notify(text) => Some(text),
            _ => None,
        };
        self.take_commands().into_iter().filter_map(text).collect()
    }
}

/// A session whose window another one is in front of.
fn unfocused_desk(is_enabled: bool) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.model.notifications.is_enabled = is_enabled;
    desk.workflow().send_message(UiMessage::Focus(false)).take_commands();
    desk
}

#[test]
fn the_end_of_a_run_and_a_question_are_told() {
    let mut desk = unfocused_desk(true);
    desk.run_event("r1", state_entered("code"));
    assert_eq!(desk.take_notices(), Vec::<String>::new());
    desk.run_event("r1", approval_event(9, "execute_terminal", command_preview("ls")));
    let notices = desk.take_notices();
    assert!(notices.len() == 1 && notices[0].starts_with("waits for you: "), "{notices:?}");
    desk.run_event("r1", run_finished(RunStatus::Completed, None, None));
    let notices = desk.take_notices();
    assert!(notices.len() == 1 && notices[0].starts_with("✓ coder_reviewer completed"), "{notices:?}");
}

#[test]
fn an_answer_of_a_conversation_is_told() {
    let mut desk = TuiHarness::new();
    desk.model.notifications.is_enabled = true;
    desk.start_chat().send_message(UiMessage::Focus(false)).take_commands();
    desk.run_event("c1", model_called(2, "coder", ConversationSide::Assistant));
    desk.run_event("c1", model_replied(2, "coder", ConversationSide::Assistant, "Done.", ""));
    desk.run_event("c1", user_question(3, UserQuestion::Message));
    assert_eq!(desk.take_notices(), ["the answer is there"]);
}

#[test]
fn who_looks_at_the_screen_or_wants_none_is_told_nothing() {
    let check = |is_enabled: bool, message: UiMessage| {
        let mut desk = unfocused_desk(is_enabled);
        desk.send_message(message);
        desk.run_event("r1", run_finished(RunStatus::Failed, None, None));
        assert_eq!(desk.take_notices(), Vec::<String>::new(), "{is_enabled}");
    };
    check(true, UiMessage::Focus(true));
    check(false, UiMessage::Focus(false));
}
