//! `snapshot …`: the words around the snapshot port, shared with nothing else.

use std::fmt::Write as _;

use super::output::{safe_name, time_text};
use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::{
    ChangedFile, FileChange, MergeConflict, RunWorktree, SnapshotInfo, SnapshotRestoreResult,
    SnapshotStatistics, UnrestoredChanges, WorktreeSource, join_first_paths,
};
use synthdev_service::project_snapshots::{CreatedSnapshot, SnapshotRestorePlan};
use synthdev_service::time_travel::RunChangedFiles;

/// Files that are listed one by one.
const SHOWN: usize = 40;

/// One line a snapshot.
pub fn snapshot_lines(snapshots: &[SnapshotInfo]) -> String {
    if snapshots.is_empty() {
        return "no snapshots yet: one is taken before a run can change files, or by synthdev snapshot create".to_owned();
    }
    let lines: Vec<String> = snapshots
        .iter()
        .map(|info| {
            let files = format!("{:>6} {}", info.files, if info.files == 1 { "file " } else { "files" });
            format!("{}  {}  {files}  {}", info.id, time_text(info.created), safe_name(&info.label))
        })
        .collect();
    lines.join("\n")
}

pub fn created_text(created: &CreatedSnapshot) -> String {
    let mut text = covered_text(&created.info);
    let count = created.deleted_count;
    if count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        let _ = write!(text, "\n{count} old snapshot{plural} deleted (snapshots.keep, snapshots.keep_days)");
    }
    text
}

/// `snapshot stats`.
pub fn statistics_text(all: &SnapshotStatistics) -> String {
    let SnapshotStatistics { count, of_runs, runs, newest, oldest, most_files } = all;
    let mut text =
        format!("snapshots  {count}, {of_runs} of {runs} run{}", if *runs == 1 { "" } else { "s" });
    for (name, info) in [("newest", newest), ("oldest", oldest)] {
        if let Some(info) = info {
            let (at, label) = (time_text(info.created), safe_name(&info.label));
            let _ = write!(text, "\n{name:<10} {}  {at} UTC  {label}", info.id);
        }
    }
    if *count > 0 {
        let _ = write!(text, "\nfiles      {most_files} in the largest");
    }
    text
}

fn covered_text(info: &SnapshotInfo) -> String {
    let mut text = format!("snapshot {}: {}", info.id, file_count_text(info.files));
    for skipped in &info.skipped {
        let _ = write!(text, "\n  not covered: {} ({})", safe_name(&skipped.path), skipped.reason);
    }
    text
}

pub fn snapshot_text(info: &SnapshotInfo, changes: &[ChangedFile]) -> String {
    let mut text = covered_text(info);
    let _ = write!(text, "\nlabel     {}\ntaken     {} UTC", safe_name(&info.label), time_text(info.created));
    if let Some(run) = &info.run {
        let _ = write!(text, "\nrun       {run}");
    }
    if changes.is_empty() {
        text.push_str("\nnothing has changed since");
    } else {
        let _ = write!(text, "\nchanged since; a restore would:\n{}", restore_lines(changes));
    }
    text
}

/// What a restore would do, from the reader's point of view.
pub fn restore_lines(changes: &[ChangedFile]) -> String {
    run_changes_text(changes, None)
}

/// What a restore will do and what does not come back; of an empty plan, that there is nothing to do.
pub fn restore_plan_text(plan: &SnapshotRestorePlan) -> String {
    let SnapshotRestorePlan { info, changes, unrestored, .. } = plan;
    let notes = unrestored_notes(unrestored);
    if plan.is_empty() {
        let but = unrestored_suffix(unrestored);
        return format!("nothing to do: the files are as in snapshot {}{but}{notes}", info.id);
    }
    let label = safe_name(&info.label);
    format!("to go back to snapshot {} ({label}):\n{}{notes}", info.id, restore_lines(changes))
}

