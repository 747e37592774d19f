//! How much of a context one agent sees, with sums up to every item: the part that fits into a view is found without
//! a look at all that is older, so that a model call costs the same after a hundred thousand messages.
//!
//! Owns places and sums; what an entry is to the agent, and how long it is then, the view says.

use synthdev_domain::protocol::ModelProtocol;

/// The entries of a log and what only this agent heard, in the order of its views.
#[derive(Clone, Debug, Default)]
pub struct ContextIndex {
    /// Without the first `gone`.
    items: Vec<IndexedItem>,
    /// See [`ContextIndex::forget`].
    gone: usize,
    /// Those of them that views always show, with their places.
    early: Vec<(usize, IndexedItem)>,
    end: PrefixSums,
    asides: Vec<PrivateItem>,
    /// Places of the entries that are pinned by themselves.
    pinned: Vec<usize>,
    /// Of the thread, asides of all agents: so many have been looked at.
    heard: usize,
    /// What stands before this place is no longer shown, unless it is always.
    begin: usize,
    /// See [`ContextIndex::owed`].
    owed: usize,
    /// Characters of a request that are not the conversation; known once somebody had to know.
    around: Option<usize>,
    /// See [`Shown::sealed`]: it was counted for a server that speaks so.
    protocol: Option<ModelProtocol>,
}

/// One entry, as this agent sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryMetrics {
    /// Said by the agent itself.
    pub own: bool,
    /// Characters.
    pub length: usize,
    /// Characters that only the model's server can read.
    pub sealed: usize,
    /// Messages of a request.
    pub messages: usize,
}

/// Where an item stands in its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryRef {
    Log(usize),
    /// Position among the asides of all agents.
    Aside(usize),
}

/// There is one for each entry and agent: kept small.
#[derive(Clone, Copy, Debug)]
struct IndexedItem {
    length: u32,
    sealed: u32,
    messages: u32,
    /// Which entry or aside it is.
    at: u32,
    own: bool,
    aside: bool,
    /// Of all items before it, whose number is its place.
    messages_before: u32,
    length_before: u64,
    sealed_before: u64,
}

/// What only this agent heard: its place, and what such items before it come to.
#[derive(Clone, Copy, Debug)]
struct PrivateItem {
    place: usize,
    before: SpanTotals,
}

/// Over a part of the items: of all, and of the asides among them.
#[derive(Clone, Copy, Debug, Default)]
struct PrefixSums {
    all: SpanTotals,
    asides: SpanTotals,
}

/// What a part of a view comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpanTotals {
    pub groups: usize,
    pub length: usize,
    /// See [`Shown::sealed`].
    pub sealed: usize,
    pub messages: usize,
}

impl SpanTotals {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            groups: self.groups + other.groups,
            length: self.length + other.length,
            sealed: self.sealed + other.sealed,
            messages: self.messages + other.messages,
        }
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            groups: self.groups.saturating_sub(other.groups),
            length: self.length.saturating_sub(other.length),
            sealed: self.sealed.saturating_sub(other.sealed),
            messages: self.messages.saturating_sub(other.messages),
        }
    }
}

impl From<EntryMetrics> for SpanTotals {
    fn from(shown: EntryMetrics) -> Self {
        let EntryMetrics { length, sealed, messages, .. } = shown;
        Self { groups: 1, length, sealed, messages }
    }
}

