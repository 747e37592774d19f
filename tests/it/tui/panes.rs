//! The panes: every one in every state at three sizes, keys and the mouse in them, and which run they show.

use serde_json::Map;
use synthdev::domain::workflow::PauseKind;
use synthdev::language::graph::{EdgeKind, GraphEdge, GraphNode, GraphNodeDetails, NodeKind, WorkflowGraph};
use synthdev::language::source::SourceFile;
use synthdev::tui::display::{DisplayRequest, DisplayResponse};
use synthdev::tui::keymap;
use synthdev::tui::run_view::run_graph::RunDefinitionView;

use super::*;

/// Alt and a digit, and what the pane is called.
const PANES: [(char, &str); 6] =
    [('2', "graph"), ('3', "agents"), ('4', "data"), ('5', "tools"), ('6', "timeline"), ('7', "costs")];

/// States one after the other, the last but one with a way back to the first.
pub(super) fn graph(name: &str, states: &[String]) -> WorkflowGraph {
    let node = |(at, state): (usize, &String)| GraphNode {
        name: state.clone(),
        label: state.clone(),
        kind: if at + 1 == states.len() { NodeKind::End } else { NodeKind::Agent },
        about: format!("agent {at}"),
        group: None,
        calls: None,
        reachable: true,
        hidden: false,
        tally: None,
        details: GraphNodeDetails::default(),
    };
    let edge = |from: usize, to: usize, order: usize, label: &str| GraphEdge {
        from,
        to,
        kind: EdgeKind::Transition,
        order,
        label: label.into(),
        tally: None,
    };
    let mut edges: Vec<GraphEdge> = Vec::new();
    for from in 0..states.len() - 1 {
        if from + 2 == states.len() {
            edges.push(edge(from, 0, 1, "not good enough"));
            edges.push(edge(from, from + 1, 2, "good"));
        } else {
            edges.push(edge(from, from + 1, 1, ""));
        }
    }
    WorkflowGraph {
        workflow: name.into(),
        description: "States one after the other.".into(),
        start: 0,
        nodes: states.iter().enumerate().map(node).collect(),
        edges,
        groups: Vec::new(),
        handlers: Vec::new(),
    }
}

pub(super) fn states(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) fn definition_message(run: &str, graph: WorkflowGraph) -> UiMessage {
    let variables = Map::from_iter([("rounds".to_owned(), json!(0)), ("goal".to_owned(), json!("ship it"))]);
    let found = Ok(Box::new(RunDefinitionView { graphs: vec![graph], variables, agents: Vec::new() }));
    UiMessage::Displayed(DisplayResponse::Definition { run: RunId::from(run), definition: found })
}

pub(super) fn data_changed(state: &str, set: serde_json::Value) -> RunEvent {
    let serde_json::Value::Object(set) = set else { panic!("an object") };
    RunEvent::DataChanged { state: state.into(), set, removed: vec![] }
}

pub(super) fn tool(call: u64, name: &str, arguments: serde_json::Value) -> RunEvent {
    RunEvent::ToolStarted { call: CallId(call), agent: "coder".into(), tool: name.into(), arguments }
}

pub(super) fn tool_done(call: u64, name: &str, ok: bool, content: &str) -> RunEvent {
    RunEvent::ToolFinished {
        call: CallId(call),
        agent: "coder".into(),
        tool: name.into(),
        ok,
        summary: if ok { "40 lines".into() } else { "exit code 101".into() },
        content: content.into(),
        duration_ms: 1_234,
    }
}

pub(super) fn budget() -> RunEvent {
    let mut budget = Budget::default();
    budget.cost_usd.hard = Some(0.05);
    budget.tokens.hard = Some(20_000);
    let inputs = Map::from_iter([("task".to_owned(), json!("add a --json flag"))]);
    RunEvent::RunStarted {
        workflow: "coder_reviewer".into(),
        definition: String::new(),
        inputs,
        chat: false,
        budget: Some(Box::new(budget)),
        replayed: false,
    }
}

impl TuiHarness {
    pub(super) fn press_alt(&mut self, letter: char) -> &mut Self {
        self.press_key(KeyCode::Char(letter), KeyModifiers::ALT)
    }

