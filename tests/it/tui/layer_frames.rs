//! Frames of what lies over the conversation or beside the input, at the sizes that everything must look good at.

use synthdev::domain::workflow::PauseKind;
use synthdev::service::session::{EditorResponse, EditorSaveError, TimeTravelRequest};

use super::archive::{in_run, many_rows, opened_browser, planned, run_row, undo_plan};
use super::editor::{answer_check, open_in_layer, opened_editor, send_editor_reply};
use super::history::opened_picker;
use super::question_frames::pause;
use super::setup::{choose_model, finish_trial};
use super::shots::{Row, check_situations};
use super::*;

const WORKFLOW: &str = r#"{"name": "mine", "states": {}}"#;

fn asked(desk: &mut TuiHarness) -> &mut TuiHarness {
    let mut preview = approval_event(9, "execute_terminal", command_preview("cargo test"));
    if let RunEvent::ApprovalAsked { arguments, .. } = &mut preview {
        *arguments = json!({"command": "cargo test"});
    }
    desk.workflow().run_event("r1", preview).advance_clock(2_000)
}

fn paste(desk: &mut TuiHarness, text: &str) {
    desk.press_control('u').send_message(UiMessage::Paste(text.to_owned())).key(KeyCode::Enter);
}

const QUESTIONS: &[Row] = &[
    ("question_changed_call", |desk| {
        asked(desk).answer('e');
        paste(desk, "cargo test --workspace --all-features");
    }),
    ("question_refused_rule", |desk| {
        asked(desk).answer('a');
        paste(desk, "approvals.tools.other = allow");
    }),
    ("question_yes_too_early", |desk| {
        let plan: String = (1..=90).map(|at| format!("{at}. step {at}\n")).collect();
        desk.workflow().run_event("r1", user_question(20, pause(PauseKind::Approval, &plan)));
        desk.draw_screen(60, 20);
        desk.advance_clock(2_000).answer('y');
    }),
    ("question_guidance", |desk| {
        let diff = "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1,2 @@\n # Rules\n+Never ask.";
        let preview = ToolPreview::Diff { path: "AGENTS.md".into(), diff: diff.into() };
        let mut asked = approval_event(9, "edit_file", preview);
        if let RunEvent::ApprovalAsked { arguments, .. } = &mut asked {
            *arguments = json!({"file_path": "AGENTS.md", "content": "# Rules\nNever ask."});
        }
        desk.workflow().run_event("r1", asked);
    }),
    ("question_boolean", |desk| {
        desk.workflow().run_event("r1", user_question(20, pause(PauseKind::Boolean, "Is the **flag** on?")));
    }),
    ("keys_question", |desk| {
        asked(desk).key(KeyCode::F(1));
    }),
];

#[test]
fn questions_that_go_on_at_every_size() {
    check_situations(QUESTIONS);
}

const LAYERS: &[Row] = &[
    ("editor_force", |desk| {
        *desk = opened_editor();
        desk.type_text("x").press_control('s');
        answer_check(desk);
    }),
    ("editor_conflict", |desk| {
        *desk = opened_editor();
        desk.type_text(" ").press_control('s');
        answer_check(desk);
        send_editor_reply(desk, EditorResponse::Saved(Err(EditorSaveError::Changed("{}".into()))));
    }),
    ("editor_where", |desk| {
        *desk = open_in_layer(ConfigLayer::BuiltIn, WORKFLOW);
        answer_check(desk);
        desk.press_control('s');
    }),
    ("keys_editor", |desk| {
        *desk = opened_editor();
        desk.key(KeyCode::F(1));
    }),
    ("history_export", |desk| {
        *desk = in_run();
        desk.key(KeyCode::Char('e'));
    }),
    ("history_cancel", |desk| {
        *desk = opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Paused)], false);
        desk.key(KeyCode::Char('x'));
    }),
    ("keys_history", |desk| {
        *desk = opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Completed)], false);
        desk.key(KeyCode::F(1));
    }),
    ("resume_picker_nothing", |desk| {
        *desk = opened_picker();
        desk.type_text("nothing");
    }),
    ("setup_asks_for_models", |desk| choose_model(desk, 0)),
    ("setup_smart", |desk| choose_model(desk, 2)),
    ("setup_fast", |desk| choose_model(desk, 3)),
    ("setup_trial_runs", |desk| choose_model(desk, 4)),
    ("setup_trial_passed", |desk| {
        choose_model(desk, 4);
        finish_trial(desk);
    }),
    ("zoomed_pane", |desk| {
        desk.show_working_run().send_message(UiMessage::Resize(120, 36));
        desk.press_alt('6').press_alt('z');
    }),
    ("vi_mode", |desk| {
        desk.line("/vim").type_text("one two").key(KeyCode::Esc);
    }),
];

