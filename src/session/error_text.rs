//! Errors as texts for the screen.

use synthdev_ports::run_store::StoreError;
use synthdev_service::run_start::{FlaglessFrontEnd, RunStartError};

pub(crate) fn with_hint(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message}\nhint: {hint}"))
}

pub(crate) fn store_error_text(error: &StoreError) -> String {
    with_hint(&error.message, error.hint.as_deref())
}

/// Why a run does not start, with what to do on the screen.
pub(crate) fn start_error_text(error: &RunStartError) -> String {
    to_slash_commands(&with_hint(&error.to_string(), error.hint()))
}

/// How to set up a model; shown wherever a model is missing.
pub(crate) const HOW_TO_SET: &str = "/configure sets up a model, and so does `synthdev configure`. Or set SYNTHDEV_API_KEY and \
    SYNTHDEV_BASE_MODEL, for a server of your own SYNTHDEV_BASE_URL (Ollama: http://127.0.0.1:11434/v1), and start again.";

/// Without a model the program says so in a line and offers what works; it never pretends.
pub(crate) fn no_model(missing: &str) -> String {
    format!("{missing}: /configure sets one up (or `synthdev demo`)")
}

/// Rewrites hints for the command line as slash commands.
pub(crate) fn to_slash_commands(text: &str) -> String {
    const TYPED: [(&str, &str); 7] = [
        ("`synthdev runs pause`", "/pause with its id"),
        ("synthdev snapshot ", "/snapshot "),
        ("synthdev runs undo ", "/undo "),
        ("synthdev resume ", "/resume "),
        ("synthdev --resume ", "/resume "),
        ("synthdev runs pause ", "/pause "),
        ("synthdev runs steps ", "/why "),
    ];
    let text = FlaglessFrontEnd::Screen.translate_start_hint(text);
    TYPED.iter().fold(text, |text, (there, here)| text.replace(there, here))
}
