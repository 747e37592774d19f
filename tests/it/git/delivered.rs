//! What counts as merged is judged by the project as it is now, and what is left when a worktree is gone.

use std::fs;
use std::path::Path;

use synthdev::domain::ids::{RunId, SnapshotId, Timestamp};
use synthdev::domain::snapshot::{
    FileChange, InterruptedRestore, RestoreTarget, RunWorktree, SnapshotRequest, WorktreeSource,
};
use synthdev::ports::snapshot::SnapshotPort;
use synthdev::ports::worktree::{MergeError, WorktreePort};

use super::fixture::{Project, store_at};
use super::worktree::{change_names, create_worktree, port, remove_file, row, small_project, write_file};

fn put_file(project: &Project, worktree: &RunWorktree, path: &str) {
    fs::copy(Path::new(&worktree.path).join(path), project.path_of(path)).unwrap();
}

/// What `git checkout . && git clean -d` leaves.
fn clean_checkout(project: &Project) {
    project.git(&["checkout", "-q", "."]);
    project.git(&["clean", "-qfd"]);
}

/// A run that changed one file, deleted one and made two.
fn worked_run(project: &Project) -> RunWorktree {
    let made = create_worktree(project, "r");
    write_file(&made, "a.txt", "run\n");
    remove_file(&made, "b.txt");
    write_file(&made, "f0", "zero\n");
    write_file(&made, "f1", "one\n");
    made
}

#[test]
fn what_the_project_has_no_more_is_brought_again() {
    type Act = fn(&Project, &RunWorktree);
    let merge: Act = |project, made| drop(port(project).merge(made).unwrap());
    let by_hand: Act = |project, made| ["a.txt", "f0"].iter().for_each(|path| put_file(project, made, path));
    // what happened, and what of `a.txt`, `b.txt`, `f0`, `f1` is offered then
    let rows: [(&str, &[Act], &str); 8] = [
        ("by hand, merged, cleaned", &[by_hand, merge, |project, _| clean_checkout(project)], "a b 0 1"),
        (
            "merged, cleaned, merged, cleaned",
            &[merge, |p, _| clean_checkout(p), merge, |p, _| clean_checkout(p)],
            "a b 0 1",
        ),
        ("merged, one deleted", &[merge, |project, _| fs::remove_file(project.path_of("f0")).unwrap()], "0"),
        ("merged, a changed one deleted", &[merge, |p, _| fs::remove_file(p.path_of("a.txt")).unwrap()], "a"),
        ("merged, the deleted one is back", &[merge, |project, _| project.write_file("b.txt", "b\n")], "b"),
        ("merged, changed further", &[merge, |project, _| project.write_file("a.txt", "mine\n")], ""),
        ("merged, renamed", &[merge, |p, _| fs::rename(p.path_of("f0"), p.path_of("g0")).unwrap()], ""),
        ("merged", &[merge], ""),
    ];
    for (name, acts, offered) in rows {
        let project = small_project();
        let made = worked_run(&project);
        acts.iter().for_each(|act| act(&project, &made));
        let left = port(&project).unmerged(&made).unwrap().unwrap();
        let mut short: Vec<String> = left.files.into_iter().map(|file| file.path).collect();
        short.iter_mut().for_each(|path| *path = path.replace(".txt", "").replace('f', ""));
        short.sort_by_key(|path| path.starts_with(char::is_numeric));
        assert_eq!(short.join(" "), offered, "{name}");
        assert_eq!(left.conflicts, [], "{name}");
        let files = port(&project).merge(&made).unwrap().files;
        assert_eq!(files.len(), short.len(), "{name}");
        assert_eq!(port(&project).unmerged(&made).unwrap().unwrap().files, [], "{name}: all is there");
        if offered.contains('0') {
            assert_eq!(fs::read_to_string(project.path_of("f0")).unwrap(), "zero\n", "{name}");
        }
    }
}

/// The run began with changes that were not committed; both go.
#[test]
fn back_to_the_last_commit_is_back_to_before_the_run() {
    let project = small_project();
    project.write_file("a.txt", "not committed\n");
    let made = worked_run(&project);
    port(&project).merge(&made).unwrap();
    clean_checkout(&project);
    let left = port(&project).unmerged(&made).unwrap().unwrap();
    assert_eq!((left.files.len(), left.conflicts.len()), (4, 0), "{left:?}");
    port(&project).merge(&made).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("a.txt")).unwrap(), "run\n");
}

