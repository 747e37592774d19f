//! What panes and the history draw: the chart of a run, its costs, the last runs of a workflow, two runs side by side.

use ratatui::style::Modifier;
use synthdev::domain::message::ToolCall;
use synthdev::engine::steering::Breakpoint;
use synthdev::tui::history_browser::run_list::RunRow;
use synthdev::tui::history_browser::{HistoryRequest, HistoryResponse, HistoryText};
use synthdev::tui::run_view::timeline::{BarKind, RunTimeline, TimelineDuration};
use synthdev::tui::update::past_run::call_details::CallDetailsBuilder;

use super::archive::{answer_page, in_run, many_rows, send_history_reply, take_history_requests, two_runs};
use super::panes::{budget, tool, tool_done};
use super::*;

/// Small, usual, good, large.
fn called_in(call: u64, state: &str, agent: &str) -> RunEvent {
    let mut event = model_called(call, agent, ConversationSide::Assistant);
    if let RunEvent::ModelCalled { state: place, .. } = &mut event {
        *place = state.into();
    }
    event
}

fn replied(call: u64, agent: &str, ms: u64) -> RunEvent {
    let mut event = model_replied(call, agent, ConversationSide::Assistant, "It is *done*.", "I think.");
    if let RunEvent::Replied { duration_ms, .. } = &mut event {
        *duration_ms = ms;
    }
    event
}

fn branch_started(branch: &str, index: usize) -> RunEvent {
    RunEvent::BranchStarted { state: "review".into(), branch: branch.into(), index }
}

impl TuiHarness {
    /// Runs `events` one after the other, each so many milliseconds after the one before.
    fn play(&mut self, events: Vec<(i64, RunEvent)>) -> &mut Self {
        for (after, event) in events {
            self.advance_clock(after - 10).run_event("r1", event);
        }
        self
    }

    fn timeline(&self) -> &RunTimeline {
        &self.model.find_run(&RunId::from("r1")).unwrap().pane_data.timeline
    }

    /// Two agents after each other, then two branches at once; a tool that fails, a question, a call in progress.
    pub(super) fn show_team(&mut self) -> &mut Self {
        self.play(vec![
            (10, budget()),
            (10, state_entered("code")),
            (10, called_in(1, "code", "coder")),
            (4_000, replied(1, "coder", 4_000)),
            (10, tool(2, "read_files", json!({"file_paths": ["src/main.rs"]}))),
            (1_500, tool_done(2, "read_files", true, "fn main() {}")),
            (10, called_in(3, "code", "coder")),
            (3_000, replied(3, "coder", 3_000)),
            (10, approval_event(4, "execute_terminal", command_preview("cargo test"))),
            (
                5_000,
                RunEvent::ApprovalAnswered {
                    arguments: serde_json::Value::Null,
                    call: CallId(4),
                    tool: "execute_terminal".into(),
                    decision: ApprovalDecision::Allow,
                },
            ),
            (10, tool(5, "execute_terminal", json!({"command": "cargo test"}))),
            (2_500, tool_done(5, "execute_terminal", false, "error[E0308]")),
            (10, transition("code", "review")),
            (10, state_entered("review")),
            (10, branch_started("style", 0)),
            (10, branch_started("tests", 1)),
            (10, called_in(6, "review.style/look", "reviewer")),
            (200, called_in(7, "review.tests/look", "reviewer")),
            (2_500, replied(6, "reviewer", 2_700)),
            (800, delta_event(7, DeltaKind::Text, "The tests ")),
        ])
    }
}

/// Runs of one workflow that took and cost different amounts.
pub(super) fn differing_rows() -> Vec<RunRow> {
    let mut rows = many_rows(0, 60);
    for (at, row) in rows.iter_mut().enumerate() {
        row.updated = Timestamp(row.started.0 + 1_000 + (at as i64 * 7_919) % 90_000);
        row.cost_usd = (at % 9 != 4).then(|| (at * 37 % 23) as f64 / 100.0);
    }
    rows[0].status = RunStatus::Running;
    rows[1].status = RunStatus::Interrupted;
    rows
}