    /// A workflow in its second state, with data, tools, two agents and a budget.
    pub(super) fn show_working_run(&mut self) -> &mut Self {
        self.run_event("r1", budget())
            .send_message(definition_message(
                "r1",
                graph("coder_reviewer", &states(&["start", "code", "review", "stop"])),
            ))
            .run_event("r1", snapshot_taken())
            .run_event("r1", state_entered("start"))
            .run_event(
                "r1",
                data_changed("start", json!({"plan": {"parts": ["parse", "print"], "notes": "one\ntwo"}})),
            )
            .run_event("r1", transition("start", "code"))
            .run_event("r1", state_entered("code"))
            .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
            .advance_clock(2_000)
            .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "", ""))
            .run_event("r1", tool(6, "read_files", json!({"file_paths": ["src/main.rs"]})))
            .run_event(
                "r1",
                tool_done(6, "read_files", true, "fn main() {\n\tprintln!(\"\x1b[31mhi\x1b[0m\");\n}"),
            )
            .run_event("r1", approval_event(7, "execute_terminal", command_preview("cargo test")))
            .run_event(
                "r1",
                RunEvent::ApprovalAnswered {
                    arguments: serde_json::Value::Null,
                    call: CallId(7),
                    tool: "execute_terminal".into(),
                    decision: ApprovalDecision::Allow,
                },
            )
            .run_event("r1", tool(8, "execute_terminal", json!({"command": "cargo test"})))
            .run_event("r1", model_called(9, "reviewer", ConversationSide::User))
            .run_event("r1", model_replied(9, "reviewer", ConversationSide::User, "Looks good to me.", ""))
            .run_event(
                "r1",
                data_changed(
                    "code",
                    json!({"rounds": 2, "plan": {"parts": ["parse", "print"], "notes": "x"}}),
                ),
            )
            .run_event("r1", model_called(10, "coder", ConversationSide::Assistant))
            .run_event("r1", delta_event(10, DeltaKind::Text, "I begin with the parser. "))
    }

    pub(super) fn show_failing_run(&mut self) -> &mut Self {
        let why = || RunError::new("model.auth", "The provider refused the key", "401 from api.example.com");
        self.show_working_run()
            .run_event("r1", tool_done(8, "execute_terminal", false, "error[E0308]: mismatched types"))
            .run_event(
                "r1",
                RunEvent::ToolRefused {
                    agent: "coder".into(),
                    tool: "delete_everything".into(),
                    reason: "there is no such tool".into(),
                },
            )
            .run_event(
                "r1",
                RunEvent::Retrying {
                    state: "code".into(),
                    attempt: 2,
                    max_attempts: 3,
                    delay_ms: 500,
                    error: Box::new(why()),
                },
            )
            .run_event(
                "r1",
                RunEvent::Warning { code: "x".into(), text: "the budget is nearly used up".into() },
            )
            .run_event(
                "r1",
                RunEvent::ModelFailed {
                    call: CallId(10),
                    agent: "coder".into(),
                    code: "model.auth".into(),
                    reason: "401".into(),
                    attempts: 3,
                    spent: Vec::new(),
                },
            )
            .run_event("r1", run_finished(RunStatus::Failed, None, Some(why())))
    }

    pub(super) fn show_long_run(&mut self) -> &mut Self {
        let names: Vec<String> = (0..200).map(|at| format!("state_{at:03}")).collect();
        self.run_event("r1", budget()).send_message(definition_message("r1", graph("two_hundred", &names)));
        for at in 0..150 {
            self.run_event("r1", state_entered(&names[at]));
            self.run_event(
                "r1",
                model_called(1_000 + at as u64, &format!("agent_{}", at % 30), ConversationSide::Assistant),
            );
            self.run_event(
                "r1",
                model_replied(
                    1_000 + at as u64,
                    &format!("agent_{}", at % 30),
                    ConversationSide::Assistant,
                    "ok",
                    "",
                ),
            );
            for part in 0..4 {
                let call = 10_000 + at as u64 * 4 + part;
                self.run_event(
                    "r1",
                    tool(call, "read_files", json!({"file_paths": [format!("src/{at}/{part}.rs")]})),
                );
                self.run_event("r1", tool_done(call, "read_files", part != 3, &"line\n".repeat(2_000)));
            }
            self.run_event("r1", data_changed(&names[at], json!({format!("key_{at}"): "word ".repeat(200)})));
            self.run_event("r1", transition(&names[at], &names[at + 1]));
        }
        self.run_event("r1", data_changed(&names[149], json!({"list": (0..3_000).collect::<Vec<_>>()})))
            .run_event("r1", state_entered(&names[150]))
    }

    pub(super) fn show_unicode_run(&mut self) -> &mut Self {
        let names = ["始め", "código", "проверка🧪", "نهاية", "stop"];
        self.run_event("r1", budget())
            .send_message(definition_message("r1", graph("ワークフロー", &states(&names))))
            .run_event("r1", state_entered("始め"))
            .run_event("r1", transition("始め", "código"))
            .run_event("r1", state_entered("código"))
            .run_event("r1", model_called(5, "программист", ConversationSide::Assistant))
            .run_event("r1", model_replied(5, "программист", ConversationSide::Assistant, "готово", ""))
            .run_event("r1", tool(6, "قراءة", json!({"مسار": "src/日本語.rs", "x": "\x1b[2J\u{202e}evil"})))
            .run_event("r1", tool_done(6, "قراءة", true, "e\u{301}e\u{301} 日本語 \u{200b}zero"))
            .run_event(
                "r1",
                data_changed("código", json!({"名前": "太郎 🧑‍🚀", "a/b~c": {"\u{202e}k": "v\x07"}})),
            )
    }
}