#[test]
fn conflicts_are_known_before_anything_is_stored() {
    let project = small_project();
    let made = worked_run(&project);
    project.write_file("a.txt", "mine\n");
    let objects = || fs::read_dir(project.path_of(".git/objects")).unwrap().count();
    let before = (objects(), project.git_state(), project.git(&["for-each-ref"]));
    let left = port(&project).unmerged(&made).unwrap().unwrap();
    assert_eq!((objects(), project.git_state(), project.git(&["for-each-ref"])), before);
    let Err(MergeError::Conflicts(conflicts)) = port(&project).merge(&made) else {
        panic!("both changed it")
    };
    assert_eq!((left.conflicts, left.files.len()), (conflicts, 4));
}

/// What the worktree's run would take.
fn snapshot(project: &Project, made: &RunWorktree) -> String {
    let inside = store_at(made.path.clone().into(), project.data(), &[]);
    inside.take(&SnapshotRequest::default()).unwrap().id.to_string()
}

#[test]
fn a_worktree_that_is_gone_is_merged_from_what_was_kept() {
    for below in ["", "dir"] {
        let project = small_project().moved_to(&format!("project/{below}"));
        let made = create_worktree(&project, "r");
        write_file(&made, "new.txt", "1\n");
        let last = snapshot(&project, &made);
        write_file(&made, "new.txt", "2, never stored\n");
        let top = Path::new(&made.path).ancestors().nth(usize::from(!below.is_empty())).unwrap();
        fs::remove_dir_all(top).unwrap();
        let left = port(&project).unmerged(&made).unwrap().unwrap();
        assert_eq!(change_names(left.files), [row("new.txt", FileChange::Added)]);
        assert!(matches!(left.kept, WorktreeSource::Snapshot { id, .. } if id.as_str() == last));
        port(&project).merge(&made).unwrap();
        assert_eq!(fs::read_to_string(project.path_of("new.txt")).unwrap(), "1\n");
        assert_eq!(port(&project).unmerged(&made).unwrap().unwrap().files, []);
        port(&project).discard(&made, false).unwrap();
        assert_eq!(port(&project).unmerged(&made).unwrap(), None);
    }
    // nothing was stored at all
    let project = small_project();
    let made = worked_run(&project);
    fs::remove_dir_all(&made.path).unwrap();
    let left = port(&project).unmerged(&made).unwrap().unwrap();
    assert_eq!((left.kept, left.files), (WorktreeSource::Nothing, vec![]));
}

/// As a process leaves it that is killed between two files.
fn interrupt_restore(project: &Project, goal: RestoreTarget, safety: &SnapshotId) {
    let note = InterruptedRestore { goal, safety: safety.clone(), since: Timestamp(0) };
    for corner in fs::read_dir(project.data().join("snapshots")).unwrap() {
        let file = corner.unwrap().path().join("changing");
        fs::write(file, serde_json::to_vec(&note).unwrap()).unwrap();
    }
}

