//! Runs in worktrees: what they begin with, what is merged, what is never touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fixture::{Project, Seen, seen_below};
use super::make_messy;
use synthdev::adapters::worktree::GitWorktrees;
use synthdev::domain::ids::RunId;
use synthdev::domain::snapshot::{FileChange, RunWorktree};
use synthdev::ports::snapshot::SnapshotPort;
use synthdev::ports::worktree::{MergeError, WorktreePort};

pub fn port(project: &Project) -> GitWorktrees {
    GitWorktrees::new(project.store())
}

pub fn create_worktree(project: &Project, run: &str) -> RunWorktree {
    port(project).create(&RunId::from(run), "coder").unwrap()
}

/// A committed project of three files.
pub fn small_project() -> Project {
    let project = Project::repository();
    project.write_file("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    project.write_file("b.txt", "b\n");
    project.write_file("dir/c.txt", "c\n");
    commit_all(&project);
    project
}

fn commit_all(project: &Project) {
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "first"]);
}

pub fn write_file(worktree: &RunWorktree, path: &str, text: &str) {
    let place = Path::new(&worktree.path).join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

pub fn remove_file(worktree: &RunWorktree, path: &str) {
    fs::remove_file(Path::new(&worktree.path).join(path)).unwrap();
}

fn read_file(project: &Project, path: &str) -> String {
    fs::read_to_string(project.path_of(path)).unwrap()
}

/// Runs git in the worktree and returns what it says.
fn git(project: &Project, worktree: &RunWorktree, arguments: &[&str]) -> String {
    project.git(&[&["-C", worktree.path.as_str()], arguments].concat())
}

/// Everything in a worktree but its link to the repository.
fn files(worktree: &RunWorktree) -> Vec<Seen> {
    let mut found = seen_below(Path::new(&worktree.path));
    found.retain(|(path, _)| path != ".git");
    found
}

/// Without what git ignores in the messy project.
fn covered_files(mut found: Vec<Seen>) -> Vec<Seen> {
    found.retain(|(path, _)| path != "debug.log" && path != "target" && path != "target/out");
    found
}

pub fn change_names(changes: Vec<synthdev::domain::snapshot::ChangedFile>) -> Vec<(String, FileChange)> {
    changes.into_iter().map(|file| (file.path, file.change)).collect()
}

pub fn row(path: &str, change: FileChange) -> (String, FileChange) {
    (path.to_owned(), change)
}

#[test]
fn a_worktree_begins_with_the_present_files_and_leaves_no_trace_when_discarded() {
    let project = Project::repository();
    make_messy(&project);
    fs::create_dir(project.path_of("hollow")).unwrap();
    for name in ["post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-merge"] {
        project.write_file(&format!(".git/hooks/{name}"), "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
        project.write_executable(&format!(".git/hooks/{name}"));
    }
    let (before, git_before) = (project.fingerprint(), project.git_state());
    let made = create_worktree(&project, "6s1c9rk2m4tz");
    assert_eq!(made.branch, "synthdev/6s1c9rk2m4tz");
    let top = fs::canonicalize(project.data()).unwrap().join("worktrees/6s1c9rk2m4tz");
    assert_eq!(made.path, top.to_str().unwrap());
    assert_eq!(files(&made), covered_files(before.clone()));
    assert_eq!(git(&project, &made, &["status", "--porcelain"]), "", "all of it is committed");
    assert_eq!(project.git(&["rev-parse", &format!("{}^", made.base)]), project.git(&["rev-parse", "HEAD"]));
    assert_eq!((project.fingerprint(), project.user_state()), (before.clone(), git_before.clone()));
    assert_eq!(port(&project).changes(&made).unwrap(), []);
    assert_eq!(port(&project).diff(&made).unwrap(), "");
    assert_eq!(port(&project).skipped(&made).unwrap(), []);

    port(&project).discard(&made, false).unwrap();
    assert_eq!((project.fingerprint(), project.git_state()), (before, git_before), "nothing is left");
    assert!(!Path::new(&made.path).exists());
    assert_eq!(project.git(&["for-each-ref", "refs/synthdev"]), "");
    port(&project).discard(&made, false).unwrap();
    project.git(&["fsck", "--strict"]);
}

#[test]
fn raw_bytes_arrive_whatever_git_converts() {
    let project = Project::repository();
    project.git(&["config", "core.autocrlf", "true"]);
    project.write_file(".gitattributes", "*.lf text eol=lf\n*.crlf text eol=crlf\n*.id ident\n");
    project.write_file("a.lf", "one\r\ntwo\n");
    project.write_file("b.crlf", "one\ntwo\n");
    project.write_file("c.id", "$Id$\n");
    project.write_file("d.txt", "one\r\ntwo\n");
    commit_all(&project);
    let made = create_worktree(&project, "raw");
    assert_eq!(files(&made), project.fingerprint());
    write_file(&made, "b.crlf", "one\nTWO\n");
    port(&project).merge(&made).unwrap();
    assert_eq!(read_file(&project, "b.crlf"), "one\nTWO\n");
}

#[test]
fn changes_and_diff_show_what_the_run_did() {
    let project = small_project();
    project.write_file("run.sh", "x");
    let made = create_worktree(&project, "r");
    write_file(&made, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    write_file(&made, "new/deep.txt", "n\n");
    remove_file(&made, "b.txt");
    let script = Path::new(&made.path).join("run.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    project.write_file("a.txt", "the project's own change is not the run's\n");
    let expected = [
        row("a.txt", FileChange::Modified),
        row("b.txt", FileChange::Deleted),
        row("new/deep.txt", FileChange::Added),
        row("run.sh", FileChange::Mode),
    ];
    let port = port(&project);
    assert_eq!(change_names(port.changes(&made).unwrap()), expected);
    let diff = port.diff(&made).unwrap();
    for part in ["-9\n+nine\n", "deleted file mode 100644", "new file mode 100644", "new mode 100755"] {
        assert!(diff.contains(part), "{part} in\n{diff}");
    }
    // A change that the run committed is still one.
    git(&project, &made, &["add", "-A"]);
    git(&project, &made, &["commit", "-qm", "by the run"]);
    assert_eq!(change_names(port.changes(&made).unwrap()), expected);
    assert_eq!(port.diff(&made).unwrap(), diff);
}

#[test]
fn a_clean_merge_brings_everything_and_can_be_undone() {
    let project = Project::repository();
    make_messy(&project);
    let made = create_worktree(&project, "r");
    write_file(&made, "src/main.rs", "fn main() { run }\n");
    write_file(&made, "src/new/file.rs", "new\n");
    write_file(&made, "packages/a/index.js", "export { one }\n");
    remove_file(&made, "naïve/日本 語.txt");
    remove_file(&made, "link");
    symlink("elsewhere", Path::new(&made.path).join("link")).unwrap();
    let tool = Path::new(&made.path).join("bin/tool.sh");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o644)).unwrap();
    write_file(&made, "debug.log", "ignored, stays in the worktree");
    project.write_file("untracked.txt", "changed meanwhile\n");
    let (before, git_before) = (project.fingerprint(), project.user_state());

    let merged = port(&project).merge(&made).unwrap();
    assert_eq!(
        change_names(merged.files.clone()),
        [
            row("bin/tool.sh", FileChange::Mode),
            row("link", FileChange::Modified),
            row("naïve/日本 語.txt", FileChange::Deleted),
            row("packages/a/index.js", FileChange::Modified),
            row("src/main.rs", FileChange::Modified),
            row("src/new/file.rs", FileChange::Added),
        ]
    );
    assert_eq!(merged.skipped, []);
    assert_eq!(read_file(&project, "src/main.rs"), "fn main() { run }\n");
    assert_eq!(read_file(&project, "untracked.txt"), "changed meanwhile\n");
    assert_eq!(read_file(&project, "debug.log"), "ignored\n");
    assert!(!project.path_of("naïve").exists(), "a directory that became empty goes");
    assert_eq!(fs::read_link(project.path_of("link")).unwrap(), Path::new("elsewhere"));
    let mode = fs::metadata(project.path_of("bin/tool.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0);
    assert_eq!(project.user_state().1, git_before.1, "index, HEAD, branches, stash");
    let shown = project.git(&["show", &format!("{}:src/new/file.rs", made.branch)]);
    assert_eq!(shown, "new\n", "the branch has the final state");
    assert_eq!(git(&project, &made, &["status", "--porcelain"]), "");

    let again = port(&project).merge(&made).unwrap();
    assert_eq!((again.safety, again.files), (None, Vec::new()), "nothing is left to merge");
    project.store().restore(&merged.safety.unwrap()).unwrap();
    assert_eq!((project.fingerprint(), project.user_state()), (before, git_before), "undone");
    assert_eq!(port(&project).merge(&made).unwrap().files.len(), 6, "and merged again");
    port(&project).discard(&made, false).unwrap();
    project.git(&["fsck", "--strict"]);
}

#[test]
fn both_sides_of_one_file_are_merged_by_line() {
    let project = small_project();
    let made = create_worktree(&project, "r");
    write_file(&made, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    project.write_file("a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    fs::rename(project.path_of("dir/c.txt"), project.path_of("dir/renamed.txt")).unwrap();
    write_file(&made, "dir/c.txt", "c\nmore\n");
    port(&project).merge(&made).unwrap();
    assert_eq!(read_file(&project, "a.txt"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
}

#[test]
fn conflicts_change_nothing_and_name_every_path() {
    let project = small_project();
    project.write_file(".gitignore", "*.secret\n");
    project.write_file("bin", "file\n");
    let made = create_worktree(&project, "r");
    write_file(&made, "a.txt", "run\n");
    write_file(&made, "b.txt", "run\n");
    write_file(&made, "both.txt", "run\n");
    remove_file(&made, "dir/c.txt");
    write_file(&made, "fine.txt", "no conflict\n");
    write_file(&made, ".gitignore", "");
    write_file(&made, "key.secret", "run\n");
    project.write_file("a.txt", "mine\n");
    fs::remove_file(project.path_of("b.txt")).unwrap();
    project.write_file("both.txt", "mine\n");
    project.write_file("dir/c.txt", "mine\n");
    project.write_file("key.secret", "mine, ignored\n");
    let pipe = Command::new("mkfifo").arg(project.path_of("pipe")).status().unwrap();
    assert!(pipe.success());
    write_file(&made, "pipe", "run\n");
    let (before, git_before) = (project.fingerprint(), project.user_state());
    let Err(MergeError::Conflicts(conflicts)) = port(&project).merge(&made) else { panic!("conflicts") };
    let paths: Vec<&str> = conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "b.txt", "both.txt", "dir/c.txt", "key.secret", "pipe"]);
    let said = MergeError::Conflicts(conflicts.clone()).to_string();
    assert!(said.starts_with("6 files") && said.ends_with("and 3 more"), "{said}");
    assert!(conflicts[3].reason.contains("deleted") && conflicts[2].reason.contains("new"), "{conflicts:?}");
    assert_eq!((project.fingerprint(), project.user_state()), (before, git_before));
    assert_eq!(project.store().list().unwrap(), [], "not even a snapshot");
    let kept = project.git(&["show", &format!("{}:a.txt", made.branch)]);
    assert_eq!(kept, "run\n", "the run's side is on its branch");

    for path in ["a.txt", "both.txt", "key.secret"] {
        project.write_file(path, "run\n");
    }
    project.write_file("dir/c.txt", "c\n");
    project.write_file("b.txt", "b\n");
    fs::remove_file(project.path_of("pipe")).unwrap();
    let merged = port(&project).merge(&made).unwrap();
    assert_eq!(
        change_names(merged.files),
        [
            row(".gitignore", FileChange::Modified),
            row("b.txt", FileChange::Modified),
            row("dir/c.txt", FileChange::Deleted),
            row("fine.txt", FileChange::Added),
            row("pipe", FileChange::Added),
        ]
    );
}

#[test]
fn a_new_file_and_a_new_directory_of_one_name_conflict() {
    // The name between the two in git's order hides the conflict from a merge that only compares neighbours.
    type Make = fn(&Project);
    let rows: [(&str, Make); 3] = [
        ("a file", |project| project.write_file("thing", "mine\n")),
        ("an ignored file", |project| project.write_file("thing", "mine, ignored\n")),
        ("a pipe", |project| {
            assert!(Command::new("mkfifo").arg(project.path_of("thing")).status().unwrap().success());
        }),
    ];
    for (name, make) in rows {
        let project = small_project();
        if name.contains("ignored") {
            project.write_file(".gitignore", "thing\n");
        }
        let made = create_worktree(&project, "r");
        write_file(&made, ".gitignore", "");
        write_file(&made, "thing/deep/new.txt", "run\n");
        write_file(&made, "a-first.txt", "run\n");
        make(&project);
        project.write_file("thing-b", "between\n");
        let before = project.fingerprint();
        let Err(MergeError::Conflicts(conflicts)) = port(&project).merge(&made) else { panic!("{name}") };
        assert!(conflicts[0].path.starts_with("thing"), "{name}: {conflicts:?}");
        assert_eq!(project.fingerprint(), before, "{name}");
    }
}

#[test]
fn ignored_files_in_a_directory_that_must_go_stop_the_merge() {
    let project = small_project();
    project.write_file(".gitignore", "*.log\n");
    let made = create_worktree(&project, "r");
    remove_file(&made, "dir/c.txt");
    fs::remove_dir(Path::new(&made.path).join("dir")).unwrap();
    write_file(&made, "dir", "a file now\n");
    project.write_file("dir/only.log", "precious\n");
    let before = project.fingerprint();
    let Err(MergeError::Failed(error)) = port(&project).merge(&made) else { panic!("an obstacle") };
    assert!(error.message.contains("dir/only.log"), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("merge again")));
    assert_eq!(project.fingerprint(), before);
}

#[test]
fn a_second_merge_begins_where_the_first_one_ended() {
    let project = small_project();
    let (made, port) = (create_worktree(&project, "r"), port(&project));
    let left = || port.unmerged(&made).unwrap().map(|left| change_names(left.files));
    assert_eq!(left(), Some(vec![]));
    write_file(&made, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    write_file(&made, "new.txt", "1\n");
    let first = [row("a.txt", FileChange::Modified), row("new.txt", FileChange::Added)];
    assert_eq!(left(), Some(first.to_vec()));
    project.write_file("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nmine\n");
    port.merge(&made).unwrap();
    assert_eq!(left(), Some(vec![]), "all of it is there, though the files are not the same");
    assert_eq!(change_names(port.changes(&made).unwrap()), first, "seen from the start");

    // the run goes on, on what was merged
    write_file(&made, "a.txt", "ONE\n2\n3\n4\n5\n6\n7\n8\n9\n");
    write_file(&made, "new.txt", "2\n");
    remove_file(&made, "b.txt");
    let second = [
        row("a.txt", FileChange::Modified),
        row("b.txt", FileChange::Deleted),
        row("new.txt", FileChange::Modified),
    ];
    assert_eq!(left(), Some(second.to_vec()));
    project.write_file("new.txt", "0\n");
    let before = project.fingerprint();
    let Err(MergeError::Conflicts(conflicts)) = port.merge(&made) else { panic!("both changed it") };
    assert_eq!(conflicts.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), ["new.txt"]);
    assert_eq!(project.fingerprint(), before);
    assert_eq!(left(), Some(second.to_vec()), "a conflict merges nothing");
    project.write_file("new.txt", "1\n");
    let merged = port.merge(&made).unwrap();
    assert_eq!(change_names(merged.files), second);
    assert_eq!(read_file(&project, "a.txt"), "ONE\n2\n3\n4\n5\n6\n7\n8\nmine\n");
    assert_eq!(read_file(&project, "new.txt"), "2\n");
    assert_eq!(port.merge(&made).unwrap().files, []);
    assert_eq!(left(), Some(vec![]));
    // what the project has anyway is nothing that could be lost
    write_file(&made, "new.txt", "3\n");
    project.write_file("new.txt", "3\n");
    assert_eq!(left(), Some(vec![]));
}

#[test]
fn a_merge_that_was_undone_counts_as_none() {
    let project = small_project();
    let (made, port) = (create_worktree(&project, "r"), port(&project));
    let left = || port.unmerged(&made).unwrap().map(|left| change_names(left.files));
    write_file(&made, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    write_file(&made, "c.txt", "c\n");
    project.write_file("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nmine\n");
    let all = [row("a.txt", FileChange::Modified), row("c.txt", FileChange::Added)];
    let first = port.merge(&made).unwrap().safety.unwrap();
    write_file(&made, "c.txt", "cc\n");
    let second = port.merge(&made).unwrap().safety.unwrap();
    assert_eq!(left(), Some(vec![]));
    project.store().restore(&second).unwrap();
    assert_eq!(left(), Some(vec![row("c.txt", FileChange::Modified)]), "the second is undone");
    project.store().restore(&first).unwrap();
    assert_eq!(left(), Some(all.to_vec()), "both are undone");
    port.merge(&made).unwrap();
    assert_eq!(read_file(&project, "a.txt"), "one\n2\n3\n4\n5\n6\n7\n8\nmine\n");
    assert_eq!((read_file(&project, "c.txt"), left()), ("cc\n".to_owned(), Some(vec![])));
    port.discard(&made, false).unwrap();
    assert_eq!(left(), None, "gone");
    assert_eq!(project.git(&["for-each-ref", "refs/synthdev/merged"]), "");
}

#[test]
fn what_is_only_on_the_branch_could_be_lost_too() {
    let project = small_project();
    let (made, port) = (create_worktree(&project, "r"), port(&project));
    write_file(&made, "b.txt", "run\n");
    project.write_file("b.txt", "mine\n");
    assert!(matches!(port.merge(&made), Err(MergeError::Conflicts(_))), "it was committed to the branch");
    fs::remove_dir_all(&made.path).unwrap();
    let lost = port.unmerged(&made).unwrap().map(|left| change_names(left.files));
    assert_eq!(lost, Some(vec![row("b.txt", FileChange::Modified)]));
    project.write_file("b.txt", "run\n");
    assert_eq!(port.unmerged(&made).unwrap().unwrap().files, [], "brought by hand");
}

#[test]
fn two_worktrees_at_once_do_not_meet() {
    let project = small_project();
    let made: Vec<RunWorktree> = std::thread::scope(|scope| {
        let start = |n: usize| {
            scope.spawn({
                let project = &project;
                move || create_worktree(project, &format!("r{n}"))
            })
        };
        let all: Vec<_> = (0..4).map(start).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (n, made) in made.iter().enumerate() {
        write_file(made, &format!("n{n}.txt"), "x\n");
        assert_eq!(port(&project).changes(made).unwrap().len(), 1);
    }
    for made in &made {
        assert_eq!(port(&project).merge(made).unwrap().files.len(), 1);
    }
    port(&project).discard(&made[0], false).unwrap();
    assert_eq!(port(&project).changes(&made[1]).unwrap().len(), 1);
    assert!(project.path_of("n0.txt").exists() && project.path_of("n3.txt").exists());
    let second = create_worktree(&project, "r1");
    assert_eq!(second.branch, "synthdev/r1-2", "a taken name gets a number");
}

#[test]
fn commits_of_the_run_are_not_thrown_away_unasked() {
    let project = small_project();
    let made = create_worktree(&project, "r");
    write_file(&made, "new.txt", "n\n");
    git(&project, &made, &["add", "-A"]);
    git(&project, &made, &["commit", "-qm", "one"]);
    git(&project, &made, &["commit", "-q", "--allow-empty", "-m", "two"]);
    git(&project, &made, &["checkout", "-q", "--detach"]);
    git(&project, &made, &["commit", "-q", "--allow-empty", "-m", "three, off the branch"]);
    let state = project.git_state();
    let error = port(&project).discard(&made, false).unwrap_err();
    assert!(error.message.starts_with("3 commits on synthdev/r"), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("force")));
    assert_eq!(project.git_state(), state, "nothing was removed");

    port(&project).merge(&made).unwrap();
    port(&project).discard(&made, false).unwrap();
    assert_eq!(read_file(&project, "new.txt"), "n\n");

    let made = create_worktree(&project, "kept");
    git(&project, &made, &["commit", "-q", "--allow-empty", "-m", "one"]);
    assert!(port(&project).discard(&made, false).is_err());
    git(&project, &made, &["branch", "mine"]);
    port(&project).discard(&made, false).unwrap();
    assert!(project.git(&["branch"]).contains("mine"), "another branch has it");

    let made = create_worktree(&project, "forced");
    git(&project, &made, &["commit", "-q", "--allow-empty", "-m", "one"]);
    port(&project).discard(&made, true).unwrap();
    assert!(!project.git(&["branch"]).contains("synthdev"));
}

#[test]
fn half_removed_worktrees_are_discarded_all_the_same() {
    type Damage = fn(&Project, &RunWorktree);
    let rows: [(&str, Damage); 6] = [
        ("directory deleted", |_, made| fs::remove_dir_all(&made.path).unwrap()),
        ("link to the repository deleted", |_, made| {
            fs::remove_file(Path::new(&made.path).join(".git")).unwrap()
        }),
        ("pruned by git", |project, made| {
            fs::remove_dir_all(&made.path).unwrap();
            project.git(&["worktree", "prune"]);
        }),
        ("record deleted", |project, _| fs::remove_dir_all(project.path_of(".git/worktrees/r")).unwrap()),
        ("removed by git, with its branch", |project, made| {
            project.git(&["worktree", "remove", "--force", &made.path]);
            project.git(&["branch", "-D", &made.branch]);
        }),
        ("read-only directories", |_, made| {
            let place = Path::new(&made.path).join("dir");
            fs::set_permissions(place, fs::Permissions::from_mode(0o555)).unwrap();
        }),
    ];
    for (name, damage) in rows {
        let project = small_project();
        let state = project.git_state();
        let made = create_worktree(&project, "r");
        damage(&project, &made);
        if !Path::new(&made.path).join(".git").exists() {
            let error = port(&project).changes(&made).unwrap_err();
            assert!(error.message.contains("gone or damaged"), "{name}: {error}");
            assert!(matches!(port(&project).merge(&made), Err(MergeError::Failed(_))), "{name}");
        }
        port(&project).discard(&made, false).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(project.git_state(), state, "{name}");
        assert!(!Path::new(&made.path).exists(), "{name}");
    }
}

#[test]
fn locked_or_checked_out_worktrees_stay() {
    let project = small_project();
    let made = create_worktree(&project, "r");
    project.git(&["worktree", "lock", &made.path]);
    let error = port(&project).discard(&made, false).unwrap_err();
    assert!(error.message.contains("locked"), "{error}");
    project.git(&["worktree", "unlock", &made.path]);
    project.git(&["checkout", "-q", "--ignore-other-worktrees", &made.branch]);
    let error = port(&project).discard(&made, true).unwrap_err();
    assert!(error.message.contains("you are on branch"), "{error}");
    assert!(Path::new(&made.path).join("a.txt").exists());
}

#[test]
fn a_project_below_its_repository_is_isolated_in_place() {
    let project = small_project();
    project.write_file("untracked.txt", "beside\n");
    let sub = project.moved_to("project/dir");
    let made = create_worktree(&sub, "r");
    assert!(made.path.ends_with("worktrees/r/dir"), "{}", made.path);
    assert_eq!(files(&made), sub.fingerprint());
    let beside = Path::new(&made.path).join("../untracked.txt");
    assert!(beside.exists(), "the rest of the repository is there too");
    write_file(&made, "c.txt", "run\n");
    fs::write(beside, "outside of the project\n").unwrap();
    assert_eq!(change_names(port(&sub).changes(&made).unwrap()), [row("c.txt", FileChange::Modified)]);
    let diff = port(&sub).diff(&made).unwrap();
    assert!(diff.contains("--- a/c.txt"), "{diff}");
    assert_eq!(
        port(&sub).unmerged(&made).unwrap().map(|left| change_names(left.files)),
        Some(vec![row("c.txt", FileChange::Modified)])
    );
    assert_eq!(port(&sub).merge(&made).unwrap().files.len(), 1);
    assert_eq!(port(&sub).unmerged(&made).unwrap().unwrap().files, []);
    write_file(&made, "c.txt", "again\n");
    assert_eq!(
        port(&sub).unmerged(&made).unwrap().map(|left| change_names(left.files)),
        Some(vec![row("c.txt", FileChange::Modified)])
    );
    write_file(&made, "c.txt", "run\n");
    assert_eq!(read_file(&sub, "c.txt"), "run\n");
    assert_eq!(read_file(&sub, "../untracked.txt"), "beside\n");
    port(&sub).discard(&made, false).unwrap();
    assert_eq!(sub.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_linked_worktree_of_the_users_and_one_of_ours_can_be_isolated_again() {
    let project = small_project();
    project.git(&["worktree", "add", "-q", "../linked"]);
    let linked = project.moved_to("linked");
    linked.write_file("b.txt", "in the linked one\n");
    let made = create_worktree(&linked, "r");
    assert_eq!(fs::read_to_string(Path::new(&made.path).join("b.txt")).unwrap(), "in the linked one\n");
    write_file(&made, "a.txt", "run\n");
    port(&linked).merge(&made).unwrap();
    assert_eq!(
        (read_file(&linked, "a.txt").as_str(), read_file(&linked, "../project/b.txt").as_str()),
        ("run\n", "b\n")
    );
    port(&linked).discard(&made, false).unwrap();
}

#[test]
fn before_the_first_commit_the_base_has_no_parent() {
    let project = Project::repository();
    project.write_file("a.txt", "a\n");
    let state = project.git_state();
    let made = create_worktree(&project, "r");
    assert_eq!(files(&made), project.fingerprint());
    write_file(&made, "a.txt", "b\n");
    port(&project).merge(&made).unwrap();
    assert_eq!(read_file(&project, "a.txt"), "b\n");
    port(&project).discard(&made, false).unwrap();
    assert_eq!(project.git_state(), state);
    let empty = Project::repository();
    let made = create_worktree(&empty, "r");
    write_file(&made, "first.txt", "x\n");
    assert_eq!(port(&empty).merge(&made).unwrap().files.len(), 1);
}

#[test]
fn submodules_and_nested_repositories_are_listed_and_stay_out() {
    let project = small_project();
    project.git(&["init", "-q", "nested"]);
    project.write_file("nested/inner", "1");
    project.git(&["init", "-q", "origin"]);
    project.git(&["-C", "origin", "commit", "-q", "--allow-empty", "-m", "x"]);
    project.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./origin", "sub"]);
    let made = create_worktree(&project, "r");
    let skipped = port(&project).skipped(&made).unwrap();
    let skipped: Vec<&str> = skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    for path in ["nested", "origin", "sub"] {
        assert!(skipped.contains(&path), "{path} in {skipped:?}");
    }
    let sub = Path::new(&made.path).join("sub");
    assert!(
        sub.is_dir() && fs::read_dir(&sub).unwrap().next().is_none(),
        "an empty directory, as git makes it"
    );
    assert!(!Path::new(&made.path).join("nested").exists());
    write_file(&made, "b.txt", "run\n");
    write_file(&made, "sub/inside", "lost\n");
    let large = fs::File::create(Path::new(&made.path).join("large")).unwrap();
    large.set_len(101 * 1024 * 1024).unwrap();
    let merged = port(&project).merge(&made).unwrap();
    assert_eq!(change_names(merged.files), [row("b.txt", FileChange::Modified)]);
    assert_eq!(merged.skipped.len(), 1, "{:?}", merged.skipped);
    assert_eq!(merged.skipped[0].path, "large");
    assert!(project.git(&["-C", "sub", "log", "--oneline"]).contains('x'));
}

#[test]
fn snapshots_inside_a_worktree_go_with_it() {
    let project = small_project();
    project.store().take(&super::request("of the project")).unwrap();
    let made = create_worktree(&project, "r");
    let inside = super::fixture::store_at(PathBuf::from(&made.path), project.data(), &[]);
    let id = inside.take(&super::request("inside")).unwrap().id;
    write_file(&made, "b.txt", "run\n");
    inside.restore(&id).unwrap();
    assert_eq!(port(&project).changes(&made).unwrap(), []);
    assert_eq!(project.store().list().unwrap().len(), 1);
    port(&project).discard(&made, false).unwrap();
    assert_eq!(project.git(&["for-each-ref", "refs/synthdev"]).lines().count(), 1);
}

#[test]
fn what_cannot_be_isolated_is_refused_and_left_alone() {
    let plain = Project::without_git();
    let bare = Project::with_git_options(&["--bare"]);
    let home = small_project();
    let wide = small_project();
    let ignored = small_project();
    ignored.write_file(".gitignore", "/out/\n");
    ignored.write_file("out/x", "");
    let sparse = small_project();
    sparse.git(&["sparse-checkout", "set", "--no-cone", "dir/"]);
    let split = small_project();
    split.git(&["update-index", "--split-index"]);
    let (dir, out) = (wide.path_of("dir"), ignored.path_of("out"));
    let rows = [
        (&plain, port(&plain), "in none"),
        (&bare, port(&bare), "bare"),
        (&home, GitWorktrees::new(home.store().with_home(home.path_of(""))), "home directory"),
        (
            &wide,
            GitWorktrees::new(super::fixture::store_at(dir, wide.data(), &[]).with_home(wide.path_of(""))),
            "too wide",
        ),
        (&ignored, GitWorktrees::new(super::fixture::store_at(out, ignored.data(), &[])), "ignores"),
        (&sparse, port(&sparse), "sparsely"),
        (&split, port(&split), "has a form"),
        (
            &small_project(),
            GitWorktrees::new(super::fixture::store_at("/nowhere".into(), "/nowhere".into(), &[])),
            "/nowhere",
        ),
    ];
    for (project, port, part) in rows {
        let before = project.fingerprint();
        let error = port.create(&RunId::from("r"), "w").unwrap_err();
        assert!(error.message.contains(part), "{part}: {error}");
        assert!(error.hint.is_some());
        assert_eq!(project.fingerprint(), before);
        assert!(!project.data().join("worktrees/r").exists());
    }
    // A branch named `synthdev` leaves no room for branches below it.
    let taken = small_project();
    taken.git(&["branch", "synthdev"]);
    let made = create_worktree(&taken, "../odd name");
    assert_eq!(made.branch, "synthdev-odd-name");
    port(&taken).discard(&made, false).unwrap();
}

#[test]
fn a_failed_creation_leaves_nothing() {
    let project = small_project();
    fs::create_dir_all(project.data().join("worktrees")).unwrap();
    project.write_file(".git/worktrees", "a file in the way");
    let state = project.git_state();
    let error = port(&project).create(&RunId::from("r"), "w").unwrap_err();
    assert!(error.message.contains("git store") && error.hint.is_some(), "{error}");
    assert_eq!(project.git_state(), state);
    assert!(!project.data().join("worktrees/r").exists());

    // The same when the files are written already: a file where our notes of the worktree go.
    fs::remove_file(project.path_of(".git/worktrees")).unwrap();
    let state = project.git_state();
    let corners = || -> Vec<PathBuf> {
        let all = fs::read_dir(project.data().join("snapshots")).unwrap();
        all.map(|item| item.unwrap().path()).collect()
    };
    let before = corners();
    let made = create_worktree(&project, "r");
    let corner = corners().into_iter().find(|corner| !before.contains(corner)).unwrap();
    port(&project).discard(&made, false).unwrap();
    assert_eq!(corners(), before);
    fs::write(&corner, "in the way").unwrap();
    let error = port(&project).create(&RunId::from("r"), "w").unwrap_err();
    assert!(error.message.contains("snapshot store"), "{error}");
    assert_eq!(project.git_state(), state);
    assert!(!Path::new(&made.path).exists());
}

#[test]
fn a_forged_record_leads_nowhere() {
    let project = small_project();
    let made = create_worktree(&project, "r");
    let other = small_project();
    let room = Path::new(&made.path).parent().unwrap();
    let forged = [
        RunWorktree { path: project.path_of("").display().to_string(), ..made.clone() },
        RunWorktree { path: room.display().to_string(), ..made.clone() },
        RunWorktree { path: room.join("..").display().to_string(), ..made.clone() },
        RunWorktree { path: room.join("x/../r").display().to_string(), ..made.clone() },
        RunWorktree { branch: "main".into(), ..made.clone() },
        RunWorktree { base: "HEAD".into(), ..made.clone() },
    ];
    for forged in forged {
        let error = port(&project).discard(&forged, true).unwrap_err();
        assert!(error.message.contains("no worktree of this project"), "{forged:?}: {error}");
        assert!(port(&project).changes(&forged).is_err() && port(&project).merge(&forged).is_err());
    }
    let neighbour = GitWorktrees::new(other.store_with(&[], &project.data()));
    for broken in [false, true] {
        if broken {
            fs::remove_file(Path::new(&made.path).join(".git")).unwrap();
        }
        let error = neighbour.discard(&made, true).unwrap_err();
        assert!(error.message.contains("no worktree of this project"), "{error}");
    }
    assert!(Path::new(&made.path).join("a.txt").exists());
    assert!(project.path_of("a.txt").exists());
}

/// As a process that was killed while it moved the run's refs leaves them.
#[test]
fn locks_of_a_killed_process_are_no_obstacle() {
    let ours =
        ["refs/heads/synthdev/r1", "refs/synthdev/merged/r1", "worktrees/r1/index", "worktrees/r1/HEAD"];
    let lock = |project: &Project, name: &str, age: u64| {
        let path = format!(".git/{name}.lock");
        project.write_file(&path, "");
        let at = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        fs::File::options().write(true).open(project.path_of(&path)).unwrap().set_modified(at).unwrap();
    };
    for discards in [false, true] {
        let project = small_project();
        let made = create_worktree(&project, "r1");
        write_file(&made, "a.txt", "by the run\n");
        let done = |project: &Project| match discards {
            true => port(project).discard(&made, true),
            false => port(project).merge(&made).map(drop).map_err(|error| match error {
                MergeError::Failed(error) => error,
                MergeError::Conflicts(conflicts) => panic!("{conflicts:?}"),
            }),
        };
        // it may be held by a git that works there now
        lock(&project, ours[0], 0);
        let error = done(&project).unwrap_err();
        assert!(error.hint.is_some_and(|hint| hint.contains("r1.lock")), "{}", error.message);
        // of a process that is known to be dead, or older than any that lives
        let corner = fs::read_dir(project.data().join("snapshots")).unwrap().map(|item| item.unwrap().path());
        let corner = corner.into_iter().find(|corner| !corner.join("index-repository").exists());
        fs::write(corner.unwrap().join("moving-r1"), "").unwrap();
        lock(&project, ours[0], 0);
        ours[1..].iter().for_each(|name| lock(&project, name, 60));
        done(&project).unwrap();
        done(&project).unwrap();
        if !discards {
            assert_eq!(read_file(&project, "a.txt"), "by the run\n");
        }
    }
}
