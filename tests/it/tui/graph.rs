//! The pane of the graph: shipped workflows and one with everything at four sizes, keys and the mouse in it, its card,
//! breakpoints, and a large workflow.

use std::path::Path;

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use serde_json::{Value, json};
use synthdev::bootstrap::wiring;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::engine::steering::Breakpoint;
use synthdev::language::graph::{EdgeKind, GraphEdge, WorkflowGraph};
use synthdev::language::source::SourceFile;
use synthdev::settings::catalog::ConfigCatalog;
use synthdev::tui::display::DisplayResponse;
use synthdev::tui::run_view::run_graph::RunDefinitionView;

use super::panes::{budget, keys};
use super::*;
use crate::support::stage::{Texts, config_sources};

pub(super) const CODER_REVIEWER: &str = include_str!("../../../workflows/coder_reviewer.json");
const CLIENT_REVIEW: &str = include_str!("../../../workflows/client_review.json");

/// Long conditions, a way back, a loop, branches, and what happens when something fails.
fn thorough_workflow() -> Value {
    let work = |name: &str, agent: &str| json!({"name": name, "agent": agent, "input": "common_data.task"});
    let mut fix = work("fix", "coder");
    fix["transition"] = json!([
        {"target": "fix", "condition": "common_data.attempts < 3 && common_data.last_failure !== null"},
        {"target": "inspect", "condition": "common_data.files.every(file => file.status === 'changed' || file.is_generated)"},
        {"target": "give_up"}
    ]);
    fix["catch"] = json!([{"errors": ["model.*", "tool.failed"], "target": "give_up"}]);
    json!([{
        "workflow_name": "thorough", "description": "Inspects from two sides, until both agree",
        "input": {"name": "task"}, "output": {"name": "result"},
        "contexts": [{"name": "talk"}],
        "agents": [
            {"agent_role": "coder", "context": "talk", "role": "assistant"},
            {"agent_role": "architect", "context": "talk", "role": "user"}
        ],
        "states": [
            {"name": "start", "transition": [{"target": "fix"}]},
            fix,
            {"name": "inspect", "type": "parallel", "output": {"as": "views"}, "branches": [
                {"name": "design", "agent": "architect", "input": "common_data.task"},
                {"name": "tests", "states": [
                    {"name": "start", "type": "shell", "command": "cargo test", "transition": [
                        {"target": "again", "condition": "this.common_data.flaky"}, {"target": "stop"}]},
                    {"name": "again", "type": "shell", "command": "cargo test", "transition": [{"target": "stop"}]},
                    {"name": "stop"}
                ]}
            ], "transition": [
                {"target": "fix", "condition": "common_data.views.design.includes('must be changed before it is merged')"},
                {"target": "stop"}
            ]},
            {"name": "give_up", "type": "fail", "error": "gave_up"},
            {"name": "stop", "input": "common_data.result"}
        ]
    }])
}

/// The shipped roles and tools.
pub(super) fn shipped_catalog() -> ConfigCatalog {
    ConfigCatalog::load(config_sources(&Texts::default()), wiring::tool_specs(Path::new("/")))
}

pub(super) fn graphs_of(text: &str) -> Vec<WorkflowGraph> {
    let source = SourceFile::new(ConfigLayer::Project, "shown.json", text.to_owned());
    let (programs, _) = shipped_catalog().check_file(&source).unwrap_or_else(|found| panic!("{found:?}"));
    WorkflowGraph::with_children(&programs[0], 0, true).into_iter().map(|(_, graph)| graph).collect()
}

impl TuiHarness {
    /// A run of a workflow that went through these states and is in the last one.
    fn show_graph_run(&mut self, text: &str, states: &[&str]) -> &mut Self {
        let graphs = graphs_of(text);
        // which of the transitions it was
        let guard = |from: &str, to: &str| {
            let graph = &graphs[0];
            let name = |at: usize| graph.nodes[at].name.as_str();
            let mut edges = graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Transition);
            edges.find(|edge| name(edge.from) == from && name(edge.to) == to).unwrap().order - 1
        };
        let moved = |from: &str, to: &str| {
            let guard = guard(from, to);
            RunEvent::Transitioned { from: from.into(), to: to.into(), guard, tried: vec![] }
        };
        let steps: Vec<RunEvent> = states.windows(2).map(|pair| moved(pair[0], pair[1])).collect();
        let found = RunDefinitionView { graphs, ..RunDefinitionView::default() };
        self.run_event("r1", budget()).send_message(UiMessage::Displayed(DisplayResponse::Definition {
            run: RunId::from("r1"),
            definition: Ok(Box::new(found)),
        }));
        let mut steps = steps.into_iter();
        for state in states {
            self.run_event("r1", state_entered(state));
            if let Some(step) = steps.next() {
                self.advance_clock(1_500).run_event("r1", step);
            }
        }
        let call = 9_000;
        self.run_event("r1", model_called(call, "coder", ConversationSide::Assistant))
            .run_event("r1", model_replied(call, "coder", ConversationSide::Assistant, "ok", ""))
    }
}

