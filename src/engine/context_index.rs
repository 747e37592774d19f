//! How much of a context one agent sees, with sums up to every item: the part that fits into a prompt is found without
//! reading older items, so that a model call costs the same after a hundred thousand messages.
//!
//! Owns positions and sums; the prompt decides what an entry is to the agent, and how long it is then.

use serde::{Deserialize, Serialize};
use synthdev_domain::protocol::ModelProtocol;

/// The entries of a log and of this agent's private messages, in the order of its prompts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ContextIndex {
    /// Without the first `gone`.
    items: Vec<IndexedItem>,
    /// See [`ContextIndex::drop_hidden`].
    dropped_count: usize,
    /// Those of them that prompts always show, with their places.
    pinned_items: Vec<(usize, IndexedItem)>,
    end: PrefixSums,
    private_items: Vec<PrivateItem>,
    /// Places of the entries that are pinned by themselves.
    pinned_positions: Vec<usize>,
    /// Number of the conversation's private messages, of all agents, that were indexed.
    seen_private_count: usize,
    /// Items before this position are no longer shown, unless they are pinned.
    window_start: usize,
    /// See [`ContextIndex::set_min_start`].
    min_window_start: usize,
    /// Characters of a request outside of the conversation; computed on first use.
    overhead_chars: Option<usize>,
    /// The protocol that [`EntryMetrics::reasoning_chars`] was measured for.
    protocol: Option<ModelProtocol>,
}

/// One entry, as this agent sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryMetrics {
    /// Written by the agent itself.
    pub is_own: bool,
    /// Characters.
    pub length: usize,
    /// Characters that only the model's server can read.
    pub reasoning_chars: usize,
    /// Messages of a request.
    pub messages: usize,
}

/// Where an item is in its conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryRef {
    Log(usize),
    /// Position among the private messages of all agents.
    Aside(usize),
}

/// There is one for each entry and agent: kept small.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct IndexedItem {
    length: u32,
    reasoning_chars: u32,
    messages: u32,
    /// Position of the entry or private message.
    position: u32,
    is_own: bool,
    is_private: bool,
    /// Of all items before it, whose number is its place.
    messages_before: u32,
    length_before: u64,
    reasoning_before: u64,
}

/// A private message of this agent: its position, and the sums of such items before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct PrivateItem {
    position: usize,
    totals_before: SpanTotals,
}

/// Sums over a part of the items: of all, and of the private messages among them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct PrefixSums {
    all_items: SpanTotals,
    private_items: SpanTotals,
}

/// The sums of a part of a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SpanTotals {
    pub groups: usize,
    pub length: usize,
    /// See [`EntryMetrics::reasoning_chars`].
    pub reasoning_chars: usize,
    pub messages: usize,
}

impl SpanTotals {
    #[must_use]
    pub fn sum_with(self, other: Self) -> Self {
        Self {
            groups: self.groups + other.groups,
            length: self.length + other.length,
            reasoning_chars: self.reasoning_chars + other.reasoning_chars,
            messages: self.messages + other.messages,
        }
    }

    #[must_use]
    pub fn difference_from(self, other: Self) -> Self {
        Self {
            groups: self.groups.saturating_sub(other.groups),
            length: self.length.saturating_sub(other.length),
            reasoning_chars: self.reasoning_chars.saturating_sub(other.reasoning_chars),
            messages: self.messages.saturating_sub(other.messages),
        }
    }
}

impl From<EntryMetrics> for SpanTotals {
    fn from(shown: EntryMetrics) -> Self {
        let EntryMetrics { length, reasoning_chars: sealed, messages, .. } = shown;
        Self { groups: 1, length, reasoning_chars: sealed, messages }
    }
}

