//! The message when the session is over.

use std::io::{self, Write as _};

use crate::model::UiModel;
use crate::text::{format_dollars, format_thousands};

/// What stays in the terminal after the screen is gone.
pub fn exit_message(model: &UiModel) -> Option<String> {
    let used = model.usage().total();
    let spent = (used > 0)
        .then(|| format!("{} tokens · {}", format_thousands(used), format_dollars(model.cost_usd())));
    let left = model.runs_left.iter();
    let what = if model.is_demo {
        "it ends with the demo, whose project is removed"
    } else {
        "/resume continues it"
    };
    let left = left.map(|(name, run)| format!("left: {name} {run}; {what}"));
    let chat = model.chat_left.then(|| "the conversation is kept: synthdev --continue reopens it".to_owned());
    let lines: Vec<String> =
        model.exit_line.clone().into_iter().chain(left).chain(chat).chain(spent).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A terminal that is gone, or a reader that has left, is no error.
pub fn print_exit_message(line: Option<&str>) {
    if let Some(line) = line {
        let _ = writeln!(io::stdout(), "{line}");
    }
}
