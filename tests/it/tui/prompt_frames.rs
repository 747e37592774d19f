//! Frames of what the history and the editor ask, what was chosen there, and what they wait for, at the sizes that
//! everything must look good at.

use synthdev::service::session::{EditorResponse, TimeTravelRequest};
use synthdev::tui::history_browser::{HistoryResponse, HistoryText};
use synthdev::tui::transcript::item::TranscriptItem;

use super::archive::{
    answer_page, in_run, many_rows, opened_browser, planned, run_row, send_history_reply,
    take_history_requests, undo_plan,
};
use super::editor::{answer_check, opened_editor, patterns, send_editor_reply};
use super::setup::opened_setup;
use super::shots::{Row, check_situations};
use super::*;

/// The history asks whether a run's files shall go back.
fn asks_undo() -> TuiHarness {
    let mut desk = opened_browser(many_rows(1, 1), false);
    let travel = TimeTravelRequest::Undo { run: Some("run000000001".into()) };
    desk.key(KeyCode::Char('u')).take_commands();
    desk.send_message(UiMessage::answered(planned(&travel, Ok(undo_plan()))));
    desk
}

/// A page about a step, with what was said in it.
fn on_page() -> TuiHarness {
    let mut desk = in_run();
    desk.key(KeyCode::Enter);
    let number = take_history_requests(&mut desk)[0].0;
    let items =
        vec![TranscriptItem::report_item("messages", "coder: I add the flag.\nreviewer: Its test, too.")];
    let text = HistoryText { title: "step 2: code".into(), items, step: Some(2), ..HistoryText::default() };
    send_history_reply(&mut desk, number, HistoryResponse::Text(Ok(text)));
    desk
}

const HISTORY: &[Row] = &[
    ("history_answer_chosen", |desk| {
        *desk = asks_undo();
        desk.key(KeyCode::Char('y'));
    }),
    ("history_words_typed", |desk| {
        *desk = asks_undo();
        desk.type_text("you");
    }),
    ("history_cancel_chosen", |desk| {
        *desk = opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Paused)], false);
        desk.key(KeyCode::Char('x')).key(KeyCode::Char('n'));
    }),
    ("history_plans", |desk| {
        *desk = in_run();
        desk.key(KeyCode::Char('b'));
    }),
    ("history_takes_up", |desk| {
        *desk = opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Paused)], false);
        desk.key(KeyCode::Char('r'));
    }),
    ("history_marked", |desk| {
        *desk = opened_browser(many_rows(0, 3), false);
        desk.key(KeyCode::Char('c'));
    }),
    ("history_compares", |desk| {
        *desk = opened_browser(many_rows(0, 3), false);
        desk.key(KeyCode::Char('c')).key(KeyCode::Down).key(KeyCode::Char('c'));
    }),
    ("history_filtered", |desk| {
        *desk = opened_browser(many_rows(0, 3), false);
        desk.key(KeyCode::Char('s'));
        answer_page(desk, Vec::new(), false);
    }),
    ("history_page_searched", |desk| {
        *desk = on_page();
        desk.draw_screen(80, 24);
        desk.type_text("/flag").key(KeyCode::Enter);
    }),
    ("history_page_without_hit", |desk| {
        *desk = on_page();
        desk.draw_screen(80, 24);
        desk.type_text("/zzz").key(KeyCode::Enter);
    }),
    ("history_refused", |desk| {
        *desk = in_run();
        desk.key(KeyCode::Char('P'));
    }),
];

#[test]
fn prompts_and_waits_of_the_history_at_every_size() {
    check_situations(HISTORY);
}

const EDITOR: &[Row] = &[
    ("editor_answer_chosen", |desk| {
        *desk = opened_editor();
        desk.type_text("x").press_control('s');
        answer_check(desk);
        desk.draw_screen(80, 24);
        desk.advance_clock(2_000).key(KeyCode::Char('y'));
    }),
    ("editor_words_typed", |desk| {
        *desk = opened_editor();
        desk.type_text("x").key(KeyCode::Esc).draw_screen(80, 24);
        desk.advance_clock(2_000).type_text("yes");
    }),
    ("editor_key_described", |desk| {
        *desk = opened_editor();
        desk.key(KeyCode::Down).key(KeyCode::End).key(KeyCode::Left).key(KeyCode::Left).key(KeyCode::F(2));
    }),
    ("editor_name_refused", |desk| {
        desk.line("/edit");
        send_editor_reply(desk, EditorResponse::Files(Ok(Vec::new())));
        desk.press_control('n');
        send_editor_reply(desk, EditorResponse::Patterns(Ok(patterns())));
        desk.type_text("appr").key(KeyCode::Enter).type_text("mine").key(KeyCode::Enter);
        let refused = EditorResponse::Begun(Err(".synthdev/workflows/mine.json is already there".into()));
        send_editor_reply(desk, refused);
    }),
    ("editor_nothing_found", |desk| {
        *desk = opened_editor();
        desk.press_control('f').type_text("zzz");
    }),
    ("editor_beside_question", |desk| {
        *desk = opened_editor();
        desk.run_event("r1", workflow_started("coder_reviewer", "add a flag"))
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")));
    }),
    ("setup_level", |desk| *desk = opened_setup("smart")),
    ("setup_address", |desk| {
        *desk = opened_setup("base");
        desk.type_text("localhost:8080");
    }),
];

#[test]
fn prompts_of_the_editor_and_the_setup_at_every_size() {
    check_situations(EDITOR);
}