#[test]
fn the_chart_of_a_run_at_every_size() {
    let mut desk = TuiHarness::new();
    desk.show_team().press_alt('6');
    desk.check_shots_at("chart_live", &FRAME_SIZES);
    // the bar before in the same row of the chart: the question about the command
    desk.draw_screen(120, 36);
    for key in [KeyCode::Left, KeyCode::Left] {
        desk.key(key);
    }
    desk.press_key(KeyCode::Up, KeyModifiers::ALT).press_key(KeyCode::Up, KeyModifiers::ALT);
    desk.check_shots_at("chart_chosen", &FRAME_SIZES);
    desk.run_event("r1", run_finished(RunStatus::Cancelled, None, None)).press_alt('6').press_alt('6');
    desk.check_shots_at("chart_over", &FRAME_SIZES);
}

#[test]
fn ten_thousand_calls_are_drawn_like_a_few() {
    let mut desk = TuiHarness::new();
    desk.play(vec![(10, budget()), (10, state_entered("each"))]);
    for call in 0..10_000_u64 {
        let agent = ["coder", "reviewer", "tester"][(call % 3) as usize];
        desk.play(vec![(10, called_in(call, "each", agent)), (900, replied(call, agent, 900))]);
    }
    desk.press_alt('6');
    desk.check_shots_at("chart_many", &FRAME_SIZES);
    let tracks = desk.timeline().tracks();
    let counts: Vec<(&str, u64)> = tracks.iter().map(|track| (&*track.agent, track.call_count)).collect();
    assert_eq!(counts, [("coder", 3_334), ("reviewer", 3_333), ("tester", 3_333)]);
}

/// A wait that is left out has a mark in the axis of time; a time beside it is whole or not there.
#[test]
fn a_wait_that_is_left_out_cuts_no_time() {
    for width in 40..160 {
        let mut desk = TuiHarness::new();
        desk.play(vec![(10, workflow_started("w", "x")), (0, state_entered("code"))]);
        for call in 0..4 {
            desk.play(vec![(10, called_in(call, "code", "coder")), (30_000, replied(call, "coder", 30_000))]);
            desk.play(vec![(7_200_000, state_entered("code"))]);
        }
        let screen = desk.press_alt('6').draw_screen(width, 40);
        let axis = screen
            .lines()
            .find_map(|line| Some(line.split_once("time ")?.1).filter(|axis| axis.contains('≈')));
        let axis = axis.unwrap_or_default();
        assert!(axis.contains('≈'), "{width}: {screen}");
        let times = axis.split([' ', '≈']).filter_map(|word| word.rsplit('│').next());
        for time in times.filter(|word| word.contains(':')) {
            let last = time.rsplit(':').next().unwrap_or_default();
            assert_eq!(last.len(), 2, "{width}: {axis}");
        }
    }
}

/// The bars: row of the chart, kind, length in ms; `!` cut off, `…` in progress.
fn check_bars(events: Vec<(i64, RunEvent)>, expected: &[&str]) {
    let mut desk = TuiHarness::new();
    desk.play(vec![(10, workflow_started("w", "x")), (0, state_entered("code"))]).play(events);
    let timeline = desk.timeline();
    let bar = |at: usize| {
        let (row, bar) = (timeline.row(at)?, timeline.bar(at)?);
        let length = match row.duration {
            TimelineDuration::Moment => "-".to_owned(),
            TimelineDuration::Open => "…".to_owned(),
            TimelineDuration::Ms(ms) => ms.to_string(),
            TimelineDuration::CutOff(ms) => format!("{ms}!"),
        };
        let kind = match bar.kind {
            BarKind::ModelCall => "model",
            BarKind::ToolCall => "tool",
            BarKind::UserWait => "you",
            BarKind::OtherWait => "wait",
        };
        Some(format!("{} {kind} {length}", timeline.tracks()[bar.track as usize].label))
    };
    let bars: Vec<String> = (0..timeline.len()).filter_map(bar).collect();
    assert_eq!(bars, expected);
}

