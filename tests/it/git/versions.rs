//! Several snapshots of one project: what separates two of them, and which of them are swept.

use std::fs;

use super::fixture::Project;
use super::{make_messy, request, wreck_project};
use synthdev::domain::ids::SnapshotId;
use synthdev::domain::snapshot::{FileChange, SnapshotInfo};
use synthdev::ports::snapshot::{SnapshotError, SnapshotPort};

#[test]
fn two_snapshots_differ_as_git_says() {
    let project = Project::repository();
    make_messy(&project);
    project.write_file("two words.txt", "1\n");
    let store = project.store();
    let first = store.take(&request("first")).unwrap().id;
    wreck_project(&project);
    project.write_file("two words.txt", "2\n");
    let seen = store.changes(&first, None).unwrap();
    let second = store.take(&request("second")).unwrap().id;
    project.write_file("src/main.rs", "the present does not matter\n");
    let state = project.git_state();
    assert_eq!(
        store.changes(&first, Some(&second)).unwrap(),
        seen,
        "as it was when the second was the present"
    );
    let (old, new) =
        (format!("refs/synthdev/snapshots/{first}"), format!("refs/synthdev/snapshots/{second}"));
    for (from, to, a, b) in [(&first, &second, &old, &new), (&second, &first, &new, &old)] {
        let said = store.diff(from, Some(to)).unwrap();
        assert_eq!(said, project.git(&["diff", "--no-renames", a, b]));
        assert!(said.len() > 1_000);
    }
    let back = store.changes(&second, Some(&first)).unwrap();
    let count = |list: &[synthdev::domain::snapshot::ChangedFile], change| {
        list.iter().filter(|file| file.change == change).count()
    };
    assert_eq!(count(&seen, FileChange::Added), count(&back, FileChange::Deleted));
    assert_eq!(count(&seen, FileChange::Deleted), count(&back, FileChange::Added));
    assert_eq!(
        (store.changes(&first, Some(&first)).unwrap().len(), store.diff(&first, Some(&first)).unwrap()),
        (0, String::new())
    );
    let unknown = SnapshotId::from("000000000000");
    assert!(store.diff(&first, Some(&unknown)).unwrap_err().message.contains("000000000000"));
    assert!(store.changes(&unknown, Some(&first)).is_err());
    assert_eq!(project.git_state(), state);
}

#[test]
fn a_snapshot_from_before_git_is_compared_with_one_from_after() {
    let project = Project::without_git();
    project.write_file("a", "one\n");
    project.write_file("same/b", "same\n");
    let store = project.store();
    let plain = store.take(&request("plain")).unwrap().id;
    project.git(&["init", "-q"]);
    project.write_file("a", "two\n");
    project.write_file("new", "n\n");
    let inside = store.take(&request("repository")).unwrap().id;
    assert_eq!(project.git(&["for-each-ref", "refs/synthdev"]).lines().count(), 1);
    for (from, to, lines) in [(&plain, &inside, "-one\n+two\n"), (&inside, &plain, "-two\n+one\n")] {
        assert_eq!(store.changes(from, Some(to)).unwrap().len(), 2);
        let diff = store.diff(from, Some(to)).unwrap();
        assert!(diff.contains(lines) && !diff.contains("same"), "{diff}");
    }
    project.git(&["fsck", "--strict"]);
}

#[test]
fn those_that_are_chosen_among_all_are_deleted() {
    let project = Project::repository();
    let store = project.store();
    let ids: Vec<SnapshotId> = (0..6)
        .map(|n| {
            project.write_file("a", &n.to_string());
            store.take(&request(&format!("n{n}"))).unwrap().id
        })
        .collect();
    let delete = |labels: &[&str]| -> Vec<String> {
        let chosen = |all: &[SnapshotInfo]| {
            let named = all.iter().filter(|info| labels.contains(&info.label.as_str()));
            Ok(named.map(|info| info.id.clone()).collect())
        };
        store.delete_chosen(&chosen).unwrap().into_iter().map(|info| info.label).collect()
    };
    let state = project.git_state();
    assert_eq!(delete(&[]), [""; 0]);
    assert_eq!(delete(&["n0", "n3", "n2", "other"]), ["n3", "n2", "n0"]);
    let left: Vec<String> = store.list().unwrap().into_iter().map(|info| info.label).collect();
    assert_eq!(left, ["n5", "n4", "n1"]);
    let full = store.delete_chosen(&|_| Err(SnapshotError { message: "no".into(), hint: None }));
    assert_eq!((full.unwrap_err().message.as_str(), store.list().unwrap().len()), ("no", 3));
    store.restore(&ids[1]).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("a")).unwrap(), "1");
    assert_eq!(project.git_state().1, state.1);
    project.git(&["fsck", "--strict"]);
}

#[test]
fn a_sweep_of_a_private_store_frees_its_objects() {
    let project = Project::without_git();
    let store = project.store();
    project.write_file("dir/stays", "in every snapshot");
    for n in 0..4 {
        project.write_file("big", &format!("{n}").repeat(10_000));
        project.write_file(&format!("dir/only{n}"), &n.to_string());
        store.take(&request(&format!("n{n}"))).unwrap();
        fs::remove_file(project.path_of(&format!("dir/only{n}"))).unwrap();
    }
    let objects = || {
        let all = super::fixture::seen_below(&project.data());
        all.iter().filter(|(path, (kind, ..))| *kind == 'f' && path.contains("/objects.git/objects/")).count()
    };
    let before = objects();
    let older = |all: &[SnapshotInfo]| Ok(all.iter().skip(1).map(|info| info.id.clone()).collect());
    assert_eq!(store.delete_chosen(&older).unwrap().len(), 3);
    // Each of the three had a commit, two trees and two files of its own.
    assert_eq!(before - objects(), 15);
    let last = store.list().unwrap().remove(0);
    fs::remove_dir_all(project.path_of("dir")).unwrap();
    store.restore(&last.id).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("dir/only3")).unwrap(), "3");
    // What was pruned is stored again when it returns.
    project.write_file("big", &"0".repeat(10_000));
    let again = store.take(&request("again")).unwrap().id;
    project.write_file("big", "");
    store.restore(&again).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("big")).unwrap(), "0".repeat(10_000));
}