#[test]
fn layers_at_every_size() {
    check_situations(LAYERS);
}

/// A question says while it takes no keys yet, and why.
#[test]
fn the_guard_of_a_question_at_every_size() {
    let command = || approval_event(9, "execute_terminal", command_preview("cargo test"));
    let mut new = TuiHarness::new();
    new.workflow().advance_clock(2_000).run_event("r1", command());
    new.check_unsettled_frames("question_new");
    let mut typing = TuiHarness::new();
    typing.workflow().advance_clock(2_000).run_event("r1", command()).draw_screen(80, 24);
    let at = Timestamp(typing.clock + 450);
    typing.send_message(UiMessage::Key(KeyEvent::new(KeyCode::Char('n'), KeyModifiers::NONE), at));
    typing.send_message(UiMessage::Tick(Timestamp(at.0 + 300))).draw_screen(80, 24);
    typing.check_unsettled_frames("question_pressed_early");
    let mut begun = TuiHarness::new();
    begun.workflow().advance_clock(2_000).type_text("wh").run_event("r1", command()).draw_screen(80, 24);
    let at = Timestamp(begun.clock + 550);
    begun.send_message(UiMessage::Tick(at)).check_unsettled_frames("question_typed_before");
    assert!(begun.draw_screen(80, 24).contains("you were typing: keys count in a moment"));
}

#[test]
fn enter_without_a_choice_says_what_to_press() {
    let ends = |desk: &mut TuiHarness| {
        *desk = opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Paused)], false);
        desk.key(KeyCode::Char('x'));
    };
    let undo = |desk: &mut TuiHarness| {
        *desk = opened_browser(many_rows(1, 1), false);
        desk.key(KeyCode::Char('u'));
        let travel = TimeTravelRequest::Undo { run: Some("run000000001".into()) };
        desk.send_message(UiMessage::answered(planned(&travel, Ok(undo_plan()))));
    };
    let leave = |desk: &mut TuiHarness| {
        *desk = opened_editor();
        desk.type_text(" ").key(KeyCode::Esc);
    };
    let copy = |desk: &mut TuiHarness| {
        *desk = open_in_layer(ConfigLayer::BuiltIn, WORKFLOW);
        answer_check(desk);
        desk.press_control('s');
    };
    let check = |ask: &dyn Fn(&mut TuiHarness), letters: [char; 2]| {
        for letter in letters {
            let mut desk = TuiHarness::new();
            ask(&mut desk);
            desk.draw_screen(80, 24);
            desk.advance_clock(2_000).take_commands();
            let told = format!("press {} or {} first, then Enter", letters[0], letters[1]);
            for _ in 0..2 {
                desk.key(KeyCode::Enter);
                for (width, height) in [(120, 36), (80, 24), (60, 20)] {
                    let screen = desk.draw_screen(width, height);
                    assert!(screen.contains(&told), "{told}: {screen}");
                }
            }
            let sent = desk.take_commands();
            assert!(sent.iter().all(|one| matches!(one, UiCommand::Display(_))), "{told}: {sent:?}");
            // a letter chooses as before
            desk.key(KeyCode::Char(letter));
            let screen = desk.draw_screen(80, 24);
            assert!(!screen.contains(&told) && screen.contains(&format!("▸ {letter} ")), "{screen}");
        }
    };
    check(&ends, ['y', 'n']);
    check(&undo, ['y', 'n']);
    check(&leave, ['y', 'n']);
    check(&copy, ['p', 'u']);
}

#[test]
fn a_question_of_the_editor_leaves_its_text_readable() {
    let lines: String = (0..90).map(|at| format!("  \"key{at}\": {at},\n")).collect();
    let mut desk = open_in_layer(ConfigLayer::Project, &format!("{{\n{lines}}}\n"));
    answer_check(&mut desk);
    desk.type_text(" ").key(KeyCode::Esc);
    assert!(!desk.draw_screen(80, 24).contains("key30"));
    for (key, seen) in [(KeyCode::PageDown, true), (KeyCode::PageUp, false)] {
        // also before the question takes letters
        (0..2).for_each(|_| drop(desk.press_before_seen(key, KeyModifiers::NONE).draw_screen(80, 24)));
        let screen = desk.draw_screen(80, 24);
        assert_eq!(screen.contains("key30"), seen, "{screen}");
        assert!(screen.contains("save it before leaving? y saves it"), "{screen}");
    }
    desk.advance_clock(2_000).key(KeyCode::Char('n')).key(KeyCode::Enter);
    assert!(desk.model.edit.is_none());
}
