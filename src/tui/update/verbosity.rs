//! `/verbosity`: how much is shown and logged, changed while the program runs.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::TranscriptItem;
use synthdev_service::session::ProjectRequest;

/// Whether results and data are shown, too.
pub fn details_at(level: u8) -> bool {
    level >= 3
}

/// Sets another level; without one, only shows the current level.
pub(super) fn set_verbosity(model: &mut UiModel, wanted: Option<u8>) -> Vec<UiCommand> {
    if let Some(level) = wanted {
        model.details = details_at(level);
    }
    vec![UiCommand::ask(ProjectRequest::Verbosity(wanted))]
}

/// How much is logged, and what that means here.
pub(super) fn show_level(model: &mut UiModel, level: u8, log: &str) {
    let logged = match level {
        0 => "nothing is logged",
        1 => "errors are logged",
        2 => "warnings and errors are logged",
        3 => "runs are logged, too",
        4 => "states, models and tools are logged, too",
        _ => "everything is logged",
    };
    let place = if level == 0 { String::new() } else { format!(", in {log}") };
    let shown = if model.details { "shown" } else { "folded" };
    model.add_item(TranscriptItem::note_item(&format!(
        "verbosity {level}: {logged}{place} · results and data are {shown}"
    )));
}