#[test]
fn every_pane_in_every_state() {
    type Play = fn(&mut TuiHarness) -> &mut TuiHarness;
    let situations: [(&str, Play); 5] = [
        ("empty", |desk| desk),
        ("streaming", TuiHarness::show_working_run),
        ("error", TuiHarness::show_failing_run),
        ("long", TuiHarness::show_long_run),
        ("unicode", TuiHarness::show_unicode_run),
    ];
    for (situation, play) in situations {
        for (key, pane) in PANES {
            let mut desk = TuiHarness::new();
            play(&mut desk);
            desk.press_alt(key);
            if situation == "streaming" && pane == "tools" {
                desk.key(KeyCode::Home).key(KeyCode::Enter);
            }
            desk.check_shots(&format!("{pane}_{situation}"));
        }
    }
}

/// A digit of Alt, `Tab`, a letter …
pub(super) fn keys(desk: &mut TuiHarness, keys: &str) {
    for key in keys.split_whitespace() {
        match key {
            "Tab" => desk.key(KeyCode::Tab),
            "BackTab" => desk.key(KeyCode::BackTab),
            "Esc" => desk.key(KeyCode::Esc),
            "Enter" => desk.key(KeyCode::Enter),
            "Home" => desk.key(KeyCode::Home),
            "End" => desk.key(KeyCode::End),
            "Up" => desk.key(KeyCode::Up),
            "Down" => desk.key(KeyCode::Down),
            "Left" => desk.key(KeyCode::Left),
            "PgUp" => desk.key(KeyCode::PageUp),
            "PgDn" => desk.key(KeyCode::PageDown),
            "F1" => desk.key(KeyCode::F(1)),
            "F2" => desk.key(KeyCode::F(2)),
            "F3" => desk.key(KeyCode::F(3)),
            "F6" => desk.key(KeyCode::F(6)),
            "F11" => desk.key(KeyCode::F(11)),
            other => match other.split_once('+') {
                Some(("Alt", letter)) => desk.press_alt(letter.chars().next().unwrap()),
                Some(("Ctrl", "Space")) => desk.press_control(' '),
                Some(("Ctrl", letter)) => desk.press_control(letter.chars().next().unwrap()),
                _ => desk.type_text(other),
            },
        };
    }
}

/// What is on screen after these keys, and what is not.
fn check_keys(size: (u16, u16), pressed: &str, shown: &[&str], hidden: &[&str]) {
    let mut desk = TuiHarness::new();
    desk.show_working_run().send_message(UiMessage::Resize(size.0, size.1));
    desk.draw_screen(size.0, size.1);
    keys(&mut desk, pressed);
    // the one that has the keys has heavy lines
    let screen = desk.draw_screen(size.0, size.1).replace('━', "─").replace('┃', "│");
    for text in shown {
        assert!(screen.contains(text), "{size:?} {pressed}: {text} is missing\n{screen}");
    }
    for text in hidden {
        assert!(!screen.contains(text), "{size:?} {pressed}: {text} is there\n{screen}");
    }
}

/// A key that would change nothing on screen says why.
#[test]
fn keys_of_the_layout_say_why_they_do_nothing() {
    let check = check_keys;
    let (small, wide) = ((80, 24), (120, 40));
    check(small, "F2", &["the side panel needs 100 columns, here are 80 · Alt+3: agents"], &[]);
    check(small, "Alt+z", &["several panes need 100 columns, here are 80 · Alt+2: graph"], &[]);
    check(small, "Alt+2 Alt+z Esc", &["I begin with"], &["─ graph"]);
    check(wide, "F2", &["I begin with"], &["path"]);
    check(wide, "F2 Alt+z", &["the only pane fills the screen already · Alt+2: graph"], &[]);
    check(
        wide,
        "Alt+2 Alt+z F2",
        &["no side panel beside a pane that fills the screen: Alt+Z ends that"],
        &[],
    );
    check(wide, "Alt+2 F2", &["the panes that are open leave the side panel no room"], &[]);
    check(small, "F6", &[" VIEW "], &[]);
    check(small, "hello F6", &["❯ hello", "F6, next pane, works while the input line is empty"], &[" VIEW "]);
    check(small, "F11", &["F11 does nothing here: F1 shows the keys"], &[]);
}