#[test]
fn each_bar_is_in_the_row_of_its_agent_and_ends() {
    let break_now = || UserQuestion::Break { state: "code".into(), point: Some(Breakpoint::Now) };
    let stopped = |call| RunEvent::ModelStopped { call: CallId(call), agent: "coder".into(), spent: vec![] };
    let resumed = || RunEvent::Resumed { present: true, again: vec![], definition: None, notes: vec![] };
    let ended = |branch: &str| RunEvent::BranchFinished {
        state: "review".into(),
        branch: branch.into(),
        index: 0,
        output: None,
        error: None,
    };
    let call = || (10, called_in(1, "code", "coder"));
    check_bars(vec![], &[]);
    check_bars(vec![call()], &["coder model …"]);
    check_bars(vec![call(), (500, replied(1, "coder", 500))], &["coder model 500"]);
    check_bars(vec![call(), (500, stopped(1))], &["coder model 500!"]);
    // interrupted before any usage: it has no event of its own
    check_bars(vec![call(), (500, user_question(9, break_now()))], &["coder model 500!", "you you …"]);
    // the process died: nothing is known after its last event
    check_bars(
        vec![call(), (500, delta_event(1, DeltaKind::Text, "x")), (90_000, resumed())],
        &["coder model 500!"],
    );
    // a time limit left the state
    check_bars(vec![call(), (700, transition("code", "stop"))], &["coder model 700!"]);
    check_bars(vec![call(), (700, run_finished(RunStatus::Cancelled, None, None))], &["coder model 700!"]);
    check_bars(
        vec![
            (10, branch_started("a", 0)),
            (10, branch_started("b", 1)),
            (10, called_in(1, "review.a/look", "scout")),
            (10, called_in(2, "review.b/look", "scout")),
            (300, ended("a")),
            (10, replied(2, "scout", 310)),
        ],
        &["a scout model 310!", "b scout model 310"],
    );
    let waits = RunEvent::Waiting { state: "code".into(), until: Timestamp(2_000_000) };
    check_bars(vec![(10, waits), (4_000, transition("code", "stop"))], &["waits wait 4000"]);
    let network = |call| RunEvent::NetworkAsked {
        call: CallId(call),
        agent: "coder".into(),
        tool: "execute_terminal".into(),
        arguments: json!({}),
    };
    check_bars(
        vec![
            call(),
            (100, replied(1, "coder", 100)),
            (10, tool(2, "execute_terminal", json!({}))),
            (50, network(2)),
            (800, tool_done(2, "execute_terminal", true, "")),
        ],
        &["coder model 100", "coder tool 850", "coder you 800"],
    );
}

#[test]
fn tools_of_branches_are_in_the_row_that_asked_for_them() {
    let mut desk = TuiHarness::new();
    let asks = |call: u64, path: &str| {
        let mut reply = replied(call, "coder", 100);
        if let RunEvent::Replied { tool_calls, .. } = &mut reply {
            let arguments = json!({ "file_paths": [path] }).to_string();
            *tool_calls =
                vec![ToolCall { id: "t".into(), name: "read_files".into(), arguments, original: None }];
        }
        reply
    };
    desk.play(vec![
        (10, workflow_started("w", "x")),
        (10, state_entered("review")),
        (10, branch_started("a", 0)),
        (10, branch_started("b", 1)),
        (10, called_in(1, "review.a/x", "coder")),
        (10, called_in(2, "review.b/x", "coder")),
        (10, asks(1, "one.rs")),
        (10, asks(2, "two.rs")),
        (10, tool(3, "read_files", json!({"file_paths": ["two.rs"]}))),
        (10, tool(4, "read_files", json!({"file_paths": ["one.rs"]}))),
    ]);
    let timeline = desk.timeline();
    let tools =
        (0..timeline.len()).filter_map(|at| timeline.bar(at)).filter(|bar| bar.kind == BarKind::ToolCall);
    let rows: Vec<&str> = tools.map(|bar| &*timeline.tracks()[bar.track as usize].label).collect();
    assert_eq!(rows, ["b coder", "a coder"]);
}

