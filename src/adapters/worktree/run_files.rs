//! The files of a run for another machine: a snapshot of them in a git repository that both reach, and a worktree made of
//! it there.
//!
//! Only libgit2's own transports: a path, `file://`, `http://` and `git://`.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{Commit, Direction, FetchOptions, PushOptions, Repository};

use super::GitWorktrees;
use super::create::{self, WorktreeStart};
use super::linked_worktree::LinkedWorktree;
use crate::git::GitSnapshots;
use crate::git::snapshot_commit::{self, SnapshotRecord, StoredSnapshot, find_snapshot, store_holding};
use crate::git::snapshot_error::{SnapshotResult, snapshot_error};
use synthdev_domain::ids::{RunId, SnapshotId};
use synthdev_domain::snapshot::{RunWorktree, SnapshotRequest, SnapshotReuse};
use synthdev_domain::terminal_safe::{redact_remote, redact_urls_in};
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};

/// Of the snapshots that are only taken for other machines, and removed when they are there.
const LABEL: &str = "Files of a run for other hosts";

/// Below it, a ref for each set of files, by its commit: one that is there is never changed.
fn remote_namespace(run: &RunId) -> String {
    format!("refs/synthdev/runs/{run}/")
}

fn remote_reference(run: &RunId, commit: &str) -> String {
    format!("{}{commit}", remote_namespace(run))
}

/// Files of a run that are in the shared repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushedFiles {
    /// Of the project here.
    pub snapshot: SnapshotId,
    /// In both repositories.
    pub commit: String,
}

impl GitWorktrees {
    /// Pushes the run's present files to a repository, unless they are `last`; what they are. `obsolete` is removed there.
    ///
    /// # Errors
    /// They cannot be read, or the repository does not take them.
    pub fn push_files(
        &self,
        run: &RunId,
        worktree: Option<&RunWorktree>,
        remote: &str,
        last: Option<&PushedFiles>,
        obsolete: Option<&str>,
    ) -> Result<PushedFiles, SnapshotError> {
        let inside = worktree.map(|tree| self.snapshots.for_directory(Path::new(&tree.path)));
        let snapshots = inside.as_ref().unwrap_or(&self.snapshots);
        let request = SnapshotRequest {
            label: LABEL.to_owned(),
            run: Some(run.clone()),
            note: String::new(),
            reuse: SnapshotReuse::SameRun(None),
        };
        let taken = snapshots.take(&request)?;
        if let Some(last) = last.filter(|last| last.snapshot == taken.id) {
            return Ok(last.clone());
        }
        let store = store_holding(&snapshots.resolve_location()?, taken.id.as_str())?;
        let commit = find_snapshot(&store, taken.id.as_str())?.commit.id().to_string();
        let source = snapshot_commit::reference_name(taken.id.as_str());
        let mut refspecs = vec![format!("{source}:{}", remote_reference(run, &commit))];
        refspecs.extend(obsolete.map(|commit| format!(":{}", remote_reference(run, commit))));
        push_references(&store.repo, remote, &refspecs)?;
        if let Some(earlier) = last
            && snapshots.find(earlier.snapshot.as_str()).is_ok_and(|info| info.label == LABEL)
        {
            // one that stays is only in the way of lists
            let _ = snapshots.delete(&earlier.snapshot);
        }
        Ok(PushedFiles { snapshot: taken.id, commit })
    }

    /// Removes all files of a run from the shared repository.
    ///
    /// # Errors
    /// The repository cannot be reached, or does not take it.
    pub fn forget_pushed_files(&self, run: &RunId, remote: &str) -> Result<(), SnapshotError> {
        let store = self.repository()?;
        let namespace = remote_namespace(run);
        let listed = store.repo.remote_anonymous(remote).and_then(|mut there| {
            let connected = there.connect_auth(Direction::Fetch, None, None)?;
            let names = connected.list()?.iter().map(|head| head.name().to_owned());
            Ok(names.filter(|name| name.starts_with(&namespace)).collect::<Vec<_>>())
        });
        let listed = listed.map_err(|error| remote_error(remote, "cannot be read", &error))?;
        let refspecs: Vec<String> = listed.into_iter().map(|name| format!(":{name}")).collect();
        if refspecs.is_empty() { Ok(()) } else { push_references(&store.repo, remote, &refspecs) }
    }

