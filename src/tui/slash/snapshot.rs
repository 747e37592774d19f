//! What follows `/snapshot`.

use super::distance::closest;
use super::words::{split_word, unquote};
use crate::tui::backend::SnapshotCommand;

pub const WORDS: &[&str] = &["list", "create", "show", "diff", "restore", "delete", "help"];

/// What follows `/snapshot`; `None`: its help is wanted.
/// # Errors
/// An unknown word, or an id that is missing.
pub fn parse(rest: &str) -> Result<Option<SnapshotCommand>, String> {
    let (word, rest) = split_word(rest);
    let rest = rest.trim();
    let id = || match rest {
        "" => Err(format!("/snapshot {word} needs an id — /snapshot list shows them")),
        id => Ok(id.to_owned()),
    };
    let command = match word {
        "" | "list" | "ls" => SnapshotCommand::List,
        "create" => SnapshotCommand::Create { label: unquote(rest).to_owned() },
        "show" => SnapshotCommand::Show { id: id()? },
        "diff" => SnapshotCommand::Diff { id: id()? },
        "restore" => SnapshotCommand::Restore { id: id()? },
        "delete" => SnapshotCommand::Delete { id: id()? },
        "help" => return Ok(None),
        _ => {
            let known = closest(word, WORDS.iter().copied());
            let tail = known.map_or_else(
                || format!("it is one of {}", WORDS.join(", ")),
                |known| format!("did you mean {known}?"),
            );
            return Err(format!("unknown: /snapshot {word} — {tail}"));
        }
    };
    Ok(Some(command))
}
