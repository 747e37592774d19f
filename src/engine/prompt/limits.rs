//! How long a view may be, by what people could read of it and by all that is sent: thoughts that go back to the model's
//! server sealed take room in its window, and are none of the conversation that the context limits.

use super::sources::PromptSources;
use crate::context_index::SpanTotals;

#[derive(Clone, Copy, Debug)]
pub(super) struct PromptBounds {
    readable: usize,
    /// With what is sealed.
    pub(super) whole: usize,
}

impl PromptBounds {
    pub(super) fn from_sources(scene: &PromptSources<'_>) -> Self {
        let whole = scene.room().filter(|_| scene.measures());
        Self { readable: scene.limit().0, whole: whole.unwrap_or(usize::MAX) }
    }

    /// Whether so much has room.
    pub(super) fn hold(self, size: SpanTotals) -> bool {
        self.reads(size) && size.length.saturating_add(size.sealed) <= self.whole
    }

    /// Whether what can be read of it has.
    pub(super) fn reads(self, size: SpanTotals) -> bool {
        size.length <= self.readable
    }

    /// For a view that has to lose something: less where `size` passes a bound.
    pub(super) fn lowered(self, size: SpanTotals, low: impl Fn(usize) -> usize) -> Self {
        let passes = size.length.saturating_add(size.sealed) > self.whole;
        Self {
            readable: if self.reads(size) { self.readable } else { low(self.readable) },
            whole: if passes { low(self.whole) } else { self.whole },
        }
    }
}