/// The same for going back behind a run: what it is not known to have changed is marked.
pub fn run_changes_text(changes: &[ChangedFile], own: Option<&RunChangedFiles>) -> String {
    let line = |file: &ChangedFile| {
        let what = match file.change {
            FileChange::Modified => "revert",
            FileChange::Added => "delete",
            FileChange::Deleted => "restore",
            FileChange::Mode => "set mode of",
        };
        let mark = own.map_or("", |own| {
            let (path, is_sure) = (&file.path, !own.is_uncertain);
            match (own.files.contains(path), own.changed_since.contains(path)) {
                (false, _) if is_sure => "  (not changed by this run)",
                (false, _) => "  (perhaps not changed by this run)",
                (true, true) if is_sure => "  (changed afterwards, not by this run)",
                (true, true) => "  (perhaps changed afterwards, not by this run)",
                (true, false) => "",
            }
        });
        format!("  {what:<12} {}{mark}", safe_name(&file.path))
    };
    change_lines(changes, line, FileChange::Deleted, FileChange::Added)
}

/// How many of them the run did not change: they go back with its own. Empty: none, or it is not known.
pub fn other_changes_text(changes: &[ChangedFile], own: Option<&RunChangedFiles>) -> String {
    let Some(own) = own else { return String::new() };
    let others = changes.iter().filter(|file| !own.files.contains(&file.path)).count();
    let perhaps = if own.is_uncertain { "perhaps " } else { "" };
    let untouched = match others {
        0 => String::new(),
        1 => format!("This run {perhaps}did not change 1 of them; it goes back, too."),
        _ => format!("This run {perhaps}did not change {others} of them; they go back, too."),
    };
    // of those that it never changed it is said already
    let edited = |path: &&String| own.files.contains(*path) && own.changed_since.contains(*path);
    let edited: Vec<String> = changes.iter().map(|file| &file.path).filter(edited).cloned().collect();
    if edited.is_empty() {
        return untouched;
    }
    let names = join_first_paths(&edited);
    let text =
        format!("Somebody else {perhaps}changed {names} after this run's last change: that goes back, too.");
    if untouched.is_empty() { text } else { format!("{text} {untouched}") }
}

/// What a merge would do: the changes as the run made them.
pub fn merge_changes_text(changes: &[ChangedFile]) -> String {
    let line = |file: &ChangedFile| {
        let what = match file.change {
            FileChange::Modified => "change",
            FileChange::Added => "create",
            FileChange::Deleted => "delete",
            FileChange::Mode => "set mode of",
        };
        format!("  {what:<12} {}", safe_name(&file.path))
    };
    change_lines(changes, line, FileChange::Added, FileChange::Deleted)
}

/// Why a merge is refused, a line each.
pub fn conflict_lines(conflicts: &[MergeConflict]) -> String {
    let lines = conflicts.iter().take(SHOWN);
    let lines = lines.map(|found| format!("  conflict     {} ({})", safe_name(&found.path), found.reason));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if let Some(more) = conflicts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = write!(text, "\n  … and {more} more");
    }
    text
}

/// A line each; of many files only the first, with the number of the others and the totals. `made` and `gone` are the
/// changes that create and delete.
fn change_lines(
    changes: &[ChangedFile],
    line: impl Fn(&ChangedFile) -> String,
    made: FileChange,
    gone: FileChange,
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

/// Added to the message that the files are restored.
pub fn unrestored_suffix(found: &UnrestoredChanges) -> &'static str {
    if found.is_empty() { "" } else { ", except for the notes" }
}

/// The first of them in one line: `a.txt, b.txt and 3 more`.
pub fn short_file_list(changes: &[ChangedFile]) -> String {
    join_first_paths(&changes.iter().map(|file| file.path.clone()).collect::<Vec<_>>())
}

pub fn restored_text(done: &SnapshotRestoreResult) -> String {
    let mut text = format!("{} restored", file_count_text(done.files.len()));
    if !done.files.is_empty() {
        let _ = write!(text, "\n{}", restore_lines(&done.files));
    }
    text + &undo_text(done) + &unrestored_notes(&done.beyond)
}

/// What did not come back, on lines of its own.
fn unrestored_notes(found: &UnrestoredChanges) -> String {
    unrestored_text(found).lines().map(|line| format!("\nnote: {line}")).collect()
}

/// The same where the list of files was just shown.
pub fn restored_as_shown(done: &SnapshotRestoreResult) -> String {
    format!("{} restored{}", file_count_text(done.files.len()), undo_text(done))
}

