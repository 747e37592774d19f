//! Trims a prompt that is still too long: shortens tool results and texts until it stays below its limit.

use super::limits::PromptBounds;
use super::prompt_unit::{PromptUnit, sum_units};
use super::sources::{PromptSources, WINDOW};
use synthdev_domain::context::TrimPolicy;

/// The prompt cannot be brought below the limit: what may not be left out is too long by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct ContextOverflow {
    pub length: usize,
    pub limit: usize,
    /// The name of what sets the limit.
    pub field: &'static str,
}

pub(super) struct TruncationPlan {
    pub(super) dropped: usize,
    /// Tool answers may take this much of their own length together: room and whole.
    pub(super) answers: Option<(usize, usize)>,
    /// Texts that lose their middle: summaries, and a newest one that is too long by itself.
    pub(super) cut_count: usize,
}

/// A summary of fewer characters says nothing.
const LEAST: usize = 60;

impl TruncationPlan {
    const WHOLE: Self = Self { dropped: 0, answers: None, cut_count: 0 };

    /// Room for an answer of `length`.
    pub(super) fn answer_room(&self, length: usize) -> Option<usize> {
        self.answers.map(|(room, whole)| length.saturating_mul(room) / whole.max(1))
    }
}

/// Elides the middle of tool answers where all that may go as a whole is gone: `left_out` prompt units. What must be
/// shown whole and does not fit is an overflow, not a silent cut.
pub(super) fn fit_units(
    groups: &mut Vec<PromptUnit<'_>>,
    sources: &PromptSources<'_>,
    left_out: usize,
) -> Result<TruncationPlan, ContextOverflow> {
    let (limit, field) = sources.limit();
    let (all, bounds) = (sum_units(groups), PromptBounds::from_sources(sources));
    let total = all.length;
    if sources.context.trim == TrimPolicy::Error
        && bounds.has_readable_room_for(all)
        && !bounds.has_room_for(all)
    {
        return Err(ContextOverflow {
            length: total + all.reasoning_chars,
            limit: bounds.total_chars,
            field: WINDOW,
        });
    }
    if total <= limit {
        return Ok(TruncationPlan { dropped: left_out, ..TruncationPlan::WHOLE });
    }
    if sources.context.trim == TrimPolicy::Error {
        return Err(ContextOverflow { length: total, limit, field });
    }
    let whole_texts = |group: &&PromptUnit<'_>| group.is_pinned && !group.summary;
    let kept: usize =
        groups.iter().filter(whole_texts).map(|group| group.length - group.elidable_chars).sum();
    if kept > limit {
        return Err(ContextOverflow { length: kept, limit, field });
    }
    let mut fit = TruncationPlan { dropped: left_out, ..TruncationPlan::WHOLE };
    elide_units(groups, limit, kept, &mut fit);
    Ok(fit)
}

/// Nothing whole can go any more: answers of tools, summaries and the newest text lose their middle. The arguments
/// of the newest calls cannot: a file that was just written whole may pass the limit once, and only the model's own
/// window can refuse it, so that work which was paid for is not lost to a number.
fn elide_units(groups: &mut Vec<PromptUnit<'_>>, limit: usize, kept: usize, fit: &mut TruncationPlan) {
    let whole: usize = groups.iter().map(|group| group.elidable_chars).sum();
    let mut texts = groups.iter().map(|group| group.length).sum::<usize>() - whole;
    for group in groups.iter_mut().filter(|group| group.summary) {
        let room = group.length.saturating_sub(texts.saturating_sub(limit));
        let room = if room < LEAST.min(group.length) { 0 } else { room };
        texts -= group.length - room;
        group.max_chars = Some(room).filter(|room| *room < group.length);
    }
    let before = groups.len();
    groups.retain(|group| group.max_chars != Some(0));
    fit.dropped += before - groups.len();
    fit.answers = (whole > 0).then(|| (limit.saturating_sub(texts), whole));
    let last = groups.last_mut().filter(|group| group.entry.calls.is_empty() && !group.is_pinned);
    if let Some(last) = last.filter(|_| texts > limit) {
        last.max_chars = Some(limit - kept);
    }
    fit.cut_count = groups.iter().filter(|group| group.max_chars.is_some()).count();
}
