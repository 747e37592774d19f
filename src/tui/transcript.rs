//! The scrolling list: items, their rows cached per width, and which of them are on screen.
//!
//! Only items that are on screen are ever laid out, at any length and after any resize: a position is an item
//! and a row in it, never a row number of the whole. What was on screen long ago keeps its text only. Refuses: drawing.

use std::ops::Range;

use ratatui::text::Line;

pub mod diff;
pub mod file_mentions;
mod folding;
mod highlight;
pub mod item;
pub mod layout;
mod layout_options;
pub mod line_wrap;
pub mod markdown;
mod streaming;
pub mod tool_input;
mod transitions;

pub use folding::SelectionStep;
pub use streaming::open_reply;

use crate::text::ScrollPosition;
use item::{ToolStatus, TranscriptItem};
use layout::{ItemLayoutOptions, ReplyLayoutTail};

/// What is at the top of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TranscriptScroll {
    /// The newest row stays at the bottom.
    Follow,
    At {
        item: usize,
        row: usize,
    },
}

#[derive(Clone, Debug)]
struct TranscriptEntry {
    item: TranscriptItem,
    /// An empty row comes before it.
    gap_before: bool,
    rows: Vec<Line<'static>>,
    /// What `rows` were made with; `None`: they must be made again.
    row_layout: Option<ItemLayoutOptions>,
    tail: Option<Box<ReplyLayoutTail>>,
    /// Text was appended since the rows were made.
    has_grown: bool,
    /// Opened or folded by itself; `None`: as all are.
    unfolded: Option<bool>,
}

impl TranscriptEntry {
    /// Its rows do not reach its end.
    fn is_behind(&self) -> bool {
        self.tail.as_ref().is_some_and(|tail| tail.has_more())
    }
}

/// Bytes of an answer that are laid out for one frame: a flood leaves the keys their turn.
const AT_ONCE: usize = 256 << 10;

#[derive(Clone, Debug)]
pub struct TranscriptList {
    entries: Vec<TranscriptEntry>,
    scroll: TranscriptScroll,
    layout: ItemLayoutOptions,
    height: usize,
    /// Items that may have rows.
    arranged: Vec<usize>,
    /// About how many bytes the items take.
    weight: usize,
    /// How many were forgotten because they weighed too much.
    forgotten_count: usize,
    selected: Option<usize>,
    /// How many files of the selected item were opened.
    opened_mentions: usize,
    /// Items on screen with the rows of each.
    window: Vec<(usize, Range<usize>)>,
    /// What was looked for last was found here.
    found_item: Option<usize>,
    /// Comes before the next item, if there is one.
    announcement: Option<TranscriptItem>,
    /// How many items there ever were that are shown, details only while they are.
    shown_item_count: usize,
}

impl Default for TranscriptList {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            scroll: TranscriptScroll::Follow,
            layout: ItemLayoutOptions::default(),
            height: 0,
            arranged: Vec::new(),
            weight: 0,
            forgotten_count: 0,
            selected: None,
            opened_mentions: 0,
            window: Vec::new(),
            found_item: None,
            announcement: None,
            shown_item_count: 0,
        }
    }
}

impl TranscriptList {
    /// Appends an item and returns its position, which stays valid until `clear`.
    pub fn push(&mut self, item: TranscriptItem) -> usize {
        // a line about nothing that is shown would be in the way
        let seen = self.layout.details || !matches!(item, TranscriptItem::Detail(_));
        self.shown_item_count += usize::from(seen);
        if let Some(ahead) = self.announcement.take_if(|_| seen) {
            self.add_item(ahead);
        }
        self.add_item(item)
    }

    /// How many items were shown so far.
    pub fn shown_count(&self) -> usize {
        self.shown_item_count
    }

    /// A line that comes before the next item that is shown; `None`: none does.
    pub fn announce_before_next(&mut self, line: Option<TranscriptItem>) {
        self.announcement = line;
    }

