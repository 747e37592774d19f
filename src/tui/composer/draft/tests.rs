use std::cell::Cell;

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui_textarea::CursorMove;

use super::{Change, Draft};

thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

/// Bytes or lines of the whole text that somebody went through.
pub(super) fn looked_at(amount: usize) {
    LOOKED_AT.set(LOOKED_AT.get() + amount);
}

fn letter(draft: &mut Draft, letter: char) {
    draft.key(KeyEvent::from(KeyCode::Char(letter)), Change::Typed);
}

/// A terminal without bracketed paste sends a long text as keys: each may cost what its line is long, not more.
#[test]
fn a_storm_of_lines_does_not_look_at_those_before() {
    let mut draft = Draft::default();
    for _ in 0..1_000 {
        draft.newline();
        letter(&mut draft, 'x');
    }
    assert_eq!(LOOKED_AT.get(), 0);
    assert_eq!(draft.text().len(), 2_000);
}

/// Compared with a list of whole texts.
#[test]
fn changes_of_lines_are_undone_like_others() {
    let mut luck = 7_u64;
    let mut draw = |below: u64| {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (luck >> 33) % below
    };
    let now = |draft: &Draft| (draft.text(), draft.cursor());
    let (mut undone, mut widened) = (0, 0);
    for _ in 0..300 {
        let mut draft = Draft::default();
        let (mut past, mut future, mut typing) = (Vec::new(), Vec::new(), false);
        for _ in 0..60 {
            let before = now(&draft);
            let mut typed = false;
            match draw(12) {
                0..4 => {
                    letter(&mut draft, ['a', 'ö', ' ', '\u{301}'][usize::try_from(draw(4)).unwrap()]);
                    typed = true;
                }
                4 | 5 => draft.newline(),
                6 => draft.insert("one\ntwo"),
                7 => draft.delete_back(),
                8 => {
                    // as vi does: what follows elsewhere is the same change
                    draft.to([CursorMove::Up, CursorMove::Down, CursorMove::Head]
                        [usize::try_from(draw(3)).unwrap()]);
                    draft.go_on();
                    (typing, widened) = (true, widened + 1);
                    continue;
                }
                9 => {
                    let length = draft.chars().len();
                    let from = usize::try_from(draw(length as u64 + 1)).unwrap();
                    draft.mark(from, length);
                    continue;
                }
                10 => {
                    let expected = past.pop();
                    assert_eq!(draft.undo(), expected.is_some());
                    if let Some(expected) = expected {
                        assert_eq!(now(&draft), expected);
                        (future, undone) = (
                            {
                                future.push(before);
                                future
                            },
                            undone + 1,
                        );
                    }
                    typing = false;
                    continue;
                }
                _ => {
                    let expected = future.pop();
                    assert_eq!(draft.redo(), expected.is_some());
                    if let Some(expected) = expected {
                        assert_eq!(now(&draft), expected);
                        past.push(before);
                    }
                    typing = false;
                    continue;
                }
            }
            if draft.text() == before.0 {
                continue;
            }
            future.clear();
            if !(typed && typing && !past.is_empty()) {
                past.push(before);
            }
            typing = typed;
        }
    }
    assert!(undone > 300 && widened > 300, "{undone} {widened}");
}
