//! Repositories of special make: nested, linked, surrounding, unreadable for libgit2, filtered.

use std::fs;
use std::process::Command;

use super::fixture::Project;
use super::request;
use synthdev::adapters::git::OutsideFiles;
use synthdev::ports::snapshot::SnapshotPort;

/// Takes, changes `file`, restores, and compares everything.
fn check_restore(project: &Project, file: &str) {
    let store = project.store();
    let before = project.fingerprint();
    let id = store.take(&request("special")).unwrap().id;
    project.write_file(file, "changed by the check\n");
    project.write_file("created", "x");
    assert_eq!(store.changes(&id, None).unwrap().len(), 2);
    store.restore(&id).unwrap();
    assert_eq!(project.fingerprint(), before);
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn what_libgit2_cannot_open_uses_the_private_store() {
    type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a [&'a str]]);
    let rows: [Row<'_>; 4] = [
        ("sha256", &["--object-format=sha256"], &[]),
        ("reftable", &["--ref-format=reftable"], &[]),
        ("split index", &[], &[&["update-index", "--split-index"]]),
        ("sparse index", &[], &[&["sparse-checkout", "set", "--cone", "--sparse-index", "src"]]),
    ];
    for (name, options, commands) in rows {
        let project = Project::without_git();
        let init = [&["init", "-q", "-b", "main"], options].concat();
        if !project.git_command(&init).output().unwrap().status.success() {
            assert_eq!(name, "reftable", "only an old git may refuse");
            continue;
        }
        for path in ["src/a", "other/deep/b", "top"] {
            project.write_file(path, "text\n");
        }
        project.git(&["add", "-A"]);
        project.git(&["commit", "-qm", "first"]);
        commands.iter().for_each(|command| drop(project.git(command)));
        let status = project.git(&["status", "--porcelain"]);
        check_restore(&project, "src/a");
        assert_eq!(project.git(&["status", "--porcelain"]), status, "{name}");
        assert_eq!(project.git(&["for-each-ref", "refs/synthdev"]), "", "{name}: the private store");
    }
}

#[test]
fn nested_repositories_and_submodules_are_listed_and_left_alone() {
    let project = Project::repository();
    project.write_file("a", "1");
    project.git(&["init", "-q", "nested"]);
    project.write_file("nested/inner", "1");
    project.git(&["init", "-q", "origin"]);
    project.git(&["-C", "origin", "commit", "-q", "--allow-empty", "-m", "x"]);
    project.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./origin", "sub"]);
    let made = Command::new("mkfifo").arg(project.path_of("pipe")).status().unwrap();
    assert!(made.success());
    let store = project.store();
    let taken = store.take(&request("x")).unwrap();
    let skipped: Vec<&str> = taken.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    for path in ["nested", "origin", "sub", "pipe"] {
        assert!(skipped.contains(&path), "{path} in {skipped:?}");
    }
    assert_eq!(taken.files, 2, "a and .gitmodules");
    let tree = project.git(&["ls-tree", &format!("refs/synthdev/snapshots/{}", taken.id)]);
    assert!(tree.contains("160000 commit"), "{tree}");
    for path in ["nested/inner", "sub/new", "a"] {
        project.write_file(path, "2");
    }
    fs::remove_file(project.path_of("pipe")).unwrap();
    project.write_file("pipe", "now a file, and it may have been one");
    let files = store.restore(&taken.id).unwrap().files;
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(fs::read_to_string(project.path_of("sub/new")).unwrap(), "2");
    assert_eq!(fs::read_to_string(project.path_of("nested/inner")).unwrap(), "2");
}

#[test]
fn a_directory_of_a_repository_is_covered_alone() {
    let project = Project::repository();
    project.write_file(".gitignore", "/sub/skip\n*.tmp\n");
    project.write_file("sub/a", "1");
    project.write_file("sub/skip", "ignored from above");
    project.write_file("sub/x.tmp", "ignored from above");
    project.write_file("top", "1");
    project.git(&["add", "-A"]);
    let whole = project.store();
    whole.take(&request("whole")).unwrap();
    let sub = project.moved_to("project/sub");
    let store = sub.store();
    let taken = store.take(&request("sub")).unwrap();
    assert_eq!((taken.files, store.list().unwrap().len(), whole.list().unwrap().len()), (1, 1, 1));
    sub.write_file("a", "2");
    sub.write_file("../top", "2");
    store.restore(&taken.id).unwrap();
    assert_eq!(fs::read_to_string(sub.path_of("a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(sub.path_of("../top")).unwrap(), "2", "outside the project given");
    assert!(sub.path_of("skip").exists());
}

#[test]
fn linked_work_trees_have_snapshots_of_their_own() {
    let project = Project::repository();
    project.write_file("a", "1");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "first"]);
    project.git(&["worktree", "add", "-q", "../linked"]);
    let main = project.store();
    main.take(&request("main")).unwrap();
    let linked = project.moved_to("linked");
    check_restore(&linked, "a");
    assert_eq!(main.list().unwrap().len(), 1);
}

#[test]
fn a_surrounding_repository_that_ignores_the_project_is_not_used() {
    let project = Project::repository();
    project.write_file(".gitignore", "*\n");
    project.write_file("work/a", "1");
    let work = project.moved_to("project/work");
    check_restore(&work, "a");
    assert!(!work.path_of("../.git/refs/synthdev").exists());
}

#[test]
fn raw_bytes_return_whatever_git_converts() {
    let project = Project::repository();
    project.git(&["config", "filter.caps.clean", "tr a-z A-Z"]);
    project.git(&["config", "filter.caps.smudge", "tr A-Z a-z"]);
    project.write_file(
        ".gitattributes",
        "*.caps filter=caps\n*.crlf text eol=crlf\n*.utf16 text working-tree-encoding=UTF-16LE\n*.id ident\n",
    );
    let files: [(&str, &[u8]); 4] = [
        ("a.caps", b"lower case\n"),
        ("b.crlf", b"one\r\ntwo\r\n"),
        ("c.utf16", b"h\0i\0\n\0"),
        ("d.id", b"$Id: 0123456789012345678901234567890123456789 $\n"),
    ];
    for (path, bytes) in files {
        project.write_bytes(path, bytes);
    }
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "first"]);
    project.git(&["status"]);
    let store = project.store();
    let id = store.take(&request("raw")).unwrap().id;
    for (path, _) in files {
        fs::remove_file(project.path_of(path)).unwrap();
    }
    assert_eq!(store.restore(&id).unwrap().files.len(), 4);
    for (path, bytes) in files {
        assert_eq!(fs::read(project.path_of(path)).unwrap(), bytes, "{path}");
    }
}

#[test]
fn ignore_files_outside_the_tree_count_and_are_overruled_by_those_inside() {
    let project = Project::repository();
    fs::write(project.path_of(".git/info/exclude"), "*.one\n/anchored\n").unwrap();
    project.write_file("../excludes", "*.two\n");
    let path = project.path_of("../excludes");
    project.git(&["config", "core.excludesFile", path.to_str().unwrap()]);
    project.write_file(".gitignore", "!keep.one\n");
    for path in ["a.one", "b.two", "anchored", "keep.one", "deep/anchored"] {
        project.write_file(path, "x");
    }
    let taken = project.store().with_outside_files(OutsideFiles::Allowed).take(&request("x")).unwrap();
    let listed =
        project.git(&["ls-tree", "-r", "--name-only", &format!("refs/synthdev/snapshots/{}", taken.id)]);
    assert_eq!(listed, ".gitignore\ndeep/anchored\nkeep.one\n");
    let status = project.git(&["ls-files", "--others", "--exclude-standard"]);
    assert_eq!(status, listed, "as git sees it");
}

#[test]
fn ignore_files_that_never_end_are_none() {
    // the pipe has no writer: reading it would not end
    let outer = Project::repository();
    outer.write_file("../pipes/x", "");
    let pipe = outer.path_of("../pipes/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    outer.write_file("a", "1");
    outer.git(&["config", "core.excludesFile", pipe.to_str().unwrap()]);
    fs::remove_file(outer.path_of(".git/info/exclude")).unwrap_or_default();
    fs::create_dir_all(outer.path_of(".git/info")).unwrap();
    std::os::unix::fs::symlink(&pipe, outer.path_of(".git/info/exclude")).unwrap();
    let taken = outer.store().with_outside_files(OutsideFiles::Allowed).take(&request("x")).unwrap();
    let listed =
        outer.git(&["ls-tree", "-r", "--name-only", &format!("refs/synthdev/snapshots/{}", taken.id)]);
    assert_eq!(listed, "a\n");
}

#[test]
fn large_files_are_listed_not_stored_and_never_deleted() {
    let project = Project::repository();
    project.write_file("a", "1");
    let large = fs::File::create(project.path_of("large")).unwrap();
    large.set_len(101 * 1024 * 1024).unwrap();
    let store = project.store();
    let taken = store.take(&request("x")).unwrap();
    assert_eq!(taken.skipped.len(), 1);
    assert!(taken.skipped[0].reason.contains("100 MB"));
    large.set_len(10).unwrap();
    project.write_file("a", "2");
    assert_eq!(store.restore(&taken.id).unwrap().files.len(), 1);
    assert!(project.path_of("large").exists());
}

#[test]
fn a_hostile_tree_cannot_lead_a_restore_out_of_the_project() {
    let project = Project::repository();
    project.write_file("a", "1");
    let store = project.store();
    let id = store.take(&request("x")).unwrap().id;
    let name = format!("refs/synthdev/snapshots/{id}");
    let repo = git2::Repository::open(project.path_of("")).unwrap();
    let real = repo.find_reference(&name).unwrap().peel_to_commit().unwrap();
    let blob = repo.blob(b"evil").unwrap();
    let tree = |names: &[&str], mode: &str, id: git2::Oid| {
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        repo.odb().unwrap().write(git2::ObjectType::Tree, &bytes).unwrap()
    };
    let inner = tree(&["evil"], "100644", blob);
    let outer = repo.find_tree(tree(&["..", ".git", "plain"], "40000", inner)).unwrap();
    let who = real.author();
    let commit = repo.commit(None, &who, &who, real.message().unwrap(), &outer, &[]).unwrap();
    repo.reference(&name, commit, true, "").unwrap();
    let files = store.restore(&id).unwrap().files;
    assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a", "plain/evil"]);
    assert!(!project.path_of("../evil").exists() && !project.path_of(".git/evil").exists());
}