#[test]
fn arrows_choose_a_bar_and_enter_opens_its_call() {
    // keys, and what the line about the chosen bar says
    let check = |keys: &[(KeyCode, KeyModifiers)], expected: &str| {
        let mut desk = TuiHarness::new();
        desk.show_team().press_alt('6');
        desk.draw_screen(120, 36);
        keys.iter().for_each(|(code, modifiers)| {
            desk.press_key(*code, *modifiers);
        });
        let screen = desk.draw_screen(250, 70);
        assert!(screen.contains(expected), "{keys:?}: {expected}\n{screen}");
    };
    let (none, alt) = (KeyModifiers::NONE, KeyModifiers::ALT);
    check(&[], "─ reviewer asks m-base · at 0:16.3");
    check(&[(KeyCode::Left, none)], "─ reviewer asks m-base · at 0:16.3");
    check(&[(KeyCode::Up, alt)], "─ reviewer asks m-base · at 0:16.1 · 2.7 s · 1.5k tokens · $0.01");
    check(&[(KeyCode::Up, alt), (KeyCode::Up, alt)], "─ coder calls execute_terminal");
    check(&[(KeyCode::Home, none), (KeyCode::Right, none)], "─ coder calls read_files · at 0:04.0 · 1.5 s");
    check(&[(KeyCode::Home, none), (KeyCode::Left, none)], "─ coder asks m-base · at 0:00.0 · 4.0 s");
    check(&[(KeyCode::Up, none)], "─ reviewer asks m-base · at 0:16.1");

    let mut desk = TuiHarness::new();
    desk.show_team().press_alt('6');
    desk.draw_screen(120, 36);
    desk.take_commands();
    desk.key(KeyCode::Enter);
    let asked = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Call { run, call })] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((run.as_str(), *call), ("r1", CallId(7)));
    assert!(desk.draw_screen(80, 24).contains("reading the call …"));
    send_history_reply(&mut desk, *number, HistoryResponse::Text(Ok(call_page(1))));
    desk.check_shots_at("chart_call", &FRAME_SIZES);
    desk.key(KeyCode::Esc);
    assert!(desk.model.history_browser.is_none(), "there is no list behind it");
    assert!(desk.draw_screen(120, 36).contains("timeline · coder_reviewer"));
    // what has no call, and what cannot be read
    desk.key(KeyCode::Home).key(KeyCode::Enter);
    assert!(desk.draw_screen(120, 36).contains("only calls, questions and states can be opened"));
    desk.key(KeyCode::End).key(KeyCode::Enter);
    let asked = take_history_requests(&mut desk);
    send_history_reply(&mut desk, asked[0].0, HistoryResponse::Text(Err("the journal is gone".into())));
    assert!(desk.model.history_browser.is_none());
    assert!(desk.draw_screen(120, 36).contains("the journal is gone"));
    desk.key(KeyCode::Enter).key(KeyCode::Esc);
    assert!(desk.model.history_browser.is_none(), "Esc does not wait for an answer");
}

