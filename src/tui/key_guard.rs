//! How long keys are no answers: just after a question appeared, and just behind a text. Refuses: what is done with them.

use synthdev_domain::ids::Timestamp;

/// A key this short after a question appeared was meant for something else.
const GUARD_MS: i64 = 500;
/// A key this short after another one means that the user is typing: it continues the text, and answers nothing.
pub const TYPING_MS: i64 = 700;

/// For how long a question that appeared at `shown_at` takes no key yet; `typed_at`: when a text beside it was typed.
pub fn guard_ms_left(shown_at: Option<Timestamp>, typed_at: Option<Timestamp>, now: Timestamp) -> i64 {
    let typed = typed_at.map_or(0, |at| ms_left(Some(at), TYPING_MS, now));
    ms_left(shown_at, GUARD_MS, now).max(typed)
}

/// What is left of a time that began at `since`; all of it if it has not begun.
fn ms_left(since: Option<Timestamp>, whole: i64, now: Timestamp) -> i64 {
    let since = since.map_or(0, |since| now.0.saturating_sub(since.0));
    // a clock may be set back
    if since < 0 { 0 } else { whole - since.min(whole) }
}
