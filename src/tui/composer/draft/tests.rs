use std::cell::Cell;

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::{ComposerDraft, DraftChangeKind};

thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

/// Bytes or lines of the whole text that an operation has visited.
pub(super) fn note_amount(amount: usize) {
    LOOKED_AT.set(LOOKED_AT.get() + amount);
}

fn letter(draft: &mut ComposerDraft, letter: char) {
    draft.on_key(KeyEvent::from(KeyCode::Char(letter)), DraftChangeKind::Typed);
}

/// A terminal without bracketed paste sends a long text as keys: each may cost what its line is long, not more.
#[test]
fn a_storm_of_lines_does_not_look_at_those_before() {
    let mut draft = ComposerDraft::default();
    for _ in 0..1_000 {
        draft.insert_newline();
        letter(&mut draft, 'x');
    }
    assert_eq!(LOOKED_AT.get(), 0);
    assert_eq!(draft.text().len(), 2_000);
}

type DraftState = (String, (usize, usize));

fn current_state(draft: &ComposerDraft) -> DraftState {
    (draft.text(), draft.cursor())
}

/// Whole texts, as many as there were changes.
#[derive(Default)]
struct ReferenceUndo {
    undo_states: Vec<DraftState>,
    future: Vec<DraftState>,
    typing: bool,
}

impl ReferenceUndo {
    fn note(&mut self, before: DraftState, typed: bool) {
        self.future.clear();
        if !(typed && self.typing && !self.undo_states.is_empty()) {
            self.undo_states.push(before);
        }
        self.typing = typed;
    }

    /// Undoes, or does once more; whether there was anything.
    fn compare(&mut self, draft: &mut ComposerDraft, back: bool) -> bool {
        let before = current_state(draft);
        self.typing = false;
        let expected = if back { self.undo_states.pop() } else { self.future.pop() };
        assert_eq!(if back { draft.undo() } else { draft.redo() }, expected.is_some());
        let Some(expected) = expected else { return false };
        assert_eq!(current_state(draft), expected);
        if back {
            self.future.push(before)
        } else {
            self.undo_states.push(before)
        }
        true
    }
}

#[test]
fn changes_of_lines_are_undone_like_others() {
    let mut luck = 7_u64;
    let mut draw = |below: usize| {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(luck >> 33).unwrap() % below
    };
    let (mut undone, mut widened) = (0, 0);
    for _ in 0..300 {
        let (mut draft, mut whole) = (ComposerDraft::default(), ReferenceUndo::default());
        let mut joins = false;
        for _ in 0..60 {
            let before = current_state(&draft);
            let key = draw(12);
            match key {
                0..4 => letter(&mut draft, ['a', 'ö', ' ', '\u{301}'][draw(4)]),
                4 | 5 => draft.insert_newline(),
                6 => draft.insert_text("one\ntwo"),
                7 => draft.delete_before_cursor(),
                8 if draw(2) == 0 => {
                    joins = !joins;
                    draft.join_changes(joins);
                }
                8 => {
                    // as going by words does: what follows elsewhere is the same change
                    let length = draft.to_chars().len();
                    draft.move_to(draw(length + 1));
                    widened += 1;
                }
                9 => {
                    let length = draft.to_chars().len();
                    draft.mark_range(draw(length + 1), length);
                }
                back => undone += usize::from(whole.compare(&mut draft, back == 10)),
            }
            if key < 8 && draft.text() != before.0 {
                whole.note(before, joins || key < 4);
            }
        }
    }
    assert!(undone > 300 && widened > 300, "{undone} {widened}");
}

/// `text`: a line of it ends where the cursor is not.
#[test]
fn the_cursor_stays_at_the_end_of_the_text() {
    for text in ["", "fix it", "one\ntwo", "one\n"] {
        let mut draft = ComposerDraft::default();
        draft.set_text(text);
        let end = draft.cursor();
        draft.move_forward();
        assert_eq!(draft.cursor(), end, "{text:?}");
        assert!(draft.move_to(100));
        assert_eq!(draft.cursor(), end, "{text:?}");
    }
}