/// In a pane without rows a key says that there are none.
#[test]
fn keys_in_an_empty_pane_say_so() {
    for (pane, name) in
        [('2', "graph"), ('3', "agents"), ('4', "data"), ('5', "tools"), ('6', "timeline"), ('7', "costs")]
    {
        for pressed in ["Up", "Down", "Home", "PgDn", "Ctrl+Y"] {
            let mut desk = TuiHarness::new();
            desk.press_alt(pane);
            keys(&mut desk, pressed);
            let screen = desk.draw_screen(80, 24);
            assert!(
                screen.contains(&format!("there is nothing in the {name} pane yet")),
                "{pressed}: {screen}"
            );
        }
    }
    let mut desk = TuiHarness::new();
    desk.press_alt('4');
    keys(&mut desk, "Ctrl+Space");
    assert!(desk.draw_screen(80, 24).contains("there is nothing in the data pane yet"));
    // Esc still leads back, a letter to the input line
    keys(&mut desk, "Esc");
    assert!(!desk.draw_screen(80, 24).contains(" VIEW "));
}

#[test]
fn keys_lead_to_what_is_on_screen() {
    let check = check_keys;
    let (small, wide, wider) = ((80, 24), (120, 40), (200, 50));
    check(small, "", &["I begin with"], &["─ graph"]);
    check(
        small,
        "Alt+2",
        &["─ graph · coder_reviewer", "▶● code", "coder_reviewer ▸ code"],
        &["I begin with"],
    );
    check(small, "F3", &["─ graph"], &["I begin with"]);
    check(small, "Alt+2 Alt+2", &["I begin with"], &["─ graph"]);
    check(small, "Alt+2 Esc", &["I begin with"], &["─ graph"]);
    check(small, "Alt+2 Alt+3", &["─ agents", "writes"], &["─ graph"]);
    check(small, "Alt+2 hello Enter", &["I begin with", "hello · Up takes it back"], &["─ graph"]);
    check(small, "Alt+2 hello", &["─ graph", "❯ hello"], &[]);
    check(small, "Alt+5 Alt+4 Tab", &["─ tools"], &["─ data"]);
    check(wide, "", &["I begin with", "path", "agents"], &["─ graph"]);
    check(wide, "Alt+2", &["I begin with", "─ graph"], &["│ path"]);
    check(wide, "Alt+2 Alt+z", &["─ graph"], &["I begin with"]);
    check(wide, "Alt+2 Alt+z Esc", &["─ graph", "I begin with"], &[]);
    check(wide, "Alt+2 Alt+z Alt+z", &["─ graph", "I begin with"], &[]);
    check(wide, "Alt+2 Alt+4", &["─ data"], &["─ graph"]);
    check(wider, "", &["─ graph", "I begin with", "path"], &[]);
    check(wider, "Alt+2 Alt+4", &["─ graph", "─ data", "I begin with"], &["│ path"]);
    check(wide, "Tab", &["conversation: Ctrl+F finds"], &[]);
    check(wide, "Alt+2 Tab", &["Esc stops"], &["Esc back"]);
    check(wide, "Alt+2 BackTab", &["conversation: Ctrl+F finds"], &[]);
    check(wide, "text Tab", &["❯ text"], &["conversation: Ctrl+F finds"]);
    check(small, "Alt+4", &["● ▾ plan", "● ", "rounds: 2", "goal: ship it", "● "], &[]);
    check(
        small,
        "Alt+5",
        &["▸ ✓ coder read_files", "▸ … coder execute_terminal", "allowed · runs"],
        &["println"],
    );
    check(small, "Alt+5 Home Enter", &["▾ ✓ coder read_files", "println"], &["[31m"]);
    check(small, "Alt+5 Home Enter Enter", &["▸ ✓ coder read_files"], &["println"]);
    check(small, "Alt+7", &["$0.02 of $0.05", "left ", "by agent"], &[]);
    check(small, "Alt+7 End", &["by model", "by state"], &[]);
}

