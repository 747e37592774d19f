//! Trims a conversation to the context window, the oldest messages first: finds where a prompt begins in it, so that the
//! rest stays below the limit.
//! Adds up stored lengths, so the messages that are left out are not read. What is still too long is shortened in
//! `truncate.rs`; `"trim": "summarize"` is in `summary.rs`.
//!
//! A prompt keeps its beginning until it would pass the limit again: providers cache requests that begin alike.

use super::limits::PromptBounds;
use super::prompt_unit::{PromptUnit, TurnInput, context_range, placed_summary, sum_units, turn_units};
use super::render::entry_text;
use super::size::{current_index, units_size};
use super::sources::PromptSources;
use crate::agent_turn::SummaryPart;
use crate::context_index::{ContextIndex, EntryRef, SpanTotals};
use synthdev_domain::context::{ContextEntry, ToolVisibility, TrimPolicy};

/// Providers cache a beginning from 1,024 tokens on. A prompt with a smaller limit loses no more than it must; in
/// larger ones as much is left out at once as makes room for many further requests.
const CACHED: usize = 4_096;
/// Percent of the limit that is kept when something must be left out.
const KEPT: usize = 70;
/// Below this limit less is kept (`KEPT_OF_SMALL`): otherwise a few messages would force the next cut.
const SMALL: usize = 30_000;
const KEPT_OF_SMALL: usize = 50;
/// Characters of a text that identify it.
const MARK: usize = 40;

/// Where a prompt begins: earlier entries are left out, except pinned ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowStart {
    /// Position in the agent's context index.
    pub log: usize,
    /// Entries of the visit.
    pub visit: usize,
}

/// The entries left out when the start moves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DroppedEntries {
    pub entries: usize,
    /// As they were shown.
    pub char_count: usize,
    /// How the first and the last of them began.
    pub first_preview: String,
    pub last_preview: String,
}

/// Where the agent's prompt starts so far.
pub fn current_start(sources: &PromptSources<'_>) -> WindowStart {
    WindowStart { log: current_index(sources).start(), visit: sources.agent_turn.window_start }
}

/// Where the prompt must begin now: where it began before, if everything since still fits.
pub fn required_start(sources: &PromptSources<'_>) -> WindowStart {
    let spoken = TurnInput::from_turn(sources.agent_turn);
    let context_index = current_index(sources);
    let held = WindowStart { log: context_index.start(), visit: sources.agent_turn.window_start };
    let bounds = PromptBounds::from_sources(sources);
    let range = context_range(sources, &context_index);
    let visit = turn_units(sources, &spoken);
    let fixed = range.pinned_totals().sum_with(summary_totals(sources)).sum_with(sum_units(&visit));
    let start = held.log.max(context_index.min_start());
    let all = fixed.sum_with(range.removable_totals_from(start));
    if sources.context.trim == TrimPolicy::Error || bounds.has_room_for(all) {
        return WindowStart { log: start, ..held };
    }
    let low = bounds.lowered_for(all, |limit| reduced_limit(limit, sources));
    // the newest is never left out
    let most = if visit.is_empty() { context_index.len().saturating_sub(1) } else { context_index.len() };
    let log = range.first_fitting(|rest| low.has_room_for(fixed.sum_with(rest)), most).max(start);
    let mut total = fixed.sum_with(range.removable_totals_from(log));
    let mut begin = WindowStart { log, ..held };
    for group in visit.iter().rev().skip(1).rev().filter(|group| !group.is_pinned) {
        if !low.has_room_for(total)
            && let Some((SummaryPart::Visit, at)) = group.summary_position
        {
            total = total.difference_from(group.size());
            begin.visit = at + 1;
        }
    }
    begin
}

/// How long a prompt may be that has to lose something.
fn reduced_limit(limit: usize, sources: &PromptSources<'_>) -> usize {
    match limit {
        0..CACHED => limit,
        CACHED..SMALL if sources.measures_everything() => limit / 100 * KEPT_OF_SMALL,
        _ => limit / 100 * KEPT,
    }
}