#[test]
fn a_state_of_the_timeline_opens_its_step() {
    let mut desk = TuiHarness::new();
    desk.workflow().press_alt('6');
    desk.draw_screen(120, 36);
    desk.take_commands();
    let timeline = desk.timeline();
    let at = (0..timeline.len()).find(|at| timeline.row(*at).unwrap().step.is_some()).unwrap();
    desk.key(KeyCode::Home);
    for _ in 0..at {
        desk.key(KeyCode::Down);
    }
    let asked = take_history_requests(desk.key(KeyCode::Enter));
    let [(number, HistoryRequest::Step { run, step: 1 })] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(run.as_str(), "r1");
    let page = HistoryText { title: "step 1: code".into(), step: Some(1), ..HistoryText::default() };
    send_history_reply(&mut desk, *number, HistoryResponse::Text(Ok(page)));
    let screen = desk.draw_screen(120, 36);
    // there are no neighbours beside it
    assert!(screen.contains("step 1: code") && !screen.contains("next step"), "{screen}");
    desk.key(KeyCode::Esc);
    assert!(desk.model.history_browser.is_none());
}

fn call_events() -> Vec<(i64, RunEvent)> {
    vec![
        (0, workflow_started("coder_reviewer", "x")),
        (100, called_in(1, "code", "coder")),
        (4_100, replied(1, "coder", 4_000)),
        (4_200, tool(2, "read_files", json!({"file_paths": ["src/main.rs"], "limit": 3}))),
        (5_200, tool_done(2, "read_files", true, "fn main() {}\nand more")),
        (5_300, called_in(3, "code", "coder")),
        (6_000, run_finished(RunStatus::Cancelled, None, None)),
    ]
}

fn call_page(call: u64) -> HistoryText {
    let mut fold = CallDetailsBuilder::new(&RunId::from("r1"), CallId(call));
    for (at, event) in call_events() {
        fold.apply_event(Timestamp(1_000_000 + at), &StepEvent { at_step: 2, event });
    }
    let (title, items) = fold.into_report().unwrap();
    HistoryText { title, items, ..HistoryText::default() }
}

#[test]
fn the_page_of_a_call_has_all_of_it() {
    let check = |call: u64, title: &str, parts: &[&str]| {
        let page = call_page(call);
        assert_eq!(page.title, title);
        let text: Vec<String> = page.items.iter().map(|item| item.text()).collect();
        let text = text.join("\n");
        for part in parts {
            assert!(text.contains(part), "{call}: {part}\n{text}");
        }
    };
    check(
        1,
        "coder asks m-base",
        &[
            "began    0:00.1 after the start of the run",
            "took     4.0 s",
            "model    m-base of scripted",
            "tokens   1,200 in, 200 of them cached · 340 out",
            "cost     $0.01",
            "It is *done*.",
            "I think.",
            "synthdev runs show r1 --request 2",
        ],
    );
    check(
        2,
        "coder calls read_files",
        &[
            "took     1.0 s",
            "file_paths: [\n  \"src/main.rs\"\n]",
            "limit: 3",
            "outcome  succeeded",
            "and more",
        ],
    );
    check(3, "coder asks m-base", &["took     cut off: there is no answer"]);
    let none = CallDetailsBuilder::new(&RunId::from("r1"), CallId(9)).into_report();
    assert!(none.is_none());
}

#[test]
fn the_costs_of_a_run_at_every_size() {
    let mut desk = TuiHarness::new();
    desk.show_team().press_alt('7');
    desk.check_shots_at("costs_charts", &FRAME_SIZES);
    let screen = desk.draw_screen(120, 36);
    for expected in ["cached  17 % of the tokens in", "tokens/s last answer", "% of the budget", "by agent"] {
        assert!(screen.contains(expected), "{expected}\n{screen}");
    }
    // a budget of tokens alone goes down, too
    let mut tokens = budget();
    if let RunEvent::RunStarted { budget: Some(budget), .. } = &mut tokens {
        budget.cost_usd.hard = None;
    }
    let mut desk = TuiHarness::new();
    let mut left = Vec::new();
    desk.run_event("r1", tokens).press_alt('7');
    for call in 1..4 {
        desk.play(vec![(10, called_in(call, "code", "coder")), (1_000, replied(call, "coder", 1_000))]);
        let screen = desk.draw_screen(120, 36);
        let row = screen.lines().find(|row| row.contains("% of the budget")).expect(&screen).to_owned();
        let percent = row.split("left").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
        left.push(percent.parse::<f64>().unwrap());
    }
    assert!(left[0] < 100.0 && left[0] > left[1] && left[1] > left[2], "{left:?}");
    let mut desk = TuiHarness::new();
    desk.run_event("r1", workflow_started("coder_reviewer", "x"))
        .run_event("r1", called_in(1, "code", "coder"))
        .run_event("r1", replied(1, "coder", 0))
        .press_alt('7');
    let screen = desk.draw_screen(120, 36);
    assert!(!screen.contains("budget") && !screen.contains("tokens/s"), "{screen}");
}

