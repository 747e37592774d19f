//! Whether a frame shows anything that the one before it did not.

/// Shows or hides the cursor: the last part of each frame begins with it.
const CURSOR: &[u8] = b"\x1b[?25";

/// Knows how the last frame ended.
#[derive(Default)]
pub(super) struct FrameChangeWatch {
    cursor: Vec<u8>,
}

impl FrameChangeWatch {
    /// The bytes of a frame hold the cells that changed, and behind them the cursor.
    pub(super) fn has_changed(&mut self, frame: &[u8]) -> bool {
        let at = frame.windows(CURSOR.len()).rposition(|part| part == CURSOR).unwrap_or(0);
        let (cells, cursor) = frame.split_at(at);
        let is_same = cursor == self.cursor && !prints_text(cells);
        self.cursor = cursor.to_vec();
        !is_same
    }
}

/// Anything but control sequences `ESC [ … letter`.
fn prints_text(bytes: &[u8]) -> bool {
    let mut left = bytes;
    while let Some(behind) = left.strip_prefix(b"\x1b[") {
        let Some(end) = behind.iter().position(|byte| (0x40..=0x7e).contains(byte)) else { return true };
        left = &behind[end + 1..];
    }
    !left.is_empty()
}

#[cfg(test)]
mod tests {
    use ratatui::backend::CrosstermBackend;
    use ratatui::layout::Rect;
    use ratatui::{Terminal, TerminalOptions, Viewport};

    use super::*;
    use crate::terminal::FrameBytes;

    /// Each frame: a text in its first row and the cursor's column. Whether it shows something new.
    #[test]
    fn cells_and_the_cursor_are_seen() {
        let bytes = FrameBytes::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, 20, 3));
        let backend = CrosstermBackend::new(bytes.clone());
        let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        let mut watch = FrameChangeWatch::default();
        let mut check = |text: &str, cursor: Option<u16>, expected: bool| {
            terminal
                .draw(|frame| {
                    frame.render_widget(text, frame.area());
                    if let Some(column) = cursor {
                        frame.set_cursor_position((column, 0));
                    }
                })
                .unwrap();
            let frame = std::mem::take(&mut *bytes.0.lock().unwrap());
            assert_eq!(watch.has_changed(&frame), expected, "{text} {cursor:?} {frame:?}");
        };
        check("one", None, true);
        check("one", None, false);
        check("one", Some(2), true);
        check("one", Some(2), false);
        check("one", Some(3), true);
        check("two", Some(3), true);
        check("two", Some(3), false);
        check("two", None, true);
        check("", None, true);
        check("", None, false);
    }
}