    fn add_item(&mut self, item: TranscriptItem) -> usize {
        self.weight += estimate_bytes(&item);
        let before = self.entries.iter().rev().find(|entry| !entry.item.is_hidden());
        let is_step = |item: &TranscriptItem| matches!(item, TranscriptItem::Transition(_));
        // a step between two blocks is the gap between them
        let gap = !item.is_hidden()
            && !is_step(&item)
            && before
                .is_some_and(|before| !is_step(&before.item) && (before.item.is_block() || item.is_block()));
        self.entries.push(TranscriptEntry {
            item,
            gap_before: gap,
            rows: Vec::new(),
            row_layout: None,
            tail: None,
            has_grown: false,
            unfolded: None,
        });
        self.entries.len() - 1
    }

    pub fn clear_items(&mut self) {
        self.entries.clear();
        self.arranged.clear();
        (self.weight, self.forgotten_count) = (0, 0);
        self.selected = None;
        self.window.clear();
        self.found_item = None;
        self.scroll = TranscriptScroll::Follow;
    }

    /// Puts other items in the place of some, which end as these do. What is on screen stays there, counted from the
    /// end; the first of the old ones may be no more than a line about the others.
    pub fn replace_items(&mut self, range: Range<usize>, items: Vec<TranscriptItem>) {
        let seen = self.first_seen(range.start + 1..range.end);
        let behind = self.entries.split_off(range.end.min(self.entries.len()));
        self.entries.truncate(range.start);
        for item in items {
            self.push(item);
        }
        let end = self.entries.len();
        self.entries.extend(behind);
        self.recount_positions();
        self.selected = None;
        self.window.clear();
        self.found_item = None;
        let TranscriptScroll::At { item: top, row } = self.scroll else { return };
        let moved = |item: usize| match item.checked_sub(range.end) {
            Some(behind) => end + behind,
            None => end.saturating_sub(range.end - item).max(range.start),
        };
        if let Some((item, row, above)) = seen {
            self.scroll = TranscriptScroll::At { item: moved(item), row };
            self.scroll_up(above);
        } else if top >= range.start {
            self.scroll = TranscriptScroll::At { item: moved(top), row };
        }
    }

    /// The first of some items that is on screen, its first row there, and how many rows are above it.
    fn first_seen(&self, range: Range<usize>) -> Option<(usize, usize, usize)> {
        let at = self.window.iter().position(|(item, _)| range.contains(item))?;
        let (item, rows) = &self.window[at];
        let above = self.window[..at].iter().map(|(_, rows)| rows.len()).sum();
        Some((*item, rows.start, above))
    }

    /// Forgets the first items; positions of the others are so much less.
    pub fn forget_first(&mut self, first: usize) {
        self.entries.drain(..first);
        self.recount_positions();
        self.selected = self.selected.and_then(|at| at.checked_sub(first));
        self.window.clear();
        self.found_item = None;
        self.scroll = match self.scroll {
            TranscriptScroll::At { item, row } if item >= first => {
                TranscriptScroll::At { item: item - first, row }
            }
            TranscriptScroll::At { .. } => TranscriptScroll::At { item: 0, row: 0 },
            TranscriptScroll::Follow => TranscriptScroll::Follow,
        };
    }