#[test]
fn letters_in_a_pane_are_text_and_its_search_has_keys_of_its_own() {
    let check = check_keys;
    let (small, wide) = ((80, 24), (120, 40));
    // letters that are keys in the history are text here
    check(small, "Alt+2", &[" VIEW ", "Ctrl+Y copies · Esc back"], &[" SEARCH "]);
    check(wide, "Alt+2", &[" VIEW ", "Ctrl+F finds"], &[" SEARCH "]);
    check(small, "Alt+2 yes", &["❯ yes"], &[" VIEW "]);
    check(small, "Alt+2 jk/nN", &["❯ jk/nN"], &[" VIEW "]);
    check(small, "Alt+2 /cont", &["❯ /cont", "/continue"], &[" VIEW "]);
    check(small, "Alt+2 Ctrl+f cod", &[" SEARCH "], &["❯ cod", " VIEW "]);
    check(small, "Alt+6 Home Ctrl+f Review", &["/Review▏"], &[]);
    check(small, "Alt+6 Home Ctrl+f revi Enter", &["/revi", "Ctrl+N next"], &["not found"]);
    check(small, "Alt+6 Ctrl+f nothing Enter", &["/nothing", "not found"], &[]);
    check(small, "Alt+6 Ctrl+f nothing Enter Esc", &["─ timeline"], &["not found"]);
    check(small, "Tab Ctrl+f begin", &["I begin with", "/begin▏"], &[]);
    check(small, "Tab Ctrl+f begin Enter", &["I begin with", "/begin", "Esc ends"], &["not found"]);
    check(small, "Tab Ctrl+f begun Enter", &["/begun not found"], &[]);
}

/// Every pane understands the same keys: it opens, scrolls, finds, copies, fills the screen and closes.
#[test]
fn every_pane_understands_the_same_keys() {
    let check = |(key, other, title, word): (char, u8, &str, &str)| {
        let mut desk = TuiHarness::new();
        desk.show_long_run().send_message(UiMessage::Resize(120, 40));
        desk.draw_screen(120, 40);
        let heading = format!("─ {title}");
        let alone = |screen: &str| screen.lines().any(|line| line.starts_with(&heading));
        let shown = |desk: &mut TuiHarness, what: &str, wanted: &str, there: bool| {
            let screen = desk.draw_screen(120, 40).replace('━', "─").replace('┃', "│");
            assert_eq!(screen.contains(wanted), there, "{title}: {what}: {wanted}\n{screen}");
            screen
        };
        desk.key(KeyCode::F(other));
        shown(&mut desk, "opened by its second key", &heading, true);
        desk.key(KeyCode::F(other));
        shown(&mut desk, "closed by it", &heading, false);
        desk.press_alt(key);
        let beside = shown(&mut desk, "opened", &heading, true);
        let home = {
            desk.key(KeyCode::Home);
            shown(&mut desk, "the first row", " top ─", true)
        };
        desk.key(KeyCode::PageDown).key(KeyCode::PageDown).key(KeyCode::PageDown);
        let scrolled = shown(&mut desk, "scrolled", " top ─", false);
        desk.key(KeyCode::End);
        let end = shown(&mut desk, "the end", " 100 % ─", title != "graph");
        assert!(home != scrolled && home != end, "{title}");
        desk.key(KeyCode::Home).press_control('f').type_text(word).key(KeyCode::Enter);
        let found = shown(&mut desk, "found", word, true);
        assert!(!found.contains("not found"), "{title}: {found}");
        desk.key(KeyCode::Esc).press_control('f').type_text("/nowhere").key(KeyCode::Enter);
        shown(&mut desk, "not found", "/nowhere not found", true);
        desk.key(KeyCode::Esc).take_commands();
        for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
            desk.press_key(KeyCode::Char('y'), modifiers);
            let copied = desk.take_commands();
            assert!(
                matches!(&copied[..], [UiCommand::Copy(text)] if !text.trim().is_empty()),
                "{title} {modifiers:?}: {copied:?}"
            );
        }
        desk.key(KeyCode::F(10));
        let zoomed = shown(&mut desk, "over everything", &heading, true);
        assert!(alone(&zoomed) && !alone(&beside), "{title}\n{zoomed}");
        desk.key(KeyCode::F(10));
        assert!(!alone(&shown(&mut desk, "beside again", &heading, true)), "{title}");
        desk.type_text("hello");
        assert_eq!(desk.model.composer.text(), "hello", "{title}: who goes on typing means the input box");
        desk.press_alt(key).press_alt(key);
        shown(&mut desk, "closed", &heading, false);
    };
    let rows = [
        ('2', 3, "graph", "state_117"),
        ('3', 4, "agents", "agent_23"),
        ('4', 5, "data", "key_99"),
        ('5', 7, "tools", "src/101/2.rs"),
        ('6', 8, "timeline", "state_055"),
        ('7', 9, "costs", "agent_23"),
    ];
    rows.into_iter().for_each(check);
}

