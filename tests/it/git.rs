//! Snapshots against real repositories made by the `git` command.

#[path = "git/delivered.rs"]
mod delivered;
#[path = "git/fixture.rs"]
mod fixture;
#[path = "git/foreign.rs"]
mod foreign;
#[path = "git/left_out.rs"]
mod left_out;
#[path = "git/lock.rs"]
mod lock;
#[path = "git/random.rs"]
mod random;
#[path = "git/reuse.rs"]
mod reuse;
#[path = "git/versions.rs"]
mod versions;
#[path = "git/worktree.rs"]
mod worktree;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use fixture::Project;
use synthdev::domain::ids::{RunId, SnapshotId};
use synthdev::domain::snapshot::{FileChange, SnapshotRequest, SnapshotReuse};
use synthdev::ports::snapshot::SnapshotPort;

/// Every kind of file the issue names, in every state git knows.
fn make_messy(project: &Project) {
    project.write_file("src/main.rs", "fn main() {}\n");
    project.write_file("src/gone.rs", "gone\n");
    project.write_file("moved.txt", "this file moves\n");
    project.write_file("bin/tool.sh", "#!/bin/sh\n");
    project.write_executable("bin/tool.sh");
    project.write_file("packages/a/index.js", "export {}\n");
    project.write_file("empty", "");
    project.write_bytes("binary", &[0, 255, 13, 10, 0, 7]);
    project.write_file("crlf.txt", "a\r\nb\r\n");
    project.write_file("naïve/日本 語.txt", "unicode\n");
    symlink("src/main.rs", project.path_of("link")).unwrap();
    symlink("/nowhere/at/all", project.path_of("dangling")).unwrap();
    project.write_file(".gitignore", "*.log\n/target/\n");
    project.write_file(".hidden/file", "hidden\n");
    project.write_file("tracked.log", "tracked though ignored\n");
    project.git(&["add", "-A"]);
    project.git(&["add", "-f", "tracked.log"]);
    project.git(&["commit", "-qm", "first"]);
    project.write_file("src/main.rs", "fn main() { stashed }\n");
    project.git(&["stash"]);
    project.write_file("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    project.write_file("staged.txt", "staged, then changed\n");
    project.write_file("untracked.txt", "untracked\n");
    project.write_file("debug.log", "ignored\n");
    project.write_file("target/out", "ignored\n");
    project.git(&["mv", "moved.txt", "renamed.txt"]);
    fs::remove_file(project.path_of("src/gone.rs")).unwrap();
}

/// What an agent gone wild does to it.
fn wreck_project(project: &Project) {
    project.write_file("src/main.rs", "broken");
    project.write_file("src/new/deep/file.rs", "new");
    fs::remove_dir_all(project.path_of("naïve")).unwrap();
    fs::remove_file(project.path_of("link")).unwrap();
    project.write_file("link", "now a file");
    fs::remove_file(project.path_of("binary")).unwrap();
    fs::create_dir(project.path_of("binary")).unwrap();
    project.write_file("binary/inside", "a directory in the place of a file");
    fs::remove_dir_all(project.path_of(".hidden")).unwrap();
    symlink(project.outside(), project.path_of(".hidden")).unwrap();
    fs::set_permissions(project.path_of("bin/tool.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    project.write_file("empty", "no longer");
    project.write_file("tracked.log", "changed though ignored\n");
    project.write_file("untracked.txt", "changed\n");
    fs::remove_file(project.path_of("staged.txt")).unwrap();
    project.write_file("src/gone.rs", "back\n");
}

fn round_trip(project: &Project) {
    let store = project.store();
    let before = project.fingerprint();
    let git_before = project.git_state();
    let taken = store.take(&request("one")).unwrap();
    assert_eq!(project.git_state(), git_before, "taking left no trace");
    assert_eq!(store.changes(&taken.id, None).unwrap(), []);

    wreck_project(project);
    let wrecked = project.fingerprint();
    let git_wrecked = project.git_state();
    let changes = store.changes(&taken.id, None).unwrap();
    let diff = store.diff(&taken.id, None).unwrap();
    let restored = store.restore(&taken.id).unwrap();
    assert_eq!(restored.files, changes, "the preview is what happens");
    assert_eq!(project.fingerprint(), before);
    assert_eq!(store.changes(&taken.id, None).unwrap(), []);
    assert_eq!(store.diff(&taken.id, None).unwrap(), "");
    assert_eq!(project.git_files(), git_before.1, "index, HEAD, refs, stash and reflog");
    assert_eq!(project.outside_files(), ["keep"], "nothing was written through a link");
    for part in ["-fn main() {}", "+broken", "deleted file mode 120000", "Binary files", "old mode 100755"] {
        assert!(diff.contains(part), "{part} in\n{diff}");
    }

    let safety = restored.safety.unwrap();
    store.restore(&safety).unwrap();
    assert_eq!(project.fingerprint(), wrecked, "the restore is undone");
    assert_eq!(project.git_state(), git_wrecked);
    store.restore(&taken.id).unwrap();
    assert_eq!(project.fingerprint(), before, "and done again");
    assert_eq!(project.git_state(), git_before);
}

pub fn request(label: &str) -> SnapshotRequest {
    SnapshotRequest {
        label: label.into(),
        run: Some(RunId::from("r1")),
        note: "note\nof two lines".into(),
        reuse: SnapshotReuse::None,
    }
}

#[test]
fn a_messy_repository_returns_exactly() {
    let project = Project::repository();
    make_messy(&project);
    round_trip(&project);
}

#[test]
fn detached_head_and_line_end_settings_change_nothing() {
    let project = Project::repository();
    make_messy(&project);
    project.git(&["checkout", "-q", "--detach"]);
    project.git(&["config", "core.autocrlf", "true"]);
    project.git(&["config", "core.logAllRefUpdates", "always"]);
    project.write_file(".gitattributes", "* text=auto\n*.txt ident\n");
    project.git(&["add", ".gitattributes", "crlf.txt"]);
    round_trip(&project);
}

#[test]
fn no_commits_yet() {
    let project = Project::repository();
    project.write_file("link", "");
    project.write_file("staged.txt", "x\n");
    project.git(&["add", "-A"]);
    for path in ["src/main.rs", "naïve/x", "binary", ".hidden/file", "bin/tool.sh", "empty", "tracked.log"] {
        project.write_file(path, "fn main() {}\n");
    }
    project.write_executable("bin/tool.sh");
    project.write_file("untracked.txt", "one\n");
    let store = project.store();
    let (before, git) = (project.fingerprint(), project.git_state());
    let taken = store.take(&request("unborn")).unwrap();
    wreck_project(&project);
    store.restore(&taken.id).unwrap();
    assert_eq!((project.fingerprint(), project.git_state()), (before, git));
}

#[test]
fn without_git_ignore_files_still_count() {
    let project = Project::without_git();
    project.write_file(".gitignore", "*.log\n");
    project.write_file("a.txt", "a");
    project.write_file("a.log", "ignored");
    fs::create_dir(project.path_of("hollow")).unwrap();
    let store = project.store();
    let before = project.fingerprint();
    let taken = store.take(&request("plain")).unwrap();
    assert_eq!(taken.files, 2);
    project.write_file("a.txt", "b");
    project.write_file("hollow/new", "n");
    project.write_file("a.log", "changed");
    let restored = store.restore(&taken.id).unwrap();
    assert_eq!(restored.files.len(), 2);
    assert_eq!(fs::read_to_string(project.path_of("a.log")).unwrap(), "changed", "ignored files stay");
    project.write_file("a.log", "ignored");
    assert_eq!(project.fingerprint(), before, "the empty directory too");
    assert!(!project.path_of(".git").exists());
}

#[test]
fn each_kind_of_change_has_its_name() {
    let project = Project::repository();
    project.write_file("modified", "1");
    project.write_file("mode", "1");
    project.write_file("deleted", "1");
    let store = project.store();
    let id = store.take(&request("kinds")).unwrap().id;
    project.write_file("modified", "2");
    project.write_executable("mode");
    fs::remove_file(project.path_of("deleted")).unwrap();
    project.write_file("added", "1");
    let named: Vec<_> =
        store.changes(&id, None).unwrap().into_iter().map(|file| (file.path, file.change)).collect();
    let row = |path: &str, change| (path.to_owned(), change);
    assert_eq!(
        named,
        [
            row("added", FileChange::Added),
            row("deleted", FileChange::Deleted),
            row("mode", FileChange::Mode),
            row("modified", FileChange::Modified)
        ]
    );
    let diff = store.diff(&id, None).unwrap();
    assert!(diff.contains("-1\n\\ No newline at end of file\n+2\n"), "{diff}");
    assert!(diff.contains("old mode 100644\nnew mode 100755"), "{diff}");
}

#[test]
fn a_change_of_the_same_size_and_time_is_seen() {
    let project = Project::repository();
    let store = project.store();
    for round in 0..20 {
        let (old, new) = (format!("{round:04}"), format!("{:04}", round + 5000));
        project.write_file("same", &old);
        let time = fs::metadata(project.path_of("same")).unwrap().modified().unwrap();
        let id = store.take(&request("racy")).unwrap().id;
        project.write_file("same", &new);
        fs::File::options().write(true).open(project.path_of("same")).unwrap().set_modified(time).unwrap();
        assert_eq!(store.changes(&id, None).unwrap().len(), 1, "round {round}");
        store.restore(&id).unwrap();
        assert_eq!(fs::read_to_string(project.path_of("same")).unwrap(), old);
    }
}

#[test]
fn files_hidden_by_old_ignore_rules_or_new_ones_stay() {
    let project = Project::repository();
    project.write_file(".gitignore", "modules/\n");
    project.write_file("modules/dep", "precious");
    let store = project.store();
    let id = store.take(&request("before")).unwrap().id;
    project.write_file(".gitignore", "*.secret\n");
    project.write_file("key.secret", "precious");
    store.restore(&id).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("modules/dep")).unwrap(), "precious");
    assert_eq!(fs::read_to_string(project.path_of("key.secret")).unwrap(), "precious");
    assert_eq!(fs::read_to_string(project.path_of(".gitignore")).unwrap(), "modules/\n");
}

#[test]
fn a_covered_file_that_became_ignored_is_restored_and_undone() {
    let project = Project::repository();
    project.write_file("src/a.rs", "old");
    let store = project.store();
    let id = store.take(&request("before")).unwrap().id;
    project.write_file(".gitignore", "src/\n");
    project.write_file("src/a.rs", "new");
    let safety = store.restore(&id).unwrap().safety.unwrap();
    assert_eq!(fs::read_to_string(project.path_of("src/a.rs")).unwrap(), "old");
    assert!(!project.path_of(".gitignore").exists());
    store.restore(&safety).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("src/a.rs")).unwrap(), "new");
}

