//! What was changed in the text, so that it can be taken back: a word that is typed, or a burst of deletions, is one
//! change.

/// As many are kept, and as many bytes.
const MOST: usize = 2_000;
const MOST_BYTES: usize = 4 << 20;

/// Bytes from `at` on were `removed`, and `inserted` took their place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorTextChange {
    pub at: usize,
    pub removed: String,
    pub inserted: String,
    /// Where the cursor was before, as a byte of the text.
    pub cursor: usize,
}

#[derive(Clone, Debug, Default)]
pub struct EditorUndoHistory {
    done: Vec<EditorTextChange>,
    undone: Vec<EditorTextChange>,
}

impl EditorUndoHistory {
    /// What changed between two texts; nothing if they are the same. `is_typed`: it may join the change before.
    pub fn note_change(&mut self, before: &str, after: &str, cursor: usize, is_typed: bool) {
        let Some(change) = EditorTextChange::between(before, after, cursor) else { return };
        self.undone.clear();
        if is_typed && self.done.last_mut().is_some_and(|last| last.join(&change)) {
            return;
        }
        self.done.push(change);
        let bytes = |done: &[EditorTextChange]| done.iter().map(EditorTextChange::bytes).sum::<usize>();
        while self.done.len() > MOST || self.done.len() > 1 && bytes(&self.done) > MOST_BYTES {
            self.done.remove(0);
        }
    }

    /// The change to take back.
    pub fn undo(&mut self) -> Option<EditorTextChange> {
        let change = self.done.pop()?;
        self.undone.push(change.clone());
        Some(change)
    }

    /// The change to make again.
    pub fn redo(&mut self) -> Option<EditorTextChange> {
        let change = self.undone.pop()?;
        self.done.push(change.clone());
        Some(change)
    }
}

impl EditorTextChange {
    fn between(before: &str, after: &str, cursor: usize) -> Option<Self> {
        if before == after {
            return None;
        }
        let same = |(one, other): &(u8, u8)| one == other;
        let mut at = before.bytes().zip(after.bytes()).take_while(same).count();
        while !before.is_char_boundary(at) || !after.is_char_boundary(at) {
            at -= 1;
        }
        let (rest, new) = (&before[at..], &after[at..]);
        let mut end = rest.bytes().rev().zip(new.bytes().rev()).take_while(same).count();
        while !rest.is_char_boundary(rest.len() - end) || !new.is_char_boundary(new.len() - end) {
            end -= 1;
        }
        let (removed, inserted) = (rest[..rest.len() - end].to_owned(), new[..new.len() - end].to_owned());
        Some(Self { at, removed, inserted, cursor })
    }

    /// Takes in what goes on where this ended: letters of the same word, or more that is deleted. Whether it did.
    fn join(&mut self, next: &Self) -> bool {
        let new_word =
            self.inserted.ends_with(char::is_whitespace) && !next.inserted.starts_with(char::is_whitespace);
        if next.removed.is_empty() && next.at == self.at + self.inserted.len() && !self.inserted.is_empty() {
            let goes_on = !new_word && !next.inserted.contains('\n');
            if goes_on {
                self.inserted.push_str(&next.inserted);
            }
            return goes_on;
        }
        if !next.inserted.is_empty() || !self.inserted.is_empty() {
            return false;
        }
        if next.at + next.removed.len() == self.at {
            self.at = next.at;
            self.removed.insert_str(0, &next.removed);
            return true;
        }
        // the Delete key: what follows comes nearer
        let goes_on = next.at == self.at;
        if goes_on {
            self.removed.push_str(&next.removed);
        }
        goes_on
    }

    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len() + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is undone one after the other, as `-removed+inserted` and their place.
    fn undone(steps: &[&str], is_typed: bool) -> Vec<String> {
        let mut history = EditorUndoHistory::default();
        for two in steps.windows(2) {
            history.note_change(two[0], two[1], 0, is_typed);
        }
        let text = |change: EditorTextChange| format!("{}-{}+{}", change.at, change.removed, change.inserted);
        std::iter::from_fn(|| history.undo().map(text)).collect()
    }

    #[test]
    fn words_and_bursts_are_one_change() {
        let check =
            |steps: &[&str], expected: &[&str]| assert_eq!(undone(steps, true), expected, "{steps:?}");
        check(&["", "a", "ab", "abc"], &["0-+abc"]);
        check(&["", "a", "ab", "ab ", "ab c", "ab cd"], &["3-+cd", "0-+ab "]);
        check(&["abc", "ab", "a", ""], &["0-abc+"]);
        check(&["abc", "bc", "c"], &["0-ab+"]);
        check(&["", "é", "éü", "é"], &["2-ü+", "0-+éü"]);
        // another place
        check(&["xy", "axy", "axyb"], &["3-+b", "0-+a"]);
        check(&["a", "a\n", "a\nb"], &["2-+b", "1-+\n"]);
        check(&["a", "a"], &[]);
        assert_eq!(undone(&["", "a", "ab"], false), ["1-+b", "0-+a"], "what is not typed stays apart");
    }

    #[test]
    fn what_was_undone_comes_back_until_something_else_changes() {
        let mut history = EditorUndoHistory::default();
        history.note_change("", "one", 0, false);
        history.note_change("one", "one two", 3, false);
        assert!(history.undo().is_some() && history.redo().is_some() && history.redo().is_none());
        history.undo();
        history.note_change("one", "one more", 3, false);
        assert!(history.redo().is_none());
    }
}