#[test]
fn what_is_new_stays_in_view_until_somebody_scrolls() {
    let mut desk = TuiHarness::new();
    desk.show_long_run();
    desk.press_alt('2');
    assert!(desk.draw_screen(80, 24).contains("▶● state_150"), "the graph follows the run");
    desk.run_event("r1", transition("state_150", "state_151")).run_event("r1", state_entered("state_151"));
    assert!(desk.draw_screen(80, 24).contains("▶● state_151"));
    desk.key(KeyCode::PageUp)
        .run_event("r1", transition("state_151", "state_152"))
        .run_event("r1", state_entered("state_152"));
    desk.key(KeyCode::PageUp).key(KeyCode::PageUp);
    assert!(!desk.draw_screen(80, 24).contains("▶"), "it stays where it was scrolled to");
    desk.key(KeyCode::End);
    assert!(desk.draw_screen(80, 24).contains("▶● state_152"), "End follows again");
    desk.press_alt('6');
    assert!(desk.draw_screen(80, 24).contains("state_152"), "the newest row is in view");
    desk.key(KeyCode::Home);
    assert!(desk.draw_screen(80, 24).contains("workflow coder_reviewer started"));
}

#[test]
fn rows_are_copied_without_the_screens_line_breaks() {
    let check = |pressed: &str, expected: &str| {
        let mut desk = TuiHarness::new();
        desk.show_working_run().send_message(UiMessage::Resize(80, 24));
        desk.draw_screen(80, 24);
        for key in pressed.split(' ') {
            keys(&mut desk, key);
            desk.draw_screen(80, 24);
        }
        let copied = desk.take_commands().into_iter().find_map(|cmd| match cmd {
            UiCommand::Copy(text) => Some(text),
            _ => None,
        });
        let copied = copied.unwrap_or_else(|| panic!("{pressed}: nothing was copied"));
        assert!(copied.contains(expected), "{pressed}: {copied}");
        assert!(!copied.contains('\x1b'), "{pressed}: {copied}");
    };
    check("Alt+4 Down Down Down Ctrl+y", "\"parts\"");
    check("Alt+4 Alt+y", "rounds: 2");
    check("Alt+4 Ctrl+y", "2");
    check("Alt+5 Home Ctrl+y", "coder read_files file_paths");
    check("Alt+5 Home Enter Down Down Ctrl+y", "src/main.rs");
    check("Alt+6 Home Ctrl+y", "workflow coder_reviewer started");
    check(
        "Alt+6 Home Ctrl+Space Down Down Ctrl+y",
        "started\n  0:00.0 files    snapshot ab12cd34, 312 files: 1 not covered, vendor/sub (a \
         repository of its own)\n  0:00.0 state    start",
    );
    check("Alt+6 Home Down Ctrl+Space Up Ctrl+y", "started\n  0:00.0 files");
    check("Alt+6 Home Ctrl+Space Down Esc Ctrl+y", "  0:00.0 files");
    check("Alt+2 Alt+y", "▶● code");
    check("Tab Ctrl+y", "I begin with the parser.");
    check("Tab Alt+y", "I begin with the parser.");
}

#[test]
fn panes_show_the_run_that_was_chosen() {
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", run_finished(RunStatus::Completed, None, None));
    desk.run_event("r2", workflow_started("second", "more")).run_event("r2", state_entered("begin"));
    desk.press_alt('6');
    assert!(desk.draw_screen(80, 24).contains("timeline · second"));
    desk.press_alt('p');
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("timeline · coder_reviewer") && screen.contains("1 of 2"), "{screen}");
    desk.press_alt('n');
    assert!(desk.draw_screen(80, 24).contains("timeline · second"));
    desk.key(KeyCode::Esc).line("/watch r1").press_alt('6');
    assert!(desk.draw_screen(80, 24).contains("timeline · coder_reviewer"));
    desk.key(KeyCode::Esc).line("/watch");
    let screen = desk.draw_screen(80, 24);
    assert!(
        screen.contains("▸ r1 coder_reviewer · over") && screen.contains("r2 second · begin"),
        "{screen}"
    );
    desk.line("/watch zz");
    assert!(desk.draw_screen(80, 24).contains("no run of this session matches zz"));
    desk.run_event("r2", run_finished(RunStatus::Completed, None, None))
        .run_event("r3", workflow_started("third", "x"));
    desk.press_alt('6');
    assert!(desk.draw_screen(80, 24).contains("timeline · third"), "a new run is shown");
}

#[test]
fn questions_of_every_run_are_counted_and_answered_over_any_pane() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().press_alt('5');
    desk.run_event("r1", approval_event(20, "execute_terminal", command_preview("ls")));
    desk.run_event("r1", approval_event(21, "execute_terminal", command_preview("cat")));
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("2 questions") && screen.contains("┃ ls"), "{screen}");
    assert!(screen.contains("tools · coder_reviewer · 2 ask you"), "{screen}");
    desk.take_commands();
    desk.advance_clock(1_000).answer('y');
    assert_eq!(desk.take_commands(), [decision_command("r1", 20, ApprovalDecision::Allow)]);
    desk.press_alt('2');
    assert!(desk.draw_screen(200, 50).contains("─ graph"), "panes change behind a question");
}