#[test]
fn an_obstacle_stops_the_restore_before_the_first_change() {
    let project = Project::repository();
    project.write_file(".gitignore", "*.log\n");
    project.write_file("a", "1");
    project.write_file("thing", "file");
    let store = project.store();
    let id = store.take(&request("x")).unwrap().id;
    project.write_file("a", "2");
    fs::remove_file(project.path_of("thing")).unwrap();
    project.write_file("thing/only.log", "ignored");
    let before = project.fingerprint();
    let error = store.restore(&id).unwrap_err();
    assert!(error.message.contains("thing/only.log"), "{error}");
    assert!(error.hint.is_some());
    assert_eq!(project.fingerprint(), before);
}

#[test]
fn listed_found_and_deleted_across_restarts() {
    let project = Project::repository();
    project.write_file("a", "1");
    let ids: Vec<SnapshotId> =
        (0..5).map(|n| project.store().take(&request(&format!("n{n}"))).unwrap().id).collect();
    assert!(ids.is_sorted() && ids.iter().all(|id| id.as_str().len() == 12), "{ids:?}");
    let store = project.store();
    let listed = store.list().unwrap();
    assert_eq!(
        listed.iter().map(|info| info.label.as_str()).collect::<Vec<_>>(),
        ["n4", "n3", "n2", "n1", "n0"]
    );
    assert_eq!((listed[0].note.as_str(), &listed[0].run), ("note\nof two lines", &Some(RunId::from("r1"))));
    assert_eq!(store.find(ids[2].as_str()).unwrap().label, "n2");
    assert!(store.find(&ids[2].as_str()[..4]).unwrap_err().message.contains("5 snapshots"));
    store.delete(&ids[2]).unwrap();
    assert!(store.find(ids[2].as_str()).unwrap_err().hint.is_some());
    for id in ids.iter().filter(|id| **id != ids[2] && **id != ids[0]) {
        store.delete(id).unwrap();
    }
    assert_eq!(store.find(&ids[0].as_str()[..4]).unwrap().label, "n0", "a prefix is enough");
    assert!(store.delete(&ids[1]).is_err());
    assert!(store.find("").is_err());
}

