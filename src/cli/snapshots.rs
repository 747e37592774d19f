//! `snapshot …`: the words around the snapshot port, shared with nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::output::{name, time};
use synthdev_domain::snapshot::{
    ChangedFile, FileChange, MergeConflict, SnapshotInfo, SnapshotRestoreResult, UnrestoredChanges,
    join_first_paths,
};

/// Files that are listed one by one.
const SHOWN: usize = 40;

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

/// What a run is known to have changed itself.
#[derive(Debug, Default)]
pub struct RunChangedFiles {
    pub files: BTreeSet<String>,
    /// It may have changed others, too: what it did last was stored nowhere.
    pub unclear: bool,
}

/// What a restore would do, from the reader's point of view.
pub fn files(changes: &[ChangedFile]) -> String {
    files_of_run(changes, None)
}

/// The same for going back behind a run: what it is not known to have changed is marked.
pub fn files_of_run(changes: &[ChangedFile], own: Option<&RunChangedFiles>) -> String {
    let line = |file: &ChangedFile| {
        let what = match file.change {
            FileChange::Modified => "revert",
            FileChange::Added => "delete",
            FileChange::Deleted => "restore",
            FileChange::Mode => "set mode of",
        };
        let mark = match own.filter(|own| !own.files.contains(&file.path)) {
            Some(RunChangedFiles { unclear: false, .. }) => "  (not changed by this run)",
            Some(RunChangedFiles { unclear: true, .. }) => "  (perhaps not changed by this run)",
            None => "",
        };
        format!("  {what:<12} {}{mark}", name(&file.path))
    };
    listed(changes, line, (FileChange::Deleted, FileChange::Added))
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
    listed(changes, line, (FileChange::Added, FileChange::Deleted))
}

/// Why a merge is refused, a line each.
pub fn conflicts(conflicts: &[MergeConflict]) -> String {
    let lines = conflicts.iter().take(SHOWN);
    let lines = lines.map(|found| format!("  conflict     {} ({})", name(&found.path), found.reason));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if let Some(more) = conflicts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = write!(text, "\n  … and {more} more");
    }
    text
}

/// A line each; of many files the first, how many more, and what becomes of all. `made` and `gone` tell which changes
/// create and delete.
fn listed(
    changes: &[ChangedFile],
    line: impl Fn(&ChangedFile) -> String,
    (made, gone): (FileChange, FileChange),
) -> String {
    let mut text = changes.iter().take(SHOWN).map(line).collect::<Vec<_>>().join("\n");
    if let Some(more) = changes.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let count = |what: FileChange| changes.iter().filter(|file| file.change == what).count();
        let (made, gone) = (count(made), count(gone));
        let changed = changes.len() - made - gone;
        let _ = write!(text, "\n  … and {more} more\n  {made} created, {changed} changed, {gone} deleted");
    }
    text
}

/// What stays as it is although it was changed, a line each; no text if nothing does.
pub fn unrestored_text(found: &UnrestoredChanges) -> String {
    found.notes().join("\n")
}

/// What to add where the files are said to be as they were.
pub fn unrestored_suffix(found: &UnrestoredChanges) -> &'static str {
    if found.is_empty() { "" } else { ", but for what is noted" }
}

/// The first of them in one line: `a.txt, b.txt and 3 more`.
pub fn named(changes: &[ChangedFile]) -> String {
    join_first_paths(&changes.iter().map(|file| file.path.clone()).collect::<Vec<_>>())
}

pub fn restored(done: &SnapshotRestoreResult) -> String {
    let mut text = format!("{} restored", counted(done.files.len()));
    if !done.files.is_empty() {
        let _ = write!(text, "\n{}", files(&done.files));
    }
    text + &undo_of(done) + &stays(&done.beyond)
}

/// What did not come back, on lines of its own.
fn stays(found: &UnrestoredChanges) -> String {
    unrestored_text(found).lines().map(|line| format!("\nnote: {line}")).collect()
}

/// The same where the list of files was just shown.
pub fn restored_as_shown(done: &SnapshotRestoreResult) -> String {
    format!("{} restored{}", counted(done.files.len()), undo_of(done))
}

fn undo_of(done: &SnapshotRestoreResult) -> String {
    let undo = |safety| format!("\nundo this: synthdev snapshot restore {safety}");
    let halfway =
        |id| format!("\nthat is what was there before all of it; what was there just now is snapshot {id}");
    let undo = done.safety.as_ref().map(undo).unwrap_or_default();
    undo + &done.halfway.as_ref().map(halfway).unwrap_or_default()
}

/// `1 file`, `2 files`
pub fn counted(files: usize) -> String {
    format!("{files} file{}", if files == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize) -> Vec<ChangedFile> {
        let kinds = [FileChange::Added, FileChange::Deleted, FileChange::Modified, FileChange::Mode];
        let file = |at: usize| ChangedFile { path: format!("f{at}"), change: kinds[at % 4] };
        (0..count).map(file).collect()
    }

    #[test]
    fn a_long_list_is_cut_and_summed_up() {
        let short = files(&many(SHOWN));
        assert_eq!(short.lines().count(), SHOWN);
        let long = files(&many(SHOWN + 5));
        assert_eq!(long.lines().count(), SHOWN + 2, "{long}");
        assert!(long.ends_with("  … and 5 more\n  11 created, 22 changed, 12 deleted"), "{long}");
        let long = incoming(&many(SHOWN + 5));
        assert!(long.ends_with("  … and 5 more\n  12 created, 22 changed, 11 deleted"), "{long}");
    }

    #[test]
    fn what_a_run_did_not_change_is_marked() {
        let own = |unclear| RunChangedFiles { files: BTreeSet::from(["f0".to_owned()]), unclear };
        for (own, mark) in [
            (Some(own(false)), "  (not changed by this run)"),
            (Some(own(true)), "  (perhaps not changed by this run)"),
            (None, ""),
        ] {
            let text = files_of_run(&many(2), own.as_ref());
            assert_eq!(text, format!("  delete       f0\n  restore      f1{mark}"));
        }
    }
}