#[test]
fn the_definition_is_asked_for_once_and_only_when_it_is_wanted() {
    let mut desk = TuiHarness::new();
    desk.workflow();
    assert!(
        !desk.take_commands().contains(&UiCommand::Display(DisplayRequest::Definition(RunId::from("r1"))))
    );
    desk.press_alt('2');
    assert_eq!(desk.take_commands(), [UiCommand::Display(DisplayRequest::Definition(RunId::from("r1")))]);
    assert!(desk.draw_screen(80, 24).contains("the workflow is being read"));
    desk.run_event("r1", state_entered("review")).press_alt('4').press_alt('2');
    assert_eq!(desk.take_commands(), []);
    let found = Err("run r1 has no definition".to_owned());
    desk.send_message(UiMessage::Displayed(DisplayResponse::Definition {
        run: RunId::from("r1"),
        definition: found,
    }));
    assert!(desk.draw_screen(80, 24).contains("run r1 has no definition"));
}

#[test]
fn the_border_of_a_pane_names_its_keys() {
    let check = |digit: char, focused: &[&str], other: &str| {
        let mut desk = TuiHarness::new();
        desk.show_working_run().press_alt(digit);
        let border = |desk: &mut TuiHarness, edge: &str| {
            let screen = desk.draw_screen(120, 36);
            let row = screen.lines().rfind(|row| row.contains(edge)).unwrap_or_else(|| panic!("{screen}"));
            row.split(edge).nth(1).unwrap().to_owned()
        };
        let keys = border(&mut desk, "┃ ─ ");
        assert!(focused.iter().all(|part| keys.contains(part)), "{digit}: {keys}");
        desk.press_control('f').type_text("code").key(KeyCode::Enter);
        assert!(border(&mut desk, "┃ ─ ").contains("Ctrl+N next · Ctrl+P before · Esc ends"), "{digit}");
        desk.key(KeyCode::Esc).key(KeyCode::Esc);
        assert!(border(&mut desk, "│ ─ ").starts_with(other), "{digit}");
        // too low a pane has no room for it
        desk.press_alt(digit);
        assert!(!desk.draw_screen(120, 10).contains("┃ ─ "), "{digit}");
    };
    let found = ["Ctrl+F finds", "Ctrl+Y copies"];
    check('3', &found, "Alt+3 finds, copies");
    check('4', &["Enter opens", "Ctrl+F finds"], "Alt+4 opens values");
    check('5', &["Enter opens", "Ctrl+F finds"], "Alt+5 opens calls");
    check('6', &["Enter opens", "next bar"], "Alt+6 opens calls");
    check('7', &found, "Alt+7 finds, copies");
}

#[test]
fn other_keys_are_used_everywhere() {
    let file = SourceFile::new(
        ConfigLayer::User,
        "user:keyboard.json",
        "{\"graph\": [\"Alt+G\"], \"copy\": [\"Alt+C\", \"c\"]}",
    );
    let (keymap, found) = keymap::read_keyboard_file(&file);
    assert!(found.is_empty(), "{found:?}");
    let mut desk = TuiHarness::new();
    desk.show_working_run();
    desk.model.keymap = keymap;
    desk.press_alt('2');
    assert_eq!(desk.model.panes.focus, None);
    desk.press_alt('g').take_commands();
    assert!(desk.draw_screen(80, 24).contains("Alt+C copies"), "hints know it");
    desk.press_alt('c');
    assert!(matches!(desk.take_commands().as_slice(), [UiCommand::Copy(_)]));
    desk.key(KeyCode::Esc).line("/keys");
    desk.key(KeyCode::Home);
    let all = desk.model.transcript.text();
    assert!(all.contains("Alt+G") && all.contains("user:keyboard.json"), "{all}");
}

#[test]
fn themes_are_named() {
    let mut desk = TuiHarness::new();
    desk.line("/theme");
    assert!(
        desk.draw_screen(80, 24)
            .contains("dark is used; there are auto, dark, light, dark16, light16, high-contrast,")
    );
    desk.line("/theme light");
    assert_eq!(desk.take_commands(), [UiCommand::Display(DisplayRequest::Theme("light".into()))]);
    let light = ColorTheme::find_theme("light", &Default::default()).unwrap();
    desk.send_message(UiMessage::Displayed(DisplayResponse::Theme(Ok(light))));
    assert_eq!(desk.model.theme, light);
    desk.send_message(UiMessage::Displayed(DisplayResponse::Theme(Err("there is no theme pink".into()))));
    assert!(desk.draw_screen(80, 24).contains("there is no theme pink"));
    assert_eq!(desk.model.theme, light);
}

