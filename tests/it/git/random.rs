//! Whatever happened to a tree, a restore brings it back, and its undo too.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;

use super::fixture::{Project, Seen, seen_below};
use super::request;
use synthdev::adapters::worktree::GitWorktrees;
use synthdev::domain::ids::RunId;
use synthdev::ports::snapshot::SnapshotPort;
use synthdev::ports::worktree::{MergeError, WorktreePort};

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, String),
    Remove(usize),
    Link(usize),
    Executable(usize),
}

/// Names that are files to one edit and directories to another.
const PATHS: [&str; 11] =
    ["a", "a/b", "a/b/c", "a-b", "a.b", "d", "d/e f", "ü/x", "ü", "x.ign", "kept/y.ign"];

/// Whether a path of these is what the project's ignore file names.
fn is_ignored_path(path: &str) -> bool {
    path.ends_with(".ign")
}

/// What a snapshot covers, and what it does not.
fn parts(project: &Project) -> (Vec<Seen>, Vec<Seen>) {
    project.fingerprint().into_iter().partition(|(path, _)| !is_ignored_path(path))
}

fn random_edit() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    prop_oneof![
        (path.clone(), "[ab\r\n\0]{0,5}").prop_map(|(path, text)| Edit::Write(path, text)),
        path.clone().prop_map(Edit::Remove),
        path.clone().prop_map(Edit::Link),
        path.prop_map(Edit::Executable),
    ]
}

fn random_edits(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Edit>> {
    proptest::collection::vec(random_edit(), count)
}

fn clear_path(root: &Path, path: &str) {
    let place = root.join(path);
    match fs::symlink_metadata(&place) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&place).unwrap(),
        Ok(_) => fs::remove_file(&place).unwrap(),
        Err(_) => {}
    }
}

fn apply_edit(root: &Path, outside: &Path, edit: &Edit) {
    let (Edit::Write(path, _) | Edit::Remove(path) | Edit::Link(path) | Edit::Executable(path)) = edit;
    let path = PATHS[*path];
    for (at, _) in path.match_indices('/') {
        if !fs::symlink_metadata(root.join(&path[..at])).is_ok_and(|meta| meta.is_dir()) {
            clear_path(root, &path[..at]);
            fs::create_dir(root.join(&path[..at])).unwrap();
        }
    }
    clear_path(root, path);
    match edit {
        Edit::Write(_, text) => fs::write(root.join(path), text).unwrap(),
        Edit::Remove(_) => {}
        Edit::Link(_) => symlink(outside, root.join(path)).unwrap(),
        Edit::Executable(_) => {
            fs::write(root.join(path), "").unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

fn apply_all(project: &Project, edits: &[Edit]) {
    edits.iter().for_each(|edit| apply_edit(&project.path_of(""), &project.outside(), edit));
}

/// The files in which git keeps what is the user's; empty without git.
fn git_files(project: &Project) -> Vec<(String, u64)> {
    if project.path_of(".git").exists() { project.git_files() } else { Vec::new() }
}

proptest! {
    // Twelve projects of ten steps each: many trees that are left and returned to.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn restore_and_undo_are_exact(
        steps in proptest::collection::vec((random_edits(0..6), random_edits(0..10), any::<bool>()), 10),
        far in 0_usize..10,
        repository: bool,
    ) {
        let project = if repository { Project::repository() } else { Project::without_git() };
        let store = project.store();
        project.write_file(".gitignore", "*.ign\n");
        project.write_file("kept/always", "");
        let mut trees = Vec::new();
        for (first, second, staged) in &steps {
            apply_all(&project, first);
            if repository && *staged {
                project.git(&["add", "-A"]);
            }
            let (before, _) = parts(&project);
            let taken = store.take(&request("before")).unwrap();
            apply_all(&project, second);
            let (after, hidden) = parts(&project);
            let git = git_files(&project);
            let previewed = store.changes(&taken.id, None).unwrap();
            let restored = store.restore(&taken.id).unwrap();
            prop_assert_eq!(&restored.files, &previewed);
            prop_assert_eq!(parts(&project), (before.clone(), hidden.clone()));
            if let Some(safety) = restored.safety {
                prop_assert_eq!(store.changes(&taken.id, Some(&safety)).unwrap(), previewed);
                store.restore(&safety).unwrap();
                prop_assert_eq!(parts(&project), (after, hidden));
            }
            prop_assert_eq!(git_files(&project), git);
            trees.push((taken.id, before));
        }
        let (id, tree) = trees.swap_remove(far);
        store.restore(&id).unwrap();
        prop_assert_eq!(parts(&project).0, tree, "over several steps");
        prop_assert_eq!(project.outside_files(), ["keep"]);
    }
}

/// Files and links that git would see.
fn files(mut all: Vec<Seen>) -> Vec<Seen> {
    all.retain(|(path, (kind, ..))| *kind != 'd' && path != ".git" && !is_ignored_path(path));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_is_whole_or_nothing_and_can_be_undone(
        first in random_edits(0..12),
        mine in random_edits(0..5),
        run in random_edits(0..5),
        committed: bool,
    ) {
        let project = Project::repository();
        project.write_file(".gitignore", "*.ign\n");
        project.write_file("kept/always", "");
        apply_all(&project, &first);
        if committed {
            project.git(&["add", "-A"]);
            project.git(&["commit", "-qm", "first"]);
        }
        let port = GitWorktrees::new(project.store());
        let made = port.create(&RunId::from("r"), "w").unwrap();
        let start = files(project.fingerprint());
        prop_assert_eq!(&files(seen_below(Path::new(&made.path))), &start);
        run.iter().for_each(|edit| apply_edit(Path::new(&made.path), &project.outside(), edit));
        apply_all(&project, &mine);
        let (before, git) = (project.fingerprint(), project.user_files());
        let theirs = files(seen_below(Path::new(&made.path)));
        match port.merge(&made) {
            Err(MergeError::Conflicts(conflicts)) => {
                prop_assert!(!conflicts.is_empty() && theirs != start && files(before.clone()) != start);
                prop_assert_eq!(project.fingerprint(), before);
            }
            Err(MergeError::Failed(error)) => prop_assert!(false, "{error}: {:?}", error.hint),
            Ok(merged) => {
                let after = files(project.fingerprint());
                if files(before.clone()) == start {
                    prop_assert_eq!(&after, &theirs, "the project had no changes of its own");
                }
                if theirs == start {
                    prop_assert_eq!(&project.fingerprint(), &before, "the run had none");
                }
                prop_assert_eq!(merged.safety.is_some(), after != files(before.clone()));
                if let Some(safety) = merged.safety {
                    project.store().restore(&safety).unwrap();
                    prop_assert_eq!(project.fingerprint(), before);
                }
            }
        }
        prop_assert_eq!(project.user_files(), git);
        port.discard(&made, false).unwrap();
        prop_assert_eq!(project.outside_files(), ["keep"]);
    }
}