fn breakpoints(state: &str) -> RunEvent {
    RunEvent::Breakpoints { step: false, points: vec![Breakpoint::before_state(state)] }
}

#[test]
fn graphs_look_as_they_should_at_every_size() {
    let check = |name: &str, text: &str, states: &[&str], stops: &str| {
        for size in FRAME_SIZES {
            let mut desk = TuiHarness::new();
            desk.draw_screen(size.0, size.1);
            desk.show_graph_run(text, states).run_event("r1", breakpoints(stops)).press_alt('2');
            desk.check_frames_at(&format!("graph_pane_{name}"), &[size]);
        }
    };
    check("coder_reviewer", CODER_REVIEWER, &["start", "code", "review", "code"], "review");
    check("client_review", CLIENT_REVIEW, &["start", "review"], "stop");
    let thorough = thorough_workflow().to_string();
    check("thorough", &thorough, &["start", "fix", "fix", "inspect"], "give_up");
}

#[test]
fn a_card_and_a_map_of_names_look_as_they_should() {
    let thorough = thorough_workflow().to_string();
    let check = |name: &str, pressed: &str, size: (u16, u16)| {
        let mut desk = TuiHarness::new();
        desk.draw_screen(size.0, size.1);
        desk.show_graph_run(&thorough, &["start", "fix", "fix", "inspect"]).press_alt('2');
        desk.draw_screen(size.0, size.1);
        keys(&mut desk, pressed);
        desk.check_frames_at(name, &[size]);
    };
    for size in FRAME_SIZES {
        check("graph_pane_card", "Up Enter", size);
        check("graph_pane_names", "Alt+m", size);
    }
}

/// What is on screen after these keys, and what is not.
fn check_keys(pressed: &str, shown: &[&str], hidden: &[&str]) {
    let mut desk = TuiHarness::new();
    desk.draw_screen(80, 24);
    desk.show_graph_run(CODER_REVIEWER, &["start", "code", "review", "code"]).press_alt('2');
    desk.draw_screen(80, 24);
    keys(&mut desk, pressed);
    let screen = desk.draw_screen(80, 24);
    for text in shown {
        assert!(screen.contains(text), "{pressed}: {text} is missing\n{screen}");
    }
    for text in hidden {
        assert!(!screen.contains(text), "{pressed}: {text} is there\n{screen}");
    }
}

#[test]
fn keys_choose_states_and_open_their_cards() {
    let check = check_keys;
    check("", &["▶● code", "×2", "Enter opens", "Alt+B breakpoint", "Alt+M names only"], &["visit"]);
    check("Enter", &["┌ code ─", "2 visits", "agent", "coder, role coder", "Enter closes"], &[]);
    check("Down Enter", &["┌ review ─", "1 visit", "↓ 3 more, PgDn"], &["▸ stop"]);
    check("Down Enter PgDn", &["┌ review ─", "▸ code", "▸ stop"], &["more, PgDn"]);
    check("Down Up Enter", &["┌ code ─"], &[]);
    check("Home Enter", &["┌ start ─", "1 visit"], &[]);
    check("Enter Down", &["┌ review ─"], &["┌ code ─"]);
    check("Enter Enter", &["▶● code"], &["┌ code ─"]);
    check("Enter Esc", &["▶● code", "━ graph"], &["┌ code ─"]);
    check("Enter Esc Esc", &[], &["graph · coder_reviewer"]);
    check("Down Down End Enter", &["┌ code ─"], &[]);
    check("Alt+m", &["▶● code", "Alt+M conditions"], &["agent coder", "improvement"]);
    check("Alt+m Alt+m", &["Alt+M names only"], &[]);
    check("Ctrl+f improvement Enter Esc Enter", &["┌ review ─"], &[]);
    check("Left", &["━ graph", "Enter opens"], &[]);
    check("hello", &["❯ hello", "─ graph"], &["Enter opens"]);
}

#[test]
fn a_key_sets_a_breakpoint_before_the_chosen_state_and_removes_it() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    desk.draw_screen(80, 24);
    desk.show_graph_run(CODER_REVIEWER, &["start", "code"]).press_alt('2').take_commands();
    desk.draw_screen(80, 24);
    keys(&mut desk, "Down Alt+b");
    let steered = |steering| UiCommand::Send(RunId::from("r1"), RunCommand::Steer(steering));
    let point = Breakpoint::before_state("review");
    assert_eq!(desk.take_commands(), [steered(SteeringAction::Break { point: point.clone() })]);
    assert!(desk.draw_screen(80, 24).contains("the run stops before review"));
    desk.run_event("r1", breakpoints("review"));
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("╭●──"), "{screen}");
    keys(&mut desk, "Enter");
    assert!(desk.draw_screen(80, 24).contains("● the run stops before this state"));
    keys(&mut desk, "Alt+b");
    assert_eq!(desk.take_commands(), [steered(SteeringAction::Unbreak { point })]);
    desk.run_event("r1", RunEvent::Breakpoints { step: false, points: vec![] });
    assert!(!desk.draw_screen(80, 24).contains("╭●──"));
}