#[test]
fn a_restore_that_was_cut_off_is_finished_and_undone_as_one() {
    let project = small_project();
    let store = project.store();
    let to = store.take(&SnapshotRequest::default()).unwrap().id;
    ["a.txt", "b.txt", "new.txt"].iter().for_each(|path| project.write_file(path, "later\n"));
    let before = project.fingerprint();
    let safety = store.take(&SnapshotRequest::default()).unwrap().id;
    project.write_file("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    project.write_file("dir/.synthdev-0123456789abcdef", "half writ");
    project.write_file("dir/.synthdev-mine", "not ours\n");
    interrupt_restore(&project, RestoreTarget::Snapshot(to.clone()), &safety);
    let found = store.interrupted_restore().unwrap().unwrap();
    assert_eq!((found.goal, &found.safety), (RestoreTarget::Snapshot(to.clone()), &safety));

    let done = store.restore(&to).unwrap();
    assert_eq!(done.safety, Some(safety.clone()));
    assert!(done.halfway.is_some_and(|halfway| halfway != safety));
    assert!(!project.path_of("dir/.synthdev-0123456789abcdef").exists());
    assert_eq!(store.interrupted_restore().unwrap(), None);
    store.restore(&safety).unwrap();
    assert_eq!(project.fingerprint(), before);

    // to another one: that is what counts then
    interrupt_restore(&project, RestoreTarget::Snapshot(to.clone()), &safety);
    project.write_file("b.txt", "b\n");
    let other = store.restore(&safety).unwrap();
    assert!(other.safety.is_some_and(|undo| undo != safety));
    assert_eq!((other.halfway, store.interrupted_restore().unwrap()), (None, None));
    // or they stay
    interrupt_restore(&project, RestoreTarget::Snapshot(to), &safety);
    store.accept_interrupted_restore().unwrap();
    assert_eq!(store.interrupted_restore().unwrap(), None);
}

#[test]
fn a_merge_that_was_cut_off_is_finished_and_undone_as_one() {
    let project = small_project();
    project.write_file("dir/c.txt", "1\n2\n3\n4\n5\n");
    let made = worked_run(&project);
    write_file(&made, "dir/c.txt", "1\n2\n3\n4\nrun\n");
    project.write_file("dir/c.txt", "mine\n2\n3\n4\n5\n");
    let before = project.fingerprint();
    let safety = project.store().take(&SnapshotRequest::default()).unwrap().id;
    put_file(&project, &made, "f0");
    project.write_file("dir/c.txt", "mine\n2\n3\n4\nrun\n");
    let goal = RestoreTarget::Merge { run: RunId::from("r"), branch: made.branch.clone() };
    interrupt_restore(&project, goal, &safety);
    let merged = port(&project).merge(&made).unwrap();
    assert_eq!((merged.safety, merged.files.len()), (Some(safety.clone()), 3));
    assert_eq!(project.store().interrupted_restore().unwrap(), None);
    project.store().restore(&safety).unwrap();
    assert_eq!(project.fingerprint(), before);
    assert_eq!(
        port(&project).unmerged(&made).unwrap().unwrap().files.len(),
        5,
        "nothing is taken for merged"
    );

    // over another change that was cut off nothing is merged
    interrupt_restore(&project, RestoreTarget::Snapshot(safety.clone()), &safety);
    let Err(MergeError::Failed(error)) = port(&project).merge(&made) else { panic!("of two moments") };
    assert!(error.hint.is_some_and(|hint| hint.contains("snapshot restore")), "{}", error.message);
    assert_eq!(project.fingerprint(), before);
}

#[test]
fn what_does_not_come_back_is_known() {
    let project = small_project();
    project.write_file(".gitignore", "*.log\nbuild/\nforced.log\n");
    project.write_file("forced.log", "tracked all the same\n");
    project.git(&["add", "-f", "forced.log"]);
    project.write_file("old.log", "old\n");
    project.write_file("build/deep/out", "old\n");
    project.git(&["init", "-q", "inner"]);
    let store = project.store();
    // the clock of these tests is long past
    let since = |path: &str, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::open(project.path_of(path)).unwrap().set_modified(time).unwrap();
    };
    let all = ["old.log", "build", "build/deep", "build/deep/out"];
    all.iter().for_each(|path| since(path, 1));
    for entry in super::fixture::seen_below(&project.path_of("inner")) {
        since(&format!("inner/{}", entry.0), 1);
    }
    since("inner", 1);
    let at = store.take(&SnapshotRequest::default()).unwrap().id;
    assert!(store.unrestored_changes(&at).unwrap().is_empty(), "{:?}", store.unrestored_changes(&at));
    since("build/deep/out", 1_800_000_000);
    project.write_file("new.log", "new\n");
    project.write_file("forced.log", "changed\n");
    project.write_file("inner/file", "new\n");
    project.git(&["commit", "-q", "--allow-empty", "-m", "moved"]);
    let beyond = store.unrestored_changes(&at).unwrap();
    assert_eq!(
        (beyond.ignored, beyond.nested),
        (vec!["build".into(), "new.log".into()], vec!["inner".into()])
    );
    assert!(beyond.head);
    // what is gone is known, and what came with times of before
    fs::remove_file(project.path_of("old.log")).unwrap();
    since("new.log", 1);
    fs::remove_dir_all(project.path_of("inner")).unwrap();
    let beyond = store.unrestored_changes(&at).unwrap();
    assert_eq!(
        (beyond.ignored, beyond.nested),
        (vec!["old.log".into(), "build".into(), "new.log".into()], vec!["inner".into()])
    );
}
