//! `/verbosity`: how much is shown and logged.

use super::argument_kind::SlashArgument;
use super::command::{SlashAction, SlashCommand};

pub(super) const VERBOSITY: SlashCommand = SlashCommand::new(
    "verbosity",
    "[0-5]",
    "set how much is shown and logged, or show it",
    "For this session; the setting \"verbosity\" keeps it. 0 logs nothing, 1 errors, 2 warnings, 3 runs, 4 states, models \
     and tools, 5 everything; what was said is never logged. From 3 on results and data are shown, too, as with Ctrl+O.",
    SlashArgument::Level,
    |rest| parse_verbosity(rest).map(SlashAction::Verbosity),
);

/// `/verbosity [0-5]`
fn parse_verbosity(rest: &str) -> Result<Option<u8>, String> {
    if rest.is_empty() {
        return Ok(None);
    }
    let level = rest.parse().ok().filter(|level| *level <= 5);
    level.map(Some).ok_or_else(|| format!("/verbosity is a number from 0 to 5, not `{rest}`"))
}
