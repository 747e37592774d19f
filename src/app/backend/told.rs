//! Errors as texts for the screen.

use crate::ports::run_store::StoreError;

pub(super) fn told(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message}\nhint: {hint}"))
}

pub(super) fn of_store(error: &StoreError) -> String {
    told(&error.message, error.hint.as_deref())
}
