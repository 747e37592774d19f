//! The graph of a past run in the history, and clicks there.

use synthdev::domain::trace::{RunTrace, StateExit};
use synthdev::tui::history_browser::{HistoryResponse, RunGraphFacts};
use synthdev::tui::run_view::run_graph::RunDefinitionView;
use synthdev::tui::run_view::state_visits::StateVisitTimes;

use super::archive::{
    in_run, many_rows, opened_browser, run_details, send_history_reply, take_history_requests,
};
use super::graph::{CODER_REVIEWER, graphs_of};
use super::panes::keys;
use super::*;

/// Two rounds of a coder and a reviewer, and where the third one failed.
fn graph_facts() -> RunGraphFacts {
    let (mut trace, mut visits) = (RunTrace::default(), StateVisitTimes::default());
    let path = ["start", "code", "review", "code", "review", "code"];
    for (at, pair) in path.windows(2).enumerate() {
        let time = |part: i64| Timestamp(1_000 + at as i64 * 10_000 + part);
        trace.record_entered(pair[0], Some("coder"));
        trace.record_spent("coder", 1_200, Some(0.004));
        trace.record_left(pair[0], StateExit::Transition(0));
        visits.apply_event(time(0), &state_entered(pair[0]));
        visits.apply_event(time(4_200), &transition(pair[0], pair[1]));
    }
    trace.record_entered("code", Some("coder"));
    visits.apply_event(Timestamp(60_000), &state_entered("code"));
    let definition = RunDefinitionView { graphs: graphs_of(CODER_REVIEWER), ..RunDefinitionView::default() };
    RunGraphFacts { definition, trace, visits }
}

/// The graph of the open run.
fn in_graph(size: (u16, u16)) -> TuiHarness {
    let mut desk = in_run();
    desk.draw_screen(size.0, size.1);
    desk.press_alt('2');
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Graph { run })] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(run.as_str(), "run000000001");
    send_history_reply(&mut desk, *number, HistoryResponse::Graph(Ok(Box::new(graph_facts()))));
    desk.draw_screen(size.0, size.1);
    desk
}

#[test]
fn the_graph_of_a_past_run_looks_good_at_every_size() {
    for size in FRAME_SIZES {
        let mut desk = in_graph(size);
        desk.check_frames_at("history_graph", &[size]);
        keys(&mut desk, "Up Enter");
        desk.check_frames_at("history_graph_card", &[size]);
    }
}

#[test]
fn keys_choose_states_of_a_past_run_and_go_back_to_its_steps() {
    let check = |pressed: &str, shown: &[&str], hidden: &[&str]| {
        let mut desk = in_graph((80, 24));
        keys(&mut desk, pressed);
        let screen = desk.draw_screen(80, 24);
        for text in shown {
            assert!(screen.contains(text), "{pressed}: {text} is missing\n{screen}");
        }
        for text in hidden {
            assert!(!screen.contains(text), "{pressed}: {text} is there\n{screen}");
        }
    };
    check("", &["failed · graph", "▶● code", "×3", "Enter opens", "Esc back"], &["start #1"]);
    check("Enter", &["┌ code ─", "3 visits", "after 59 s", "Enter closes"], &[]);
    check("Down Enter", &["┌ review ─", "2 visits"], &[]);
    check("Enter Esc", &["· graph"], &["┌ code ─"]);
    check("Enter Esc Esc", &["2 steps"], &["· graph"]);
    check("Alt+2", &["2 steps"], &["· graph"]);
    check("Alt+m", &["Alt+M conditions"], &[]);
    check("/ review Enter Esc Enter", &["┌ review ─"], &[]);
    check("f", &["Esc goes back to the steps of the run"], &[]);
    // why the run entered the chosen state, the last time
    let mut desk = in_graph((80, 24));
    keys(&mut desk, "w");
    let all = take_history_requests(&mut desk);
    assert!(matches!(all.as_slice(), [(_, HistoryRequest::Why { step: 1, .. })]), "{all:?}");
}

