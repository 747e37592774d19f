//! The history in front: rows of keys and answers → questions and screen. What is read for it is for the tests of the
//! backend.

use synthdev::domain::journal::{RunProgress, RunSummary};
use synthdev::domain::snapshot::RunWorktree;
use synthdev::service::session::{
    ActionPreview, RunRequest, RunResponse, TimeTravelOutcome, TimeTravelRequest,
};
use synthdev::tui::display::{DisplayRequest, DisplayResponse};
use synthdev::tui::history_browser::run_comparison::{ComparedFact, ComparedStep, RunComparison};
use synthdev::tui::history_browser::run_list::PAGE;
use synthdev::tui::history_browser::step_list::{StepLine, StepListBuilder};
use synthdev::tui::history_browser::workflow_trend::WorkflowTrend;
use synthdev::tui::history_browser::{
    BrowsedRun, HistoryRequest, HistoryResponse, HistoryRunFilter, HistoryRunPage, HistoryText, RunDetails,
    RunListCursor, RunRow,
};
use synthdev::tui::report::history::history_run_row;
use synthdev::tui::run_view::timeline::RunTimeline;
use synthdev::tui::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev::tui::update::past_run::fold_events;
use synthdev::tui::update::past_run::step_details::StepDetailsBuilder;

use super::history::left_conversation;
use super::*;

const HERE: &str = "/project";
const HOUR: i64 = 3_600_000;

pub(super) fn run_row(number: usize, workflow: &str, status: RunStatus) -> RunRow {
    let started = Timestamp(1_000_000 - number as i64 * 1_000);
    let mut run = summary(&format!("run{number:09}"), workflow, status, started);
    if status == RunStatus::Failed {
        let failure = RunError::new("model.transport", "the model cannot be reached", "connection refused");
        run.progress.error = Some(RunError { state: Some("code".into()), ..failure });
    }
    let again = status == RunStatus::Failed;
    RunRow { can_retry: again, ..history_run_row(run, HERE, None) }
}

fn summary(id: &str, workflow: &str, status: RunStatus, started: Timestamp) -> RunSummary {
    RunSummary {
        id: RunId::from(id),
        workflow: workflow.into(),
        definition_hash: String::new(),
        input: "add a --json flag".into(),
        project: HERE.into(),
        started,
        origin: None,
        worktree: None,
        progress: RunProgress {
            title: None,
            status,
            path: vec!["start".into(), "code".into()],
            cost_usd: Some(0.0123),
            updated: Timestamp(started.0 + 83_000),
            snapshot: Some(SnapshotId::from("ab12")),
            ..RunProgress::new(started)
        },
    }
}

/// Counted and marked as what it is, in the list and of the last runs.
#[test]
fn the_history_counts_a_conversation_that_was_left_as_no_paused_run() {
    let rows = ["c1", "c2"].map(|id| history_run_row(left_conversation(id), HERE, None));
    let paused = RunRow { workflow: "chat".into(), ..run_row(3, "chat", RunStatus::Paused) };
    let mut desk = opened_browser(rows.into_iter().chain([paused]).collect(), false);
    let screen = desk.draw_screen(80, 24);
    for part in ["◦ left", "‖ paused", "chat: last 3 runs · 1 paused · 2 left"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

/// `running` is what works; in the list, in the run, and in `/runs`.
#[test]
fn a_run_that_is_driven_and_waits_for_its_user_is_not_called_running() {
    let chat = || summary("c1", "coder", RunStatus::Running, Timestamp(1_000_000));
    let check = |is_idle: bool, list: &str, note: &str, run: &str| {
        let mut desk = TuiHarness::new();
        desk.start_chat();
        if is_idle {
            desk.run_event("c1", user_question(2, UserQuestion::Message));
        }
        desk.take_commands();
        desk.line("/runs");
        let told = RunResponse::List {
            list_purpose: RunListPurpose::Show,
            list: Ok(vec![chat()]),
            at: Timestamp(2_000_000),
        };
        let screen = desk.send_message(UiMessage::answered(told)).draw_screen(80, 24);
        assert!(screen.contains(&format!("c1  {run}")), "{screen}");
        desk.take_commands();
        desk.line("/history");
        answer_page(&mut desk, vec![history_run_row(chat(), HERE, None)], false);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(list) && screen.contains(note), "{screen}");
        let screen = desk.key(KeyCode::Enter).draw_screen(80, 24);
        assert!(screen.contains(&format!("coder c1 · {run}")), "{screen}");
    };
    check(true, "▶ waits", "waits for your next message", "waits");
    check(false, "▶ running", "running in code", "running");
    // a question that is open, also in another process
    let mut asks = summary("r9", "gate", RunStatus::Running, Timestamp(1_000_000));
    asks.progress.pauses = left_conversation("c9").progress.pauses;
    asks.progress.pauses[0].message = "Go on?".into();
    let mut desk = opened_browser(vec![history_run_row(asks, HERE, None)], false);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("▶ waits") && !screen.contains("▶ running"), "{screen}");
}

/// A letter that is no key begins the search, in the list, in a run and in a page; every other key says that it does nothing.
#[test]
fn what_is_no_key_of_the_history_is_not_swallowed() {
    let mut desk = opened_browser(many_rows(0, 3), false);
    let screen = desk.type_text("zh").draw_screen(80, 24);
    assert!(screen.contains("/zh") && screen.contains(" SEARCH "), "{screen}");
    desk.key(KeyCode::Esc).key(KeyCode::Esc);
    // a key of panes that the list has not begins it as well
    let screen = desk.draw_screen(80, 24);
    let desk = &mut opened_browser(many_rows(0, 3), false);
    assert!(desk.type_text("h").draw_screen(80, 24).contains("/h"), "{screen}");
    let desk = &mut opened_browser(many_rows(0, 3), false);
    let screen = desk.press_control(' ').draw_screen(80, 24);
    assert!(screen.contains("Ctrl+Space does nothing here: F1 shows the keys"), "{screen}");
    let desk = &mut opened_browser(Vec::new(), false);
    for key in [KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::Enter] {
        let screen = desk.key(key).draw_screen(80, 24);
        assert!(screen.contains("there is no run in the list"), "{key:?} {screen}");
    }
}

pub(super) fn many_rows(from: usize, count: usize) -> Vec<RunRow> {
    let statuses = [RunStatus::Completed, RunStatus::Failed, RunStatus::Paused, RunStatus::Cancelled];
    (from..from + count).map(|at| run_row(at, "coder_reviewer", statuses[at % 4])).collect()
}

/// The questions of the history, with their numbers.
pub(super) fn take_history_requests(desk: &mut TuiHarness) -> Vec<(u64, HistoryRequest)> {
    let only = |cmd| {
        if let UiCommand::Display(DisplayRequest::History(number, asked)) = cmd {
            Some((number, *asked))
        } else {
            None
        }
    };
    desk.take_commands().into_iter().filter_map(only).collect()
}

pub(super) fn send_history_reply(desk: &mut TuiHarness, number: u64, told: HistoryResponse) {
    desk.send_message(UiMessage::Displayed(DisplayResponse::History(number, Box::new(told))));
}

