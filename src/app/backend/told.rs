//! Errors as texts for the screen.

use crate::ports::run_store::StoreError;
use crate::runtime::handle::WAIT_OR_SHARE;

pub(super) fn told(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message}\nhint: {hint}"))
}

pub(super) fn of_store(error: &StoreError) -> String {
    told(&error.message, error.hint.as_deref())
}

/// What is said for the command line as it is typed here.
pub(super) fn here(text: &str) -> String {
    const TYPED: [(&str, &str); 4] = [
        ("synthdev snapshot ", "/snapshot "),
        ("synthdev runs undo ", "/undo "),
        ("synthdev resume ", "/resume "),
        (WAIT_OR_SHARE, "wait for it, or end it where it runs; /runs running shows it"),
    ];
    TYPED.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
}