#[test]
fn a_pruned_store_is_filled_again() {
    let project = Project::repository();
    project.write_file("a", "content of its own");
    let store = project.store();
    store.delete(&store.take(&request("first")).unwrap().id).unwrap();
    project.git(&["prune", "--expire=now"]);
    let id = store.take(&request("second")).unwrap().id;
    project.write_file("a", "x");
    store.restore(&id).unwrap();
    assert_eq!(fs::read_to_string(project.path_of("a")).unwrap(), "content of its own");
    project.git(&["fsck", "--strict"]);
}

#[test]
fn home_root_and_broken_stores_are_refused_with_a_hint() {
    let project = Project::repository();
    project.write_file("a", "1");
    let home = project.store().with_home(project.path_of("below"));
    fs::create_dir(project.path_of("below")).unwrap();
    let root = fixture::store_at("/".into(), project.data(), &[]);
    let blocked = project.path_of("a");
    let no_data = project.store_with(&[], &blocked);
    for (store, part) in [(home, "home directory"), (root, "home directory"), (no_data, "snapshot store")] {
        let error = store.take(&request("x")).unwrap_err();
        assert!(error.message.contains(part), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.ends_with('.') || hint.ends_with("again.")));
    }
    fs::write(project.path_of(".git/refs/synthdev"), "in the way").unwrap();
    let error = project.store().take(&request("x")).unwrap_err();
    assert!(error.message.contains("git store") && error.hint.is_some(), "{error}");
}

#[test]
fn the_data_directory_inside_the_project_is_left_out() {
    let project = Project::without_git();
    project.write_file("a", "1");
    let store = project.store_with(&[], &project.path_of("deep/data"));
    assert_eq!(store.take(&request("x")).unwrap().files, 1);
    let again = store.take(&request("y")).unwrap();
    assert_eq!((again.files, store.changes(&again.id, None).unwrap().len()), (1, 0));
}

#[test]
fn two_instances_at_once_do_not_disturb_each_other() {
    let project = Project::repository();
    for n in 0..30 {
        project.write_file(&format!("f{n}"), &n.to_string());
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(project.store().take(&request("parallel")).unwrap().files, 30);
                }
            });
        }
    });
    let listed = project.store().list().unwrap();
    assert_eq!(listed.len(), 20);
    project.write_file("f0", "changed");
    assert_eq!(project.store().restore(&listed[7].id).unwrap().files.len(), 1);
    project.git(&["fsck", "--strict"]);
}