/// Answers the page that was asked for last.
pub(super) fn answer_page(desk: &mut TuiHarness, rows: Vec<RunRow>, more: bool) -> HistoryRequest {
    let all = take_history_requests(desk);
    for (number, _) in all.iter().filter(|(_, asked)| *asked == HistoryRequest::Changes) {
        send_history_reply(desk, *number, HistoryResponse::Changes(Some(1)));
    }
    let last = all.into_iter().rev().find(|(_, asked)| matches!(asked, HistoryRequest::Page { .. }));
    let (number, asked) = last.expect("no page was asked for");
    let page = HistoryRunPage { rows: rows.clone(), has_more: more, at: Timestamp(1_000_000 + HOUR) };
    send_history_reply(desk, number, HistoryResponse::Page(Ok(page)));
    for (number, workflow) in std::mem::take(&mut desk.trend_requests) {
        let own: Vec<RunRow> = rows.iter().filter(|row| row.workflow == workflow).take(50).cloned().collect();
        let trend = WorkflowTrend::from_rows(&workflow, &own);
        send_history_reply(desk, number, HistoryResponse::Trend(Some(trend)));
    }
    asked
}

pub(super) fn opened_browser(rows: Vec<RunRow>, more: bool) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.line("/history");
    answer_page(&mut desk, rows, more);
    desk
}

/// What a run had done: two states, a reply, a tool, a variable.
fn past_events() -> Vec<(Timestamp, RunEvent)> {
    let tool = RunEvent::ToolStarted {
        call: CallId(7),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({"command": "make"}),
    };
    let data = |key: &str, value: serde_json::Value| RunEvent::DataChanged {
        state: "code".into(),
        set: serde_json::Map::from_iter([(key.to_owned(), value)]),
        removed: vec![],
    };
    [
        workflow_started("coder_reviewer", "add a --json flag"),
        snapshot_taken(),
        state_entered("start"),
        transition("start", "code"),
        state_entered("code"),
        model_called(5, "coder", ConversationSide::Assistant),
        model_replied(5, "coder", ConversationSide::Assistant, "I add the flag.", ""),
        tool,
        data("tries", json!(2)),
        data("plan", json!("größe 日本")),
        run_finished(
            RunStatus::Failed,
            None,
            Some(RunError::new("x", "the model cannot be reached", "refused")),
        ),
    ]
    .into_iter()
    .enumerate()
    .map(|(at, event)| (Timestamp(at as i64 * 1_000), event))
    .collect()
}

/// The same with their steps.
fn past_step_events() -> Vec<(Timestamp, StepEvent)> {
    let mut at_step = 0;
    let with_step = |(at, event): (Timestamp, RunEvent)| {
        at_step += u32::from(matches!(event, RunEvent::StateEntered { .. }));
        (at, StepEvent { at_step, event })
    };
    past_events().into_iter().map(with_step).collect()
}

pub(super) fn run_details() -> RunDetails {
    let mut walk = StepListBuilder::default();
    past_step_events().iter().for_each(|(at, event)| walk.apply_event(*at, event));
    let facts = vec![
        ("started".to_owned(), "2026-01-31 10:00:00 UTC".to_owned()),
        ("path".to_owned(), "start > code".to_owned()),
        ("error".to_owned(), "model.transport: the model cannot be reached refused".to_owned()),
    ];
    let mut timeline = RunTimeline::default();
    past_events().iter().for_each(|(at, event)| timeline.apply_event(*at, event));
    RunDetails {
        row: run_row(1, "coder_reviewer", RunStatus::Failed),
        facts,
        steps: walk.into_steps(),
        timeline,
        agents: Vec::new(),
    }
}

/// The failed run of two is open.
pub(super) fn in_run() -> TuiHarness {
    let mut desk = opened_browser(many_rows(0, 2), false);
    desk.key(KeyCode::Down).key(KeyCode::Enter);
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Open { run, known_state: None })] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!(run.as_str(), "run000000001");
    send_history_reply(&mut desk, *number, HistoryResponse::Opened(Ok(Some(Box::new(run_details())))));
    desk
}

#[test]
fn the_list_looks_good_in_every_state() {
    let mut desk = TuiHarness::new();
    desk.line("/history");
    assert!(desk.draw_screen(80, 24).contains("reading …"));
    answer_page(&mut desk, vec![], false);
    desk.check_shots("history_empty");
    let mut rows = many_rows(0, 60);
    rows[3].workflow = "größer 日本語のワークフロー".into();
    rows[3].text = "e\u{301}\u{1f469}\u{200d}\u{1f469} wide 日本 text".into();
    rows[4] = run_row(4, "a_child_of_it", RunStatus::Running);
    rows[4].origin = Some(rows[6].id.clone());
    rows[5].cost_usd = None;
    rows[7].place.other_project = Some("/other".into());
    let mut desk = opened_browser(rows, true);
    desk.key(KeyCode::Down);
    desk.check_shots("history_many");
}

#[test]
fn a_run_its_steps_and_a_step_look_good() {
    let mut desk = in_run();
    desk.check_shots("history_run");
    desk.key(KeyCode::Enter);
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Step { run, step: 2 })] = all.as_slice() else { panic!("{all:?}") };
    let mut fold = StepDetailsBuilder::new(run, 2, &[]);
    past_step_events().into_iter().for_each(|(at, event)| fold.apply_event(at, event));
    let variables =
        serde_json::Map::from_iter([("tries".to_owned(), json!(1)), ("same".to_owned(), json!("x"))]);
    let (title, items) = fold.into_report(&variables, "  create       notes.txt").unwrap();
    send_history_reply(
        &mut desk,
        *number,
        HistoryResponse::Text(Ok(HistoryText { title, items, step: Some(2), ..HistoryText::default() })),
    );
    desk.check_shots("history_step");
    let screen = desk.draw_screen(120, 40);
    for expected in
        ["● tries: 2   (was 1)", "  same: x", "● plan: größe 日本", "create       notes.txt", "1 call"]
    {
        assert!(screen.contains(expected), "{expected}\n{screen}");
    }
    assert!(!screen.contains("workflow coder_reviewer\n"), "{screen}");
}

#[test]
fn steps_count_what_happened_in_them() {
    let steps = run_details().steps;
    let [start, code] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!((start.step, start.duration_ms, start.tools, start.changed_variables), (1, Some(1_000), 0, 0));
    assert_eq!((code.step, code.duration_ms, code.tools, code.changed_variables), (2, Some(6_000), 1, 2));
    assert_eq!((code.tokens, code.cost_usd), (1_540, Some(0.0123)));
    assert_eq!(code.error_text.as_deref(), Some("the model cannot be reached"));
    assert!(
        StepDetailsBuilder::new(&RunId::from("r1"), 9, &[])
            .into_report(&serde_json::Map::new(), "")
            .is_none()
    );
}

