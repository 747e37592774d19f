//! Shows what a restore of the project's files changes, and asks.

use std::io::Write;

use anyhow::{Context, Result};

use crate::isolation;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr as tell_line};
use synthdev_cli::snapshots;
use synthdev_domain::snapshot::SnapshotRestoreResult;
use synthdev_service::time_travel::FileRestorePlan;

/// Prints which changes the restore does not revert.
pub(super) fn print_unrestored(files: &FileRestorePlan) {
    snapshots::unrestored_text(&files.unrestored)
        .lines()
        .for_each(|line| tell_line(format_args!("note: {line}")));
}

/// Shows the files first; asks at a terminal, elsewhere `--yes` is needed. `moment`: `before step 3 (review)`.
///
/// # Errors
/// There is no user to ask.
pub(super) fn confirm_restore(
    files: &FileRestorePlan,
    moment: &str,
    yes: bool,
    refused: &str,
) -> Result<bool> {
    let question = if files.changes.is_empty() {
        tell_line(format_args!("the files are as in snapshot {} already", files.snapshot));
        format!("go back {moment}?")
    } else {
        tell_line(format_args!(
            "to go back {moment} (snapshot {}):\n{}",
            files.snapshot,
            snapshots::run_changes_text(&files.changes, files.run_changes.as_ref())
        ));
        format!("go back {moment}, with {}?", snapshots::file_count_text(files.changes.len()))
    };
    print_unrestored(files);
    ask_confirmation(yes, refused, &question)
}

/// # Errors
/// There is no user to ask.
pub(super) fn ask_confirmation(yes: bool, refused: &str, question: &str) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    let agreed = isolation::ask_confirmation(question).context(refused.to_owned())?;
    if !agreed {
        tell_line("nothing was changed");
    }
    Ok(agreed)
}

/// Prints the restored files, and how to undo the restore.
pub(super) fn print_restored(restored: &SnapshotRestoreResult) {
    if restored.files.is_empty() && restored.safety.is_none() {
        return;
    }
    let _ = writeln!(
        TerminalSafeWriter(&mut std::io::stdout().lock()),
        "{}",
        snapshots::restored_as_shown(restored)
    );
}