fn undo_text(done: &SnapshotRestoreResult) -> String {
    let undo = |safety| format!("\nundo this: synthdev snapshot restore {safety}");
    let halfway = |id| {
        format!(
            "\nthis snapshot has the files from before the first attempt; snapshot {id} has the \
            files from just now"
        )
    };
    let undo = done.safety.as_ref().map(undo).unwrap_or_default();
    undo + &done.halfway.as_ref().map(halfway).unwrap_or_default()
}

/// `1 file`, `2 files`
pub fn file_count_text(files: usize) -> String {
    format!("{files} file{}", if files == 1 { "" } else { "s" })
}

/// What is looked at in the place of a worktree that is gone.
pub fn worktree_source_text(run: &RunId, tree: &RunWorktree, kept: &WorktreeSource) -> Option<String> {
    let from = match kept {
        WorktreeSource::Tree => return None,
        WorktreeSource::Snapshot { id, taken } => {
            format!("its last snapshot is there, {id} of {} UTC", time_text(*taken))
        }
        WorktreeSource::Branch => format!("its branch {} is there", safe_name(&tree.branch)),
        WorktreeSource::Nothing => "nothing that it changed was kept".to_owned(),
    };
    let lost = if *kept == WorktreeSource::Nothing { "" } else { "; what it changed after that is lost" };
    Some(format!("the worktree of run {run} is gone: {}\n{from}{lost}", safe_name(&tree.path)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn many_changes(count: usize) -> Vec<ChangedFile> {
        let kinds = [FileChange::Added, FileChange::Deleted, FileChange::Modified, FileChange::Mode];
        let file = |at: usize| ChangedFile { path: format!("f{at}"), change: kinds[at % 4] };
        (0..count).map(file).collect()
    }

    #[test]
    fn a_long_list_is_cut_and_summed_up() {
        let short = restore_lines(&many_changes(SHOWN));
        assert_eq!(short.lines().count(), SHOWN);
        let long = restore_lines(&many_changes(SHOWN + 5));
        assert_eq!(long.lines().count(), SHOWN + 2, "{long}");
        assert!(long.ends_with("  … and 5 more\n  11 created, 22 changed, 12 deleted"), "{long}");
        let long = merge_changes_text(&many_changes(SHOWN + 5));
        assert!(long.ends_with("  … and 5 more\n  12 created, 22 changed, 11 deleted"), "{long}");
    }

    #[test]
    fn what_a_run_did_not_change_is_marked() {
        let own = |unclear| RunChangedFiles {
            files: BTreeSet::from(["f0".to_owned()]),
            changed_since: BTreeSet::from(["f1".to_owned()]),
            is_uncertain: unclear,
        };
        for (own, mark, one, several) in [
            (
                Some(own(false)),
                "  (not changed by this run)",
                "This run did not change 1 of them; it goes back, too.",
                "This run did not change 2 of them; they go back, too.",
            ),
            (
                Some(own(true)),
                "  (perhaps not changed by this run)",
                "This run perhaps did not change 1 of them; it goes back, too.",
                "This run perhaps did not change 2 of them; they go back, too.",
            ),
            (None, "", "", ""),
        ] {
            let text = run_changes_text(&many_changes(2), own.as_ref());
            assert_eq!(text, format!("  delete       f0\n  restore      f1{mark}"));
            for (count, told) in [(1, ""), (2, one), (3, several)] {
                assert_eq!(other_changes_text(&many_changes(count), own.as_ref()), told);
            }
        }
    }

    #[test]
    fn what_was_edited_after_the_run_is_marked() {
        let files = BTreeSet::from(["f0".to_owned(), "f1".to_owned()]);
        let edited = |unclear| RunChangedFiles {
            files: files.clone(),
            changed_since: BTreeSet::from(["f1".to_owned(), "f7".to_owned()]),
            is_uncertain: unclear,
        };
        for (own, mark, told) in [
            (
                edited(false),
                "  (changed afterwards, not by this run)",
                "Somebody else changed f1 after this run's last change: that goes back, too.",
            ),
            (
                edited(true),
                "  (perhaps changed afterwards, not by this run)",
                "Somebody else perhaps changed f1 after this run's last change: that goes back, too.",
            ),
        ] {
            let text = run_changes_text(&many_changes(2), Some(&own));
            assert_eq!(text, format!("  delete       f0\n  restore      f1{mark}"));
            assert_eq!(other_changes_text(&many_changes(2), Some(&own)), told);
        }
    }
}
