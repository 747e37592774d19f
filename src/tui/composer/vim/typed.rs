//! Finds the typed change between two versions of a text.

use unicode_segmentation::UnicodeSegmentation;

/// An insertion that deletes more graphemes is not repeated.
const MOST_DELETED: usize = 500;

/// A change around one place. Pure: knows no widget and no key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypedChange {
    /// Graphemes deleted before the place, and after it.
    pub(super) deleted_before: usize,
    pub(super) deleted_after: usize,
    pub(super) inserted: String,
}

impl TypedChange {
    /// `place` is where the cursor stood, in bytes.
    pub(super) fn between(before: &str, place: usize, after: &str) -> Self {
        let (head, tail) = before.split_at_checked(place).unwrap_or((before, ""));
        let kept_head: usize = head
            .chars()
            .zip(after.chars())
            .take_while(|(old, new)| old == new)
            .map(|(c, _)| c.len_utf8())
            .sum();
        let rest = &after[kept_head..];
        let kept_tail: usize = tail
            .chars()
            .rev()
            .zip(rest.chars().rev())
            .take_while(|(old, new)| old == new)
            .map(|(c, _)| c.len_utf8())
            .sum();
        Self {
            deleted_before: head[kept_head..].graphemes(true).count(),
            deleted_after: tail[..tail.len() - kept_tail].graphemes(true).count(),
            inserted: rest[..rest.len() - kept_tail].to_owned(),
        }
    }

    pub(super) fn is_repeatable(&self) -> bool {
        self.deleted_before + self.deleted_after <= MOST_DELETED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_found_between_two_texts() {
        // `|` is where the cursor stood
        let check = |before: &str, after: &str, deleted: (usize, usize), inserted: &str| {
            let place = before.find('|').unwrap();
            let change = TypedChange::between(&before.replace('|', ""), place, after);
            let found = (change.deleted_before, change.deleted_after);
            assert_eq!((found, change.inserted.as_str()), (deleted, inserted), "{before} {after}");
        };
        check("|", "one", (0, 0), "one");
        check("aa|aa", "aaaaa", (0, 0), "a");
        check("one| two", "one two", (0, 0), "");
        check("one| two", "o\nx two", (2, 0), "\nx");
        check("one| two", "onextwo", (0, 1), "x");
        check("é|ß", "èß", (1, 0), "è");
        check("one|", "other", (2, 0), "ther");
    }
}