    /// Makes a worktree of what another machine pushed for the run: its `present` files, above the `first` ones with which
    /// the run began. Without those, what the run changed is not known.
    ///
    /// # Errors
    /// It pushed nothing, the repository cannot be read, or there is no worktree to be had.
    pub fn adopt_files(
        &self,
        run: &RunId,
        workflow: &str,
        remote: &str,
        (first, present): (Option<&str>, &str),
    ) -> Result<RunWorktree, SnapshotError> {
        let store = self.repository()?;
        let wanted: BTreeSet<&str> = first.into_iter().chain([present]).collect();
        let arrived = |commit: &str| format!("refs/synthdev/arrived/{run}/{commit}");
        let refspecs: Vec<String> = wanted
            .iter()
            .map(|commit| format!("+{}:{}", remote_reference(run, commit), arrived(commit)))
            .collect();
        fetch_references(&store.repo, remote, &refspecs)?;
        let failed = |error: git2::Error| remote_error(remote, "has no files of the run", &error);
        let find = |commit: &str| -> SnapshotResult<Commit<'_>> {
            store
                .repo
                .find_reference(&arrived(commit))
                .and_then(|found| found.peel_to_commit())
                .map_err(failed)
        };
        let commit = find(present)?;
        let record =
            std::str::from_utf8(commit.message_bytes()).ok().and_then(|text| text.split_once("\n\n"));
        let record: Option<SnapshotRecord> = record.and_then(|(_, json)| serde_json::from_str(json).ok());
        let record = record.ok_or_else(|| {
            snapshot_error(
                format!("what {} has for run {run} is no snapshot", redact_remote(remote)),
                "Use a repository that only workers push to.",
            )
        })?;
        let start = first.map(|first| find(first).map(|commit| commit.tree_id())).transpose()?;
        let begun = WorktreeStart::OtherHost { first: start };
        let worktree = create::create_worktree(&self.snapshots, &store, run, workflow, begun)?;
        self.fill_from(&worktree, commit.tree_id(), record)?;
        for commit in wanted {
            // the worktree's base and its own snapshot hold the files now
            let _ = store.repo.find_reference(&arrived(commit)).and_then(|mut found| found.delete());
        }
        Ok(worktree)
    }

    /// The fetched files in place of those of the project here.
    fn fill_from(
        &self,
        worktree: &RunWorktree,
        tree: git2::Oid,
        record: SnapshotRecord,
    ) -> SnapshotResult<()> {
        let store = self.repository()?;
        let linked = LinkedWorktree::locate_worktree(worktree, &store, self.snapshots.data())?;
        let inside: GitSnapshots = self.snapshots.for_directory(&linked.project());
        let place = inside.resolve_location()?;
        let own = place.store()?;
        let record = SnapshotRecord {
            label: "Files of the run at its last host".to_owned(),
            scope: own.scope_name(),
            created: inside.current_time(),
            ..record
        };
        let id = snapshot_commit::create_commit(&own, tree, &record, Vec::new(), "")?;
        let StoredSnapshot { id, .. } = find_snapshot(&own, id.as_str())?;
        inside.restore(&id).map(drop)
    }
}

fn push_references(repo: &Repository, remote: &str, refspecs: &[String]) -> SnapshotResult<()> {
    let mut refused = None;
    let pushed = repo.remote_anonymous(remote).and_then(|mut there| {
        let mut callbacks = git2::RemoteCallbacks::new();
        callbacks.push_update_reference(|_, status| {
            refused = refused.take().or(status.map(str::to_owned));
            Ok(())
        });
        let mut options = PushOptions::new();
        options.remote_callbacks(callbacks);
        there.push(refspecs, Some(&mut options))
    });
    pushed.map_err(|error| remote_error(remote, "does not take the files of the run", &error))?;
    match refused {
        None => Ok(()),
        Some(why) => Err(snapshot_error(
            format!(
                "the repository {} does not take the files of the run: {}",
                redact_remote(remote),
                redact_urls_in(&why)
            ),
            "Let this user write to it; backend.restate.snapshot_remote names it.",
        )),
    }
}