#[test]
fn a_step_whose_question_was_put_off_is_paused_and_not_failed() {
    let waits = || RunError { state: Some("gate".into()), ..RunError::new("paused", "It waits for you", "") };
    let check = |status: RunStatus, there: &str, not_there: &str| {
        let events = [
            (1, 0, state_entered("gate")),
            (1, 500, run_finished(status, None, Some(waits()))),
            (1, 900, transition("gate", "stop")),
            (2, 900, state_entered("stop")),
            (2, 950, run_finished(RunStatus::Completed, None, None)),
        ];
        let mut walk = StepListBuilder::default();
        for (at_step, at, event) in events {
            walk.apply_event(Timestamp(at), &StepEvent { at_step, event });
        }
        let mut desk = opened_browser(many_rows(0, 2), false);
        desk.key(KeyCode::Down).key(KeyCode::Enter);
        let (number, _) = take_history_requests(&mut desk).pop().unwrap();
        let details = RunDetails { steps: walk.into_steps(), ..run_details() };
        send_history_reply(&mut desk, number, HistoryResponse::Opened(Ok(Some(Box::new(details)))));
        let screen = desk.draw_screen(80, 24);
        for mark in [format!("{there} gate #1"), format!("{there} It waits for you")] {
            assert!(screen.contains(&mark), "{mark}: {screen}");
        }
        assert!(!screen.contains(&format!("{not_there} gate")), "{screen}");
    };
    check(RunStatus::Paused, "‖", "✗");
    check(RunStatus::Failed, "✗", "‖");
}

#[test]
fn the_last_state_of_what_runs_inside_ends_with_it() {
    let branch_ended = RunEvent::BranchFinished {
        state: "each".into(),
        branch: "[1]".into(),
        index: 1,
        output: None,
        error: None,
    };
    let child_ended =
        RunEvent::ChildFinished { state: "plan".into(), workflow: "planning".into(), output: None };
    let events = [
        (1, 0, state_entered("plan")),
        (2, 100, state_entered("planning/stop")),
        (2, 400, child_ended),
        (1, 500, transition("plan", "each")),
        (3, 500, state_entered("each")),
        (4, 500, state_entered("each[1]/stop")),
        (5, 500, state_entered("each[10]/work")),
        (4, 700, branch_ended),
        (5, 2_000, run_finished(RunStatus::Cancelled, None, None)),
    ];
    let mut walk = StepListBuilder::default();
    for (at_step, at, event) in events {
        walk.apply_event(Timestamp(at), &StepEvent { at_step, event });
    }
    let durations: Vec<Option<u64>> = walk.into_steps().iter().map(|step| step.duration_ms).collect();
    assert_eq!(durations, [Some(500), Some(300), Some(1_500), Some(200), Some(1_500)]);
}

#[test]
fn what_items_say_at_once_stands_at_the_step_of_each() {
    let asked = |at_step: u32, call: u64| StepEvent {
        at_step,
        event: model_called(call, "coder", ConversationSide::Assistant),
    };
    let said = |at_step: u32, call: u64, text: &str| StepEvent {
        at_step,
        event: model_replied(call, "coder", ConversationSide::Assistant, text, ""),
    };
    let entered = |at_step: u32, state: &str| StepEvent { at_step, event: state_entered(state) };
    let events = [
        StepEvent { at_step: 0, event: workflow_started("w", "x") },
        entered(1, "each[0]/work"),
        entered(2, "each[1]/work"),
        asked(1, 7),
        asked(2, 8),
        said(1, 7, "first of one"),
        asked(1, 9),
        said(2, 8, "first of two"),
        said(1, 9, "last of one"),
    ];
    let check = |step: u32, there: &[&str], not_there: &[&str]| {
        let mut fold = StepDetailsBuilder::new(&RunId::from("r1"), step, &[]);
        events.iter().for_each(|event| fold.apply_event(Timestamp(0), event.clone()));
        let (_, items) = fold.into_report(&serde_json::Map::new(), "").unwrap();
        let text = items.iter().map(|item| item.text()).collect::<Vec<_>>().join("\n");
        assert!(there.iter().all(|part| text.contains(part)), "{step}: {text}");
        assert!(!not_there.iter().any(|part| text.contains(part)), "{step}: {text}");
    };
    check(1, &["first of one", "last of one"], &["of two"]);
    check(2, &["first of two"], &["of one"]);
}

/// A wait in the history moves and says how long it takes; what is read is shown without it.
#[test]
fn a_wait_in_the_history_moves() {
    let after = |desk: &mut TuiHarness, ms: i64| {
        let at = Timestamp(desk.model.now.0 + ms);
        desk.send_message(UiMessage::Tick(at)).draw_screen(80, 24)
    };
    let mut desk = TuiHarness::new();
    desk.line("/history");
    assert!(desk.draw_screen(80, 24).contains("  reading …") && desk.model.needs_ticks());
    assert!(after(&mut desk, 3_000).contains("⠹ reading … 3 s"));
    answer_page(&mut desk, many_rows(1, 3), false);
    assert!(!desk.model.needs_ticks() && !desk.draw_screen(80, 24).contains("reading …  "));
    desk.key(KeyCode::Enter);
    assert!(desk.draw_screen(80, 24).contains("  reading …") && desk.model.needs_ticks());
    assert!(after(&mut desk, 4_000).contains("reading … 4 s"));
}

#[test]
fn the_trend_below_the_list_moves_while_it_is_read() {
    let after = |desk: &mut TuiHarness, ms: i64| {
        let at = Timestamp(desk.model.now.0 + ms);
        desk.send_message(UiMessage::Tick(at)).draw_screen(80, 24)
    };
    for (answer, expected) in
        [(Some(many_rows(1, 3)), "last 3 runs"), (None, "coder_reviewer: its last runs cannot be read")]
    {
        let mut desk = TuiHarness::new();
        desk.line("/history");
        let page = take_history_requests(&mut desk)
            .into_iter()
            .rev()
            .find_map(|(number, asked)| matches!(asked, HistoryRequest::Page { .. }).then_some(number));
        let rows = HistoryRunPage { rows: many_rows(1, 3), has_more: false, at: Timestamp(1_000_000) };
        send_history_reply(&mut desk, page.unwrap(), HistoryResponse::Page(Ok(rows)));
        let screen = after(&mut desk, 0);
        assert!(screen.contains("coder_reviewer: reading its last runs …"), "{screen}");
        assert!(desk.model.needs_ticks());
        let screen = after(&mut desk, 3_000);
        assert!(screen.contains("⠹ coder_reviewer: reading its last runs … 3 s"), "{screen}");
        let (number, workflow) = desk.trend_requests.pop().unwrap();
        let trend = answer.map(|rows| WorkflowTrend::from_rows(&workflow, &rows));
        send_history_reply(&mut desk, number, HistoryResponse::Trend(trend));
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(expected) && !screen.contains("reading its"), "{screen}");
        assert!(!desk.model.needs_ticks());
    }
}

