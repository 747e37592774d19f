//! The draft as `vimlet` reads it.

use std::ops::Range;

use vimlet::{
    ByteOffset, DEFAULT_GEOMETRY, DocumentVersion, DocumentView, MotionResolver, Selection, TextRange,
};

use crate::composer::draft::ComposerDraft;
use crate::composer::pastes::FoldedPastes;

/// One text with positions in bytes; each placeholder is one unit.
pub(super) struct DraftView {
    pub(super) text: String,
    pub(super) cursor: ByteOffset,
    selection: Option<Selection>,
    placeholders: Vec<TextRange>,
    pub(super) version: DocumentVersion,
}

impl DraftView {
    pub(super) fn new(
        draft: &ComposerDraft,
        pastes: &FoldedPastes,
        selection: Option<Selection>,
        version: DocumentVersion,
    ) -> Self {
        let (text, cursor) = (draft.text(), ByteOffset(draft.cursor_byte()));
        let mut shown = Self { text, cursor, selection, placeholders: Vec::new(), version };
        // a placeholder that a combining mark joins is not one any more
        let whole = |span: &Range<usize>| shown.has_edge(span.start) && shown.has_edge(span.end);
        let spans = pastes.placeholder_ranges(&shown.text).filter(whole);
        shown.placeholders = spans.map(|span| TextRange::new(span.start, span.end)).collect();
        shown
    }

    pub(super) fn view(&self) -> DocumentView<'_> {
        DocumentView {
            text: &self.text,
            version: self.version,
            cursor: self.cursor,
            selection: self.selection,
            opaque: &self.placeholders,
            geometry: &DEFAULT_GEOMETRY,
        }
    }

    pub(super) fn resolver(&self) -> MotionResolver<'_> {
        MotionResolver::from_view(self.view())
    }

    pub(super) fn normal_place(&self, byte: usize) -> usize {
        self.resolver().normal_cursor(byte)
    }

    /// Whether a position is between two graphemes or at an end of the text.
    pub(super) fn has_edge(&self, byte: usize) -> bool {
        DocumentView::new(&self.text, self.version, ByteOffset(byte)).is_valid()
    }
}