fn fetch_references(repo: &Repository, remote: &str, refspecs: &[String]) -> SnapshotResult<()> {
    let mut options = FetchOptions::new();
    options.download_tags(git2::AutotagOption::None).update_fetchhead(false);
    let fetched =
        repo.remote_anonymous(remote).and_then(|mut there| there.fetch(refspecs, Some(&mut options), None));
    fetched.map_err(|error| remote_error(remote, "cannot be read", &error))
}

/// Without passwords, also in the words of libgit2.
fn remote_error(remote: &str, what: &str, error: &git2::Error) -> SnapshotError {
    let shown = redact_remote(remote);
    let why = redact_urls_in(&error.message().replace(remote, &shown));
    snapshot_error(
        format!("the repository {shown} {what}: {why}"),
        "backend.restate.snapshot_remote names it: a bare repository at a path, file://, http:// or git://.",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::system_clock::SystemClock;
    use synthdev_ports::worktree::{MergeError, WorktreePort as _};

    fn project(at: &Path, from: Option<&Path>) -> GitWorktrees {
        match from {
            Some(from) => drop(Repository::clone(from.to_str().unwrap(), at).unwrap()),
            None => {
                let repo = Repository::init(at).unwrap();
                fs::write(at.join("a.txt"), "old\n").unwrap();
                let mut index = repo.index().unwrap();
                index.add_path(Path::new("a.txt")).unwrap();
                index.write().unwrap();
                let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
                let who = git2::Signature::now("a", "a@example.org").unwrap();
                repo.commit(Some("HEAD"), &who, &who, "first", &tree, &[]).unwrap();
            }
        }
        let data = at.parent().unwrap().join(format!("{}-data", at.file_name().unwrap().display()));
        let snapshots = GitSnapshots::open(at.to_owned(), data, Vec::new(), Arc::new(SystemClock));
        GitWorktrees::new(snapshots.with_home(at.with_file_name("no-home")))
    }

    fn write_files(at: &Path, files: &[(&str, &str)]) {
        files.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    }

    fn references(remote: &str, run: &RunId) -> Vec<String> {
        let repo = Repository::open(remote).unwrap();
        let found = repo.references_glob(&format!("{}*", remote_namespace(run))).unwrap();
        found.map(|found| found.unwrap().target().unwrap().to_string()).collect()
    }

    #[test]
    fn another_repository_gets_the_files_of_a_run() {
        let root = tempfile::tempdir().unwrap();
        let (left, right, remote) =
            (root.path().join("left"), root.path().join("right"), root.path().join("shared.git"));
        let one = project(&left, None);
        let other = project(&right, Some(&left));
        Repository::init_bare(&remote).unwrap();
        let remote = remote.to_str().unwrap();
        let run = RunId::from("run1");
        let nowhere = "0".repeat(40);
        assert!(other.adopt_files(&run, "talk", remote, (None, &nowhere)).is_err(), "nothing was pushed yet");
        write_files(&left, &[("a.txt", "new\n"), ("b.txt", "added\n")]);
        let first = one.push_files(&run, None, remote, None, None).unwrap();
        let again = one.push_files(&run, None, remote, Some(&first), None).unwrap();
        assert_eq!(again, first, "nothing has changed");
        write_files(&left, &[("c.txt", "later\n")]);
        let second = one.push_files(&run, None, remote, Some(&first), None).unwrap();
        assert_ne!(first, second);
        // a host that is cut off goes on
        write_files(&left, &[("c.txt", "too late\n")]);
        let late = one.push_files(&run, None, remote, Some(&second), None).unwrap();
        // the user of the other machine has files of his own, which stay
        write_files(&right, &[("mine.txt", "mine\n")]);
        let journaled = (Some(first.commit.as_str()), second.commit.as_str());
        let tree = other.adopt_files(&run, "talk", remote, journaled).unwrap();
        let read = |name: &str| fs::read_to_string(Path::new(&tree.path).join(name)).ok();
        assert_eq!(read("a.txt").as_deref(), Some("new\n"));
        assert_eq!((read("b.txt").as_deref(), read("c.txt").as_deref()), (Some("added\n"), Some("later\n")));
        assert_eq!((read("mine.txt"), right.join("mine.txt").exists()), (None, true));
        assert_eq!(fs::read_to_string(right.join("a.txt")).unwrap(), "old\n");
        // from there it goes on, and back
        write_files(Path::new(&tree.path), &[("d.txt", "there\n")]);
        let third = other.push_files(&run, Some(&tree), remote, None, Some(&second.commit)).unwrap();
        let journaled = (Some(first.commit.as_str()), third.commit.as_str());
        let back = one.adopt_files(&run, "talk", remote, journaled).unwrap();
        assert_eq!(fs::read_to_string(Path::new(&back.path).join("d.txt")).unwrap(), "there\n");
        assert!(!left.join("d.txt").exists());
        let mut kept = [first.commit, third.commit, late.commit];
        kept.sort();
        let mut there = references(remote, &run);
        there.sort();
        assert_eq!(there, kept);
        one.forget_pushed_files(&run, remote).unwrap();
        one.forget_pushed_files(&run, remote).unwrap();
        assert!(references(remote, &run).is_empty());
    }

    #[test]
    fn what_a_run_of_another_host_changed_is_merged_if_its_first_files_are_known() {
        let root = tempfile::tempdir().unwrap();
        let (left, right, remote) =
            (root.path().join("left"), root.path().join("right"), root.path().join("shared.git"));
        let one = project(&left, None);
        let other = project(&right, Some(&left));
        Repository::init_bare(&remote).unwrap();
        let (remote, run) = (remote.to_str().unwrap(), RunId::from("run1"));
        // before the run, each user has changes of his own
        write_files(&left, &[("a.txt", "left\n"), ("theirs.txt", "theirs\n")]);
        write_files(&right, &[("mine.txt", "mine\n")]);
        let first = one.push_files(&run, None, remote, None, None).unwrap();
        write_files(&left, &[("made.txt", "made\n")]);
        let second = one.push_files(&run, None, remote, Some(&first), None).unwrap();
        let unknown = other.adopt_files(&run, "talk", remote, (None, &second.commit)).unwrap();
        // what the first host lacked is not deleted here
        for refused in [
            other.unmerged(&unknown).map(drop).unwrap_err(),
            match other.merge(&unknown).unwrap_err() {
                MergeError::Failed(error) => error,
                conflicts => panic!("{conflicts}"),
            },
        ] {
            assert!(refused.message.contains("run1 began at another host"), "{refused}");
            assert!(refused.hint.unwrap().contains(&unknown.path));
        }
        let journaled = (Some(first.commit.as_str()), second.commit.as_str());
        let tree = other.adopt_files(&run, "talk", remote, journaled).unwrap();
        write_files(Path::new(&tree.path), &[("here.txt", "here\n")]);
        let unmerged = other.unmerged(&tree).unwrap().unwrap();
        let paths: Vec<&str> = unmerged.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((paths, unmerged.conflicts.len()), (vec!["here.txt", "made.txt"], 0));
        other.merge(&tree).unwrap();
        let read = |name: &str| fs::read_to_string(right.join(name)).ok();
        assert_eq!(read("made.txt").as_deref(), Some("made\n"));
        assert_eq!(read("here.txt").as_deref(), Some("here\n"));
        assert_eq!((read("mine.txt").as_deref(), read("a.txt").as_deref()), (Some("mine\n"), Some("old\n")));
        assert_eq!(read("theirs.txt"), None, "it is not of the run");
    }

    #[test]
    fn a_repository_that_cannot_be_used_is_named() {
        let root = tempfile::tempdir().unwrap();
        let one = project(&root.path().join("left"), None);
        for wrong in ["ssh://host.example/x.git", "/nowhere/x.git"] {
            let error = one.push_files(&RunId::from("run1"), None, wrong, None, None).unwrap_err();
            assert!(error.message.contains(wrong), "{error}");
            assert!(error.hint.unwrap().contains("snapshot_remote"));
        }
        let (run, wrong) = (RunId::from("run1"), "http://me:sec@ret@127.0.0.1:9/x.git?token=secret");
        for error in [
            one.push_files(&run, None, wrong, None, None).unwrap_err(),
            one.adopt_files(&run, "talk", wrong, (None, "ab")).unwrap_err(),
            one.forget_pushed_files(&run, wrong).unwrap_err(),
        ] {
            assert!(error.message.contains("http://127.0.0.1:9/x.git"), "{error}");
            assert!(!error.message.contains("ret"), "{error}");
        }
    }
}
