//! `snapshot …`: the words around the snapshot port, shared with nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::words::{name, time};
use crate::domain::snapshot::{ChangedFile, FileChange, Restored, SnapshotInfo};

/// One line a snapshot.
pub fn list(snapshots: &[SnapshotInfo]) -> String {
    if snapshots.is_empty() {
        return "no snapshots yet: one is taken before every run, or by synthdev snapshot create".to_owned();
    }
    let lines: Vec<String> = snapshots
        .iter()
        .map(|info| {
            let files = format!("{:>6} {}", info.files, if info.files == 1 { "file " } else { "files" });
            format!("{}  {}  {files}  {}", info.id, time(info.created), name(&info.label))
        })
        .collect();
    lines.join("\n")
}

pub fn created(info: &SnapshotInfo) -> String {
    let mut text = format!("snapshot {}: {}", info.id, counted(info.files));
    for skipped in &info.skipped {
        let _ = write!(text, "\n  not covered: {} ({})", name(&skipped.path), skipped.reason);
    }
    text
}

pub fn show(info: &SnapshotInfo, changes: &[ChangedFile]) -> String {
    let mut text = created(info);
    let _ = write!(text, "\nlabel     {}\ntaken     {} UTC", name(&info.label), time(info.created));
    if let Some(run) = &info.run {
        let _ = write!(text, "\nrun       {run}");
    }
    if changes.is_empty() {
        text.push_str("\nnothing has changed since");
    } else {
        let _ = write!(text, "\nchanged since; a restore would:\n{}", files(changes));
    }
    text
}

/// What a restore would do, from the reader's point of view.
pub fn files(changes: &[ChangedFile]) -> String {
    files_of_run(changes, None)
}

/// The same for going back behind a run: `own` are the files that it is known to have changed, all others are marked.
pub fn files_of_run(changes: &[ChangedFile], own: Option<&BTreeSet<String>>) -> String {
    let lines: Vec<String> = changes
        .iter()
        .map(|file| {
            let what = match file.change {
                FileChange::Modified => "revert",
                FileChange::Added => "delete",
                FileChange::Deleted => "restore",
                FileChange::Mode => "set mode of",
            };
            let foreign = own.is_some_and(|own| !own.contains(&file.path));
            let mark = if foreign { "  (not changed by this run)" } else { "" };
            format!("  {what:<12} {}{mark}", name(&file.path))
        })
        .collect();
    lines.join("\n")
}

/// What a merge would do: the changes as the run made them.
pub fn incoming(changes: &[ChangedFile]) -> String {
    let line = |file: &ChangedFile| {
        let what = match file.change {
            FileChange::Modified => "change",
            FileChange::Added => "create",
            FileChange::Deleted => "delete",
            FileChange::Mode => "set mode of",
        };
        format!("  {what:<12} {}", name(&file.path))
    };
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The first of them in one line: `a.txt, b.txt and 3 more`.
pub fn named(changes: &[ChangedFile]) -> String {
    const NAMED: usize = 5;
    let shown: Vec<String> = changes.iter().take(NAMED).map(|file| name(&file.path)).collect();
    let more = changes.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", shown.join(", "))
}

pub fn restored(done: &Restored) -> String {
    let mut text = format!("{} restored", counted(done.files.len()));
    if !done.files.is_empty() {
        let _ = write!(text, "\n{}", files(&done.files));
    }
    text + &undo_of(done)
}

/// The same where the list of files was just shown.
pub fn restored_as_shown(done: &Restored) -> String {
    format!("{} restored{}", counted(done.files.len()), undo_of(done))
}

fn undo_of(done: &Restored) -> String {
    let undo = |safety| format!("\nundo this: synthdev snapshot restore {safety}");
    done.safety.as_ref().map(undo).unwrap_or_default()
}

fn counted(files: usize) -> String {
    format!("{files} file{}", if files == 1 { "" } else { "s" })
}
