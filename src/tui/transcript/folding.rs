//! Opening and folding single items, the selected item, the text of items, and dropping rows that are off screen.

use std::ops::Range;

use super::item::TranscriptItem;
use super::{ItemLayoutOptions, TranscriptList, TranscriptScroll, estimate_bytes, layout};
use crate::text::format_thousands;

/// From one item to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SelectionStep {
    Next,
    Previous,
}

/// More items than this do not keep their rows.
const KEPT: usize = 256;
/// Items above and below the screen that do, at least.
const NEAR: usize = 32;

impl TranscriptList {
    /// Opens an item that is folded, folds one that is open; false: it has nothing to fold.
    pub fn toggle_fold(&mut self, at: usize) -> bool {
        let details = self.layout.details;
        let Some(entry) = self.entries.get_mut(at).filter(|entry| layout::is_foldable(&entry.item)) else {
            return false;
        };
        entry.unfolded = Some(!entry.unfolded.unwrap_or(details));
        true
    }

    /// Chooses the next item that is to be seen, or the one before; none is chosen at first: then the last
    /// on screen.
    pub fn select_item(&mut self, step: SelectionStep) {
        let shown = self.window.last().map(|(item, _)| *item);
        let mut at = match (self.selected, step) {
            (None, _) => shown,
            (Some(at), SelectionStep::Next) => Some(at + 1),
            (Some(at), SelectionStep::Previous) => at.checked_sub(1),
        };
        while let Some(item) = at.filter(|item| *item < self.entries.len()) {
            if self.height_of(item) > 0 {
                self.selected = Some(item);
                self.opened_mentions = 0;
                return self.scroll_to_item(item);
            }
            at = match step {
                SelectionStep::Next => Some(item + 1),
                SelectionStep::Previous => item.checked_sub(1),
            };
        }
    }

    /// The items that may be on screen, when it shows others than the last; one more counts above.
    pub fn reading_range(&self) -> Option<Range<usize>> {
        match self.scroll {
            TranscriptScroll::At { item, .. } => Some(item.saturating_sub(1)..item + self.height.max(1)),
            TranscriptScroll::Follow => None,
        }
    }

    /// Chooses nothing.
    pub fn clear_selection(&mut self) {
        self.selected = None;
    }

    /// Counts the files of the chosen item that were opened, from 0.
    pub fn take_mention_number(&mut self) -> usize {
        self.opened_mentions += 1;
        self.opened_mentions - 1
    }

    /// The chosen item.
    pub fn selected_index(&self) -> Option<usize> {
        self.selected
    }

    /// The rows of the screen that the chosen item takes, counted from the top, without the gap above it.
    pub fn selected_rows(&self) -> Option<Range<usize>> {
        let mut top = 0;
        for (item, rows) in &self.window {
            let end = top + rows.len();
            if Some(*item) == self.selected {
                let gap = usize::from(rows.start == 0 && self.entries[*item].gap_before);
                return Some((top + gap).min(end)..end);
            }
            top = end;
        }
        None
    }

    /// Items as plain text, without line breaks of the screen: for the clipboard.
    pub fn plain_text(&self, range: Range<usize>) -> String {
        let end = range.end.min(self.entries.len());
        let items = self.entries[range.start.min(end)..end].iter().map(|entry| entry.item.text());
        items.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Scrolls as little as shows an item, its first rows where it is larger than the screen.
    fn scroll_to_item(&mut self, item: usize) {
        let Some((first, rows)) = self.window.first().cloned() else { return };
        let gap = usize::from(self.entries[item].gap_before);
        if item < first || item == first && rows.start > gap {
            self.scroll = TranscriptScroll::At { item, row: gap };
            return;
        }
        // from the item up to the row where the screen would begin if the item were at its end
        let mut left = self.height;
        let mut at = item;
        loop {
            let height = self.height_of(at);
            if height >= left {
                break;
            }
            if at <= first {
                return;
            }
            left -= height;
            at -= 1;
        }
        let above = self.height_of(at) - left;
        let row = if at == item { gap.min(above) } else { above };
        if (at, row) > (first, rows.start) {
            self.scroll = TranscriptScroll::At { item: at, row };
        }
    }

    /// Another look; when the details of all are switched, none differs from the others any more.
    pub(super) fn adopt_layout(&mut self, look: ItemLayoutOptions) {
        if look.details != self.layout.details {
            self.entries.iter_mut().for_each(|entry| entry.unfolded = None);
        }
        self.layout = look;
    }

    /// Takes the rows of items that are far from the screen: they are made again when they come back.
    pub(super) fn release_distant_rows(&mut self) {
        if self.arranged.len() <= KEPT {
            return;
        }
        let first = self.window.first().map_or(0, |(item, _)| item.saturating_sub(NEAR));
        let last = self.window.last().map_or(0, |(item, _)| item + NEAR);
        self.arranged.sort_unstable();
        self.arranged.dedup();
        let entries = &mut self.entries;
        self.arranged.retain(|at| {
            let near = (first..=last).contains(at);
            if let Some(entry) = entries.get_mut(*at).filter(|_| !near) {
                (entry.rows, entry.row_layout, entry.tail) = (Vec::new(), None, None);
            }
            near
        });
    }

    /// Drops the first items when all of them are too large; returns how many. A line replaces them.
    pub fn trim_to_weight(&mut self, most: usize) -> usize {
        if self.weight <= most || self.len() < 2 {
            return 0;
        }
        let (mut first, mut left) = (0, self.weight);
        // a quarter more than is needed, so that it is seldom done
        while left > most - most / 4 && first + 2 < self.len() {
            left -= estimate_bytes(&self.entries[first].item).min(left);
            first += 1;
        }
        self.forget_first(first);
        self.forgotten_count += first;
        let gone = format_thousands(self.forgotten_count as u64 + 1);
        let line =
            format!("… {gone} earlier entries are not kept on the screen; synthdev runs show has them");
        self.edit_item(0, |item| *item = TranscriptItem::note_item(&line));
        first
    }

    /// Positions have changed.
    pub(super) fn recount_positions(&mut self) {
        self.weight = self.entries.iter().map(|entry| estimate_bytes(&entry.item)).sum();
        let laid = self.entries.iter().enumerate().filter(|(_, entry)| entry.row_layout.is_some());
        self.arranged = laid.map(|(at, _)| at).collect();
    }
}
