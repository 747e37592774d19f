//! How wide a question and its text are.

use crate::transcript::line_wrap::WIDEST_PROSE;

/// Columns of the frame and of the blanks inside of it.
const FRAME_COLUMNS: usize = 4;

/// The columns of the question: its text is no wider than prose in the conversation.
pub fn question_width(width: u16) -> u16 {
    width.min(u16::try_from(WIDEST_PROSE + FRAME_COLUMNS).unwrap_or(u16::MAX))
}

/// The columns of its text.
pub(super) fn text_columns(width: u16) -> usize {
    let width = usize::from(question_width(width));
    if width < 10 { width.max(1) } else { width - FRAME_COLUMNS }
}