#[test]
fn pages_are_read_as_the_cursor_comes_near() {
    let mut desk = TuiHarness::new();
    desk.line("/history");
    desk.draw_screen(80, 24);
    assert_eq!(
        answer_page(&mut desk, many_rows(0, PAGE), true),
        HistoryRequest::Page { filter: HistoryRunFilter::default(), after_cursor: None }
    );
    assert_eq!(take_history_requests(&mut desk), [], "nobody is near the end");
    for _ in 0..30 {
        desk.key(KeyCode::PageDown);
    }
    let last = many_rows(PAGE - 1, 1)[0].started;
    let after = Some(RunListCursor { started: last, known_count: 1 });
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Page { after_cursor: found, .. })] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!(*found, after);
    // one page at a time; the end is read up to
    desk.key(KeyCode::End);
    assert_eq!(take_history_requests(&mut desk), []);
    let rows = |from| {
        HistoryResponse::Page(Ok(HistoryRunPage {
            rows: many_rows(from, PAGE),
            has_more: from < 4 * PAGE,
            at: Timestamp(0),
        }))
    };
    send_history_reply(&mut desk, *number, rows(PAGE));
    for turn in 2..5 {
        let all = take_history_requests(&mut desk);
        let [(number, HistoryRequest::Page { .. })] = all.as_slice() else { panic!("{turn}: {all:?}") };
        send_history_reply(&mut desk, *number, rows(turn * PAGE));
    }
    assert_eq!(take_history_requests(&mut desk), []);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("1000 runs") && screen.contains("run000000999"), "{screen}");
    // an answer to an older question is nobody's
    send_history_reply(&mut desk, *number, rows(0));
    assert!(desk.draw_screen(80, 24).contains("1000 runs"));
}

#[test]
fn words_are_looked_for_while_they_are_typed() {
    let mut desk = opened_browser(many_rows(0, 5), false);
    desk.key(KeyCode::Char('/')).type_text("pa");
    let all = take_history_requests(&mut desk);
    // one question at a time: the last words are asked for when the first are answered
    let [(number, HistoryRequest::Page { filter, .. })] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(filter.search_words, "p");
    send_history_reply(
        &mut desk,
        *number,
        HistoryResponse::Page(Ok(HistoryRunPage {
            rows: many_rows(0, 4),
            has_more: false,
            at: Timestamp(0),
        })),
    );
    let mut found = many_rows(3, 1);
    found[0].text = "message: the parser fails".into();
    let HistoryRequest::Page { filter, after_cursor: None } = answer_page(&mut desk, found, false) else {
        panic!()
    };
    assert_eq!(filter.search_words, "pa");
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("1 run") && screen.contains("/pa") && screen.contains("run000000003"),
        "{screen}"
    );
    assert!(desk.draw_screen(120, 24).contains("message: the parser fails"));
    desk.key(KeyCode::Enter).key(KeyCode::Char('s'));
    let HistoryRequest::Page { filter, .. } = answer_page(&mut desk, many_rows(3, 1), false) else {
        panic!()
    };
    assert_eq!((filter.search_words.as_str(), filter.status), ("pa", Some(RunStatus::Failed)));
    desk.key(KeyCode::Char('o')).key(KeyCode::Char('p'));
    let all = take_history_requests(&mut desk);
    let (number, HistoryRequest::Page { filter, .. }) = all[0].clone() else { panic!() };
    assert_eq!(filter.workflow.as_deref(), Some("coder_reviewer"));
    send_history_reply(
        &mut desk,
        number,
        HistoryResponse::Page(Ok(HistoryRunPage { rows: vec![], has_more: false, at: Timestamp(0) })),
    );
    let HistoryRequest::Page { filter, .. } = answer_page(&mut desk, vec![], false) else { panic!() };
    assert!(filter.this_project_only);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("no runs match") && screen.contains("of this project · failed"), "{screen}");
    desk.key(KeyCode::Esc);
    let HistoryRequest::Page { filter, .. } = answer_page(&mut desk, vec![], false) else { panic!() };
    assert_eq!(filter.search_words, "");
    desk.key(KeyCode::Esc);
    assert!(desk.model.history_browser.is_none());
}

#[test]
fn esc_goes_back_one_level_and_the_list_keeps_its_place() {
    let mut desk = opened_browser(many_rows(0, 100), false);
    desk.draw_screen(80, 24);
    for _ in 0..30 {
        desk.key(KeyCode::Down);
    }
    desk.key(KeyCode::Enter);
    let (number, _) = take_history_requests(&mut desk)[0].clone();
    send_history_reply(&mut desk, number, HistoryResponse::Opened(Ok(Some(Box::new(run_details())))));
    desk.key(KeyCode::Char('w'));
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Why { step: 2, .. })] = all.as_slice() else { panic!("{all:?}") };
    let items = vec![TranscriptItem::Block(TranscriptBlock::new(
        ItemTone::Plain,
        "",
        "step 2: code, after start (step 1)",
    ))];
    send_history_reply(
        &mut desk,
        *number,
        HistoryResponse::Text(Ok(HistoryText {
            title: "why step 2".into(),
            items,
            step: None,
            explained_step: Some(2),
        })),
    );
    assert!(desk.draw_screen(80, 24).contains("after start (step 1)"));
    // the page is the answer
    let screen = desk.key(KeyCode::Char('w')).draw_screen(80, 24);
    assert!(
        screen.contains("this page says why the run entered step 2") && !screen.contains("w why"),
        "{screen}"
    );
    assert_eq!(take_history_requests(&mut desk), []);
    // the neighbours' are a key away
    desk.key(KeyCode::Char('['));
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Why { step: 1, .. })] = all.as_slice() else { panic!("{all:?}") };
    let page = HistoryText { title: "why step 1".into(), explained_step: Some(1), ..HistoryText::default() };
    send_history_reply(&mut desk, *number, HistoryResponse::Text(Ok(page)));
    desk.key(KeyCode::Char('['));
    assert!(desk.draw_screen(80, 24).contains("this is the first step"));
    desk.key(KeyCode::Esc);
    assert!(desk.draw_screen(80, 24).contains("2 steps"));
    desk.key(KeyCode::Esc);
    assert_eq!(desk.model.history_browser.as_ref().unwrap().list.cursor, 30);
    // what waits can be left; its answer is nobody's then
    desk.key(KeyCode::Enter).key(KeyCode::Esc);
    let (number, _) = take_history_requests(&mut desk)[0].clone();
    send_history_reply(&mut desk, number, HistoryResponse::Opened(Ok(Some(Box::new(run_details())))));
    assert!(desk.model.history_browser.as_ref().unwrap().run.is_none());
    desk.key(KeyCode::Esc);
    assert!(desk.model.history_browser.is_none());
    send_history_reply(&mut desk, number, HistoryResponse::Opened(Ok(Some(Box::new(run_details())))));
    assert!(desk.model.history_browser.is_none() && desk.take_commands().is_empty());
}

