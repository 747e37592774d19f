//! The mouse: the wheel, clicks, and what is dragged over.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::style::Modifier;
use synthdev::tui::editor::EditorScreen;
use synthdev::tui::layout::PaneKind;

use super::*;

impl TuiHarness {
    fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Self {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.send_message(UiMessage::Mouse(event))
    }

    pub(super) fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row);
        self.mouse(MouseEventKind::Up(MouseButton::Left), column, row)
    }

    /// From one cell to another; what goes to the clipboard.
    pub(super) fn drag(&mut self, from: (u16, u16), to: (u16, u16)) -> Option<String> {
        self.take_commands();
        self.mouse(MouseEventKind::Down(MouseButton::Left), from.0, from.1);
        self.mouse(MouseEventKind::Drag(MouseButton::Left), to.0, to.1);
        self.mouse(MouseEventKind::Up(MouseButton::Left), to.0, to.1);
        self.take_commands().into_iter().find_map(|cmd| match cmd {
            UiCommand::Copy(text) => Some(text),
            _ => None,
        })
    }

    /// Column and row of a text on screen.
    pub(super) fn place(&mut self, text: &str, width: u16, height: u16) -> (u16, u16) {
        let screen = self.draw_screen(width, height);
        let row =
            screen.lines().position(|row| row.contains(text)).unwrap_or_else(|| panic!("{text}\n{screen}"));
        let before = screen.lines().nth(row).unwrap().split(text).next().unwrap().to_owned();
        let column = unicode_width::UnicodeWidthStr::width(before.as_str());
        (column.try_into().unwrap(), row.try_into().unwrap())
    }
}

#[test]
fn the_wheel_scrolls_what_is_below_it_and_a_click_focuses() {
    let mut desk = TuiHarness::new();
    desk.show_long_run().press_alt('6').key(KeyCode::Esc);
    let before = desk.draw_screen(120, 40);
    desk.mouse(MouseEventKind::ScrollUp, 10, 10);
    let scrolled = desk.draw_screen(120, 40);
    assert!(!desk.model.transcript.is_following() && scrolled != before, "the conversation");
    let top = desk.model.panes.state(PaneKind::Timeline).cursor;
    desk.mouse(MouseEventKind::ScrollUp, 100, 10);
    assert!(desk.model.panes.state(PaneKind::Timeline).cursor < top, "the timeline");
    desk.click(100, 10);
    assert_eq!(desk.model.panes.focus, Some(PaneKind::Timeline));
    // the rows stay where they are
    let row = |desk: &mut TuiHarness| {
        desk.draw_screen(120, 40).lines().nth(12).unwrap().chars().take(60).collect::<String>()
    };
    let before = row(&mut desk);
    desk.click(10, 10);
    assert_eq!((desk.model.panes.focus, row(&mut desk)), (Some(PaneKind::Conversation), before));
    desk.click(10, 38);
    assert_eq!(desk.model.panes.focus, None, "the input line");
    desk.mouse(MouseEventKind::ScrollDown, 10, 38);
    assert!(desk.take_commands().is_empty());
}

#[test]
fn it_is_on_until_it_is_turned_off() {
    let mut desk = TuiHarness::new();
    desk.show_long_run().press_alt('6').key(KeyCode::Esc).draw_screen(120, 40);
    desk.line("/mouse off");
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::Mouse(false)));
    assert_eq!((desk.click(100, 10).model.panes.focus, desk.drag((2, 2), (9, 3))), (None, None));
    desk.line("/mouse");
    assert_eq!(desk.take_commands().pop(), Some(UiCommand::Mouse(true)));
    let screen = desk.draw_screen(120, 40);
    assert!(screen.contains("the mouse scrolls, chooses panes and copies"), "{screen}");
    assert!(screen.contains("with Shift the terminal selects"), "{screen}");
}