#[test]
fn no_size_and_no_key_breaks_a_pane() {
    let pressed = "Home Down Enter / a Enter n N End Up PgUp Enter y Y Esc Tab BackTab";
    let plays: [fn(&mut TuiHarness) -> &mut TuiHarness; 5] = [
        |desk| desk,
        TuiHarness::show_working_run,
        TuiHarness::show_failing_run,
        TuiHarness::show_unicode_run,
        TuiHarness::show_long_run,
    ];
    for play in plays {
        let mut desk = TuiHarness::new();
        play(&mut desk);
        for (width, height) in [(20, 5), (1, 1), (100, 6), (300, 80)] {
            for (key, pane) in PANES {
                desk.press_alt(key);
                for pressed in pressed.split(' ') {
                    keys(&mut desk, pressed);
                    let screen = desk.draw_screen(width, height);
                    assert!(!screen.contains('\x1b'), "{width}×{height} {pane} {pressed}");
                    assert!(!screen.contains('\u{202e}'), "{width}×{height} {pane} {pressed}");
                }
            }
        }
    }
}

#[test]
fn memory_of_a_run_has_an_end() {
    let mut desk = TuiHarness::new();
    desk.run_event("r1", budget());
    for at in 0..600_u64 {
        desk.run_event("r1", tool(at, "read_files", json!({"text": "x".repeat(9_000)})));
        desk.run_event("r1", tool_done(at, "read_files", true, &"y".repeat(20_000)));
    }
    desk.press_alt('5').key(KeyCode::Home);
    let screen = desk.draw_screen(80, 24);
    assert!(screen.contains("… 100 earlier"), "{screen}");
    let watch = &desk.model.find_run(&RunId::from("r1")).unwrap().pane_data;
    let bytes: usize = watch.calls.iter().map(|call| call.arguments.len() + call.content.len()).sum();
    assert!(bytes < 500 * 9_000, "{bytes}");
    for at in 0..120_000_u64 {
        let waits = RunEvent::Waiting { state: format!("s{}", at % 7), until: Timestamp(0) };
        desk.run_event("r1", waits);
    }
    desk.press_alt('6').key(KeyCode::Home);
    assert!(desk.draw_screen(80, 24).contains("earlier"));
    assert!(desk.model.find_run(&RunId::from("r1")).unwrap().pane_data.timeline.len() <= 100_000);
}

#[test]
fn an_answer_is_written_whatever_pane_has_the_keys() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().press_alt('6');
    desk.run_event(
        "r1",
        user_question(
            30,
            UserQuestion::Pause {
                state: "ask".into(),
                kind: PauseKind::Text,
                message: "Which name?".into(),
                choices: vec![],
                schema: None,
                required_outputs: vec![],
                default: None,
                until: None,
                problem: None,
            },
        ),
    );
    desk.draw_screen(80, 24);
    desk.advance_clock(1_000).type_text("jenny/y").take_commands();
    assert_eq!(desk.model.composer.text(), "jenny/y");
    desk.key(KeyCode::Enter);
    let value = json!("jenny/y");
    let answer = RunCommand::Answer { call: CallId(30), answer: UserAnswer::Value { value } };
    assert_eq!(desk.take_commands(), [UiCommand::Send(RunId::from("r1"), answer)]);
}

#[test]
fn another_model_than_was_asked_for_is_told() {
    let check = |provider: &str, told: bool| {
        let mut desk = TuiHarness::new();
        desk.run_event("r1", budget()).run_event("r1", state_entered("code"));
        let mut call = model_called(5, "coder", ConversationSide::Assistant);
        if let RunEvent::ModelCalled { provider: by, model, .. } = &mut call {
            *by = provider.into();
            *model = "large-model".into();
        }
        desk.run_event("r1", call)
            .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, "hi", ""))
            .press_alt('3');
        let screen = desk.draw_screen(80, 24);
        assert_eq!(screen.contains("! large-model was asked for"), told, "{provider}\n{screen}");
    };
    check("openai", true);
    check("scripted", false);
}

#[test]
fn with_reduced_motion_nothing_moves_by_itself() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().advance_clock(2_000).run_event("r1", delta_event(10, DeltaKind::Text, "More. "));
    assert!(desk.model.needs_ticks() && desk.draw_screen(80, 24).contains("coder writes 2 s"));
    desk.model.reduced_motion = true;
    let screen = desk.draw_screen(80, 24);
    assert!(!desk.model.needs_ticks() && screen.contains("coder writes") && !screen.contains("writes 2 s"));
}