#[test]
fn what_is_not_possible_says_why() {
    // the run, the key, what is said
    let check = |change: &dyn Fn(&mut RunRow), key: char, expected: &str| {
        let mut rows = many_rows(1, 1);
        change(&mut rows[0]);
        let mut desk = opened_browser(rows, false);
        desk.key(KeyCode::Char(key));
        let screen = desk.draw_screen(120, 24).replace('\n', " ");
        assert!(screen.contains(expected), "{key}: {expected}\n{screen}");
        assert!(desk.take_commands().is_empty(), "{key}");
    };
    let status = |status: RunStatus| move |row: &mut RunRow| row.status = status;
    check(&status(RunStatus::Completed), 'r', "is completed: fork or rewind it at one of its steps");
    check(&status(RunStatus::Running), 'r', "is running: pause it first");
    let open = |row: &mut RunRow| (row.status, row.is_open_elsewhere) = (RunStatus::Running, true);
    check(&open, 'r', "is open in another process: leave it there with /exit");
    check(&status(RunStatus::Paused), 't', "has not failed: it is paused");
    check(&|row| row.can_retry = false, 't', "failed and cannot be retried");
    check(&status(RunStatus::Running), 'b', "cannot be rewound meanwhile");
    check(&|row| row.can_undo = false, 'u', "cannot be undone: no snapshot was taken before it started");
    let other = |row: &mut RunRow| row.place.other_project = Some("/other".into());
    check(&other, 'r', "belongs to /other: synthdev -C /other resume run000000001");
    check(&other, 't', "synthdev -C /other runs retry run000000001");
    check(&other, 'b', "synthdev -C /other runs rewind run000000001 --to STEP");
    check(&other, 'f', "synthdev -C /other runs fork run000000001 --at STEP");
    check(&other, 'u', "synthdev -C /other runs undo run000000001");
    let gone = |row: &mut RunRow| {
        (row.place.other_project, row.place.is_project_gone) = (Some("/gone".into()), true);
    };
    check(&gone, 'r', "belongs to /gone, which is not on this machine: bring the directory back");
    check(&gone, 'b', "which is not on this machine: there are no files to restore");
    let isolated = |row: &mut RunRow| {
        row.place.worktree = Some(RunWorktree { path: "/tree".into(), ..RunWorktree::unknown() });
    };
    check(
        &isolated,
        'u',
        "works in a worktree of its own, /tree: discard its files with: synthdev runs discard",
    );
    check(&isolated, 'b', "this needs a step: Enter opens the run");
    check(
        &|row| row.place.worktree = Some(RunWorktree::unknown()),
        'u',
        "was lost when the history was salvaged",
    );
    check(&|_| {}, 'f', "this needs a step: Enter opens the run");
    check(&|_| {}, 'w', "why needs a step");
    // something works here
    let mut desk = TuiHarness::new();
    desk.workflow();
    desk.take_commands();
    desk.line("/history");
    answer_page(&mut desk, many_rows(1, 1), false);
    desk.key(KeyCode::Char('u'));
    assert!(desk.draw_screen(80, 24).contains("cannot undo a run while coder_reviewer is running"));
    // a fork keeps the files
    desk.key(KeyCode::Char('f'));
    assert!(desk.draw_screen(80, 24).contains("this needs a step: Enter opens the run"));
    assert!(desk.take_commands().is_empty());
}

#[test]
fn a_failed_run_is_retried_and_the_history_is_left() {
    let mut desk = opened_browser(many_rows(1, 1), false);
    desk.key(KeyCode::Char('t'));
    assert_eq!(desk.take_commands(), [UiCommand::Display(DisplayRequest::Past("run000000001".into()))]);
    let refused = DisplayResponse::Past {
        run: "run000000001".into(),
        past_run: Err("run run000000001 is running".into()),
    };
    desk.send_message(UiMessage::Displayed(refused));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("run run000000001 is running") && screen.contains("history · 1 run"), "{screen}");
    for (key, expected) in [
        ('t', UiCommand::ask(RunRequest::Retry("run000000001".into()))),
        ('r', UiCommand::ask(RunRequest::Resume("run000000001".into()))),
    ] {
        let mut desk = opened_browser(many_rows(1, 1), false);
        desk.key(KeyCode::Char(key)).take_commands();
        let past = fold_events(&RunId::from("run000000001"), past_events(), Default::default());
        desk.send_message(UiMessage::Displayed(DisplayResponse::Past {
            run: "run000000001".into(),
            past_run: Ok(Box::new(past)),
        }));
        assert_eq!(desk.take_commands(), [expected], "{key}");
        assert!(desk.model.history_browser.is_none());
    }
}

pub(super) fn planned(travel: &TimeTravelRequest, preview: Result<ActionPreview, String>) -> RunResponse {
    RunResponse::Planned { action: RunRequest::Plan(travel.clone()), preview }
}

pub(super) fn undo_plan() -> ActionPreview {
    ActionPreview {
        request: Some(RunRequest::Travel(TimeTravelRequest::Undo { run: Some("run000000001".into()) })),
        title: "Undo coder_reviewer run000000001: 1 file?".into(),
        body: "  revert       src/lib.rs\n\nA snapshot of the current files is taken first.".into(),
    }
}

#[test]
fn a_key_of_the_moment_is_no_yes_to_a_plan() {
    let mut desk = opened_browser(many_rows(1, 1), false);
    let travel = TimeTravelRequest::Undo { run: Some("run000000001".into()) };
    desk.key(KeyCode::Char('u')).take_commands();
    desk.send_message(UiMessage::answered(planned(&travel, Ok(undo_plan()))));
    // somebody was typing: that is no yes
    for (letter, modifiers) in
        [('y', KeyModifiers::NONE), ('Y', KeyModifiers::SHIFT), ('y', KeyModifiers::CONTROL)]
    {
        desk.press_before_seen(KeyCode::Char(letter), modifiers);
        assert!(desk.draw_screen(80, 24).contains("this question just appeared: read it, then press again"));
        desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
        assert!(desk.take_commands().is_empty(), "{letter} {modifiers:?}");
    }
    // Ctrl and a letter are none of the answers, and a paste takes back what was chosen
    for choose in [
        |desk: &mut TuiHarness| {
            desk.press_control('y');
        },
        |desk: &mut TuiHarness| {
            desk.key(KeyCode::Char('y')).send_message(UiMessage::Paste("x".into()));
        },
    ] {
        choose(desk.advance_clock(2_000));
        desk.key(KeyCode::Enter).key(KeyCode::Backspace);
        let (sent, screen) = (desk.take_commands(), desk.draw_screen(80, 24));
        assert!(sent.iter().all(|one| matches!(one, UiCommand::Display(_))), "{sent:?}");
        assert!(screen.contains("y and Enter confirm · n, Esc"), "{screen}");
    }
    desk.advance_clock(2_000).key(KeyCode::Esc).key(KeyCode::Char('u')).take_commands();
    desk.send_message(UiMessage::answered(planned(&travel, Ok(undo_plan()))));
    // the plan took its time: a key of the moment in which it appears has not read it
    desk.advance_clock(3_000).press_before_seen(KeyCode::Char('y'), KeyModifiers::NONE);
    desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(desk.take_commands(), []);
}

#[test]
fn a_key_of_the_moment_does_not_cancel_a_run() {
    let mut desk = opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Paused)], false);
    desk.key(KeyCode::Char('x'));
    // the beginning of a word, or a key that is held down
    for code in [KeyCode::Char('y'), KeyCode::Enter, KeyCode::Enter] {
        desk.press_before_seen(code, KeyModifiers::NONE);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("this question just appeared: read it, then press again"), "{screen}");
    }
    let asked = take_history_requests(&mut desk);
    assert!(!asked.iter().any(|(_, one)| matches!(one, HistoryRequest::Control { .. })), "{asked:?}");
    // once it was read, a letter and Enter answer
    desk.answer('y');
    let asked = take_history_requests(&mut desk);
    assert!(matches!(asked.last(), Some((_, HistoryRequest::Control { .. }))), "{asked:?}");
}

