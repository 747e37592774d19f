//! What the box held before each change. A word that is typed is one change.
//!
//! A key that changes one line keeps that line only: a storm of them costs what was typed, not its square.

/// Line and column, in characters.
pub type DraftCursor = (usize, usize);

/// What brings back what was there, and the cursor with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UndoRecord {
    Whole(String, DraftCursor),
    Lines(ReplacedLines, DraftCursor),
}

/// What stood in the place of some lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplacedLines {
    pub from: usize,
    /// In the place of so many.
    pub over: usize,
    pub before: Vec<String>,
}

/// As many are kept, and as many bytes.
const MOST: usize = 200;
const MOST_BYTES: usize = 2 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DraftChangeKind {
    /// One letter after the other: one change, until something else happens.
    Typed,
    #[default]
    Other,
}

#[derive(Clone, Debug, Default)]
pub struct UndoHistory {
    past: Vec<UndoRecord>,
    future: Vec<UndoRecord>,
    last: DraftChangeKind,
}

impl UndoHistory {
    /// What was there before a change: all of it.
    pub fn note(&mut self, before: String, cursor: DraftCursor, change: DraftChangeKind) {
        if self.goes_on(change) {
            if let Some(UndoRecord::Lines(lines, cursor)) = self.past.last() {
                let whole = lines.put_back(before.split('\n'));
                let held = UndoRecord::Whole(whole, *cursor);
                self.past.pop();
                self.past.push(held);
            }
            return;
        }
        self.push(UndoRecord::Whole(before, cursor));
    }

    /// A change of one line, which may have become several: `lines` are all of now.
    pub fn note_line(
        &mut self,
        change: DraftChangeKind,
        own: ReplacedLines,
        cursor: DraftCursor,
        lines: &[String],
    ) {
        if !self.goes_on(change) {
            return self.push(UndoRecord::Lines(own, cursor));
        }
        if let Some(UndoRecord::Lines(known, _)) = self.past.last_mut() {
            known.widen(own, lines);
        }
    }

    /// Whether a change belongs to the one before; it is the last one from now on.
    fn goes_on(&mut self, change: DraftChangeKind) -> bool {
        self.future.clear();
        let goes_on =
            change == DraftChangeKind::Typed && self.last == DraftChangeKind::Typed && !self.past.is_empty();
        self.last = change;
        goes_on
    }

    fn push(&mut self, held: UndoRecord) {
        self.past.push(held);
        while self.past.len() > MOST
            || self.past.len() > 1 && self.past.iter().map(UndoRecord::bytes).sum::<usize>() > MOST_BYTES
        {
            self.past.remove(0);
        }
    }

    /// What comes next is a change of its own.
    pub fn pause(&mut self) {
        self.last = DraftChangeKind::Other;
    }

    /// What comes next belongs to the change before.
    pub fn go_on(&mut self) {
        self.last = DraftChangeKind::Typed;
    }

    /// `now` gives what brings back what is there now.
    pub fn undo(&mut self, now: impl FnOnce(&UndoRecord) -> UndoRecord) -> Option<UndoRecord> {
        self.pause();
        let before = self.past.pop()?;
        self.future.push(now(&before));
        Some(before)
    }

    pub fn redo(&mut self, now: impl FnOnce(&UndoRecord) -> UndoRecord) -> Option<UndoRecord> {
        self.pause();
        let after = self.future.pop()?;
        self.past.push(now(&after));
        Some(after)
    }
}

impl UndoRecord {
    fn bytes(&self) -> usize {
        match self {
            Self::Whole(text, _) => text.len(),
            Self::Lines(lines, _) => lines.before.iter().map(|line| line.len() + size_of::<String>()).sum(),
        }
    }
}

impl ReplacedLines {
    /// The text as it was, from the lines of now.
    pub fn put_back<'a>(&'a self, lines: impl Iterator<Item = &'a str> + Clone) -> String {
        let behind = lines.clone().skip(self.from + self.over);
        let all = lines.take(self.from).chain(self.before.iter().map(String::as_str)).chain(behind);
        all.collect::<Vec<_>>().join("\n")
    }

    /// A later change of a line is taken in. What is between both did not change; `now` are all lines behind it.
    fn widen(&mut self, own: Self, now: &[String]) {
        let end = self.from + self.over;
        let more = own.over - own.before.len();
        let between = |from: usize, to: usize| now.get(from..to).unwrap_or_default().to_vec();
        if own.from >= end {
            self.before.extend(between(end, own.from));
            self.before.extend(own.before);
            self.over = own.from + own.over - self.from;
        } else if own.from < self.from {
            let mut before = own.before;
            before.extend(between(own.from + own.over, self.from + more));
            before.append(&mut self.before);
            self.before = before;
            self.over += more + self.from - own.from;
            self.from = own.from;
        } else {
            self.over += more;
        }
    }
}
