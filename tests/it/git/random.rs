//! Whatever happened to a tree, a restore brings it back, and its undo too.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::fixture::{Project, Seen};
use super::request;
use synthdev::ports::snapshot::SnapshotPort;

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
fn ignored(path: &str) -> bool {
    path.ends_with(".ign")
}

/// What a snapshot covers, and what it does not.
fn parts(project: &Project) -> (Vec<Seen>, Vec<Seen>) {
    project.fingerprint().into_iter().partition(|(path, _)| !ignored(path))
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    prop_oneof![
        (path.clone(), "[ab\r\n\0]{0,5}").prop_map(|(path, text)| Edit::Write(path, text)),
        path.clone().prop_map(Edit::Remove),
        path.clone().prop_map(Edit::Link),
        path.prop_map(Edit::Executable),
    ]
}

fn clear(project: &Project, path: &str) {
    let place = project.at(path);
    match fs::symlink_metadata(&place) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&place).unwrap(),
        Ok(_) => fs::remove_file(&place).unwrap(),
        Err(_) => {}
    }
}

fn apply(project: &Project, edit: &Edit) {
    let (Edit::Write(path, _) | Edit::Remove(path) | Edit::Link(path) | Edit::Executable(path)) = edit;
    let path = PATHS[*path];
    for (at, _) in path.match_indices('/') {
        if !fs::symlink_metadata(project.at(&path[..at])).is_ok_and(|meta| meta.is_dir()) {
            clear(project, &path[..at]);
            fs::create_dir(project.at(&path[..at])).unwrap();
        }
    }
    match edit {
        Edit::Write(_, text) => {
            clear(project, path);
            project.write(path, text);
        }
        Edit::Remove(_) => clear(project, path),
        Edit::Link(_) => {
            clear(project, path);
            symlink(project.outside(), project.at(path)).unwrap();
        }
        Edit::Executable(_) => {
            clear(project, path);
            project.write(path, "");
            project.executable(path);
        }
    }
}

/// The files in which git keeps what is the user's; empty without git.
fn git_files(project: &Project) -> Vec<(String, u64)> {
    if project.at(".git").exists() { project.git_files() } else { Vec::new() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn restore_and_undo_are_exact(
        first in proptest::collection::vec(edit(), 0..12),
        second in proptest::collection::vec(edit(), 0..12),
        repository: bool,
        staged: bool,
    ) {
        let project = if repository { Project::repository() } else { Project::plain() };
        let store = project.store();
        project.write(".gitignore", "*.ign\n");
        project.write("kept/always", "");
        first.iter().for_each(|edit| apply(&project, edit));
        if repository && staged {
            project.git(&["add", "-A"]);
        }
        let (before, _) = parts(&project);
        let taken = store.take(&request("before")).unwrap();
        second.iter().for_each(|edit| apply(&project, edit));
        let (after, hidden) = parts(&project);
        let git = git_files(&project);
        let previewed = store.changes(&taken.id, None).unwrap();
        let restored = store.restore(&taken.id).unwrap();
        prop_assert_eq!(&restored.files, &previewed);
        prop_assert_eq!(parts(&project), (before, hidden.clone()));
        if let Some(safety) = restored.safety {
            prop_assert_eq!(store.changes(&taken.id, Some(&safety)).unwrap(), previewed);
            store.restore(&safety).unwrap();
            prop_assert_eq!(parts(&project), (after, hidden));
        }
        prop_assert_eq!(git_files(&project), git);
        prop_assert_eq!(project.outside_files(), ["keep"]);
    }
}
