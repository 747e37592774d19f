//! The words for an event as a line of the command line: safe for a terminal, and cut.

use super::output::{first_line, safe_name, terminal_safe};
use synthdev_service::event_description::{EventDescription, EventKind, EventSeverity};

/// Characters of a detail that are shown.
const DETAIL: usize = 120;

/// `✓ read_files finished: 40 lines`
pub fn event_line(words: &EventDescription<'_>) -> String {
    let mark = event_mark(words);
    // what the user should do something about is shown whole
    let detail = match words.kind {
        EventKind::Warning => terminal_safe(&words.detail),
        _ => first_line(&words.detail, DETAIL),
    };
    format!("{mark}{}{}{detail}", safe_name(&words.title), words.separator())
}

/// What the line begins with: a sign and a space, `warning: ` or nothing.
pub fn event_mark(words: &EventDescription<'_>) -> String {
    match (words.severity, words.mark()) {
        (EventSeverity::Warning, _) => "warning: ".to_owned(),
        (_, "") => String::new(),
        (_, mark) => format!("{mark} "),
    }
}