#[test]
fn a_click_chooses_a_state_and_a_second_one_opens_its_card() {
    let mut desk = TuiHarness::new();
    desk.model.mouse = true;
    desk.draw_screen(80, 24);
    desk.show_graph_run(CODER_REVIEWER, &["start", "code"]).press_alt('2');
    let screen = desk.draw_screen(80, 24);
    let row = screen.lines().position(|line| line.contains("▲ review")).expect("review is on screen");
    let line: Vec<char> = screen.lines().nth(row).unwrap().chars().collect();
    let column = line.iter().position(|sign| *sign == '▲').unwrap();
    let click = UiMessage::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: column as u16,
        row: row as u16,
        modifiers: KeyModifiers::NONE,
    });
    desk.send_message(click.clone());
    assert!(!desk.draw_screen(80, 24).contains("┌ review ─"), "chosen");
    desk.send_message(click);
    assert!(desk.draw_screen(80, 24).contains("┌ review ─"), "opened");
}

#[test]
fn a_drawing_that_is_wider_than_its_pane_is_moved_to_the_side() {
    let thorough = thorough_workflow().to_string();
    let mut desk = TuiHarness::new();
    desk.model.mouse = true;
    desk.draw_screen(60, 20);
    desk.show_graph_run(&thorough, &["start", "fix"]).press_alt('2');
    let first = desk.draw_screen(60, 20);
    assert!(first.contains("Shift+Right moves it"), "{first}");
    let left = |desk: &mut TuiHarness| {
        desk.draw_screen(60, 20);
        desk.model.panes.graph.left
    };
    let wheel =
        |kind| UiMessage::Mouse(MouseEvent { kind, column: 20, row: 8, modifiers: KeyModifiers::NONE });
    let before = left(&mut desk);
    desk.press_before_seen(KeyCode::Left, KeyModifiers::SHIFT);
    let moved = left(&mut desk);
    assert!(moved < before && desk.draw_screen(60, 20) != first, "{before} {moved}");
    desk.press_before_seen(KeyCode::Right, KeyModifiers::SHIFT);
    assert_eq!(left(&mut desk), before);
    desk.send_message(wheel(MouseEventKind::ScrollLeft));
    assert!(left(&mut desk) < before);
    for _ in 0..50 {
        desk.send_message(wheel(MouseEventKind::ScrollLeft));
    }
    assert_eq!(left(&mut desk), 0);
    // what is chosen comes back into view
    keys(&mut desk, "Down Up");
    assert!(desk.draw_screen(60, 20).contains("fix"));
}

#[test]
fn a_card_is_copied_and_so_is_the_drawing() {
    let mut desk = TuiHarness::new();
    desk.draw_screen(80, 24);
    desk.show_graph_run(CODER_REVIEWER, &["start", "code"]).press_alt('2');
    desk.draw_screen(80, 24);
    for (pressed, expected) in [("Ctrl+y", "coder, role coder"), ("Alt+y", "│▶● code")] {
        desk.take_commands();
        keys(&mut desk, pressed);
        let copied = desk.take_commands();
        assert!(
            matches!(&copied[..], [UiCommand::Copy(text)] if text.contains(expected)),
            "{pressed}: {copied:?}"
        );
    }
}

/// Each state has a way on, one back, and one to the end: what is drawn is only what is seen.
#[test]
fn a_thousand_states_are_drawn() {
    let names: Vec<String> = (0..1_000).map(|at| format!("state_{at:03}")).collect();
    let mut graph = super::panes::graph("large", &names);
    let way = graph.edges[0].clone();
    for at in 1..998 {
        let one = |to: usize, order: usize| GraphEdge {
            from: at,
            to,
            order,
            label: format!("rounds > {at}"),
            ..way.clone()
        };
        graph.edges.extend([one(at / 2, 2), one(999, 3)]);
    }
    graph.edges.sort_by_key(|edge| edge.from);
    let mut desk = TuiHarness::new();
    desk.draw_screen(80, 24);
    let found = RunDefinitionView { graphs: vec![graph], ..RunDefinitionView::default() };
    desk.run_event("r1", budget()).send_message(UiMessage::Displayed(DisplayResponse::Definition {
        run: RunId::from("r1"),
        definition: Ok(Box::new(found)),
    }));
    desk.run_event("r1", state_entered("state_500")).press_alt('2');
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("▶● state_500"), "{screen}");
    desk.key(KeyCode::Home);
    assert!(desk.draw_screen(80, 24).contains("● state_000"));
}