#[test]
fn the_graph_of_a_run_that_goes_on_is_read_again_with_the_run() {
    let mut desk = in_graph((120, 36));
    assert!(desk.draw_screen(120, 36).contains("where it ended"));
    // only when the history has changed, and only then: there is no timer of its own
    let run_answer = |desk: &mut TuiHarness, count: u64, answer: Option<RunStatus>| {
        desk.send_message(UiMessage::Tick(Timestamp(2_000_000)));
        let changes = take_history_requests(desk);
        let [(number, HistoryRequest::Changes)] = changes.as_slice() else { panic!("{changes:?}") };
        send_history_reply(desk, *number, HistoryResponse::Changes(Some(count)));
        let all = take_history_requests(desk);
        let asked = all.iter().find(|(_, asked)| matches!(asked, HistoryRequest::Open { .. }));
        let details = answer.map(|status| {
            let mut details = run_details();
            details.row.status = status;
            Box::new(details)
        });
        let Some((number, _)) = asked else { return Vec::new() };
        send_history_reply(desk, *number, HistoryResponse::Opened(Ok(details)));
        take_history_requests(desk)
    };
    assert_eq!(run_answer(&mut desk, 2, None), [], "it is as it was");
    let all = run_answer(&mut desk, 3, Some(RunStatus::Running));
    let [(number, HistoryRequest::Graph { run })] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(run.as_str(), "run000000001");
    let screen = desk.draw_screen(120, 36);
    assert!(screen.contains("where it is") && screen.contains("▶● code"), "{screen}");
    assert_eq!(run_answer(&mut desk, 4, Some(RunStatus::Running)), [], "one request at a time");
    let mut facts = graph_facts();
    facts.trace.record_left("code", StateExit::Transition(0));
    facts.trace.record_entered("review", Some("reviewer"));
    send_history_reply(&mut desk, *number, HistoryResponse::Graph(Ok(Box::new(facts))));
    let screen = desk.draw_screen(120, 36);
    assert!(screen.contains("▶▲ review") && !screen.contains("▶● code"), "{screen}");
    // the run has changed while its graph was read
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Graph { .. })] = all.as_slice() else { panic!("{all:?}") };
    send_history_reply(&mut desk, *number, HistoryResponse::Text(Err("broken off".into())));
    assert_eq!(take_history_requests(&mut desk), []);
    // what cannot be read changes nothing
    let all = run_answer(&mut desk, 5, Some(RunStatus::Completed));
    let [(number, HistoryRequest::Graph { .. })] = all.as_slice() else { panic!("{all:?}") };
    send_history_reply(&mut desk, *number, HistoryResponse::Graph(Err("damaged".into())));
    let screen = desk.draw_screen(120, 36);
    assert!(screen.contains("where it ended") && !screen.contains("damaged"), "{screen}");
    // one that comes after its graph was left opens nothing
    let all = run_answer(&mut desk, 6, Some(RunStatus::Running));
    let [(number, HistoryRequest::Graph { .. })] = all.as_slice() else { panic!("{all:?}") };
    keys(&mut desk, "Esc");
    send_history_reply(&mut desk, *number, HistoryResponse::Graph(Ok(Box::new(graph_facts()))));
    assert!(desk.draw_screen(120, 36).contains("2 steps"));
    assert_eq!(run_answer(&mut desk, 7, Some(RunStatus::Completed)), [], "no graph is on screen");
}

#[test]
fn a_run_without_steps_on_screen_has_no_graph() {
    let mut desk = opened_browser(many_rows(0, 2), false);
    desk.press_alt('2');
    assert_eq!(take_history_requests(&mut desk), []);
    assert!(desk.draw_screen(80, 24).contains("the graph is of one run: Enter opens"));
    let mut desk = in_run();
    desk.press_alt('2');
    let all = take_history_requests(&mut desk);
    let [(number, HistoryRequest::Graph { .. })] = all.as_slice() else { panic!("{all:?}") };
    send_history_reply(&mut desk, *number, HistoryResponse::Graph(Err("its definition is damaged".into())));
    assert!(desk.draw_screen(80, 24).contains("its definition is damaged"));
}

#[test]
fn a_click_chooses_a_run_a_step_or_a_state_and_a_second_one_opens_it() {
    let click = |desk: &mut TuiHarness, text: &str| {
        let place = desk.place(text, 80, 24);
        desk.click(place.0, place.1);
        desk.draw_screen(80, 24)
    };
    let opens = |desk: &mut TuiHarness| {
        let all = take_history_requests(desk);
        all.into_iter()
            .any(|(_, asked)| matches!(asked, HistoryRequest::Open { .. } | HistoryRequest::Step { .. }))
    };
    let mut desk = opened_browser(many_rows(0, 9), false);
    desk.model.mouse = true;
    click(&mut desk, "run000000004");
    let chosen = |desk: &TuiHarness| desk.model.history_browser.as_ref().unwrap().list.cursor;
    assert_eq!((chosen(&desk), opens(&mut desk)), (4, false));
    let place = desk.place("run000000004", 80, 24);
    assert!(desk.drag(place, (place.0 + 5, place.1)).is_some(), "what is dragged over is copied");
    assert!(!opens(&mut desk), "and nothing is opened");
    click(&mut desk, "run000000004");
    assert!(opens(&mut desk));
    let mut desk = in_run();
    desk.model.mouse = true;
    click(&mut desk, "start #1");
    assert!(!opens(&mut desk));
    click(&mut desk, "start #1");
    assert!(opens(&mut desk));
    let mut desk = in_graph((80, 24));
    desk.model.mouse = true;
    assert!(!click(&mut desk, "▲ review").contains("┌ review ─"));
    assert!(click(&mut desk, "▲ review").contains("┌ review ─"));
}
