//! The two strokes that every part of the screen draws with.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::tui::text::{fit, width};

/// A line of spans, cut at the area's edge.
pub(super) fn put(frame: &mut Frame<'_>, x: u16, y: u16, line: &Line<'_>, columns: u16) {
    if y < frame.area().bottom() && x < frame.area().right() {
        frame.buffer_mut().set_line(x, y, line, columns);
    }
}

/// A frame with a title around an area that was emptied; returns the inside.
pub(super) fn boxed(frame: &mut Frame<'_>, area: Rect, title: &str, style: Style) -> Rect {
    use ratatui::widgets::{Block, Borders, Clear, Widget};
    let block = Block::new().borders(Borders::ALL).border_style(style).title(Line::styled(title, style));
    let inside = block.inner(area);
    Clear.render(area, frame.buffer_mut());
    block.render(area, frame.buffer_mut());
    inside
}

/// A line of exactly so many columns.
pub fn pad(text: &str, columns: u16) -> String {
    let columns = usize::from(columns);
    let text = fit(text, columns).into_owned();
    let blanks = " ".repeat(columns.saturating_sub(width(&text)));
    text + &blanks
}
