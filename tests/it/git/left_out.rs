//! What snapshots leave out: private copies of what the settings exclude, and a word of everything else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::fixture::{Project, seen_below};
use super::request;
use super::worktree::change_names;
use synthdev::domain::snapshot::{FileChange, SkipReason, SnapshotInfo, UnrestoredChanges};
use synthdev::ports::snapshot::SnapshotPort;

const EXCLUDED: [&str; 3] = [".env", ".env.*.local", "private/"];
const SECRET: &str = "KEY=sk-do-not-tell";

fn restrict_path(project: &Project, path: &str) {
    fs::set_permissions(project.path_of(path), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Excluded files of every kind, one of them tracked, most of them ignored.
fn add_excluded_files(project: &Project) {
    project.write_file(".gitignore", ".env\n");
    project.write_file("code", "1");
    project.write_file(".env", SECRET);
    restrict_path(project, ".env");
    project.write_file("deep/.env.test.local", "1");
    project.write_file("private/a", "1");
    project.write_file("private/b/c", "1");
    symlink("a", project.path_of("private/link")).unwrap();
}

fn wreck_project(project: &Project) {
    project.write_file("code", "2");
    fs::remove_file(project.path_of(".env")).unwrap();
    project.write_file(".env", "KEY=stolen");
    fs::remove_dir_all(project.path_of("deep")).unwrap();
    fs::set_permissions(project.path_of("private/a"), fs::Permissions::from_mode(0o666)).unwrap();
    project.write_file("private/b/c", "2");
    fs::remove_file(project.path_of("private/link")).unwrap();
    symlink("b", project.path_of("private/link")).unwrap();
    project.write_file("sub/.env", "KEY=made");
}

/// A directory and its entries, those that other users may access.
fn paths_open_to_others(dir: &Path) -> Vec<String> {
    let inside = fs::read_dir(dir).unwrap().map(|item| item.unwrap().path());
    let open = |path: &std::path::PathBuf| path.metadata().unwrap().permissions().mode() & 0o077 != 0;
    inside.chain([dir.to_owned()]).filter(open).map(|path| path.display().to_string()).collect()
}

#[test]
fn excluded_files_come_back_from_private_copies_and_never_reach_git() {
    for (name, project) in [("repository", Project::repository()), ("plain", Project::without_git())] {
        add_excluded_files(&project);
        if name == "repository" {
            project.git(&["add", "private/a"]);
        }
        let store = project.store_with(&EXCLUDED, &project.data());
        let before = project.fingerprint();
        let taken = store.take(&request("one")).unwrap();
        assert_eq!(taken.files, 2, "{name}: the code and the ignore file");
        wreck_project(&project);
        let wrecked = project.fingerprint();
        let changes = store.changes(&taken.id, None).unwrap();
        let row = |path: &str, change| (path.to_owned(), change);
        let expected = [
            row(".env", FileChange::Modified),
            row("code", FileChange::Modified),
            row("deep/.env.test.local", FileChange::Deleted),
            row("private/a", FileChange::Mode),
            row("private/b/c", FileChange::Modified),
            row("private/link", FileChange::Modified),
            row("sub/.env", FileChange::Added),
        ];
        assert_eq!(change_names(changes.clone()), expected, "{name}");
        let diff = store.diff(&taken.id, None).unwrap();
        assert!(diff.contains("code") && !diff.contains("KEY"), "{diff}");
        let second = store.take(&request("two")).unwrap();
        assert_eq!(store.changes(&taken.id, Some(&second.id)).unwrap(), changes, "{name}: between two");

        let restored = store.restore(&taken.id).unwrap();
        assert_eq!((restored.files, restored.beyond), (changes, UnrestoredChanges::default()), "{name}");
        assert_eq!(project.fingerprint(), before, "{name}");
        store.restore(&restored.safety.unwrap()).unwrap();
        assert_eq!(project.fingerprint(), wrecked, "{name}: the restore is undone");
        store.restore(&taken.id).unwrap();
        assert_eq!(project.fingerprint(), before, "{name}: and done again");

        let corner = fs::read_dir(project.data().join("snapshots")).unwrap().next().unwrap().unwrap().path();
        for dir in [project.data(), project.data().join("snapshots"), corner.clone()] {
            assert_eq!(paths_open_to_others(&dir), [] as [&str; 0], "{name}");
        }
        assert_eq!(paths_open_to_others(&corner.join("kept")), [] as [&str; 0], "{name}");
        let stores = [project.path_of(".git"), corner.join("objects.git")];
        for git in stores.iter().filter(|git| git.exists()) {
            let git = format!("--git-dir={}", git.display());
            let all = [git.as_str(), "cat-file", "--batch-all-objects", "--batch", "--buffer"];
            let all = project.git_command(&all).output().unwrap().stdout;
            assert!(!String::from_utf8_lossy(&all).contains("KEY="), "{name}");
        }

        let others = |all: &[SnapshotInfo]| {
            Ok(all.iter().filter(|info| info.id != taken.id).map(|info| info.id.clone()).collect())
        };
        store.delete_chosen(&others).unwrap();
        let kept = seen_below(&corner.join("kept"));
        assert!(!kept.iter().any(|(_, (_, _, content))| content == b"KEY=stolen"), "{name}");
        assert!(kept.iter().any(|(_, (_, _, content))| content == SECRET.as_bytes()), "{name}");
        store.delete(&taken.id).unwrap();
        assert_eq!(seen_below(&corner.join("kept")), [], "{name}: they go with the last snapshot");
    }
}

#[test]
fn settings_that_changed_meanwhile_lose_nothing() {
    let project = Project::repository();
    project.write_file("private/a", "1");
    project.write_file("code", "1");
    let all = project.store();
    let store = project.store_with(&["private/"], &project.data());
    // excluded then, not now
    let taken = store.take(&request("x")).unwrap();
    project.write_file("private/a", "2");
    project.write_file("private/new", "2");
    let changed = project.fingerprint();
    let restored = all.restore(&taken.id).unwrap();
    let row = |path: &str, change| (path.to_owned(), change);
    let both = [row("private/a", FileChange::Modified), row("private/new", FileChange::Added)];
    assert_eq!(change_names(restored.files), both);
    all.restore(&restored.safety.unwrap()).unwrap();
    assert_eq!(project.fingerprint(), changed);
    // the other way round: it stays, and that is said
    let taken = all.take(&request("y")).unwrap();
    project.write_file("private/a", "3");
    let restored = store.restore(&taken.id).unwrap();
    assert_eq!((restored.files, restored.beyond.excluded), (vec![], vec!["private/a".to_owned()]));
    assert_eq!(fs::read_to_string(project.path_of("private/a")).unwrap(), "3");
}

#[test]
fn what_could_not_be_kept_is_named() {
    let project = Project::repository();
    let large = |path: &str, size: u64| {
        project.write_file(path, "");
        fs::File::options().write(true).open(project.path_of(path)).unwrap().set_len(size).unwrap();
    };
    let (mib, limit) = (1024 * 1024, 100 * 1024 * 1024);
    project.write_file("code", "1");
    project.write_file(".env", "1");
    large("private/large", mib + 1);
    large("private/same", mib + 1);
    for name in ["changed", "gone", "same"] {
        large(&format!("{name}.bin"), limit + 1);
    }
    let store = project.store_with(&EXCLUDED, &project.data());
    let taken = store.take(&request("x")).unwrap();
    let lacks: Vec<_> = taken.skipped.iter().map(|lost| (lost.path.as_str(), lost.lack)).collect();
    assert_eq!(lacks, ["changed.bin", "gone.bin", "same.bin"].map(|path| (path, SkipReason::Limit)));
    let restored = store.restore(&taken.id).unwrap();
    assert_eq!(
        (restored.files, restored.beyond),
        (vec![], UnrestoredChanges::default()),
        "nothing has changed"
    );

    project.write_file("private/large", "small");
    large("private/made", mib + 1);
    large("changed.bin", limit + 2);
    fs::remove_file(project.path_of("gone.bin")).unwrap();
    large("made.bin", limit + 1);
    // held then, too large now: the copy comes back, and this one too
    large(".env", mib + 1);
    let expected = UnrestoredChanges {
        excluded: ["private/large", "private/made"].map(str::to_owned).to_vec(),
        skipped: ["gone.bin", "changed.bin", "made.bin"].map(str::to_owned).to_vec(),
        ..UnrestoredChanges::default()
    };
    assert_eq!(store.unrestored_changes(&taken.id).unwrap(), expected);
    let restored = store.restore(&taken.id).unwrap();
    assert_eq!(restored.beyond, expected);
    assert_eq!(change_names(restored.files), [(".env".to_owned(), FileChange::Modified)]);
    assert_eq!(fs::read_to_string(project.path_of("private/large")).unwrap(), "small", "it stays");
    store.restore(&restored.safety.unwrap()).unwrap();
    assert_eq!(fs::metadata(project.path_of(".env")).unwrap().len(), mib + 1);
}

#[test]
fn blobs_that_the_index_names_and_nobody_has_are_stored() {
    for attributes in ["", "* text=auto\n"] {
        let project = Project::repository();
        project.write_file("a", "only the index knows\n");
        project.write_file(".gitattributes", attributes);
        project.git(&["add", "-A"]);
        project.git(&["commit", "-qm", "first"]);
        // old enough to be trusted
        for path in ["a", ".gitattributes"] {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
            fs::File::options().write(true).open(project.path_of(path)).unwrap().set_modified(at).unwrap();
        }
        project.git(&["add", "--renormalize", "."]);
        project.git(&["update-index", "--refresh"]);
        let blob = project.git(&["rev-parse", "HEAD:a"]);
        let (fan, rest) = blob.trim().split_at(2);
        fs::remove_file(project.path_of(&format!(".git/objects/{fan}/{rest}"))).unwrap();
        let store = project.store();
        let taken = store.take(&request("x")).unwrap();
        project.write_file("a", "changed");
        store.restore(&taken.id).unwrap();
        assert_eq!(
            fs::read_to_string(project.path_of("a")).unwrap(),
            "only the index knows\n",
            "{attributes}"
        );
    }
}