#[test]
fn files_are_listed_before_they_go_back() {
    let mut desk = opened_browser(many_rows(1, 1), false);
    let travel = TimeTravelRequest::Undo { run: Some("run000000001".into()) };
    desk.key(KeyCode::Char('u'));
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Plan(travel.clone()))]);
    // what was asked for before the history came up is asked behind it
    let action = RunRequest::PlanRestore("ab12".into());
    let request = Some(RunRequest::Snapshot(SnapshotOperation::Restore { id: "ab12cd".into() }));
    let restore = ActionPreview { title: "Restore snapshot ab12cd?".into(), body: String::new(), request };
    desk.send_message(UiMessage::answered(RunResponse::Planned { action, preview: Ok(restore) }));
    assert_eq!(desk.model.dialogs.len(), 1);
    desk.model.dialogs.clear();
    desk.send_message(UiMessage::answered(planned(&travel, Ok(undo_plan()))));
    assert!(desk.model.dialogs.is_empty());
    desk.check_shots("history_undo");
    desk.advance_clock(2_000).answer('n');
    assert!(desk.draw_screen(80, 24).contains("nothing was changed"));
    desk.advance_clock(2_000).key(KeyCode::Char('u')).take_commands();
    desk.send_message(UiMessage::answered(planned(&travel, Ok(undo_plan()))));
    // a sentence answers nothing, at any speed, and none of its letters is a key of what is behind
    for speed in [50, 900, 5_000] {
        for letter in "you say uPb y".chars().map(KeyCode::Char).chain([KeyCode::Enter]) {
            desk.advance_clock(speed).press_before_seen(letter, KeyModifiers::NONE);
        }
        let sent = desk.take_commands();
        assert!(sent.iter().all(|one| matches!(one, UiCommand::Display(_))), "{speed}: {sent:?}");
        let screen = desk.draw_screen(80, 24);
        let told = if speed == 50 {
            "new: keys count in a moment"
        } else {
            "words answer nothing: Backspace, then y or n"
        };
        assert!(screen.contains(told), "{speed}: {screen}");
        desk.key(KeyCode::Backspace);
    }
    desk.advance_clock(2_000).key(KeyCode::Char('y')).take_commands();
    assert!(desk.draw_screen(80, 24).contains("▸ y confirm · Enter does it"));
    desk.key(KeyCode::Enter);
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Travel(travel.clone()))]);
    let done = TimeTravelOutcome {
        text: "1 file restored\nundo this: /snapshot restore cd34".into(),
        resumable_run: None,
    };
    desk.send_message(UiMessage::answered(RunResponse::Travelled(Ok(done))));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("Done") && screen.contains("/snapshot restore cd34"), "{screen}");
    desk.key(KeyCode::Esc).key(KeyCode::Esc);
    assert!(desk.draw_screen(80, 24).contains("/snapshot restore cd34"), "the conversation tells it, too");
    let mut desk = opened_browser(many_rows(1, 1), false);
    desk.key(KeyCode::Char('u'));
    let body = "nothing to undo: the files are as they were".into();
    let none = ActionPreview { title: "Undo?".into(), body, request: None };
    desk.send_message(UiMessage::answered(planned(&travel, Ok(none))));
    assert!(desk.draw_screen(80, 24).contains("nothing to undo: the files are as they were"));
}

#[test]
fn much_data_of_a_fork_leaves_the_steps_on_screen() {
    let ask = |data: serde_json::Value| {
        let mut desk = in_run();
        desk.key(KeyCode::Char('f'));
        let number = take_history_requests(&mut desk)[0].0;
        let data = data.as_object().unwrap().clone();
        // an answer for another prompt is nobody's
        let late = serde_json::Map::from_iter([("late".to_owned(), json!(1))]);
        send_history_reply(&mut desk, number + 1, HistoryResponse::Data(Ok(late)));
        assert!(!desk.draw_screen(80, 24).contains("late=1"));
        send_history_reply(&mut desk, number, HistoryResponse::Data(Ok(data)));
        desk.draw_screen(80, 24)
    };
    assert!(ask(json!({})).contains("common_data is empty there"));
    let many = (0..60).map(|at| (format!("name_{at}"), json!(at)));
    let screen = ask(serde_json::Value::Object(many.collect()));
    assert!(
        screen.contains("there: name_0=0") && screen.contains("… the rest: Enter on the step"),
        "{screen}"
    );
    assert!(!screen.contains("name_59") && screen.contains("code #1"), "{screen}");
}

#[test]
fn tab_writes_the_variables_of_a_step() {
    let mut desk = in_run();
    desk.key(KeyCode::Char('f')).key(KeyCode::Tab);
    assert!(desk.draw_screen(80, 24).contains("nothing can be completed here"), "the data is not known yet");
    let number = take_history_requests(&mut desk)[0].0;
    let data = json!({"limit": 3, "plan": "one two ".repeat(10), "tone": "dry"}).as_object().unwrap().clone();
    send_history_reply(&mut desk, number, HistoryResponse::Data(Ok(data)));
    let mut typed = |keys: &[KeyCode], expected: &str| {
        for key in keys {
            desk.key(*key);
        }
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains(expected), "{keys:?}: {screen}");
    };
    typed(&[KeyCode::Tab], "may be empty): limit=3\n");
    typed(&[KeyCode::Tab], "may be empty): plan=\n");
    typed(&[KeyCode::Tab], "may be empty): tone=\"dry\"\n");
    typed(&[KeyCode::Tab], "may be empty): limit=3\n");
    // and the text is edited as the input line is
    typed(&[KeyCode::Left, KeyCode::Backspace], "may be empty): limit3\n");
    typed(&[KeyCode::Home, KeyCode::Delete, KeyCode::Char('L')], "may be empty): Limit3\n");
    typed(&[KeyCode::End, KeyCode::Char(' '), KeyCode::Char('t'), KeyCode::Tab], "Limit3 tone=\"dry\"\n");
    typed(
        &[KeyCode::Char(' '), KeyCode::Char('q'), KeyCode::Tab],
        "no variable of this step begins with `q`",
    );
}