impl ContextIndex {
    pub fn len(&self) -> usize {
        self.dropped_count + self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries of the log that are known.
    pub fn entries(&self) -> usize {
        self.len() - self.private_items.len()
    }

    /// Indexed private messages of all agents.
    pub fn private_count(&self) -> usize {
        self.seen_private_count
    }

    pub fn start(&self) -> usize {
        self.window_start
    }

    /// Entries of the log before the place where its prompts begin, as far as they are known.
    pub fn entries_before_start(&self) -> usize {
        self.entries_before(self.window_start.min(self.len()))
    }

    /// The agent's prompts begin at this position from now on.
    pub fn set_start(&mut self, place: usize) {
        (self.window_start, self.min_window_start) = (place, 0);
    }

    /// The first position at which the next prompt may begin.
    pub fn min_start(&self) -> usize {
        self.min_window_start.min(self.len().saturating_sub(1))
    }

    /// Items that a turn did not show any more stay hidden after it: the first `count` items from the present end on.
    pub fn set_min_start(&mut self, count: usize) {
        self.min_window_start = self.len() + count;
    }

    pub fn overhead_chars(&self) -> Option<usize> {
        self.overhead_chars
    }

    pub fn set_overhead(&mut self, characters: usize) {
        self.overhead_chars = Some(characters);
    }

    pub fn is_measured_for(&self, protocol: ModelProtocol) -> bool {
        self.protocol == Some(protocol)
    }

    /// Another server is called from now on, which reads other opaque reasoning blocks: measures those of the agent's
    /// own items again, as far as a prompt can still show them. Nothing else of an item depends on the server.
    pub fn remeasure_for(&mut self, protocol: ModelProtocol, sealed: impl Fn(EntryRef) -> usize) {
        self.protocol = Some(protocol);
        let (mut all, mut aside) = (0, 0);
        let gone = self.dropped_count;
        for (_, item) in self.pinned_items.iter_mut().filter(|(_, item)| item.is_own) {
            item.reasoning_chars = saturate_to_u32(sealed(item.entry_ref()));
        }
        let mut asides = self.private_items.iter_mut().skip_while(|aside| aside.position < gone);
        for item in &mut self.items {
            if item.is_own {
                item.reasoning_chars = saturate_to_u32(sealed(item.entry_ref()));
            }
            item.reasoning_before = all;
            all += u64::from(item.reasoning_chars);
            if item.is_private {
                if let Some(one) = asides.next() {
                    one.totals_before.reasoning_chars = aside;
                }
                aside += item.reasoning_chars as usize;
            }
        }
        self.end.private_items.reasoning_chars = aside;
        self.end.all_items.reasoning_chars = usize::try_from(all).unwrap_or(usize::MAX);
    }

    pub fn add_entry(&mut self, shown: EntryMetrics, pinned: bool) {
        if pinned {
            self.pinned_positions.push(self.len());
        }
        self.push_item(EntryRef::Log(self.entries()), shown);
    }

    /// The next private message of the conversation; `None` for another agent's.
    pub fn add_private(&mut self, shown: Option<EntryMetrics>) {
        let at = self.seen_private_count;
        self.seen_private_count += 1;
        if let Some(shown) = shown {
            self.private_items
                .push(PrivateItem { position: self.len(), totals_before: self.end.private_items });
            self.push_item(EntryRef::Aside(at), shown);
            self.end.private_items = self.end.private_items.sum_with(shown.into());
        }
    }

    fn push_item(&mut self, spot: EntryRef, shown: EntryMetrics) {
        self.items.push(IndexedItem::new(spot, shown, self.end.all_items));
        self.end.all_items = self.end.all_items.sum_with(shown.into());
    }

    /// The item at a position, and the number of log entries before it.
    pub fn item(&self, place: usize) -> Option<(EntryRef, EntryMetrics, usize)> {
        let item = self.get(place)?;
        Some((item.entry_ref(), item.entry_metrics(), self.entries_before(place)))
    }

    /// The items as prompts take them: a summary replaces the first `covered` entries; the pinned entries and the
    /// `pin_first` entries after them are never left out.
    pub fn range(&self, covered: usize, pin_first: usize) -> ContextRange<'_> {
        let mut kept: Vec<usize> = self.unpinned_items().take(pin_first).collect();
        kept.extend(&self.pinned_positions);
        kept.sort_unstable();
        let open = match covered {
            0 => 0,
            _ => self.place_behind(covered),
        };
        ContextRange { context_index: self, summary_end: open, pinned_positions: kept }
    }

    /// Drops items that no prompt will show again: prompts begin at this position or later, and never earlier again.
    /// `pin_first` as in [`ContextIndex::range`]. Not while a summary replaces a part of the log.
    pub fn drop_hidden(&mut self, pin_first: usize) {
        let until = self.window_start.min(self.len());
        if until <= self.dropped_count {
            return;
        }
        let mut always: Vec<usize> =
            self.unpinned_items().take(pin_first).take_while(|place| *place < until).collect();
        always.extend(self.pinned_positions.iter().take_while(|place| **place < until));
        always.sort_unstable();
        let early = always.into_iter().filter_map(|place| Some((place, *self.get(place)?))).collect();
        self.pinned_items = early;
        self.items.drain(..until - self.dropped_count);
        self.dropped_count = until;
        if self.items.capacity() > 4 * self.items.len().max(64) {
            self.items.shrink_to_fit();
        }
    }

    fn get(&self, place: usize) -> Option<&IndexedItem> {
        let Some(at) = place.checked_sub(self.dropped_count) else {
            let found = self.pinned_items.binary_search_by_key(&place, |(early, _)| *early).ok()?;
            return self.pinned_items.get(found).map(|(_, item)| item);
        };
        self.items.get(at)
    }

    /// Places of entries that are not pinned by themselves, as far as they are known.
    fn unpinned_items(&self) -> impl Iterator<Item = usize> {
        let early = self.pinned_items.iter().map(|(place, item)| (*place, item));
        let known = early.chain((self.dropped_count..).zip(&self.items));
        let free = known
            .filter(|(place, item)| !item.is_private && self.pinned_positions.binary_search(place).is_err());
        free.map(|(place, _)| place)
    }

