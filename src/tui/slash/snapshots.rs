//! What `/snapshot` is asked for.

use super::distance::closest;
use super::places::{unquote, word};
use crate::tui::backend::SnapshotCommand;

pub const SNAPSHOT_WORDS: &[&str] = &["list", "create", "show", "diff", "restore", "delete", "help"];

/// `None`: help with it.
///
/// # Errors
/// What is missing, or the word that was meant.
pub fn parse(rest: &str) -> Result<Option<SnapshotCommand>, String> {
    let (first, rest) = word(rest);
    let rest = rest.trim();
    let id = || match rest {
        "" => Err(format!("/snapshot {first} needs an id — /snapshot list shows them")),
        id => Ok(id.to_owned()),
    };
    let command = match first {
        "" | "list" | "ls" => SnapshotCommand::List,
        "create" => SnapshotCommand::Create { label: unquote(rest).to_owned() },
        "show" => SnapshotCommand::Show { id: id()? },
        "diff" => SnapshotCommand::Diff { id: id()? },
        "restore" => SnapshotCommand::Restore { id: id()? },
        "delete" => SnapshotCommand::Delete { id: id()? },
        "help" => return Ok(None),
        _ => {
            let known = closest(first, SNAPSHOT_WORDS.iter().copied());
            let tail = known.map_or_else(
                || format!("it is one of {}", SNAPSHOT_WORDS.join(", ")),
                |known| format!("did you mean {known}?"),
            );
            return Err(format!("unknown: /snapshot {first} — {tail}"));
        }
    };
    Ok(Some(command))
}
