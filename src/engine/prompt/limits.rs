//! Length limits of a prompt, by its readable part and by all that is sent: opaque reasoning blocks that are sent back
//! take room in the model's window, but do not count for the context's own limit.

use super::sources::PromptSources;
use crate::context_index::SpanTotals;

#[derive(Clone, Copy, Debug)]
pub(super) struct PromptBounds {
    readable_chars: usize,
    /// With opaque reasoning blocks.
    pub(super) total_chars: usize,
}

impl PromptBounds {
    pub(super) fn from_sources(sources: &PromptSources<'_>) -> Self {
        let whole = sources.conversation_room().filter(|_| sources.measures_everything());
        Self { readable_chars: sources.limit().0, total_chars: whole.unwrap_or(usize::MAX) }
    }

    /// Whether so much has room.
    pub(super) fn has_room_for(self, size: SpanTotals) -> bool {
        self.has_readable_room_for(size)
            && size.length.saturating_add(size.reasoning_chars) <= self.total_chars
    }

    /// Whether what can be read of it has.
    pub(super) fn has_readable_room_for(self, size: SpanTotals) -> bool {
        size.length <= self.readable_chars
    }

    /// For a prompt that has to lose something: less where `size` passes a bound.
    pub(super) fn lowered_for(self, size: SpanTotals, low: impl Fn(usize) -> usize) -> Self {
        let passes = size.length.saturating_add(size.reasoning_chars) > self.total_chars;
        Self {
            readable_chars: if self.has_readable_room_for(size) {
                self.readable_chars
            } else {
                low(self.readable_chars)
            },
            total_chars: if passes { low(self.total_chars) } else { self.total_chars },
        }
    }
}
