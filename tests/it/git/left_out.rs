//! What snapshots leave out: private copies of what the settings exclude, and a word of everything else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::fixture::{Project, seen};
use super::request;
use super::worktree::named;
use synthdev::domain::snapshot::{FileChange, SkipReason, SnapshotRetention, UnrestoredChanges};
use synthdev::ports::snapshot::SnapshotPort;

const EXCLUDED: [&str; 3] = [".env", ".env.*.local", "private/"];
const SECRET: &str = "KEY=sk-do-not-tell";

fn close(project: &Project, path: &str) {
    fs::set_permissions(project.at(path), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Excluded files of every kind, one of them tracked, most of them ignored.
fn excluded(project: &Project) {
    project.write(".gitignore", ".env\n");
    project.write("code", "1");
    project.write(".env", SECRET);
    close(project, ".env");
    project.write("deep/.env.test.local", "1");
    project.write("private/a", "1");
    project.write("private/b/c", "1");
    symlink("a", project.at("private/link")).unwrap();
}

fn wreck(project: &Project) {
    project.write("code", "2");
    fs::remove_file(project.at(".env")).unwrap();
    project.write(".env", "KEY=stolen");
    fs::remove_dir_all(project.at("deep")).unwrap();
    fs::set_permissions(project.at("private/a"), fs::Permissions::from_mode(0o666)).unwrap();
    project.write("private/b/c", "2");
    fs::remove_file(project.at("private/link")).unwrap();
    symlink("b", project.at("private/link")).unwrap();
    project.write("sub/.env", "KEY=made");
}

/// A directory and what lies directly in it, as far as others may reach it.
fn open_to_others(dir: &Path) -> Vec<String> {
    let inside = fs::read_dir(dir).unwrap().map(|item| item.unwrap().path());
    let open = |path: &std::path::PathBuf| path.metadata().unwrap().permissions().mode() & 0o077 != 0;
    inside.chain([dir.to_owned()]).filter(open).map(|path| path.display().to_string()).collect()
}

#[test]
fn excluded_files_come_back_from_private_copies_and_never_reach_git() {
    for (name, project) in [("repository", Project::repository()), ("plain", Project::plain())] {
        excluded(&project);
        if name == "repository" {
            project.git(&["add", "private/a"]);
        }
        let store = project.store_with(&EXCLUDED, &project.data());
        let before = project.fingerprint();
        let taken = store.take(&request("one")).unwrap();
        assert_eq!(taken.files, 2, "{name}: the code and the ignore file");
        wreck(&project);
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
        assert_eq!(named(changes.clone()), expected, "{name}");
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
            assert_eq!(open_to_others(&dir), [] as [&str; 0], "{name}");
        }
        assert_eq!(open_to_others(&corner.join("kept")), [] as [&str; 0], "{name}");
        let stores = [project.at(".git"), corner.join("objects.git")];
        for git in stores.iter().filter(|git| git.exists()) {
            let git = format!("--git-dir={}", git.display());
            let all = [git.as_str(), "cat-file", "--batch-all-objects", "--batch", "--buffer"];
            let all = project.git_command(&all).output().unwrap().stdout;
            assert!(!String::from_utf8_lossy(&all).contains("KEY="), "{name}");
        }

        let ids = store.list().unwrap().into_iter().map(|info| info.id);
        let keep_ids: Vec<_> = ids.filter(|id| *id == taken.id).collect();
        store.delete_old(&SnapshotRetention { keep_ids, ..SnapshotRetention::default() }).unwrap();
        let kept = seen(&corner.join("kept"));
        assert!(!kept.iter().any(|(_, (_, _, content))| content == b"KEY=stolen"), "{name}");
        assert!(kept.iter().any(|(_, (_, _, content))| content == SECRET.as_bytes()), "{name}");
        store.delete(&taken.id).unwrap();
        assert_eq!(seen(&corner.join("kept")), [], "{name}: they go with the last snapshot");
    }
}

#[test]
fn settings_that_changed_meanwhile_lose_nothing() {
    let project = Project::repository();
    project.write("private/a", "1");
    project.write("code", "1");
    let all = project.store();
    let store = project.store_with(&["private/"], &project.data());
    // excluded then, not now
    let taken = store.take(&request("x")).unwrap();
    project.write("private/a", "2");
    project.write("private/new", "2");
    let changed = project.fingerprint();
    let restored = all.restore(&taken.id).unwrap();
    let row = |path: &str, change| (path.to_owned(), change);
    let both = [row("private/a", FileChange::Modified), row("private/new", FileChange::Added)];
    assert_eq!(named(restored.files), both);
    all.restore(&restored.safety.unwrap()).unwrap();
    assert_eq!(project.fingerprint(), changed);
    // the other way round: it stays, and that is said
    let taken = all.take(&request("y")).unwrap();
    project.write("private/a", "3");
    let restored = store.restore(&taken.id).unwrap();
    assert_eq!((restored.files, restored.beyond.excluded), (vec![], vec!["private/a".to_owned()]));
    assert_eq!(fs::read_to_string(project.at("private/a")).unwrap(), "3");
}

#[test]
fn what_could_not_be_kept_is_named() {
    let project = Project::repository();
    let large = |path: &str, size: u64| {
        project.write(path, "");
        fs::File::options().write(true).open(project.at(path)).unwrap().set_len(size).unwrap();
    };
    let (mib, limit) = (1024 * 1024, 100 * 1024 * 1024);
    project.write("code", "1");
    project.write(".env", "1");
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

    project.write("private/large", "small");
    large("private/made", mib + 1);
    large("changed.bin", limit + 2);
    fs::remove_file(project.at("gone.bin")).unwrap();
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
    assert_eq!(named(restored.files), [(".env".to_owned(), FileChange::Modified)]);
    assert_eq!(fs::read_to_string(project.at("private/large")).unwrap(), "small", "it stays");
    store.restore(&restored.safety.unwrap()).unwrap();
    assert_eq!(fs::metadata(project.at(".env")).unwrap().len(), mib + 1);
}

#[test]
fn blobs_that_the_index_names_and_nobody_has_are_stored() {
    for attributes in ["", "* text=auto\n"] {
        let project = Project::repository();
        project.write("a", "only the index knows\n");
        project.write(".gitattributes", attributes);
        project.git(&["add", "-A"]);
        project.git(&["commit", "-qm", "first"]);
        // old enough to be trusted
        for path in ["a", ".gitattributes"] {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
            fs::File::options().write(true).open(project.at(path)).unwrap().set_modified(at).unwrap();
        }
        project.git(&["add", "--renormalize", "."]);
        project.git(&["update-index", "--refresh"]);
        let blob = project.git(&["rev-parse", "HEAD:a"]);
        let (fan, rest) = blob.trim().split_at(2);
        fs::remove_file(project.at(&format!(".git/objects/{fan}/{rest}"))).unwrap();
        let store = project.store();
        let taken = store.take(&request("x")).unwrap();
        project.write("a", "changed");
        store.restore(&taken.id).unwrap();
        assert_eq!(fs::read_to_string(project.at("a")).unwrap(), "only the index knows\n", "{attributes}");
    }
}