    /// Of a place that is gone only the sums before the first one are known.
    fn sums_before(&self, place: usize) -> PrefixSums {
        if place < self.dropped_count {
            return PrefixSums::default();
        }
        let Some(item) = self.get(place) else { return self.end };
        let asides = self
            .private_items
            .get(self.asides_before(place))
            .map_or(self.end.private_items, |aside| aside.totals_before);
        PrefixSums { all_items: item.totals_before(place), private_items: asides }
    }

    fn asides_before(&self, place: usize) -> usize {
        self.private_items.partition_point(|aside| aside.position < place)
    }

    /// Entries of the log.
    fn entries_before(&self, place: usize) -> usize {
        place - self.asides_before(place)
    }

    /// The first place with so many entries of the log before it.
    fn place_behind(&self, entries: usize) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entries_before(middle) < entries {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl IndexedItem {
    fn new(spot: EntryRef, shown: EntryMetrics, before: SpanTotals) -> Self {
        let (at, aside) = match spot {
            EntryRef::Log(at) => (at, false),
            EntryRef::Aside(at) => (at, true),
        };
        Self {
            length: saturate_to_u32(shown.length),
            reasoning_chars: saturate_to_u32(shown.reasoning_chars),
            messages: saturate_to_u32(shown.messages),
            position: saturate_to_u32(at),
            is_own: shown.is_own,
            is_private: aside,
            messages_before: saturate_to_u32(before.messages),
            length_before: before.length as u64,
            reasoning_before: before.reasoning_chars as u64,
        }
    }

    fn entry_ref(&self) -> EntryRef {
        if self.is_private {
            EntryRef::Aside(self.position as usize)
        } else {
            EntryRef::Log(self.position as usize)
        }
    }

    fn entry_metrics(&self) -> EntryMetrics {
        EntryMetrics {
            is_own: self.is_own,
            length: self.length as usize,
            reasoning_chars: self.reasoning_chars as usize,
            messages: self.messages as usize,
        }
    }

    fn totals_before(&self, place: usize) -> SpanTotals {
        SpanTotals {
            groups: place,
            length: usize::try_from(self.length_before).unwrap_or(usize::MAX),
            reasoning_chars: usize::try_from(self.reasoning_before).unwrap_or(usize::MAX),
            messages: self.messages_before as usize,
        }
    }
}

/// No text is longer than four billion characters, and no log has more entries.
fn saturate_to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// See [`ContextIndex::range`]. A private message is always shown, an entry that a summary covers only if it is pinned.
pub struct ContextRange<'a> {
    context_index: &'a ContextIndex,
    /// No summary covers items from this position on.
    summary_end: usize,
    /// Never left out.
    pinned_positions: Vec<usize>,
}

impl ContextRange<'_> {
    /// The items that no prompt leaves out.
    pub fn pinned_totals(&self) -> SpanTotals {
        self.sum_items(&self.pinned_positions)
    }

    pub fn is_pinned(&self, place: usize) -> bool {
        self.pinned_positions.binary_search(&place).is_ok()
    }

    /// What may be left out, from a place on.
    pub fn removable_totals_from(&self, from: usize) -> SpanTotals {
        let open = from.max(self.summary_end);
        let kept = self.pinned_positions.partition_point(|place| *place < open);
        let entries = self
            .context_index
            .end
            .all_items
            .difference_from(self.context_index.sums_before(open).all_items)
            .difference_from(self.sum_items(&self.pinned_positions[kept..]));
        entries.sum_with(
            self.context_index
                .sums_before(open)
                .private_items
                .difference_from(self.context_index.sums_before(from).private_items),
        )
    }

    /// The first position from which the rest has room, given that shorter ranges have room, too; `most` if there is
    /// none before it. Ignores dropped items.
    pub fn first_fitting(&self, room: impl Fn(SpanTotals) -> bool, most: usize) -> usize {
        let fits = |from: usize| room(self.removable_totals_from(from));
        // a prompt is short and at the end of a long log: the search begins there
        let first = self.context_index.dropped_count;
        let (mut low, mut high, mut step) = (most, most, 64);
        while low > first && fits(low) {
            (low, high) = (low.saturating_sub(step).max(first), low);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// The positions that a prompt shows, in their order, if it leaves out everything before `from` that it may.
    pub fn shown_items(&self, from: usize) -> impl Iterator<Item = usize> + use<> {
        let open = from.max(self.summary_end);
        let asides = &self.context_index.private_items;
        let heard = self.context_index.asides_before(from)..self.context_index.asides_before(open);
        let mut before: Vec<usize> =
            self.pinned_positions.iter().copied().take_while(|place| *place < open).collect();
        before.extend(asides[heard].iter().map(|aside| aside.position));
        before.sort_unstable();
        before.into_iter().chain(open..self.context_index.len())
    }

    fn sum_items(&self, places: &[usize]) -> SpanTotals {
        let shown =
            places.iter().filter_map(|place| self.context_index.get(*place)).map(IndexedItem::entry_metrics);
        shown.fold(SpanTotals::default(), |sum, shown| sum.sum_with(shown.into()))
    }
}