/// What a prompt loses that begins at `to` and no longer at `from`.
pub fn dropped_between(sources: &PromptSources<'_>, from: WindowStart, to: WindowStart) -> DroppedEntries {
    let context_index = current_index(sources);
    let range = context_range(sources, &context_index);
    let gone = range
        .removable_totals_from(from.log)
        .length
        .saturating_sub(range.removable_totals_from(to.log).length);
    let mut lost = DroppedEntries { char_count: gone, ..DroppedEntries::default() };
    let mut last = None;
    let before = range.shown_items(from.log).take_while(|place| *place < to.log);
    for place in before.filter(|place| !range.is_pinned(*place)) {
        let Some((spot, ..)) = context_index.item(place) else { continue };
        lost.entries += 1;
        let entry = match spot {
            EntryRef::Aside(at) => sources.conversation.private_messages.get(at).map(|aside| &aside.entry),
            EntryRef::Log(at) => sources.conversation.entry(at),
        };
        lost.record_entry(entry, &mut last);
    }
    let covered = sources.agent_turn.record.as_ref().map_or(0, |record| record.covered_count);
    let visit = sources.agent_turn.entries.iter().take(to.visit).skip(from.visit.max(covered));
    for part in visit {
        lost.entries += 1;
        lost.char_count += PromptUnit::new(&part.entry, part.is_own(), sources).length;
        lost.record_entry(Some(&part.entry), &mut last);
    }
    lost.last_preview = last.map(entry_preview).unwrap_or_default();
    lost
}

impl DroppedEntries {
    /// Expects entries oldest first. Keeps previews of the first and the last only.
    fn record_entry<'a>(&mut self, entry: Option<&'a ContextEntry>, last: &mut Option<&'a ContextEntry>) {
        let Some(entry) = entry else { return };
        if self.first_preview.is_empty() {
            self.first_preview = entry_preview(entry);
        }
        *last = Some(entry);
    }
}

/// How an entry begins, in one line.
fn entry_preview(entry: &ContextEntry) -> String {
    let text = entry_text(entry);
    if let Some(answered) = entry.calls.first().filter(|_| text.trim().is_empty()) {
        return shorten_to_preview(format!("{}(…)", answered.call.name).chars());
    }
    let blanks = std::iter::once("").chain(std::iter::repeat(" "));
    shorten_to_preview(
        blanks.zip(text.split_whitespace()).flat_map(|(blank, word)| blank.chars().chain(word.chars())),
    )
}

fn shorten_to_preview(mut text: impl Iterator<Item = char>) -> String {
    let mut mark: String = text.by_ref().take(MARK).collect();
    if text.next().is_some() {
        mark.push('…');
    }
    mark
}

/// What a prompt is made of without a look at its log, where it needs no cuts.
pub(super) struct PromptWindow {
    /// Items of the log, and entries of the visit, that are left out.
    pub(super) left_out_count: usize,
    /// What the log and the visit come to in messages; `None` where something has to be cut.
    pub(super) messages: Option<usize>,
}

impl PromptWindow {
    pub(super) fn measure_window(
        sources: &PromptSources<'_>,
        said: &TurnInput,
        context_index: &ContextIndex,
    ) -> Self {
        let range = context_range(sources, context_index);
        let visit = units_size(&turn_units(sources, said), sources);
        let rest = range.removable_totals_from(context_index.start());
        let all = range.pinned_totals().sum_with(summary_totals(sources)).sum_with(visit).sum_with(rest);
        let bounds = PromptBounds::from_sources(sources);
        let fits = bounds.has_readable_room_for(all)
            && (sources.context.trim != TrimPolicy::Error || bounds.has_room_for(all));
        let covered = sources.agent_turn.record.as_ref().map_or(0, |record| record.covered_count);
        let left_out = range.removable_totals_from(0).groups - rest.groups
            + sources.agent_turn.window_start.saturating_sub(covered);
        Self { left_out_count: left_out, messages: fits.then_some(all.messages) }
    }
}

/// The summary of the log.
fn summary_totals(sources: &PromptSources<'_>) -> SpanTotals {
    placed_summary(sources.conversation).map_or_else(SpanTotals::default, |summary| {
        let group = PromptUnit::summary(summary, sources);
        let messages = super::render::projected_count(&group, ToolVisibility::None);
        SpanTotals { messages, ..group.size() }
    })
}