#[test]
fn a_fork_takes_other_data_and_a_file_gets_the_run() {
    let mut desk = in_run();
    desk.key(KeyCode::Char('f'));
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Data { step: 2, .. })] = all.as_slice() else { panic!("{all:?}") };
    // what there is to change stands below what is typed, as it is typed
    let plan = "one two ".repeat(10);
    let data = json!({"limit": 3, "plan": plan, "tone": "dry"}).as_object().unwrap().clone();
    send_history_reply(&mut desk, *number, HistoryResponse::Data(Ok(data)));
    let screen = desk.type_text("li").draw_screen(80, 24);
    let there = "there: limit=3 · plan=\"one two one two one two one two one tw… · tone=\"dry\"";
    assert!(screen.contains("may be empty): li\n") && screen.contains(there), "{screen}");
    desk.check_frames("history_fork_data");
    desk.press_control('u').line("limit");
    assert!(desk.draw_screen(80, 24).contains("`limit` has no `=`: write it as NAME=VALUE"));
    desk.line("=5 tone=\"dry wit\"");
    let set = vec![(vec!["limit".to_owned()], json!(5)), (vec!["tone".to_owned()], json!("dry wit"))];
    assert_eq!(
        desk.take_commands(),
        [UiCommand::ask(RunRequest::Travel(TimeTravelRequest::Fork {
            run: Some("run000000001".into()),
            step: 2.into(),
            set,
            restore_files: false
        }))]
    );
    // what was typed stays, to be corrected, and letters are no keys of what is behind it
    let refused = "common_data has no `limti`\n→ did you mean `limit`?";
    desk.send_message(UiMessage::answered(RunResponse::Travelled(Err(refused.into()))));
    let screen = desk.draw_screen(80, 24);
    let rows: Vec<&str> = screen.lines().collect();
    let line = rows.iter().position(|row| row.ends_with("limit=5 tone=\"dry wit\"")).expect(&screen);
    assert!(rows[line + 1].contains("has no `limti`") && rows[line + 2].contains("did you mean"), "{screen}");
    desk.type_text(" u b P");
    assert!(desk.draw_screen(80, 24).contains("tone=\"dry wit\" u b P"));
    assert_eq!(desk.take_commands(), []);
    desk.key(KeyCode::Esc).key(KeyCode::Char('b'));
    let rewind =
        TimeTravelRequest::Rewind { run: Some("run000000001".into()), step: 2.into(), keep_files: false };
    assert_eq!(desk.take_commands(), [UiCommand::ask(RunRequest::Plan(rewind.clone()))]);
    desk.send_message(UiMessage::answered(planned(&rewind, Err("it is running".into()))));
    desk.key(KeyCode::Char('e')).press_control('u').line("no/out.md");
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Export { target_path: to, .. })] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!(to, "no/out.md");
    send_history_reply(&mut desk, *number, HistoryResponse::Done(Err("there is no directory no".into())));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("): no/out.md") && screen.contains("there is no directory no"), "{screen}");
    desk.press_control('u').line("out.md");
    let all = take_history_requests(&mut desk);
    let Some((number, HistoryRequest::Export { .. })) = all.last() else { panic!("{all:?}") };
    send_history_reply(&mut desk, *number, HistoryResponse::Done(Ok("written to /project/out.md".into())));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("written to /project/out.md") && !screen.contains("export to"), "{screen}");
}

#[test]
fn a_fork_is_resumed_from_the_page_that_tells_of_it() {
    for key in [KeyCode::Enter, KeyCode::Char('r'), KeyCode::Esc] {
        let mut desk = in_run();
        desk.key(KeyCode::Char('f')).key(KeyCode::Enter);
        desk.take_commands();
        let text = "run f1 starts before step 2, code".to_owned();
        let done = TimeTravelOutcome { text, resumable_run: Some("f1".into()) };
        desk.send_message(UiMessage::answered(RunResponse::Travelled(Ok(done))));
        desk.take_commands();
        // an Enter that was meant for the question before resumes nothing
        desk.press_before_seen(KeyCode::Enter, KeyModifiers::NONE);
        let screen = desk.draw_screen(80, 24);
        assert!(screen.contains("this page just appeared: read it"), "{screen}");
        assert!(!screen.contains("reading the run"), "{screen}");
        assert!(screen.contains("goes on with f1") && screen.contains("Enter resumes it"), "{screen}");
        let past = UiCommand::Display(DisplayRequest::Past("f1".into()));
        desk.key(key);
        assert_eq!(desk.take_commands().contains(&past), key != KeyCode::Esc, "{key:?}");
        assert_eq!(desk.draw_screen(80, 24).contains("reading the run"), key != KeyCode::Esc, "{key:?}");
    }
}

/// The rows that show it as paused may come later than the word that it is.
#[test]
fn a_run_that_was_just_paused_is_resumed() {
    let mut desk = opened_browser(vec![run_row(0, "coder_reviewer", RunStatus::Running)], false);
    desk.key(KeyCode::Char('P'));
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Control { .. })] = all.as_slice() else { panic!("{all:?}") };
    send_history_reply(&mut desk, *number, HistoryResponse::Done(Ok("run run000000000 is paused".into())));
    desk.take_commands();
    desk.key(KeyCode::Char('r'));
    assert!(desk.draw_screen(80, 24).contains("reading the run"));
    assert!(!desk.take_commands().is_empty(), "its record is read");
}

#[test]
fn two_runs_are_marked_and_compared() {
    let mut desk = opened_browser(many_rows(0, 3), false);
    desk.key(KeyCode::Char('c'));
    assert!(desk.draw_screen(80, 24).contains("◆ run000000000"));
    desk.key(KeyCode::Down).key(KeyCode::Char('c'));
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Compare(first, second))] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("run000000000", "run000000001"));
    send_history_reply(&mut desk, *number, HistoryResponse::Compared(Ok(Box::new(two_runs()))));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("≠ failed") && screen.contains("side by side"), "{screen}");
    // a key for a run would be for which of them?
    desk.key(KeyCode::Char('x'));
    assert!(desk.draw_screen(80, 24).contains("Esc goes back to one of them"));
    // the facts that differ, the steps, the first row of what differs below them, and no further one
    let differences = ["status", "took", "review", "stop", "- one answer"];
    for expected in differences {
        desk.key(KeyCode::Char('n'));
        let at = desk.model.history_browser.as_ref().unwrap().comparison.as_ref().unwrap().cursor;
        let row = desk.draw_screen(80, 24).lines().nth(at + 1).unwrap().to_owned();
        assert!(row.contains(expected), "{expected}: {row}");
    }
    desk.key(KeyCode::Char('n'));
    assert!(desk.draw_screen(80, 24).contains("no further difference"));
    // the list of keys has the words of the last line
    let footer = desk.draw_screen(80, 24).lines().last().unwrap().to_owned();
    let help = desk.key(KeyCode::F(1)).draw_screen(80, 24);
    for words in ["next difference", "the difference before"] {
        assert!(footer.contains(words) && help.contains(words), "{words}: {footer}\n{help}");
    }
    desk.key(KeyCode::Esc);
    desk.key(KeyCode::Char('Y'));
    let copied = desk.take_commands();
    assert!(
        matches!(&copied[..], [UiCommand::Copy(text)] if text.contains("cost\t$0.01\t$0.01")),
        "{copied:?}"
    );
    desk.key(KeyCode::Esc);
    assert!(desk.draw_screen(80, 24).contains("history · 3 runs"));
}