impl ContextIndex {
    pub fn len(&self) -> usize {
        self.gone + self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries of the log that are known.
    pub fn entries(&self) -> usize {
        self.len() - self.asides.len()
    }

    /// Asides of all agents that are known, own or not.
    pub fn private_count(&self) -> usize {
        self.heard
    }

    pub fn begin(&self) -> usize {
        self.begin
    }

    /// Entries of the log before the place where its views begin, as far as they are known.
    pub fn begins_behind(&self) -> usize {
        self.entries_before(self.begin.min(self.len()))
    }

    /// The agent's views begin here from now on.
    pub fn begin_at(&mut self, place: usize) {
        (self.begin, self.owed) = (place, 0);
    }

    /// Where the next view has to begin at least.
    pub fn owed(&self) -> usize {
        self.owed.min(self.len().saturating_sub(1))
    }

    /// What a visit did not show any more, its end brings not back: `count` items from the end that is known now.
    pub fn set_min_start(&mut self, count: usize) {
        self.owed = self.len() + count;
    }

    pub fn around(&self) -> Option<usize> {
        self.around
    }

    pub fn set_overhead(&mut self, characters: usize) {
        self.around = Some(characters);
    }

    pub fn counts_for(&self, protocol: ModelProtocol) -> bool {
        self.protocol == Some(protocol)
    }

    /// Another server is asked from now on, which reads other sealed parts: those of the agent's own items
    /// are counted anew, as far as a view can still show them. Nothing else of an item depends on who is asked.
    pub fn count_for(&mut self, protocol: ModelProtocol, sealed: impl Fn(EntryRef) -> usize) {
        self.protocol = Some(protocol);
        let (mut all, mut aside) = (0, 0);
        let gone = self.gone;
        for (_, item) in self.early.iter_mut().filter(|(_, item)| item.own) {
            item.sealed = small(sealed(item.spot()));
        }
        let mut asides = self.asides.iter_mut().skip_while(|aside| aside.place < gone);
        for item in &mut self.items {
            if item.own {
                item.sealed = small(sealed(item.spot()));
            }
            item.sealed_before = all;
            all += u64::from(item.sealed);
            if item.aside {
                if let Some(one) = asides.next() {
                    one.before.sealed = aside;
                }
                aside += item.sealed as usize;
            }
        }
        self.end.asides.sealed = aside;
        self.end.all.sealed = usize::try_from(all).unwrap_or(usize::MAX);
    }

    pub fn add_entry(&mut self, shown: EntryMetrics, pinned: bool) {
        if pinned {
            self.pinned.push(self.len());
        }
        self.add(EntryRef::Log(self.entries()), shown);
    }

    /// The next aside of the thread; `None` for another agent's.
    pub fn add_aside(&mut self, shown: Option<EntryMetrics>) {
        let at = self.heard;
        self.heard += 1;
        if let Some(shown) = shown {
            self.asides.push(PrivateItem { place: self.len(), before: self.end.asides });
            self.add(EntryRef::Aside(at), shown);
            self.end.asides = self.end.asides.plus(shown.into());
        }
    }

    fn add(&mut self, spot: EntryRef, shown: EntryMetrics) {
        self.items.push(IndexedItem::new(spot, shown, self.end.all));
        self.end.all = self.end.all.plus(shown.into());
    }

    /// The item at a place, and how many entries of the log stand before it.
    pub fn item(&self, place: usize) -> Option<(EntryRef, EntryMetrics, usize)> {
        let item = self.get(place)?;
        Some((item.spot(), item.shown(), self.entries_before(place)))
    }

    /// The items as views take them: `covered` entries, from the first, are spoken for by a summary; `pin_first`
    /// entries after those that are pinned are never left out.
    pub fn range(&self, covered: usize, pin_first: usize) -> ContextRange<'_> {
        let mut kept: Vec<usize> = self.free().take(pin_first).collect();
        kept.extend(&self.pinned);
        kept.sort_unstable();
        let open = match covered {
            0 => 0,
            _ => self.place_behind(covered),
        };
        ContextRange { sight: self, open, kept }
    }

    /// Lets go of what no view will show again: they begin here or later, and none goes back. `pin_first` as in
    /// [`ContextIndex::range`]. Not where a summary speaks for a part of the log.
    pub fn forget(&mut self, pin_first: usize) {
        let until = self.begin.min(self.len());
        if until <= self.gone {
            return;
        }
        let mut always: Vec<usize> = self.free().take(pin_first).take_while(|place| *place < until).collect();
        always.extend(self.pinned.iter().take_while(|place| **place < until));
        always.sort_unstable();
        let early = always.into_iter().filter_map(|place| Some((place, *self.get(place)?))).collect();
        self.early = early;
        self.items.drain(..until - self.gone);
        self.gone = until;
        if self.items.capacity() > 4 * self.items.len().max(64) {
            self.items.shrink_to_fit();
        }
    }

    fn get(&self, place: usize) -> Option<&IndexedItem> {
        let Some(at) = place.checked_sub(self.gone) else {
            let found = self.early.binary_search_by_key(&place, |(early, _)| *early).ok()?;
            return self.early.get(found).map(|(_, item)| item);
        };
        self.items.get(at)
    }

