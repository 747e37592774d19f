//! What `/snapshot` is asked for.

use super::arguments::{split_word, strip_quotes};
use synthdev_service::definition_views::did_you_mean::closest_word;
use synthdev_service::session::SnapshotOperation;

pub const SNAPSHOT_WORDS: &[&str] = &["list", "stats", "create", "show", "diff", "restore", "delete", "help"];

/// Those of them that the id of a snapshot follows.
pub const SNAPSHOT_ID_WORDS: &[&str] = &["show", "diff", "restore", "delete"];

/// `None`: help with it.
///
/// # Errors
/// What is missing, or the word that was meant.
pub fn parse_snapshot_command(rest: &str) -> Result<Option<SnapshotOperation>, String> {
    let (first, rest) = split_word(rest);
    let rest = rest.trim();
    let id = || match rest {
        "" => Err(format!("/snapshot {first} needs an id — /snapshot list shows them")),
        id => Ok(id.to_owned()),
    };
    let command = match first {
        "" | "list" | "ls" => SnapshotOperation::List,
        "stats" => SnapshotOperation::Stats,
        "create" => SnapshotOperation::Create { label: strip_quotes(rest).to_owned() },
        "show" | "info" => SnapshotOperation::Show { id: id()? },
        "diff" => {
            let both = id()?;
            let (id, other) = split_word(&both);
            let other = Some(other.trim()).filter(|other| !other.is_empty());
            SnapshotOperation::Diff { id: id.to_owned(), other: other.map(str::to_owned) }
        }
        "restore" => SnapshotOperation::Restore { id: id()? },
        "delete" => SnapshotOperation::Delete { id: id()? },
        "help" => return Ok(None),
        _ => {
            let known = closest_word(first, SNAPSHOT_WORDS.iter().copied());
            let tail = known.map_or_else(
                || format!("it is one of {}", SNAPSHOT_WORDS.join(", ")),
                |known| format!("did you mean {known}?"),
            );
            return Err(format!("unknown: /snapshot {first} — {tail}"));
        }
    };
    Ok(Some(command))
}
