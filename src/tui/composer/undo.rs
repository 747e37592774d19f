//! What the box held before each change. A word that is typed is one change.

/// The text, and the place in it, in characters.
pub type Held = (String, usize);

/// As many are kept, and as many bytes.
const MOST: usize = 200;
const MOST_BYTES: usize = 2 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Change {
    /// One letter after the other: one change, until something else happens.
    Typed,
    #[default]
    Other,
}

#[derive(Clone, Debug, Default)]
pub struct Undo {
    past: Vec<Held>,
    future: Vec<Held>,
    last: Change,
}

impl Undo {
    /// What was there before a change.
    pub fn note(&mut self, before: Held, change: Change) {
        self.future.clear();
        let goes_on = change == Change::Typed && self.last == Change::Typed && !self.past.is_empty();
        self.last = change;
        if goes_on {
            return;
        }
        self.past.push(before);
        while self.past.len() > MOST
            || self.past.len() > 1 && self.past.iter().map(|held| held.0.len()).sum::<usize>() > MOST_BYTES
        {
            self.past.remove(0);
        }
    }

    /// What comes next is a change of its own.
    pub fn pause(&mut self) {
        self.last = Change::Other;
    }

    /// What comes next belongs to the change before.
    pub fn go_on(&mut self) {
        self.last = Change::Typed;
    }

    pub fn undo(&mut self, now: Held) -> Option<Held> {
        self.pause();
        let before = self.past.pop()?;
        self.future.push(now);
        Some(before)
    }

    pub fn redo(&mut self, now: Held) -> Option<Held> {
        self.pause();
        let after = self.future.pop()?;
        self.past.push(now);
        Some(after)
    }
}