#[test]
fn the_history_draws_the_last_runs_of_a_workflow() {
    let mut desk = TuiHarness::new();
    desk.line("/history");
    let rows = differing_rows();
    answer_page(&mut desk, rows, false);
    desk.check_shots_at("history_trend", &FRAME_SIZES);
    let screen = desk.draw_screen(80, 24);
    for expected in ["coder_reviewer: last 50 runs · 12 completed", "outcome ", "typical ", "✗ failed"] {
        assert!(screen.contains(expected), "{expected}\n{screen}");
    }
    // the runs of one workflow are asked for once, until the history changes
    for key in [KeyCode::Down, KeyCode::Down, KeyCode::Up] {
        desk.key(key);
    }
    assert_eq!(desk.trend_requests, []);
    let number = take_history_requests(&mut desk).last().map(|(number, _)| *number);
    assert_eq!(number, None);
}

#[test]
fn a_run_of_the_history_has_the_same_chart() {
    let mut desk = in_run();
    desk.check_shots_at("history_chart", &FRAME_SIZES);
    desk.draw_screen(80, 24);
    // the first key chooses the bar at the chosen step
    desk.key(KeyCode::Right);
    assert!(desk.draw_screen(80, 24).contains("─ coder asks m-base"));
    desk.key(KeyCode::Right);
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("─ coder calls execute_terminal") && screen.contains("cut off after"),
        "{screen}"
    );
    desk.key(KeyCode::Left);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("─ coder asks m-base") && screen.contains('▓'), "{screen}");
    let cells = desk.draw_cells(80, 24);
    // a full block in reverse is as the background
    let is_hidden =
        |cell: &ratatui::buffer::Cell| cell.symbol() == "█" && cell.modifier.contains(Modifier::REVERSED);
    assert!(!cells.content().iter().any(is_hidden), "{screen}");
    desk.check_shots_at("history_chart_chosen", &FRAME_SIZES);
    desk.key(KeyCode::Enter);
    let asked = take_history_requests(&mut desk);
    let [(_, HistoryRequest::Call { run, call })] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((run.as_str(), *call), ("run000000001", CallId(5)));
    desk.key(KeyCode::Esc).key(KeyCode::Esc);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("failed · 2 steps") && !screen.contains("coder asks m-base"), "{screen}");
    for head in ["step ────── at  state #visit (agent) ─", "─ took  messages  tools  variables"]
    {
        assert!(screen.contains(head), "{head}: {screen}");
    }
    desk.key(KeyCode::Enter);
    let asked = take_history_requests(&mut desk);
    assert!(matches!(asked.as_slice(), [(_, HistoryRequest::Step { .. })]), "{asked:?}");
}

#[test]
fn two_runs_side_by_side_at_every_size() {
    let mut desk = TuiHarness::new();
    desk.line("/history");
    answer_page(&mut desk, many_rows(0, 3), false);
    desk.key(KeyCode::Char('c')).key(KeyCode::Down).key(KeyCode::Char('c'));
    let asked = take_history_requests(&mut desk);
    send_history_reply(&mut desk, asked[0].0, HistoryResponse::Compared(Ok(Box::new(two_runs()))));
    desk.check_shots_at("history_comparison", &FRAME_SIZES);
}
