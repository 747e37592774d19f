//! The files of a run for another machine: a snapshot of them in a git repository that both reach, and a worktree made of
//! it there.
//!
//! Only libgit2's own transports: a path, `file://`, `http://` and `git://`.

use std::path::Path;

use git2::{FetchOptions, PushOptions, Repository};

use super::GitWorktrees;
use super::create;
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

fn remote_reference(run: &RunId) -> String {
    format!("refs/synthdev/runs/{run}")
}

impl GitWorktrees {
    /// Pushes the run's present files to a repository, unless they are `last`; what they are.
    ///
    /// # Errors
    /// They cannot be read, or the repository does not take them.
    pub fn push_files(
        &self,
        run: &RunId,
        worktree: Option<&RunWorktree>,
        remote: &str,
        last: Option<&SnapshotId>,
    ) -> Result<SnapshotId, SnapshotError> {
        let inside = worktree.map(|tree| self.snapshots.for_directory(Path::new(&tree.path)));
        let snapshots = inside.as_ref().unwrap_or(&self.snapshots);
        let request = SnapshotRequest {
            label: LABEL.to_owned(),
            run: Some(run.clone()),
            note: String::new(),
            reuse: SnapshotReuse::SameRun(None),
        };
        let taken = snapshots.take(&request)?;
        if last != Some(&taken.id) {
            let store = store_holding(&snapshots.resolve_location()?, taken.id.as_str())?;
            let source = snapshot_commit::reference_name(taken.id.as_str());
            push_reference(&store.repo, remote, &format!("+{source}:{}", remote_reference(run)))?;
        }
        if let Some(earlier) = last.filter(|last| **last != taken.id)
            && snapshots.find(earlier.as_str()).is_ok_and(|info| info.label == LABEL)
        {
            // one that stays is only in the way of lists
            let _ = snapshots.delete(earlier);
        }
        Ok(taken.id)
    }

    /// Makes a worktree of what another machine pushed for the run.
    ///
    /// # Errors
    /// It pushed nothing, the repository cannot be read, or there is no worktree to be had.
    pub fn adopt_files(
        &self,
        run: &RunId,
        workflow: &str,
        remote: &str,
    ) -> Result<RunWorktree, SnapshotError> {
        let store = self.repository()?;
        let name = format!("refs/synthdev/arrived/{run}");
        fetch_reference(&store.repo, remote, &format!("+{}:{name}", remote_reference(run)))?;
        let failed = |error: git2::Error| remote_error(remote, "has no files of the run", &error);
        let mut arrived = store.repo.find_reference(&name).map_err(failed)?;
        let commit = arrived.peel_to_commit().map_err(failed)?;
        let record =
            std::str::from_utf8(commit.message_bytes()).ok().and_then(|text| text.split_once("\n\n"));
        let record: Option<SnapshotRecord> = record.and_then(|(_, json)| serde_json::from_str(json).ok());
        let record = record.ok_or_else(|| {
            snapshot_error(
                format!("what {} has for run {run} is no snapshot", redact_remote(remote)),
                "Use a repository that only workers push to.",
            )
        })?;
        let worktree = create::create_worktree(&self.snapshots, &store, run, workflow, true)?;
        let tree = commit.tree().map_err(failed)?.id();
        self.fill_from(&worktree, tree, record)?;
        // the worktree's own snapshot holds the files now
        let _ = arrived.delete();
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

fn push_reference(repo: &Repository, remote: &str, refspec: &str) -> SnapshotResult<()> {
    let mut refused = None;
    let pushed = repo.remote_anonymous(remote).and_then(|mut there| {
        let mut callbacks = git2::RemoteCallbacks::new();
        callbacks.push_update_reference(|_, status| {
            refused = status.map(str::to_owned);
            Ok(())
        });
        let mut options = PushOptions::new();
        options.remote_callbacks(callbacks);
        there.push(&[refspec], Some(&mut options))
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

fn fetch_reference(repo: &Repository, remote: &str, refspec: &str) -> SnapshotResult<()> {
    let mut options = FetchOptions::new();
    options.download_tags(git2::AutotagOption::None).update_fetchhead(false);
    let fetched =
        repo.remote_anonymous(remote).and_then(|mut there| there.fetch(&[refspec], Some(&mut options), None));
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
        assert!(other.adopt_files(&run, "talk", remote).is_err(), "nothing was pushed yet");
        fs::write(left.join("a.txt"), "new\n").unwrap();
        fs::write(left.join("b.txt"), "added\n").unwrap();
        let first = one.push_files(&run, None, remote, None).unwrap();
        assert_eq!(one.push_files(&run, None, remote, Some(&first)).unwrap(), first, "nothing has changed");
        fs::write(left.join("c.txt"), "later\n").unwrap();
        let second = one.push_files(&run, None, remote, Some(&first)).unwrap();
        assert_ne!(first, second);
        // the user of the other machine has files of his own, which stay
        fs::write(right.join("mine.txt"), "mine\n").unwrap();
        let tree = other.adopt_files(&run, "talk", remote).unwrap();
        let read = |name: &str| fs::read_to_string(Path::new(&tree.path).join(name)).ok();
        assert_eq!(read("a.txt").as_deref(), Some("new\n"));
        assert_eq!((read("b.txt").as_deref(), read("c.txt").as_deref()), (Some("added\n"), Some("later\n")));
        assert_eq!((read("mine.txt"), right.join("mine.txt").exists()), (None, true));
        assert_eq!(fs::read_to_string(right.join("a.txt")).unwrap(), "old\n");
        // what the first host lacked is not deleted here
        for refused in [
            other.unmerged(&tree).map(drop).unwrap_err(),
            match other.merge(&tree).unwrap_err() {
                MergeError::Failed(error) => error,
                conflicts => panic!("{conflicts}"),
            },
        ] {
            assert!(refused.message.contains("run1 began at another host"), "{refused}");
            assert!(refused.hint.unwrap().contains(&tree.path));
        }
        assert_eq!(fs::read_to_string(right.join("mine.txt")).unwrap(), "mine\n");
        // from there it goes on, and back
        fs::write(Path::new(&tree.path).join("d.txt"), "there\n").unwrap();
        other.push_files(&run, Some(&tree), remote, None).unwrap();
        let back = one.adopt_files(&run, "talk", remote).unwrap();
        assert_eq!(fs::read_to_string(Path::new(&back.path).join("d.txt")).unwrap(), "there\n");
        assert!(!left.join("d.txt").exists());
    }

    #[test]
    fn a_repository_that_cannot_be_used_is_named() {
        let root = tempfile::tempdir().unwrap();
        let one = project(&root.path().join("left"), None);
        for wrong in ["ssh://host.example/x.git", "/nowhere/x.git"] {
            let error = one.push_files(&RunId::from("run1"), None, wrong, None).unwrap_err();
            assert!(error.message.contains(wrong), "{error}");
            assert!(error.hint.unwrap().contains("snapshot_remote"));
        }
        let (run, wrong) = (RunId::from("run1"), "http://me:sec@ret@127.0.0.1:9/x.git?token=secret");
        for error in [
            one.push_files(&run, None, wrong, None).unwrap_err(),
            one.adopt_files(&run, "talk", wrong).unwrap_err(),
        ] {
            assert!(error.message.contains("http://127.0.0.1:9/x.git"), "{error}");
            assert!(!error.message.contains("ret"), "{error}");
        }
    }
}
