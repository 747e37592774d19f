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

/// The text before some lines were replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplacedLines {
    pub first_line: usize,
    /// In the place of so many.
    pub line_count: usize,
    pub lines_before: Vec<String>,
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
    undo_records: Vec<UndoRecord>,
    future: Vec<UndoRecord>,
    last_change: DraftChangeKind,
    /// Every change joins the one before, as in vi's insert mode.
    joins_changes: bool,
}

impl UndoHistory {
    /// What was there before a change: all of it.
    pub fn note_change(&mut self, before: String, cursor: DraftCursor, change: DraftChangeKind) {
        if self.continues_last_change(change) {
            if let Some(UndoRecord::Lines(lines, cursor)) = self.undo_records.last() {
                let whole = lines.restore_text(before.split('\n'));
                let held = UndoRecord::Whole(whole, *cursor);
                self.undo_records.pop();
                self.undo_records.push(held);
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
        if !self.continues_last_change(change) {
            return self.push(UndoRecord::Lines(own, cursor));
        }
        if let Some(UndoRecord::Lines(known, _)) = self.undo_records.last_mut() {
            known.widen_to(own, lines);
        }
    }

    /// Whether a change belongs to the one before; it is the last one from now on.
    fn continues_last_change(&mut self, change: DraftChangeKind) -> bool {
        self.future.clear();
        let change = if self.joins_changes { DraftChangeKind::Typed } else { change };
        let goes_on = change == DraftChangeKind::Typed
            && self.last_change == DraftChangeKind::Typed
            && !self.undo_records.is_empty();
        self.last_change = change;
        goes_on
    }

    fn push(&mut self, held: UndoRecord) {
        self.undo_records.push(held);
        while self.undo_records.len() > MOST
            || self.undo_records.len() > 1
                && self.undo_records.iter().map(UndoRecord::bytes).sum::<usize>() > MOST_BYTES
        {
            self.undo_records.remove(0);
        }
    }

    /// What comes next is a change of its own.
    pub fn end_undo_group(&mut self) {
        self.last_change = DraftChangeKind::Other;
    }

    pub fn join_changes(&mut self, on: bool) {
        self.joins_changes = on;
    }

    /// Drops all records.
    pub fn forget_all(&mut self) {
        *self = Self { joins_changes: self.joins_changes, ..Self::default() };
    }

    /// `now` gives what brings back what is there now.
    pub fn undo(&mut self, now: impl FnOnce(&UndoRecord) -> UndoRecord) -> Option<UndoRecord> {
        self.end_undo_group();
        let before = self.undo_records.pop()?;
        self.future.push(now(&before));
        Some(before)
    }

    pub fn redo(&mut self, now: impl FnOnce(&UndoRecord) -> UndoRecord) -> Option<UndoRecord> {
        self.end_undo_group();
        let after = self.future.pop()?;
        self.undo_records.push(now(&after));
        Some(after)
    }
}

impl UndoRecord {
    fn bytes(&self) -> usize {
        match self {
            Self::Whole(text, _) => text.len(),
            Self::Lines(lines, _) => {
                lines.lines_before.iter().map(|line| line.len() + size_of::<String>()).sum()
            }
        }
    }
}

impl ReplacedLines {
    /// The text as it was, from the lines of now.
    pub fn restore_text<'a>(&'a self, lines: impl Iterator<Item = &'a str> + Clone) -> String {
        let behind = lines.clone().skip(self.first_line + self.line_count);
        let all =
            lines.take(self.first_line).chain(self.lines_before.iter().map(String::as_str)).chain(behind);
        all.collect::<Vec<_>>().join("\n")
    }

    /// A later change of a line is taken in. What is between both did not change; `now` are all lines behind it.
    fn widen_to(&mut self, own: Self, now: &[String]) {
        let end = self.first_line + self.line_count;
        let more = own.line_count - own.lines_before.len();
        let between = |from: usize, to: usize| now.get(from..to).unwrap_or_default().to_vec();
        if own.first_line >= end {
            self.lines_before.extend(between(end, own.first_line));
            self.lines_before.extend(own.lines_before);
            self.line_count = own.first_line + own.line_count - self.first_line;
        } else if own.first_line < self.first_line {
            let mut before = own.lines_before;
            before.extend(between(own.first_line + own.line_count, self.first_line + more));
            before.append(&mut self.lines_before);
            self.lines_before = before;
            self.line_count += more + self.first_line - own.first_line;
            self.first_line = own.first_line;
        } else {
            self.line_count += more;
        }
    }
}