#[test]
fn what_is_dragged_over_is_copied() {
    let mut desk = TuiHarness::new();
    desk.start_chat().run_event("c1", model_called(2, "coder", ConversationSide::Assistant));
    let reply = "First line\n\n```\nfn main() {\n    日本(1);\n}\n```\n\nLast line";
    desk.run_event("c1", model_replied(2, "coder", ConversationSide::Assistant, reply, ""));
    let (x, y) = desk.place("First line", 80, 24);
    assert_eq!(desk.drag((x, y), (x + 4, y)).as_deref(), Some("First"));
    assert!(desk.draw_screen(80, 24).contains("copied 1 line"), "{}", desk.draw_screen(80, 24));
    // a part of the code, backwards; what indents all of it stays behind
    let (from, to) = (desk.place("fn main", 80, 24), desk.place("日本", 80, 24));
    let copied = desk.drag((79, to.1), (0, from.1)).unwrap();
    assert_eq!(copied.lines().map(str::trim_end).collect::<Vec<_>>(), ["fn main() {", "    日本(1);"]);
    // while the button is down it is seen, and a key ends it
    desk.mouse(MouseEventKind::Down(MouseButton::Left), x, y);
    desk.mouse(MouseEventKind::Drag(MouseButton::Left), x + 3, y);
    assert!(desk.draw_cells(80, 24)[(x, y)].modifier.contains(Modifier::REVERSED));
    desk.key(KeyCode::Esc);
    assert!(!desk.draw_cells(80, 24)[(x, y)].modifier.contains(Modifier::REVERSED));
    // a click copies nothing
    assert_eq!(desk.click(x, y).take_commands(), []);
    // where nothing is, that is said
    let mut desk = TuiHarness::new();
    desk.draw_screen(80, 24);
    assert_eq!(desk.drag((2, 10), (20, 11)), None);
    assert!(desk.draw_screen(80, 24).contains("there is nothing to copy"));
}

#[test]
fn a_selection_stays_in_its_pane() {
    let mut desk = TuiHarness::new();
    desk.show_working_run().press_alt('2').key(KeyCode::Esc);
    let (x, y) = desk.place("● start", 120, 36);
    let copied = desk.drag((x, y), (2, y + 2)).unwrap();
    assert!(copied.starts_with("● start") && copied.lines().count() == 3, "{copied}");
    // its last row ends in the first column of the pane
    assert!(copied.ends_with("\n╰") && !copied.contains("synthdev"), "{copied}");
    // a question is selected in, and not answered
    let mut desk = TuiHarness::new();
    desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")));
    let (x, y) = desk.settle_question().place("cargo test", 80, 24);
    assert_eq!(desk.drag((x, y), (x + 9, y)).as_deref(), Some("cargo test"));
    assert_eq!(desk.model.dialogs.len(), 1);
}

#[test]
fn what_lies_on_top_keeps_the_mouse_from_what_is_below() {
    let check = |mut desk: TuiHarness| {
        let top = desk.model.transcript.is_following();
        desk.draw_screen(120, 36);
        desk.click(10, 3).mouse(MouseEventKind::ScrollUp, 10, 3);
        assert_eq!((desk.model.panes.focus, desk.model.transcript.is_following()), (None, top));
        desk
    };
    check(super::setup::opened_setup("base"));
    let mut desk = check(super::archive::opened_browser(super::archive::many_rows(0, 60), false));
    let cursor = |desk: &TuiHarness| desk.model.history_browser.as_ref().unwrap().list.cursor;
    let before = cursor(&desk);
    desk.mouse(MouseEventKind::ScrollDown, 10, 10).mouse(MouseEventKind::ScrollDown, 10, 10);
    assert!(cursor(&desk) > before, "the wheel scrolls the list");
}

#[test]
fn the_mouse_moves_in_the_text_of_the_editor() {
    let text: String = (0..60).map(|at| format!("line {at}\n")).collect();
    let mut desk = super::editor::open_in_layer(ConfigLayer::Project, &text);
    let cursor = |desk: &TuiHarness| match &desk.model.edit {
        Some(EditorScreen::Text(editor)) => editor.buffer.cursor(),
        other => panic!("{other:?}"),
    };
    let (x, y) = desk.place("line 3", 80, 24);
    desk.click(x + 2, y);
    assert_eq!(cursor(&desk), (3, 2), "a click");
    desk.mouse(MouseEventKind::ScrollDown, x, y);
    assert!(cursor(&desk).0 > 3, "the wheel");
}