    /// The last items, and how many come before them.
    pub fn into_last(mut self, most: usize) -> (usize, Vec<TranscriptItem>) {
        let before = self.entries.len().saturating_sub(most);
        (before, self.entries.drain(before..).map(|entry| entry.item).collect())
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many first items were forgotten because there were too many: positions were so much larger.
    pub fn forgotten_count(&self) -> usize {
        self.forgotten_count
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn get(&self, at: usize) -> Option<&TranscriptItem> {
        self.entries.get(at).map(|entry| &entry.item)
    }

    pub fn items(&self) -> impl DoubleEndedIterator<Item = &TranscriptItem> {
        self.entries.iter().map(|entry| &entry.item)
    }

    /// Changes an item; its rows are made again when it is on screen.
    pub fn edit_item(&mut self, at: usize, change: impl FnOnce(&mut TranscriptItem)) {
        if let Some(entry) = self.entries.get_mut(at) {
            self.weight -= estimate_bytes(&entry.item).min(self.weight);
            change(&mut entry.item);
            self.weight += estimate_bytes(&entry.item);
            entry.row_layout = None;
        }
    }

    /// Puts the next item that holds the words (in lower case) at the top; false: none does.
    pub fn find_text(&mut self, words: &str, down: bool) -> bool {
        let count = self.entries.len();
        let shown = self.window.first().map_or(count, |(item, _)| *item);
        // the first time, what is on screen counts
        let start = self.found_item.map(|at| if down { at + 1 } else { at + count - 1 }).unwrap_or(shown);
        let order =
            (0..count).map(|step| if down { (start + step) % count } else { (start + count - step) % count });
        self.found_item = order
            .filter(|at| *at < count)
            .find(|at| self.entries[*at].item.text().to_lowercase().contains(words));
        if let Some(item) = self.found_item {
            self.selected = Some(item);
            self.scroll = TranscriptScroll::At { item, row: 0 };
        }
        self.found_item.is_some()
    }

    /// What is meant by the message on screen: what was chosen or found, else the last one that is not only a line.
    pub fn chosen_item(&self) -> Option<&TranscriptItem> {
        let shown = || self.window.iter().rev().filter_map(|(at, _)| self.get(*at));
        let whole = shown().find(|item| matches!(item, TranscriptItem::Block(_) | TranscriptItem::Reply(_)));
        self.selected.or(self.found_item).and_then(|at| self.get(at)).or(whole).or_else(|| shown().next())
    }

    /// The whole text, without line breaks of the screen.
    pub fn text(&self) -> String {
        self.plain_text(0..self.len())
    }

    pub fn is_following(&self) -> bool {
        self.scroll == TranscriptScroll::Follow
    }

    pub fn follow_end(&mut self) {
        self.found_item = None;
        self.scroll = TranscriptScroll::Follow;
    }

    /// Scrolls an item to the top, unless everything from there on fits the screen. A user who has scrolled away stays
    /// there.
    pub fn read_from(&mut self, item: usize) {
        if self.is_following() {
            let gap = self.entries.get(item).is_some_and(|entry| entry.gap_before);
            self.scroll = TranscriptScroll::At { item, row: usize::from(gap) };
        }
    }

    pub fn to_start(&mut self) {
        self.scroll = TranscriptScroll::At { item: 0, row: 0 };
    }

    /// A screen height, for paging.
    pub fn page_rows(&self) -> usize {
        self.height.saturating_sub(2).max(1)
    }

    pub fn scroll_up(&mut self, rows: usize) {
        let Some((mut item, mut row)) = self.top() else { return };
        let mut left = rows;
        while left > row {
            if item == 0 {
                self.scroll = TranscriptScroll::At { item: 0, row: 0 };
                return;
            }
            left -= row;
            item -= 1;
            row = self.height_of(item);
        }
        self.scroll = TranscriptScroll::At { item, row: row - left };
    }

    pub fn scroll_down(&mut self, rows: usize) {
        if self.is_following() {
            return;
        }
        let Some((mut item, row)) = self.top() else { return };
        let mut target = row + rows;
        while item < self.entries.len() {
            let height = self.height_of(item);
            if target < height {
                self.scroll = TranscriptScroll::At { item, row: target };
                return;
            }
            target -= height;
            item += 1;
        }
        self.scroll = TranscriptScroll::Follow;
    }

    /// Whether a long answer is laid out piece by piece, and has not come to its end: another frame is wanted.
    pub fn is_behind(&self) -> bool {
        let behind =
            |(at, _): &(usize, Range<usize>)| self.entries.get(*at).is_some_and(TranscriptEntry::is_behind);
        self.is_following() && self.window.iter().any(behind)
    }

    /// Lays out what is on screen. Call before drawing.
    pub fn arrange_rows(&mut self, look: ItemLayoutOptions, height: usize) {
        self.adopt_layout(look);
        self.height = height;
        self.release_distant_rows();
        self.window.clear();
        if height == 0 {
            return;
        }
        if let TranscriptScroll::At { item, row } = self.scroll {
            if self.fill_down(item, row) {
                return;
            }
            // The end is above the bottom edge: from now on the newest stays in view.
            self.scroll = TranscriptScroll::Follow;
            self.window.clear();
        }
        self.fill_up();
    }

    /// The rows on screen, top to bottom; `None` is an empty one.
    pub fn visible_rows(&self) -> impl Iterator<Item = Option<&Line<'static>>> {
        self.window.iter().flat_map(|(at, range)| {
            let entry = &self.entries[*at];
            let gap = usize::from(entry.gap_before && !entry.rows.is_empty());
            range.clone().map(move |row| row.checked_sub(gap).and_then(|row| entry.rows.get(row)))
        })
    }

    /// As [`Self::visible_rows`], each with the position of its item.
    pub fn visible_item_rows(&self) -> impl Iterator<Item = (usize, Option<&Line<'static>>)> {
        let items = self.window.iter().flat_map(|(at, range)| range.clone().map(move |_| *at));
        items.zip(self.visible_rows())
    }

    /// How far down the top of the screen is; `None` while following. Each item counts the same, and so does each row
    /// of it.
    pub fn scroll_position(&self) -> Option<ScrollPosition> {
        let (item, row) = self.top().filter(|_| !self.is_following())?;
        let entry = self.entries.get(item)?;
        let rows = (entry.rows.len() + usize::from(entry.gap_before)).max(1);
        let percent = (item * rows + row.min(rows - 1)) * 100 / (self.entries.len() * rows);
        Some(ScrollPosition { percent, line_of_long: (rows > self.height).then_some((row + 1, rows)) })
    }

    fn top(&self) -> Option<(usize, usize)> {
        match self.scroll {
            TranscriptScroll::At { item, row } => Some((item, row)),
            TranscriptScroll::Follow => self.window.first().map(|(item, rows)| (*item, rows.start)),
        }
    }

    fn fill_down(&mut self, item: usize, row: usize) -> bool {
        let (mut item, mut row, mut left) = (item, row, self.height);
        while left > 0 && item < self.entries.len() {
            let height = self.height_of(item);
            let end = height.min(row + left);
            if row < end {
                self.window.push((item, row..end));
                left -= end - row;
            }
            row = 0;
            item += 1;
        }
        left == 0
    }

    fn fill_up(&mut self) {
        let mut left = self.height;
        let mut item = self.entries.len();
        while left > 0 && item > 0 {
            item -= 1;
            let height = self.height_of(item);
            let start = height.saturating_sub(left);
            if start < height {
                self.window.push((item, start..height));
                left -= height - start;
            }
        }
        self.window.reverse();
    }

    /// Rows of an item at the current look, its gap included; lays it out if needed.
    fn height_of(&mut self, at: usize) -> usize {
        let Some(entry) = self.entries.get_mut(at) else { return 0 };
        let details = entry.unfolded.unwrap_or(self.layout.details);
        // the clock makes rows again: only those of a tool that runs show it, once a second
        let clock = self.layout.clock.and_then(|now| running_second(&entry.item, now));
        let look = ItemLayoutOptions { details, clock, ..self.layout };
        if entry.row_layout.is_none() {
            self.arranged.push(at);
        }
        // a scroll position counts all rows; at the end only the last ones count, and keys are handled between the
        // pieces
        let most = if self.scroll == TranscriptScroll::Follow { AT_ONCE } else { usize::MAX };
        let mut known = entry.row_layout == Some(look);
        if known && (entry.has_grown || entry.is_behind()) {
            entry.tail = match (&entry.item, entry.tail.take()) {
                (TranscriptItem::Reply(reply), Some(tail)) => {
                    layout::extend_reply(reply, *tail, look, most, &mut entry.rows).map(Box::new)
                }
                _ => None,
            };
            known = entry.tail.is_some();
        }
        if !known {
            let (rows, tail) = layout::layout_item(&entry.item, look, most);
            (entry.rows, entry.tail) = (rows, tail.map(Box::new));
            entry.row_layout = Some(look);
        }
        entry.has_grown = false;
        if entry.rows.is_empty() { 0 } else { entry.rows.len() + usize::from(entry.gap_before) }
    }
}

/// The last whole second since a call that runs began.
fn running_second(item: &TranscriptItem, now: i64) -> Option<i64> {
    let TranscriptItem::Tool(tool) = item else { return None };
    let began = tool.started_at.filter(|_| tool.status == ToolStatus::Running)?.0;
    Some(now - (now - began).rem_euclid(1_000))
}

/// About how many bytes an item takes: its texts, its place in the list, and what their keeping costs.
fn estimate_bytes(item: &TranscriptItem) -> usize {
    item.bytes() + size_of::<TranscriptEntry>() + 96
}

#[cfg(test)]
mod tests;