/// The same workflow twice: the second run has reviewed and failed.
pub(super) fn two_runs() -> RunComparison {
    let steps = run_details().steps;
    let step = |number: u32, state: &str| {
        Some(StepLine { step: number, state: state.into(), error_text: None, ..steps[1].clone() })
    };
    let fact =
        |name: &'static str, first: &str, second: &str| ComparedFact::new(name, first.into(), second.into());
    let facts = vec![
        fact("run", "run000000000", "run000000000"),
        fact("status", "completed", "failed"),
        fact("cost", "$0.01", "$0.01"),
        fact("took", "12 s", "1 min 03 s"),
    ];
    let both =
        |number: u32, state: &str| ComparedStep { first: step(number, state), second: step(number, state) };
    let compared = vec![
        both(1, "start"),
        both(2, "code"),
        ComparedStep { first: None, second: step(3, "review") },
        ComparedStep { first: step(3, "stop"), second: None },
    ];
    let notes = ["definition   the same (ab12)", "- one answer", "+ another answer"].map(str::to_owned);
    RunComparison::new(["run000000000".into(), "run000000001".into()], facts, compared, notes.to_vec())
}

#[test]
fn what_starts_elsewhere_appears() {
    let mut desk = opened_browser(many_rows(1, 2), false);
    let tick = |desk: &mut TuiHarness| {
        desk.send_message(UiMessage::Tick(Timestamp(2_000_000)));
        take_history_requests(desk)
    };
    assert!(!desk.model.needs_ticks(), "nothing works");
    let [(number, HistoryRequest::Changes)] = tick(&mut desk)[..] else { panic!() };
    assert_eq!(tick(&mut desk), [], "one question at a time");
    send_history_reply(&mut desk, number, HistoryResponse::Changes(Some(1)));
    assert_eq!(take_history_requests(&mut desk), []);
    let [(number, HistoryRequest::Changes)] = tick(&mut desk)[..] else { panic!() };
    send_history_reply(&mut desk, number, HistoryResponse::Changes(Some(1)));
    assert_eq!(take_history_requests(&mut desk), [], "nobody wrote");
    desk.key(KeyCode::Down);
    let [(number, HistoryRequest::Changes)] = tick(&mut desk)[..] else { panic!() };
    send_history_reply(&mut desk, number, HistoryResponse::Changes(Some(2)));
    let mut rows = many_rows(0, 3);
    rows[2].status = RunStatus::Running;
    answer_page(&mut desk, rows, false);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("run000000000") && screen.contains("running"), "{screen}");
    assert_eq!(
        desk.model.history_browser.as_ref().unwrap().list.chosen_run().unwrap().id.as_str(),
        "run000000002"
    );
    assert!(desk.model.needs_ticks(), "a run that is listed works");
    // it has ended; its row is another, and all stand where they stood
    let [(number, HistoryRequest::Changes)] = tick(&mut desk)[..] else { panic!() };
    send_history_reply(&mut desk, number, HistoryResponse::Changes(Some(3)));
    answer_page(&mut desk, many_rows(0, 3), false);
    assert!(!desk.model.needs_ticks() && !desk.draw_screen(80, 24).contains("running"));
    assert_eq!(
        desk.model.history_browser.as_ref().unwrap().list.chosen_run().unwrap().id.as_str(),
        "run000000002"
    );
    // a key looks, but not each of many in a row
    desk.clock += 5_000;
    desk.key(KeyCode::Up);
    let [(number, HistoryRequest::Changes)] = take_history_requests(&mut desk)[..] else { panic!() };
    send_history_reply(&mut desk, number, HistoryResponse::Changes(Some(3)));
    desk.key(KeyCode::Down);
    assert_eq!(take_history_requests(&mut desk), []);
    desk.key(KeyCode::Esc);
    assert!(!desk.model.needs_ticks());
    assert_eq!(tick(&mut desk), []);
}

#[test]
fn an_open_run_is_read_again_when_it_went_on() {
    let mut desk = in_run();
    let tick = |desk: &mut TuiHarness, count: u64| {
        desk.send_message(UiMessage::Tick(Timestamp(2_000_000)));
        let changes = take_history_requests(desk);
        let [(number, HistoryRequest::Changes)] = changes.as_slice() else { panic!("{changes:?}") };
        send_history_reply(desk, *number, HistoryResponse::Changes(Some(count)));
        take_history_requests(desk)
    };
    let all = tick(&mut desk, 2);
    let again = all.iter().find_map(|(number, asked)| match asked {
        HistoryRequest::Open { known_state: Some((updated, RunStatus::Failed)), .. } => {
            Some((*number, *updated))
        }
        _ => None,
    });
    let (number, updated) = again.unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(updated, run_details().row.updated);
    send_history_reply(&mut desk, number, HistoryResponse::Opened(Ok(None)));
    assert!(desk.draw_screen(80, 24).contains("2 steps"));
    let all = tick(&mut desk, 3);
    let number = all.iter().find(|(_, asked)| matches!(asked, HistoryRequest::Open { .. })).unwrap().0;
    let mut more = run_details();
    more.steps.push(more.steps[1].clone());
    more.row.status = RunStatus::Running;
    send_history_reply(&mut desk, number, HistoryResponse::Opened(Ok(Some(Box::new(more)))));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("3 steps") && screen.contains("· running"), "{screen}");
    assert_eq!(desk.model.history_browser.as_ref().unwrap().selected_step(), Some(2), "the cursor stays");
}

/// The one who speaks first is not the one who is declared first.
#[test]
fn an_agent_has_the_sign_of_its_place_in_the_workflow_in_the_chart_and_in_its_steps() {
    let agents = ["reviewer", "coder"].map(str::to_owned);
    let mut run = BrowsedRun::new(run_row(1, "coder_reviewer", RunStatus::Failed), 1);
    run.set_details(RunDetails { agents: agents.to_vec(), ..run_details() });
    assert_eq!((run.roster.mark("reviewer"), run.roster.mark("coder")), ("●", "▲"));
    let mut fold = StepDetailsBuilder::new(&RunId::from("r1"), 2, &agents);
    past_step_events().into_iter().for_each(|(at, event)| fold.apply_event(at, event));
    let (_, items) = fold.into_report(&serde_json::Map::new(), "").unwrap();
    let marks = items.iter().filter_map(|item| match item {
        TranscriptItem::Reply(reply) => Some((reply.agent.as_str(), reply.identity.mark())),
        _ => None,
    });
    let marks: Vec<_> = marks.collect();
    assert_eq!(marks, [("coder", "▲")]);
}

#[test]
fn the_list_of_keys_says_where_escape_leads_in_the_history() {
    let check = |desk: &mut TuiHarness, there: &[&str], not_there: &str| {
        let screen = desk.key(KeyCode::F(1)).draw_screen(120, 40);
        for part in there {
            assert!(screen.contains(part), "{part}: {screen}");
        }
        assert!(!screen.contains(not_there), "{not_there}: {screen}");
        desk.key(KeyCode::Esc);
    };
    let list = || opened_browser(vec![run_row(1, "coder_reviewer", RunStatus::Paused)], false);
    check(&mut list(), &["Keys of the history", "leave the history"], "back to the input");
    let mut run = in_run();
    check(&mut run, &["Keys of the history", "Esc"], "back to the input");
    check(
        run.key(KeyCode::Char('f')),
        &["takes what was typed", "cancels: nothing is changed"],
        "of one status",
    );
    check(list().key(KeyCode::Char('x')), &["y or n, then Enter"], "takes what was typed");
}
