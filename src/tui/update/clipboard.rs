//! Copies into the terminal's clipboard, and the notes about it.

use crate::msg::UiCommand;
use crate::text::format_count;

/// Bytes that go there: terminals drop more without a word.
const MOST: usize = 64 << 10;

/// Nothing goes there if there is nothing to copy.
pub fn copy_command(mut text: String) -> (Option<UiCommand>, String) {
    if text.trim().is_empty() {
        return (None, "there is nothing to copy".to_owned());
    }
    let all = text.len();
    text.truncate(text.floor_char_boundary(MOST));
    let what = format_count(text.lines().count() as u64, "line");
    let cut = match all - text.len() {
        0 => String::new(),
        more => format!("; {} left out", format_count(more as u64, "more byte")),
    };
    (Some(UiCommand::Copy(text)), format!("copied {what}{cut}"))
}