    /// Places of entries that are not pinned by themselves, as far as they are known.
    fn free(&self) -> impl Iterator<Item = usize> {
        let early = self.early.iter().map(|(place, item)| (*place, item));
        let known = early.chain((self.gone..).zip(&self.items));
        let free = known.filter(|(place, item)| !item.aside && self.pinned.binary_search(place).is_err());
        free.map(|(place, _)| place)
    }

    /// Of a place that is gone only the sums before the first one are known.
    fn before(&self, place: usize) -> PrefixSums {
        if place < self.gone {
            return PrefixSums::default();
        }
        let Some(item) = self.get(place) else { return self.end };
        let asides = self.asides.get(self.asides_before(place)).map_or(self.end.asides, |aside| aside.before);
        PrefixSums { all: item.before(place), asides }
    }

    fn asides_before(&self, place: usize) -> usize {
        self.asides.partition_point(|aside| aside.place < place)
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
            length: small(shown.length),
            sealed: small(shown.sealed),
            messages: small(shown.messages),
            at: small(at),
            own: shown.own,
            aside,
            messages_before: small(before.messages),
            length_before: before.length as u64,
            sealed_before: before.sealed as u64,
        }
    }

    fn spot(&self) -> EntryRef {
        if self.aside { EntryRef::Aside(self.at as usize) } else { EntryRef::Log(self.at as usize) }
    }

    fn shown(&self) -> EntryMetrics {
        EntryMetrics {
            own: self.own,
            length: self.length as usize,
            sealed: self.sealed as usize,
            messages: self.messages as usize,
        }
    }

    fn before(&self, place: usize) -> SpanTotals {
        SpanTotals {
            groups: place,
            length: usize::try_from(self.length_before).unwrap_or(usize::MAX),
            sealed: usize::try_from(self.sealed_before).unwrap_or(usize::MAX),
            messages: self.messages_before as usize,
        }
    }
}

/// No text is longer than four billion characters, and no log has more entries.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// See [`ContextIndex::range`]. An aside is always shown, an entry that a summary speaks for only where it is kept.
pub struct ContextRange<'a> {
    sight: &'a ContextIndex,
    /// Nothing from here on is spoken for by a summary.
    open: usize,
    /// Never left out.
    kept: Vec<usize>,
}

impl ContextRange<'_> {
    /// What is never left out.
    pub fn kept(&self) -> SpanTotals {
        self.sum(&self.kept)
    }

    pub fn keeps(&self, place: usize) -> bool {
        self.kept.binary_search(&place).is_ok()
    }

    /// What may be left out, from a place on.
    pub fn rest(&self, from: usize) -> SpanTotals {
        let open = from.max(self.open);
        let kept = self.kept.partition_point(|place| *place < open);
        let entries =
            self.sight.end.all.minus(self.sight.before(open).all).minus(self.sum(&self.kept[kept..]));
        entries.plus(self.sight.before(open).asides.minus(self.sight.before(from).asides))
    }

    /// The first place from which the rest has room, as what is shorter has; `most` if there is none before it. What is
    /// gone is not looked at.
    pub fn fitting(&self, room: impl Fn(SpanTotals) -> bool, most: usize) -> usize {
        let fits = |from: usize| room(self.rest(from));
        // a view is short and stands at the end of a long log: the search begins there
        let first = self.sight.gone;
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

    /// The places that a view shows, in their order, if all that may be left out before `from` is.
    pub fn shown(&self, from: usize) -> impl Iterator<Item = usize> + use<> {
        let open = from.max(self.open);
        let asides = &self.sight.asides;
        let heard = self.sight.asides_before(from)..self.sight.asides_before(open);
        let mut before: Vec<usize> = self.kept.iter().copied().take_while(|place| *place < open).collect();
        before.extend(asides[heard].iter().map(|aside| aside.place));
        before.sort_unstable();
        before.into_iter().chain(open..self.sight.len())
    }

    fn sum(&self, places: &[usize]) -> SpanTotals {
        let shown = places.iter().filter_map(|place| self.sight.get(*place)).map(IndexedItem::shown);
        shown.fold(SpanTotals::default(), |sum, shown| sum.plus(shown.into()))
    }
}
